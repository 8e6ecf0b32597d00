//! Writing blocks: where they go, and how they reach the disk.
//!
//! Neighbouring blocks go out in one call of at most 256 KiB, and a sync follows every 4 MiB, so that commits are
//! never stuck behind a long backlog of the operating system. Checkpoints place each block where it fits best; whoever
//! writes much before a commit names it takes *runs* of the file, which are provisional until a checkpoint reaches them.

use crate::block::{BLOCK_UNIT_BYTES, BlockKind, BlockPointer, HEADER_BYTES, Sealed, TABLES_TREE};
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::file_store::FileStore;
use crate::log::cut_to_file;
use crate::space::{Extent, Space};
use std::borrow::Cow;

/// Most bytes of one write.
const CALL_BYTES: usize = 256 << 10;
/// Bytes after which a sync follows.
const SYNC_BYTES: u64 = 4 << 20;
/// Bytes of a run.
const RUN_BYTES: u64 = 1 << 20;

/// How places are found.
enum Placing {
    /// Each block by itself, below this where that is possible, so that the end of the file empties.
    Each { below: u64 },
    /// One after the other in a run of the file, of which so much is used; the next one is to have so many bytes.
    Runs { run: Extent, used_bytes: u64, next_bytes: u64 },
}

/// A place for a payload of just that length.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    extent: Extent,
    payload_bytes: usize,
}

pub(crate) struct BlockWriter {
    checkpoint: u64,
    placing: Placing,
    buffer: Vec<u8>,
    buffer_offset: u64,
    unsynced_bytes: u64,
    pub(crate) written_bytes: u64,
    /// What it was given, to be returned if the work comes to nothing.
    allocated: Vec<Extent>,
}

impl BlockWriter {
    fn new(checkpoint: u64, placing: Placing) -> BlockWriter {
        BlockWriter {
            checkpoint,
            placing,
            buffer: Vec::new(),
            buffer_offset: 0,
            unsynced_bytes: 0,
            written_bytes: 0,
            allocated: Vec::new(),
        }
    }

    /// For a checkpoint of that number.
    pub(crate) fn for_checkpoint(checkpoint: u64, below: u64) -> BlockWriter {
        BlockWriter::new(checkpoint, Placing::Each { below })
    }

    /// For blocks that a commit is going to name, about so many bytes of them.
    pub(crate) fn for_commit(expected_bytes: u64) -> BlockWriter {
        let run = Extent { offset: 0, len_bytes: 0 };
        let next_bytes = expected_bytes.min(RUN_BYTES);
        BlockWriter::new(0, Placing::Runs { run, used_bytes: 0, next_bytes })
    }

    /// Writes a block somewhere; says where.
    pub(crate) fn write(&mut self, file: &FileStore, sealed: &Sealed) -> Result<BlockPointer> {
        let extent = self.place(&mut file.space.lock(), sealed.pointer(0).extent_bytes());
        let continues = self.buffer_offset + self.buffer.len() as u64 == extent.offset;
        if !continues || self.buffer.len() as u64 + extent.len_bytes > CALL_BYTES as u64 {
            self.flush(file)?;
            self.buffer_offset = extent.offset;
        }
        sealed.write_to(extent.offset, self.checkpoint, &mut self.buffer);
        self.written_bytes += extent.len_bytes;
        Ok(sealed.pointer(extent.offset))
    }

    /// Takes a place for the space map, whose content depends on what is taken: `len_bytes` is how long it would be now,
    /// and one extent less in its list makes it at most twenty bytes longer.
    pub(crate) fn claim(&mut self, space: &mut Space, len_bytes: usize) -> Claim {
        let whole_units = (len_bytes + 64 + HEADER_BYTES).next_multiple_of(BLOCK_UNIT_BYTES as usize);
        let payload_bytes = whole_units - HEADER_BYTES;
        let empty = Sealed::new(BlockKind::SpaceMap, TABLES_TREE, Cow::Owned(vec![0; payload_bytes]), false);
        let extent = self.place(space, empty.pointer(0).extent_bytes());
        Claim { extent, payload_bytes }
    }

    /// Writes the space map where [`claim`](BlockWriter::claim) found a place, which it fills to the end.
    pub(crate) fn write_at(
        &mut self,
        file: &FileStore,
        Claim { extent: place, payload_bytes }: Claim,
        mut raw: Vec<u8>,
    ) -> Result<BlockPointer> {
        if raw.len() > payload_bytes {
            return Err(Error::Misuse { what: "the list of free extents grew while it was written" });
        }
        raw.resize(payload_bytes, 0);
        let sealed = Sealed::new(BlockKind::SpaceMap, TABLES_TREE, Cow::Owned(raw), false);
        self.flush(file)?;
        self.buffer_offset = place.offset;
        sealed.write_to(place.offset, self.checkpoint, &mut self.buffer);
        self.written_bytes += place.len_bytes;
        Ok(sealed.pointer(place.offset))
    }

    fn place(&mut self, space: &mut Space, len_bytes: u64) -> Extent {
        match &mut self.placing {
            Placing::Each { below } => {
                let extent = space.allocate_below(len_bytes, *below);
                self.allocated.push(extent);
                extent
            }
            Placing::Runs { run, used_bytes, next_bytes } => {
                if *used_bytes + len_bytes > run.len_bytes {
                    space.shrink_provisional(*run, *used_bytes);
                    *run = space.allocate_below(len_bytes.max(*next_bytes), u64::MAX);
                    space.set_provisional(*run);
                    *used_bytes = 0;
                    self.allocated.push(*run);
                }
                let extent = Extent { offset: run.offset + *used_bytes, len_bytes };
                *used_bytes += len_bytes;
                if let Some(last) = self.allocated.last_mut() {
                    last.len_bytes = *used_bytes;
                }
                extent
            }
        }
    }

    fn flush(&mut self, file: &FileStore) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        file.poison.check()?;
        let written = file.disk.write_at(self.buffer_offset, &self.buffer);
        written.map_err(|error| Error::io("write blocks", file.disk.place(), &error))?;
        self.unsynced_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unsynced_bytes >= SYNC_BYTES { self.sync(file) } else { Ok(()) }
    }

    fn sync(&mut self, file: &FileStore) -> Result<()> {
        self.unsynced_bytes = 0;
        if planted(Fault::BlocksNotSynced) {
            return Ok(());
        }
        // After a failed sync nobody knows which of the file's pages are gone.
        let synced = file.disk.sync().map_err(|error| Error::io("sync blocks", file.disk.place(), &error));
        synced.map_err(|error| file.poison.set(&error))
    }

    /// Returns when everything written is on the disk, with the parts of the file that it takes.
    pub(crate) fn finish(&mut self, file: &FileStore) -> Result<&[Extent]> {
        self.flush(file)?;
        if !(planted(Fault::DirectNotSynced) && matches!(self.placing, Placing::Runs { .. })) {
            self.sync(file)?;
        }
        if let Placing::Runs { run, used_bytes, .. } = &mut self.placing {
            let place = file.disk.place();
            let file_len = file.disk.len().map_err(|error| Error::io("read the length of", place, &error))?;
            let mut space = file.space.lock();
            space.shrink_provisional(*run, *used_bytes);
            run.len_bytes = *used_bytes;
            // What the run had behind the end of the file is not there to be promised to anybody.
            space.cut_to(file_len);
            drop(space);
            file.log.claim_for_checkpoint(&file.space)?;
        }
        Ok(&self.allocated)
    }

    /// Gives everything back: nothing is going to name it.
    pub(crate) fn abandon(mut self, file: &FileStore) {
        // Of a poisoned handle nobody knows what is named, and a child of fork gives nothing away.
        if file.poison.check().is_err() {
            return;
        }
        let mut space = file.space.lock();
        if let Placing::Runs { run, used_bytes, .. } = &self.placing {
            space.shrink_provisional(*run, *used_bytes);
        }
        self.allocated
            .drain(..)
            .filter(|extent| extent.len_bytes > 0)
            .for_each(|extent| space.release(extent));
        // What it would have added to the file is not there.
        cut_to_file(&*file.disk, &mut space);
    }
}
