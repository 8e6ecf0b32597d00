//! Writing blocks: where they go, and how they reach the disk.
//!
//! Neighbouring blocks go out in one call of at most 256 KiB, and a sync follows every 4 MiB, so that commits are
//! never stuck behind a long backlog of the operating system.

use crate::block::BlockPointer;
use crate::block::Sealed;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::poison::Poison;
use crate::space::{Extent, Space};
use parking_lot::Mutex;

/// Most bytes of one write.
const CALL_BYTES: usize = 256 << 10;
/// Bytes after which a sync follows.
const SYNC_BYTES: u64 = 4 << 20;

pub(super) struct BlockWriter<'w> {
    disk: &'w dyn Disk,
    space: &'w Mutex<Space>,
    poison: &'w Poison,
    checkpoint: u64,
    /// Blocks go below this where they can, so that the end of the file empties.
    prefer_below: u64,
    buffer: Vec<u8>,
    buffer_offset: u64,
    unsynced_bytes: u64,
    pub(super) written_bytes: u64,
    /// What it was given, to be returned if the checkpoint comes to nothing.
    pub(super) allocated: Vec<Extent>,
}

impl<'w> BlockWriter<'w> {
    pub(super) fn new(
        disk: &'w dyn Disk,
        space: &'w Mutex<Space>,
        poison: &'w Poison,
        checkpoint: u64,
        prefer_below: u64,
    ) -> BlockWriter<'w> {
        BlockWriter {
            disk,
            space,
            poison,
            checkpoint,
            prefer_below,
            buffer: Vec::new(),
            buffer_offset: 0,
            unsynced_bytes: 0,
            written_bytes: 0,
            allocated: Vec::new(),
        }
    }

    /// Writes a block somewhere; says where.
    pub(super) fn write(&mut self, sealed: &Sealed) -> Result<BlockPointer> {
        let extent = self.space.lock().allocate_below(sealed.pointer(0).extent_bytes(), self.prefer_below);
        self.allocated.push(extent);
        let continues = self.buffer_offset + self.buffer.len() as u64 == extent.offset;
        if !continues || self.buffer.len() as u64 + extent.len_bytes > CALL_BYTES as u64 {
            self.flush()?;
            self.buffer_offset = extent.offset;
        }
        sealed.write_to(extent.offset, self.checkpoint, &mut self.buffer);
        self.written_bytes += extent.len_bytes;
        Ok(sealed.pointer(extent.offset))
    }

    /// Like [`write`](BlockWriter::write), if there is a place below `limit`.
    pub(super) fn write_below(&mut self, sealed: &Sealed, limit: u64) -> Result<Option<BlockPointer>> {
        let fits = self.space.lock().has_below(sealed.pointer(0).extent_bytes(), limit);
        if fits { self.write(sealed).map(Some) } else { Ok(None) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.disk.write_at(self.buffer_offset, &self.buffer);
        written.map_err(|error| Error::io("write a checkpoint", self.disk.place(), &error))?;
        self.unsynced_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unsynced_bytes >= SYNC_BYTES { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.unsynced_bytes = 0;
        if planted(Fault::BlocksNotSynced) {
            return Ok(());
        }
        // After a failed sync nobody knows which of the file's pages are gone.
        let synced =
            self.disk.sync().map_err(|error| Error::io("sync a checkpoint", self.disk.place(), &error));
        synced.map_err(|error| self.poison.set(&error))
    }

    /// Returns when everything written is on the disk.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.sync()
    }
}
