//! The one background thread of a database: closes idle cursors, forgets idle sessions, deletes expired documents.
//!
//! It holds the database weakly, so that dropping the last handle still closes the file.

use crate::database::{Database, WeakDatabase, now_ms};
use crate::interrupt::Interrupt;
use crate::limits::{MAX_SESSIONS_EXPIRED_AT_ONCE, SESSION_EXPIRY_INTERVAL, SESSION_IDLE, UPKEEP_INTERVAL};
use crate::write::index_build::remove_unfinished_builds;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The handle on the thread.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Signal {
    stop: Mutex<bool>,
    changed: Condvar,
    interrupt: Interrupt,
}

impl Signal {
    /// Sleeps; true when the thread has to end.
    fn sleep(&self, time: Duration) -> bool {
        let mut stop = self.stop.lock();
        if !*stop {
            self.changed.wait_for(&mut stop, time);
        }
        *stop
    }
}

impl Upkeep {
    /// Starts the thread. `ttl_interval`: `None` never looks for expired documents.
    pub(crate) fn start(
        &self,
        database: WeakDatabase,
        ttl_interval: Option<Duration>,
    ) -> std::io::Result<()> {
        let signal = Arc::clone(&self.signal);
        let handle = thread::Builder::new()
            .name(String::from("mf-upkeep"))
            .spawn(move || run(&signal, &database, ttl_interval))?;
        *self.thread.lock() = Some(handle);
        Ok(())
    }

    /// Stops the thread and waits for it (not for itself, when the last handle dies on it).
    pub(crate) fn stop(&self) {
        *self.signal.stop.lock() = true;
        self.signal.interrupt.shut_down();
        self.signal.changed.notify_all();
        let handle = self.thread.lock().take();
        if let Some(handle) = handle.filter(|h| h.thread().id() != thread::current().id()) {
            // A panic in the thread was reported on stderr by the standard library.
            let _ = handle.join();
        }
    }
}

fn run(signal: &Signal, database: &WeakDatabase, ttl_interval: Option<Duration>) {
    let step = ttl_interval.map_or(UPKEEP_INTERVAL, |ttl| ttl.min(UPKEEP_INTERVAL));
    let mut sessions_due = Instant::now() + SESSION_EXPIRY_INTERVAL;
    let mut ttl_due = ttl_interval.map(|interval| Instant::now() + interval);
    while !signal.sleep(step) {
        let Some(database) = database.upgrade() else { return };
        tidy(&database);
        if database.builds().take_left_behind() && remove_unfinished_builds(&database).is_err() {
            database.builds().leave_behind();
        }
        if Instant::now() >= sessions_due {
            expire_sessions(&database);
            sessions_due = Instant::now() + SESSION_EXPIRY_INTERVAL;
        }
        if let (Some(due), Some(interval)) = (ttl_due, ttl_interval)
            && Instant::now() >= due
        {
            sweep(&database, &signal.interrupt);
            ttl_due = Some(Instant::now() + interval);
        }
    }
}

fn tidy(database: &Database) {
    let now = Instant::now();
    let closed = database.cursors().close_idle(now);
    database.counters().cursors_timed_out.add(closed as u64);
    for id in database.sessions().remove_idle(now) {
        database.cursors().kill_session(id);
    }
}

/// What sessions wrote last is forgotten in the file, too, once they cannot ask for it any more.
fn expire_sessions(database: &Database) {
    if database.is_read_only() {
        return;
    }
    let oldest_ms = now_ms().saturating_sub(i64::try_from(SESSION_IDLE.as_millis()).unwrap_or(i64::MAX));
    let expired = database.sessions_table().expire(database.store(), oldest_ms, MAX_SESSIONS_EXPIRED_AT_ONCE);
    if expired.is_err() {
        // A full disk, a shutdown: the next round tries again.
        database.counters().failed_commands.add(1);
    }
}

fn sweep(database: &Database, interrupt: &Interrupt) {
    let counters = database.counters();
    if crate::ttl::sweep(database, interrupt).is_err() {
        // Shutdown, a full disk: the next pass tries again, and writes of clients tell of it meanwhile.
        counters.failed_commands.add(1);
    }
    counters.add_values();
    counters.ttl_passes.add(1);
}
