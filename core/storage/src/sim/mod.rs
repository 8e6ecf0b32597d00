//! A simulated disk: loses what was not synced, tears what was being written, fails when it is told to.
//!
//! It keeps two images: what reads see, and what the medium holds for certain. Between them stands the list of
//! operations that were not synced yet; a [crash](SimDisk::crash) keeps none, all, a beginning or a random part of
//! them. Lengths and the directory entry are operations of their own. Everything is repeatable by seed.

#[cfg(feature = "planted-faults")]
pub mod bytes;
mod locks;
mod medium;
mod random;

pub use medium::{Keep, Tear};
pub use random::Random;

use crate::disk::{Disk, LockMode};
use locks::Locks;
use medium::Medium;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

/// Kinds of calls that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Reads.
    Read,
    /// Writes, durable or not, and changes of length.
    Write,
    /// Syncs, and the sync of a durable write.
    Sync,
}

/// What is going to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Fine,
    /// The power fails during change number `n` (writes and syncs count, from 0); every later call fails too.
    CrashAt(u64),
    /// Call number `n` of this kind fails, and the later ones too unless `once`.
    FailAt {
        /// What fails.
        call: Call,
        /// Which call of that kind, from 0.
        n: u64,
        /// Whether it works again afterwards.
        once: bool,
        /// With which error; `StorageFull` leaves nothing of the write behind.
        kind: io::ErrorKind,
    },
}

struct State {
    medium: Medium,
    plan: Plan,
    is_off: bool,
    locks: Locks,
    capacity_bytes: u64,
    changes: u64,
    calls: [u64; 3],
    failures: u64,
    random: Random,
}

/// A simulated file on a simulated disk.
pub struct SimDisk {
    state: Mutex<State>,
}

impl SimDisk {
    /// An empty disk on which the file was just created, its directory entry not synced.
    pub fn new(seed: u64) -> Arc<SimDisk> {
        SimDisk::with(Medium::new(), seed)
    }

    /// A disk that holds these bytes.
    pub fn from_image(image: Vec<u8>, seed: u64) -> Arc<SimDisk> {
        SimDisk::with(Medium::from_image(image), seed)
    }

    fn with(medium: Medium, seed: u64) -> Arc<SimDisk> {
        let state = State {
            medium,
            plan: Plan::Fine,
            is_off: false,
            locks: Locks::default(),
            capacity_bytes: u64::MAX,
            changes: 0,
            calls: [0; 3],
            failures: 0,
            random: Random::new(seed),
        };
        Arc::new(SimDisk { state: Mutex::new(state) })
    }

    /// Sets what goes wrong, and counts calls from 0 again.
    pub fn set_plan(&self, plan: Plan) {
        let mut state = self.state.lock();
        state.plan = plan;
        state.changes = 0;
        state.calls = [0; 3];
    }

    /// Limits the file's length; a write beyond it is "no space".
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().capacity_bytes = bytes;
    }

    /// Changes (writes and syncs) since the plan was set.
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Calls of a kind since the plan was set.
    pub fn calls(&self, call: Call) -> u64 {
        self.state.lock().calls[call as usize]
    }

    /// Calls that failed as planned, and those after the power failed.
    pub fn failures(&self) -> u64 {
        self.state.lock().failures
    }

    /// Whether the power has failed.
    pub fn is_off(&self) -> bool {
        self.state.lock().is_off
    }

    /// What reads see.
    pub fn image(&self) -> Vec<u8> {
        self.state.lock().medium.current.clone()
    }

    /// The disk after a loss of power and a restart: a new one, as this one's handle is still in use by the dead.
    pub fn crash(&self, keep: Keep, tear: Tear, seed: u64) -> Arc<SimDisk> {
        let image = self.state.lock().medium.after_crash(keep, tear, &mut Random::new(seed));
        SimDisk::from_image(image, seed ^ 0x5eed)
    }
}

impl State {
    /// Counts a call and says whether it is to fail. A failing change may still reach the medium in part.
    fn call(&mut self, call: Call) -> io::Result<()> {
        if self.is_off {
            self.failures += 1;
            return Err(io::Error::other("the power is off"));
        }
        let n = self.calls[call as usize];
        self.calls[call as usize] += 1;
        if let Plan::FailAt { call: failing, n: at, once, kind } = self.plan
            && failing == call
            && (n == at || (n > at && !once))
        {
            self.failures += 1;
            return Err(kind.into());
        }
        Ok(())
    }

    /// Counts a change; true when the power fails during it.
    fn change(&mut self) -> bool {
        let n = self.changes;
        self.changes += 1;
        self.is_off = self.plan == Plan::CrashAt(n);
        self.is_off
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset + bytes.len() as u64;
        if end > self.capacity_bytes.max(self.medium.current.len() as u64) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match self.call(Call::Write) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull || self.is_off => return Err(error),
            Err(error) => {
                // A short write: some of it went out.
                let part = self.random.below(bytes.len() as u64 + 1) as usize;
                self.medium.write(offset, &bytes[..part]);
                return Err(error);
            }
        }
        self.medium.write(offset, bytes);
        Ok(())
    }

    fn sync_call(&mut self) -> io::Result<()> {
        let result = self.call(Call::Sync);
        if result.is_err() && !self.is_off {
            // The kernel gives the pages up: it will not try to write them again.
            self.medium.lose_unsynced(&mut self.random);
        }
        result
    }
}

fn power_failure<T>() -> io::Result<T> {
    Err(io::Error::other("the power failed"))
}

impl Disk for SimDisk {
    fn place(&self) -> &str {
        "simulated disk"
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().medium.current.len() as u64)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if len_bytes > state.capacity_bytes.max(state.medium.current.len() as u64) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.call(Call::Write)?;
        state.medium.set_len(len_bytes);
        if state.change() { power_failure() } else { Ok(()) }
    }

    fn reserve(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let is_there = self.len()? >= offset + len_bytes;
        if is_there { Ok(()) } else { self.set_len(offset + len_bytes) }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Read)?;
        let from = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = from.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let source = state.medium.current.get(from..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(source);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.write(offset, bytes)?;
        if state.change() { power_failure() } else { Ok(()) }
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        state.write(offset, bytes)?;
        if state.change() {
            return power_failure();
        }
        state.sync_call()?;
        state.medium.sync_range(offset, bytes.len() as u64);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.sync_call()?;
        if state.change() {
            return power_failure();
        }
        state.medium.sync();
        Ok(())
    }

    fn sync_parent(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.call(Call::Sync)?;
        if state.change() {
            return power_failure();
        }
        state.medium.entry_is_durable = true;
        Ok(())
    }

    fn lock(&self, mode: LockMode) -> io::Result<bool> {
        Ok(self.state.lock().locks.lock(mode))
    }

    fn unlock(&self) -> io::Result<()> {
        self.state.lock().locks.unlock();
        Ok(())
    }

    fn pin(&self, checkpoint: u64) -> io::Result<bool> {
        Ok(self.state.lock().locks.pin(checkpoint))
    }

    fn unpin(&self, checkpoint: u64) -> io::Result<()> {
        self.state.lock().locks.unpin(checkpoint);
        Ok(())
    }

    fn is_pinned_before(&self, checkpoint: u64) -> io::Result<bool> {
        Ok(self.state.lock().locks.is_pinned_before(checkpoint))
    }

    fn entropy(&self) -> io::Result<u64> {
        Ok(self.state.lock().random.next())
    }
}

#[cfg(test)]
mod tests;
