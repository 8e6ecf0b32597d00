//! The store: what a process holds when it has a database open.

use crate::caretaker::{self, Bell};
use crate::commit::Section;
use crate::disk::{Disk, LockMode, RealDisk};
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::file_store::{self, FileStore, Opened};
use crate::ids::Sequence;
use crate::intents::{Intents, OwnIntents};
use crate::log::{Queue, Until};
use crate::options::{Durability, Location, Options};
use crate::owner;
use crate::pages::Pages;
use crate::pending::Pending;
use crate::read_only::ReadOnlyFile;
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::transaction::Transaction;
use parking_lot::{Condvar, Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// An open store. Clones share it; when the last one goes, the file is synced and given back, but only
/// [`close`](Store::close) takes a checkpoint first.
#[derive(Clone)]
pub struct Store {
    handle: Arc<Handle>,
}

/// Ends the store with its last clone.
struct Handle {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    owner_process: u32,
}

/// What all clones of a store and its own thread share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) medium: Medium,
    /// The newest state. Readers clone the `Arc` and never wait longer than that takes.
    pub(crate) published: RwLock<Arc<State>>,
    pub(crate) section: Mutex<Section>,
    pub(crate) section_free: Condvar,
    pub(crate) intents: Intents,
    pub(crate) bell: Bell,
    next_table: AtomicU64,
    is_closed: AtomicBool,
}

/// What is behind a store.
pub(crate) enum Medium {
    /// Nothing.
    Memory,
    /// A file that is only read.
    ReadOnly(Box<ReadOnlyFile>),
    /// A file.
    File(Box<FileStore>),
}

impl Shared {
    fn new(options: &Options, medium: Medium, state: State, queue: Queue, pending: Pending) -> Shared {
        Shared {
            options: options.clone(),
            medium,
            next_table: AtomicU64::new(state.next_table),
            published: RwLock::new(Arc::new(state)),
            section: Mutex::new(Section::new(queue, pending)),
            section_free: Condvar::new(),
            intents: Intents::default(),
            bell: Bell::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        match &self.medium {
            Medium::ReadOnly(_) => Err(Error::ReadOnly),
            Medium::Memory if self.options.read_only => Err(Error::ReadOnly),
            Medium::Memory => Ok(()),
            Medium::File(file) => file.poison.check(),
        }
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Says that no more comes; true for the first who says it.
    fn begin_closing(&self) -> bool {
        let was_closed = self.is_closed.swap(true, Ordering::AcqRel);
        // Whoever is in the commit section leaves it first.
        drop(self.section.lock());
        self.bell.stop();
        !was_closed
    }
}

impl Store {
    /// Opens or creates a store. A file that another handle writes is [`Error::Locked`]
    /// unless it is opened [to be read](Options::read_only).
    pub fn open(location: &Location, options: &Options) -> Result<Store> {
        match location {
            Location::Memory => {
                let state = State::empty(Pages::new(1, None));
                let (queue, pending) = (Queue::new(0, 0), Pending::default());
                Store::start(Shared::new(options, Medium::Memory, state, queue, pending))
            }
            Location::File(path) => {
                let disk = RealDisk::open(path, options.read_only, options.create);
                let disk = disk.map_err(|error| Error::io("open", path.display().to_string(), &error))?;
                Store::open_on(Arc::new(disk), options)
            }
        }
    }

    /// Opens or creates a store on a disk: a simulated one, usually.
    pub fn open_on(disk: Arc<dyn Disk>, options: &Options) -> Result<Store> {
        let mode = if options.read_only { None } else { Some(LockMode::Writer) };
        Store::open_with_lock(disk, options, mode)
    }

    /// As [`open_on`](Store::open_on), with this lock. Without one, a writer may be at work.
    pub(crate) fn open_with_lock(
        disk: Arc<dyn Disk>,
        options: &Options,
        mode: Option<LockMode>,
    ) -> Result<Store> {
        mode.map_or(Ok(()), |mode| file_store::lock(&*disk, mode))?;
        let opened = if options.read_only {
            ReadOnlyFile::open(Arc::clone(&disk), options, mode.is_some()).map(|(file, state)| {
                let medium = Medium::ReadOnly(Box::new(file));
                (Shared::new(options, medium, state, Queue::new(0, 0), Pending::default()), false)
            })
        } else {
            file_store::open(Arc::clone(&disk), options).map(
                |Opened { file, state, queue, pending, wants_checkpoint }| {
                    let medium = Medium::File(Box::new(file));
                    (Shared::new(options, medium, state, queue, pending), wants_checkpoint)
                },
            )
        };
        let result = opened.and_then(|(shared, wants_checkpoint)| {
            if let (true, Medium::File(file)) = (wants_checkpoint, &shared.medium) {
                file.checkpoint(&shared)?;
            }
            Store::start(shared)
        });
        if result.is_err() && mode.is_some() {
            // The lock would go with the file anyway; a simulated disk outlives its handles.
            let _ = disk.unlock();
        }
        result
    }

    fn start(shared: Shared) -> Result<Store> {
        let shared = Arc::new(shared);
        let mut threads = Vec::new();
        if let (true, Medium::File(file)) = (shared.options.background, &shared.medium) {
            let started = caretaker::start(&shared);
            threads = started.map_err(|error| Error::io("start a thread for", file.disk.place(), &error))?;
            if file.wants_checkpoint() {
                shared.bell.ring();
            }
        }
        Ok(Store {
            handle: Arc::new(Handle {
                shared,
                threads: Mutex::new(threads),
                owner_process: std::process::id(),
            }),
        })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    pub(crate) fn newest(&self) -> Arc<State> {
        Arc::clone(&self.shared().published.read())
    }

    pub(crate) fn next_table_number(&self) -> Result<u64> {
        self.shared().check_writable()?;
        Ok(self.shared().next_table.fetch_add(1, Ordering::Relaxed))
    }

    /// The newest state, as it is now, over all tables. Of a file that another process writes, too.
    pub fn snapshot(&self) -> Snapshot {
        let published = &self.shared().published;
        if let Medium::ReadOnly(file) = &self.shared().medium {
            file.refresh(|| Arc::clone(&published.read()), |state| *published.write() = Arc::new(state));
        }
        Snapshot { state: Arc::clone(&published.read()) }
    }

    /// A transaction over the newest state. Waits for nobody: see [`Transaction`].
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.clone(), self.snapshot(), None, OwnIntents::none())
    }

    /// Returns when the commit `sequence`, and with it every earlier one, is on the disk. Waiters share one sync. With
    /// [`Durability::Relaxed`], and in memory, it returns at once.
    pub fn wait_durable(&self, sequence: Sequence) -> Result<()> {
        let shared = self.shared();
        let Medium::File(file) = &shared.medium else { return Ok(()) };
        if matches!(shared.options.durability, Durability::Relaxed { .. })
            || planted(Fault::AcknowledgedEarly)
        {
            return file.poison.check();
        }
        if sequence.get() > shared.published.read().sequence {
            return Err(Error::Misuse { what: "there is no commit of that number to wait for" });
        }
        file.log.wait(&shared.section, Until::Sequence(sequence.get()))
    }

    /// Puts everything that was committed on the disk, whatever the durability.
    pub fn sync(&self) -> Result<()> {
        let shared = self.shared();
        let Medium::File(file) = &shared.medium else { return Ok(()) };
        file.poison.check()?;
        let newest = shared.published.read().sequence;
        file.log.wait(&shared.section, Until::Sequence(newest))
    }

    /// Writes the newest state as blocks, so that the log before it is not needed any more. Commits go on meanwhile.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared().check_writable()?;
        match &self.shared().medium {
            Medium::File(file) => file.checkpoint(self.shared()),
            _ => Ok(()),
        }
    }

    /// Checkpoints, seals the log and gives the file back. Later calls fail with [`Error::Closed`]; snapshots that
    /// were taken stay readable. When the checkpoint fails, the file is given back all the same: the log has
    /// everything.
    pub fn close(&self) -> Result<()> {
        self.handle.end(true)
    }
}

impl Handle {
    fn end(&self, with_checkpoint: bool) -> Result<()> {
        let shared = &self.shared;
        if std::process::id() != self.owner_process {
            // A child of fork: thread, lock and log belong to the parent.
            shared.is_closed.store(true, Ordering::Release);
            std::mem::forget(std::mem::take(&mut *self.threads.lock()));
            return Ok(());
        }
        if !shared.begin_closing() {
            return Ok(());
        }
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A thread's own panic has poisoned the handle already.
            let _ = thread.join();
        }
        match &shared.medium {
            Medium::Memory => Ok(()),
            // Pins go with the snapshots that read what they keep.
            Medium::ReadOnly(file) => match file.is_locked() {
                true => unlock(&*file.disk),
                false => Ok(()),
            },
            Medium::File(file) => {
                let result = close_file(shared, file, with_checkpoint);
                owner::clear(&*file.disk);
                result.and(unlock(&*file.disk))
            }
        }
    }
}

fn unlock(disk: &dyn Disk) -> Result<()> {
    disk.unlock().map_err(|error| Error::io("unlock", disk.place(), &error))
}

fn close_file(shared: &Shared, file: &FileStore, with_checkpoint: bool) -> Result<()> {
    file.poison.check()?;
    let newest = shared.published.read().sequence;
    file.log.wait(&shared.section, Until::Sequence(newest))?;
    if with_checkpoint {
        file.checkpoint(shared)?;
    }
    caretaker::seal(shared)
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to be told; what was acknowledged is on the disk.
        let _ = self.end(false);
    }
}
