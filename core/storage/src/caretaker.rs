//! The store's own thread: what has to be done although nobody waits for it.
//!
//! It writes commits to the disk that nobody waited for, seals the log when it is idle, prepares the next log region
//! before it is needed, and takes a checkpoint whenever the log has moved on to another region. It sleeps without a
//! timer while there is nothing to do.

use crate::log::{Item, Need, Until};
use crate::options::Durability;
use crate::store::{Medium, Shared};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the log is quiet before it is sealed.
const IDLE_MS: u64 = 50;

/// What wakes the thread and stops it.
#[derive(Default)]
pub(crate) struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
    /// Set by whoever gives it work, cleared by the thread before it looks.
    has_work: AtomicBool,
}

#[derive(Default)]
struct BellState {
    is_stopping: bool,
}

impl Bell {
    /// Says that there is work. Costs next to nothing when it was said already.
    pub(crate) fn ring(&self) {
        if !self.has_work.swap(true, Ordering::AcqRel) {
            let _state = self.state.lock();
            self.rung.notify_all();
        }
    }

    pub(crate) fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.rung.notify_all();
    }

    /// Sleeps until there is work; false when it is time to stop.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while !state.is_stopping && !self.has_work.load(Ordering::Acquire) {
            self.rung.wait(&mut state);
        }
        !state.is_stopping
    }

    /// Sleeps for a while, or until it is time to stop: then false.
    fn pause(&self, ms: u64) -> bool {
        let deadline = Instant::now() + Duration::from_millis(ms);
        let mut state = self.state.lock();
        while !state.is_stopping && !self.rung.wait_until(&mut state, deadline).timed_out() {}
        !state.is_stopping
    }
}

/// Starts the thread, and with relaxed durability a second one, so that a checkpoint does not hold its syncs up.
pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<Vec<JoinHandle<()>>> {
    let mut threads = vec![spawn(shared, "multifora-store", IDLE_MS, round)?];
    if let Durability::Relaxed { every_ms } = shared.options.durability {
        threads.push(spawn(shared, "multifora-sync", every_ms.clamp(1, 60_000), sync_round)?);
    }
    Ok(threads)
}

type Round = fn(&Shared) -> crate::Result<bool>;

fn spawn(shared: &Arc<Shared>, name: &str, pause_ms: u64, round: Round) -> std::io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        while shared.bell.wait() {
            // A failure poisons the handle, which whoever uses it next is told.
            let is_quiet = round(&shared).unwrap_or(true);
            if !shared.bell.pause(pause_ms) {
                return;
            }
            if !is_quiet {
                shared.bell.ring();
            }
        }
    })
}

/// Puts on the disk what was committed.
fn sync_round(shared: &Shared) -> crate::Result<bool> {
    let Medium::File(file) = &shared.medium else { return Ok(true) };
    let newest = shared.published.read().sequence;
    file.log.wait(&shared.section, Until::Sequence(newest))?;
    // The other thread decides when there is nothing left to do.
    Ok(true)
}

/// One look at everything; says whether nothing is left to do.
fn round(shared: &Shared) -> crate::Result<bool> {
    let Medium::File(file) = &shared.medium else { return Ok(true) };
    shared.bell.has_work.store(false, Ordering::Release);
    file.poison.check()?;
    let newest = shared.published.read().sequence;
    let is_new = file.log.durable_sequence() < newest;
    file.log.wait(&shared.section, Until::Sequence(newest))?;
    let wants_region = shared.section.lock().queue.wants_region_soon();
    if wants_region {
        // Without space for it the next commit that needs one will say so.
        match file.log.prepare_region(&shared.section, &file.space, Need::Soon) {
            Ok(()) | Err(crate::Error::Full { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if file.wants_checkpoint() {
        match file.checkpoint(shared) {
            Ok(()) | Err(crate::Error::Full { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    file.free_released();
    if is_new {
        return Ok(false);
    }
    // Nobody writes: a region that would only be kept for later is worth more as free space.
    if file.log.give_spare_back(&file.space) {
        file.trim()?;
    }
    // And time to make a file shorter that is mostly empty.
    if file.wants_relocation(newest) {
        return match file.checkpoint(shared) {
            Ok(()) => Ok(false),
            Err(crate::Error::Full { .. }) => Ok(true),
            Err(error) => Err(error),
        };
    }
    seal(shared)?;
    Ok(true)
}

/// Says in the log that everything before is durable, unless the last frame says it.
pub(crate) fn seal(shared: &Shared) -> crate::Result<()> {
    let Medium::File(file) = &shared.medium else { return Ok(()) };
    let is_sealed = file.log.writer.lock().is_sealed;
    if is_sealed {
        return Ok(());
    }
    let item = {
        let mut section = shared.section.lock();
        if !section.queue.is_empty() {
            return Ok(());
        }
        section
            .queue
            .has_room_for_seal()
            .then(|| section.queue.push(Item::Seal, crate::block::UNIT_BYTES, true))
    };
    match item {
        Some(item) => file.log.wait(&shared.section, Until::Item(item)),
        None => Ok(()),
    }
}
