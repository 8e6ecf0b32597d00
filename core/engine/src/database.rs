//! The open file: everything that its connections share.
//!
//! A [`Database`] is cheap to clone and safe to share. Closing it stops what is running
//! (`InterruptedAtShutdown`), drops cursors with their snapshots, writes a checkpoint and releases the
//! file; every later command gets an error that says so. The last clone that is dropped closes too.

use crate::catalog::CatalogCache;
use crate::check::{self, CheckReport};
use crate::connection::{Connection, ConnectionInfo, ConnectionShared};
use crate::counters::Counters;
use crate::cursor::CursorRegistry;
use crate::interrupt::Interrupt;
use crate::open_options::{MEMORY_PATH, OpenOptions};
use crate::session::{SessionRegistry, SessionsTable};
use crate::stats::{self, DatabaseStats};
use crate::storage_error::MapStorage;
use crate::upkeep::Upkeep;
use crate::write::index_build::LiveBuilds;
use multifora_model::{Error, ErrorCode, Result};
use multifora_storage::{Location, Store};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a close tells commands again to stop, while it waits for them.
const CLOSE_POLL: Duration = Duration::from_millis(20);

/// The open file. Clones share it.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    path: String,
    options: OpenOptions,
    opened: Instant,
    replayed_commits: u64,
    cursors: CursorRegistry,
    sessions: SessionRegistry,
    catalog: CatalogCache,
    sessions_table: SessionsTable,
    builds: LiveBuilds,
    counters: Counters,
    clock: ClusterClock,
    connections: Mutex<HashMap<u64, Arc<ConnectionShared>>>,
    next_connection_id: AtomicU64,
    next_operation_id: AtomicU64,
    /// Held for reading by every command; closing takes it for writing, and so waits for them.
    gate: RwLock<()>,
    closing: AtomicBool,
    upkeep: Upkeep,
}

/// A handle that does not keep the file open.
#[derive(Clone)]
pub(crate) struct WeakDatabase(Weak<Shared>);

impl WeakDatabase {
    pub(crate) fn upgrade(&self) -> Option<Database> {
        self.0.upgrade().map(|shared| Database { shared })
    }
}

impl Database {
    /// Opens a file, or with [`MEMORY_PATH`] a private database in memory.
    ///
    /// # Errors
    /// The path cannot be opened, another process has it open, or it is not a database or damaged; the
    /// message names the path.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Database> {
        let path = path.as_ref();
        let location = match path.to_str() {
            Some(MEMORY_PATH) => Location::Memory,
            _ => Location::File(path.to_owned()),
        };
        let store = Store::open(&location, &options.for_storage()?).mapped()?;
        let found = store.stats();
        let shared = Arc::new(Shared {
            store,
            path: path.display().to_string(),
            options: options.clone(),
            opened: Instant::now(),
            replayed_commits: found.last_sequence.saturating_sub(found.checkpoint_sequence),
            cursors: CursorRegistry::default(),
            sessions: SessionRegistry::default(),
            catalog: CatalogCache::default(),
            sessions_table: SessionsTable::default(),
            builds: LiveBuilds::default(),
            counters: Counters::default(),
            clock: ClusterClock::default(),
            connections: Mutex::default(),
            next_connection_id: AtomicU64::new(1),
            next_operation_id: AtomicU64::new(1),
            gate: RwLock::new(()),
            closing: AtomicBool::new(false),
            upkeep: Upkeep::default(),
        });
        let database = Database { shared };
        if !database.is_read_only() {
            crate::write::index_build::remove_unfinished_builds(&database)?;
        }
        database.start_upkeep()?;
        Ok(database)
    }

    fn start_upkeep(&self) -> Result<()> {
        let secs = self.options().ttl_sweep_secs;
        let ttl = (secs > 0 && !self.is_read_only()).then(|| Duration::from_secs(secs));
        let weak = WeakDatabase(Arc::downgrade(&self.shared));
        self.shared.upkeep.start(weak, ttl).map_err(|error| {
            Error::internal(format!("cannot start the upkeep thread of '{}': {error}", self.path()))
        })
    }

    /// A new connection.
    pub fn connect(&self, info: ConnectionInfo) -> Connection {
        let id = self.shared.next_connection_id.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(ConnectionShared::new(id, info));
        self.shared.connections.lock().insert(id, Arc::clone(&shared));
        self.counters().connections_created.add(1);
        Connection::new(self.clone(), shared)
    }

    /// Stops what is running, writes a checkpoint and releases the file. Closing twice is fine.
    ///
    /// # Errors
    /// The checkpoint failed; the file is released all the same, and opening it again recovers what was acknowledged.
    pub fn close(&self) -> Result<()> {
        self.shared.close()
    }

    /// Figures about the file and its collections.
    ///
    /// # Errors
    /// The database is closed, or its catalogue cannot be read.
    pub fn stats(&self) -> Result<DatabaseStats> {
        let _open = self.enter()?;
        stats::gather(self)
    }

    /// Walks the whole file: every block, document and index entry. What is wrong is in the report, not an error.
    ///
    /// # Errors
    /// The database is closed, the walk was interrupted, or it could not go on.
    pub fn check(&self, interrupt: &Interrupt) -> Result<CheckReport> {
        let _open = self.enter()?;
        check::check(self, interrupt)
    }

    /// Commits that opening found in the log, after the last checkpoint.
    pub fn replayed_commits(&self) -> u64 {
        self.shared.replayed_commits
    }

    /// Was it closed (or is it about to be)?
    pub fn is_closed(&self) -> bool {
        self.shared.closing.load(Ordering::Acquire)
    }

    /// The path as it was given.
    pub fn path(&self) -> &str {
        &self.shared.path
    }

    /// The options it was opened with.
    pub fn options(&self) -> &OpenOptions {
        &self.shared.options
    }

    /// Opened for reading only?
    pub fn is_read_only(&self) -> bool {
        self.shared.options.read_only
    }

    /// The file underneath.
    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Parsed catalogue entries.
    pub(crate) fn catalog_cache(&self) -> &CatalogCache {
        &self.shared.catalog
    }

    /// The open cursors.
    pub(crate) fn cursors(&self) -> &CursorRegistry {
        &self.shared.cursors
    }

    /// The sessions in use.
    pub(crate) fn sessions(&self) -> &SessionRegistry {
        &self.shared.sessions
    }

    pub(crate) fn sessions_table(&self) -> &SessionsTable {
        &self.shared.sessions_table
    }

    /// The index builds at work.
    pub(crate) fn builds(&self) -> &LiveBuilds {
        &self.shared.builds
    }

    /// What serverStatus counts.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// The clock behind `$clusterTime`.
    pub(crate) fn cluster_clock(&self) -> &ClusterClock {
        &self.shared.clock
    }

    /// How long it has been open.
    pub fn uptime(&self) -> Duration {
        self.shared.opened.elapsed()
    }

    pub(crate) fn connections(&self) -> Vec<Arc<ConnectionShared>> {
        self.shared.connections.lock().values().cloned().collect()
    }

    pub(crate) fn forget_connection(&self, id: u64) {
        self.shared.connections.lock().remove(&id);
    }

    pub(crate) fn next_operation_id(&self) -> u64 {
        self.shared.next_operation_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps the file open while a command runs; fails when it is closing.
    pub(crate) fn enter(&self) -> Result<RwLockReadGuard<'_, ()>> {
        self.refuse_if_closing()?;
        // Recursive, so that a command that runs another one cannot wait for a close that waits for it.
        let guard = self.shared.gate.read_recursive();
        self.refuse_if_closing()?;
        Ok(guard)
    }

    fn refuse_if_closing(&self) -> Result<()> {
        if self.is_closed() {
            let text = format!("the database '{}' is closed; open it again", self.path());
            return Err(Error::new(ErrorCode::ShutdownInProgress, text));
        }
        Ok(())
    }
}

impl Shared {
    fn close(&self) -> Result<()> {
        let first = !self.closing.swap(true, Ordering::AcqRel);
        if first {
            self.upkeep.stop();
        }
        // A command that is just about to be listed finds `closing` set when it looks again.
        let _nothing_runs = loop {
            let connections: Vec<_> = self.connections.lock().values().cloned().collect();
            connections.iter().for_each(|c| c.for_each_operation(|op| op.interrupt.shut_down()));
            if let Some(guard) = self.gate.try_write_for(CLOSE_POLL) {
                break guard;
            }
        };
        if !first {
            return Ok(());
        }
        self.cursors.kill_all();
        self.store.close().mapped()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; what was acknowledged is in the log.
        let _ = self.close();
    }
}

/// Wall-clock time, milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The logical clock that drivers of a replica set gossip: seconds in the high half, a counter below.
#[derive(Debug, Default)]
pub(crate) struct ClusterClock(AtomicU64);

impl ClusterClock {
    /// The time of the latest write (of now, when there was none yet).
    pub(crate) fn now(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            0 => self.tick(),
            time => time,
        }
    }

    /// Moves on for a write, and gives the new time.
    pub(crate) fn tick(&self) -> u64 {
        let wall = (u64::try_from(now_ms()).unwrap_or(0) / 1000) << 32 | 1;
        let next = |time: u64| (time + 1).max(wall);
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |time| Some(next(time)));
        next(before.unwrap_or_default())
    }
}
