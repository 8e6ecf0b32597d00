//! Reading beside a writer in another process.
//!
//! A reader pins the checkpoint from which it reads, and looks at the superblock again afterwards: a writer that has
//! published a newer one before it could see the pin may have begun to use again what that one dropped. A writer keeps
//! everything that a pinned checkpoint, or the log since, reaches.

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::file_store::{INITIAL_BYTES, len_of};
use crate::owner;
use crate::superblock::{self, Found, Superblock};
use std::sync::Arc;

/// Checkpoints that may be published one after the other while a reader tries to pin one.
const TRIES: usize = 100;

/// A pinned checkpoint. Taken back when dropped.
pub(crate) struct Pin {
    disk: Arc<dyn Disk>,
    pub(crate) checkpoint: u64,
    owner_process: u32,
}

impl Pin {
    fn take(disk: &Arc<dyn Disk>, checkpoint: u64) -> Result<Pin> {
        // Where there are no locks (an error), the hashes in all pointers remain.
        if let Ok(false) = disk.pin(checkpoint) {
            return Err(owner::locked(&**disk));
        }
        Ok(Pin { disk: Arc::clone(disk), checkpoint, owner_process: std::process::id() })
    }

    /// Whether a newer checkpoint has been published.
    pub(crate) fn is_overtaken(&self) -> bool {
        matches!(find(&*self.disk), Ok(Found::Database { superblock, .. })
            if superblock.checkpoint > self.checkpoint)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // A child of fork shares the pins with its parent, to whom they belong.
        if std::process::id() == self.owner_process {
            let _ = self.disk.unpin(self.checkpoint);
        }
    }
}

/// The superblocks as they are now.
pub(crate) fn find(disk: &dyn Disk) -> Result<Found> {
    superblock::find(disk, len_of(disk)?, INITIAL_BYTES, false)
}

/// What stands at the beginning of a file, its checkpoint pinned.
pub(crate) struct Pinned {
    pub(crate) superblock: Superblock,
    pub(crate) damage: Option<Error>,
    pub(crate) pin: Arc<Pin>,
}

/// Pins the newest checkpoint; `None` when nothing was ever written. `held` is a pin to be used again.
pub(crate) fn newest(disk: &Arc<dyn Disk>, held: Option<&Arc<Pin>>) -> Result<Option<Pinned>> {
    for _ in 0..TRIES {
        let Found::Database { superblock, .. } = find(&**disk)? else { return Ok(None) };
        let checkpoint = superblock.checkpoint;
        let pin = match held.filter(|pin| pin.checkpoint == checkpoint) {
            Some(pin) => Arc::clone(pin),
            None => Arc::new(Pin::take(disk, checkpoint)?),
        };
        if let Found::Database { superblock, damage } = find(&**disk)?
            && superblock.checkpoint == checkpoint
        {
            return Ok(Some(Pinned { superblock: *superblock, damage, pin }));
        }
    }
    Err(Error::SnapshotTooOld)
}
