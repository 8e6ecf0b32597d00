//! Checkpoints: the state as blocks, so that the log before it is not needed any more.
//!
//! A checkpoint takes the newest state as it is at one moment and writes what the last one does not hold: nodes and
//! values without a place, and the branches above them. Commits go on meanwhile. The superblock makes it the newest; a
//! frame in the log announces that; only then is what it dropped used again. Until the superblock is written a
//! failure costs nothing but the new blocks; from there on it poisons the handle.

mod load;
mod node_block;
mod tables;
mod walk;
mod writer;

pub(crate) use load::{Loaded, load};
pub(crate) use walk::placed_extents;

use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::file_store::FileStore;
use crate::log::{Item, LiveRegion, Until};
use crate::space::Extent;
use crate::state::State;
use crate::store::Shared;
use crate::superblock::{MAX_REGIONS, RegionEntry, Superblock};
use crate::tree::Tree;
use std::sync::Arc;
use walk::Written;

/// A checkpoint is due when the log has left this part of the file behind, and at the latest after so many bytes.
const LOG_PART_OF_FILE: u64 = 16;
const LOG_BYTES: u64 = 64 << 20;
/// Files below this size are not worth moving anything in.
const MOVE_FROM_BYTES: u64 = 2 << 20;
/// Less than this at the end of the file is left there.
const TRIM_FROM_BYTES: u64 = 256 << 10;

/// The newest checkpoint.
pub(crate) struct Newest {
    pub(crate) superblock: Superblock,
    pub(crate) tables_tree: Tree,
    /// Every extent that it reaches, sorted.
    pub(crate) used: Vec<Extent>,
    /// What it and earlier ones dropped, until one of them is announced.
    to_release: Vec<Extent>,
    /// Checkpoints since the store was opened.
    pub(crate) taken: u64,
}

impl Newest {
    pub(crate) fn new(superblock: Superblock, tables_tree: Tree, used: Vec<Extent>) -> Newest {
        Newest { superblock, tables_tree, used, to_release: Vec::new(), taken: 0 }
    }

    /// What it dropped and nobody may use yet.
    pub(crate) fn to_release(&self) -> &[Extent] {
        &self.to_release
    }
}

/// Poisons the handle when a checkpoint panics.
struct PanicGuard<'f>(&'f FileStore);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison.set_cause("a panic during a checkpoint");
        }
    }
}

impl FileStore {
    /// Whether the log has left so much behind that a checkpoint is due: a checkpoint writes whole leaves for single
    /// entries, so it waits longer in a large file.
    pub(crate) fn wants_checkpoint(&self) -> bool {
        let old_bytes = self.log.old_bytes();
        old_bytes > 0 && old_bytes >= (self.space.lock().end() / LOG_PART_OF_FILE).min(LOG_BYTES)
    }

    /// Takes a checkpoint, unless the last one holds everything.
    pub(crate) fn checkpoint(&self, shared: &Shared) -> Result<()> {
        let mut newest = self.newest.lock();
        self.poison.check()?;
        let _guard = PanicGuard(self);
        let state = Arc::clone(&shared.published.read());
        let (_, dropped) = self.regions_after(state.sequence);
        if state.sequence == newest.superblock.sequence
            && newest.superblock.tables_root.is_some()
            && newest.to_release.is_empty()
            && dropped.is_empty()
        {
            return Ok(());
        }
        let written = self.write_blocks(&state, &newest)?;
        // Commits that the superblock holds and the log does not would leave a gap in the log.
        let result = self.log.wait(&shared.section, Until::Sequence(state.sequence));
        result
            .and_then(|()| self.publish(&state, &mut newest, written))
            .map_err(|error| self.poison.set(&error))?;
        newest.taken += 1;
        self.announce(shared, &mut newest)
    }

    fn write_blocks(&self, state: &State, newest: &Newest) -> Result<Written> {
        if planted(Fault::ReusedEarly) {
            let placed = placed_extents(state, &newest.tables_tree);
            let mut space = self.space.lock();
            difference(&newest.used, &placed).for_each(|extent| space.release(extent));
        }
        let limit = {
            let space = self.space.lock();
            let is_loose = space.end() > MOVE_FROM_BYTES && space.free_bytes() > space.end() * 15 / 100;
            if is_loose { space.used_bytes() + space.used_bytes() / 16 } else { u64::MAX }
        };
        walk::write(self, state, &newest.tables_tree, newest.superblock.checkpoint + 1, limit)
    }

    /// The regions that a superblock for the state after `sequence` has to name, and those it has not.
    fn regions_after(&self, sequence: u64) -> (Vec<RegionEntry>, Vec<LiveRegion>) {
        let writer = self.log.writer.lock();
        let used = writer.regions.iter().copied().filter(|region| region.ordinal <= writer.active);
        let (kept, dropped): (Vec<LiveRegion>, Vec<LiveRegion>) =
            used.partition(|region| region.ordinal == writer.active || region.last_sequence > sequence);
        (kept.iter().map(LiveRegion::entry).collect(), dropped)
    }

    /// Makes the written blocks the newest checkpoint.
    fn publish(&self, state: &State, newest: &mut Newest, written: Written) -> Result<()> {
        let (regions, dropped) = self.regions_after(state.sequence);
        if regions.len() > MAX_REGIONS {
            return Err(Error::Misuse { what: "the log has more regions than a superblock can name" });
        }
        let superblock = Superblock {
            number: newest.superblock.number + 1,
            checkpoint: newest.superblock.checkpoint + 1,
            sequence: state.sequence,
            next_table: state.next_table,
            tables_root: Some(written.tables_root),
            regions,
            ..newest.superblock.clone()
        };
        superblock.write(&*self.disk)?;
        written.placed.into_iter().for_each(|placed| placed.remember());
        let mut writer = self.log.writer.lock();
        writer.checkpoint = superblock.checkpoint;
        writer.regions.retain(|region| dropped.iter().all(|gone| gone.ordinal != region.ordinal));
        self.log.set_oldest_region(writer.regions.front().map_or(writer.active, |region| region.ordinal));
        drop(writer);
        newest.to_release.extend(difference(&newest.used, &written.used));
        newest.to_release.extend(dropped.iter().map(|region| region.extent));
        newest.superblock = superblock;
        newest.used = written.used;
        newest.tables_tree = written.tables_tree;
        Ok(())
    }

    /// Says in the log that the checkpoint is durable, and frees what it dropped. Without room in the log it stays
    /// as it is until the next checkpoint.
    fn announce(&self, shared: &Shared, newest: &mut Newest) -> Result<()> {
        let Some(item) = shared.section.lock().queue.push_control(Item::Checkpoint) else { return Ok(()) };
        self.log.wait(&shared.section, Until::Item(item))?;
        let mut released = std::mem::take(&mut newest.to_release);
        if !planted(Fault::ReusedEarly) {
            self.keep_spare_region(&mut released);
            let mut space = self.space.lock();
            released.into_iter().for_each(|extent| space.release(extent));
            drop(space);
            self.log.keep_for_deletes(&self.space);
            self.trim()?;
        }
        Ok(())
    }

    /// Keeps the largest extent that was a region, so that the next one need not be filled with zeros.
    fn keep_spare_region(&self, released: &mut Vec<Extent>) {
        let mut writer = self.log.writer.lock();
        let current = writer.regions.back().map_or(0, |region| region.extent.len_bytes);
        let used_bytes = self.space.lock().used_bytes();
        // Regions are larger than any block but those of single huge records.
        let fits = |extent: &Extent| {
            extent.len_bytes >= current && extent.len_bytes <= current * 2 && extent.offset < used_bytes
        };
        if writer.spare.is_none()
            && let Some(at) = released.iter().position(fits)
        {
            writer.spare = Some(released.swap_remove(at));
        }
    }

    /// Shortens the file by what is free at its end.
    fn trim(&self) -> Result<()> {
        let mut space = self.space.lock();
        let before = space.end();
        let after = space.trim();
        if before - after < TRIM_FROM_BYTES {
            space.untrim(before);
            return Ok(());
        }
        // Under the lock: nobody is given anything behind the new end before the file has it.
        let cut = self.disk.set_len(after);
        cut.map_err(|error| self.poison.set(&Error::io("shorten the file", self.disk.place(), &error)))
    }
}

/// What is in `old` and not in `new`; both are sorted.
fn difference<'e>(old: &'e [Extent], new: &'e [Extent]) -> impl Iterator<Item = Extent> + 'e {
    let mut new = new.iter().peekable();
    old.iter().copied().filter(move |extent| {
        while new.next_if(|other| *other < extent).is_some() {}
        new.peek() != Some(&extent)
    })
}
