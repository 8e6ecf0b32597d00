//! Checkpoints: the state as blocks, so that the log before it is not needed any more.
//!
//! A checkpoint takes the newest state as it is at one moment and writes what the last one does not hold: nodes and
//! values without a place, and the branches above them. Commits go on meanwhile. The superblock makes it the newest; a
//! frame in the log announces that; only then is what it dropped used again. Until the superblock is written a
//! failure costs nothing but the new blocks; from there on it poisons the handle.

mod dropped;
mod release;
mod relocate;
mod tables;
mod walk;

pub(crate) use release::Releases;
pub(crate) use tables::{TableEntry, load, tables_tree};

use crate::block::{BlockPointer, UNIT_BYTES};
use crate::block_writer::BlockWriter;
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::file_store::FileStore;
use crate::log::{Item, LiveRegion, Until};
use crate::pending::Pending;
use crate::space::Extent;
use crate::state::State;
use crate::store::Shared;
use crate::superblock::{MAX_REGIONS, RegionEntry, Superblock};
use crate::tree::Tree;
use relocate::Relocation;
use std::sync::Arc;
use walk::{Walk, Written};

/// A checkpoint is due when the log has left this part of the file behind, within these bounds; what it holds is in
/// memory until then, so a small cache makes checkpoints come sooner.
const LOG_PART_OF_FILE: u64 = 16;
const LOG_MIN_BYTES: u64 = 8 << 20;
const LOG_MAX_BYTES: u64 = 64 << 20;
const LOG_PART_OF_CACHE: u64 = 4;

/// Bytes of log after which a checkpoint is due at the latest, with a cache of this size.
pub(crate) fn log_max_bytes(cache_bytes: usize) -> u64 {
    (cache_bytes as u64 / LOG_PART_OF_CACHE).clamp(LOG_MIN_BYTES, LOG_MAX_BYTES)
}

/// Less than this at the end of the file is left there.
const TRIM_FROM_BYTES: u64 = 256 << 10;

/// The newest checkpoint.
pub(crate) struct Newest {
    pub(crate) superblock: Superblock,
    pub(crate) tables_tree: Tree,
    /// What it and earlier ones dropped, until one of them is announced: blocks, and regions of the log.
    to_release: Vec<Extent>,
    regions_to_release: Vec<Extent>,
    /// What an attempt that came to nothing had taken from the commit section.
    carried: Pending,
    relocation: Relocation,
    /// Bytes that it wrote.
    written_bytes: u64,
    /// Checkpoints since the store was opened.
    pub(crate) taken: u64,
}

impl Newest {
    pub(crate) fn new(superblock: Superblock, tables_tree: Tree) -> Newest {
        Newest {
            superblock,
            tables_tree,
            to_release: Vec::new(),
            regions_to_release: Vec::new(),
            carried: Pending::default(),
            relocation: Relocation::default(),
            written_bytes: 0,
            taken: 0,
        }
    }

    /// What it dropped and nobody may use yet.
    pub(crate) fn to_release(&self) -> &[Extent] {
        &self.to_release
    }
}

/// A state to be written, and what came with it.
struct Cut {
    state: Arc<State>,
    pending: Pending,
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
        let old_bytes = self.log.old_bytes() + self.log.outside_bytes();
        old_bytes >= (self.space.lock().end() / LOG_PART_OF_FILE).clamp(LOG_MIN_BYTES, self.log_max_bytes)
    }

    /// Takes a checkpoint, unless the last one holds everything.
    pub(crate) fn checkpoint(&self, shared: &Shared) -> Result<()> {
        let mut newest = self.newest.lock();
        self.poison.check()?;
        let _guard = PanicGuard(self);
        // Readers may have gone since the last one, and this one needs room.
        self.free_released();
        if self.is_up_to_date(shared, &newest) {
            return Ok(());
        }
        let limit = self.loose_from();
        if let Some(limit) = limit {
            let written_bytes = newest.written_bytes;
            // What cannot be read cannot be moved; the checkpoint does not need it.
            let _ = self.relocate(shared, &mut newest.relocation, limit, written_bytes);
        }
        let Cut { state, pending } = self.cut(shared, &mut newest);
        let below = limit.unwrap_or(u64::MAX);
        let result = self.write_and_publish(shared, &state, &pending, &mut newest, below);
        if let Err(error) = result {
            newest.carried = pending;
            return Err(error);
        }
        newest.taken += 1;
        // States that were made while it was written may still read what it dropped: they end with this epoch.
        let epoch = {
            let _section = shared.section.lock();
            self.begin_epoch(shared, state.pages.epoch)
        };
        // It would keep itself from releasing what it dropped.
        drop(state);
        self.announce(shared, &mut newest, epoch)
    }

    fn is_up_to_date(&self, shared: &Shared, newest: &Newest) -> bool {
        let sequence = shared.published.read().sequence;
        sequence == newest.superblock.sequence
            && newest.superblock.tables_root.is_some()
            && newest.to_release.is_empty()
            && newest.regions_to_release.is_empty()
            && self.regions_after(sequence).1.is_empty()
            && (newest.relocation.settled_at == Some(sequence) || self.loose_from().is_none())
    }

    /// Whether a checkpoint would make the file shorter although nothing has changed.
    pub(crate) fn wants_relocation(&self, sequence: u64) -> bool {
        let is_settled = |newest: &Newest| newest.relocation.settled_at == Some(sequence);
        self.newest.try_lock().is_some_and(|newest| !is_settled(&newest)) && self.loose_from().is_some()
    }

    /// Takes the newest state, and begins the next epoch.
    fn cut(&self, shared: &Shared, newest: &mut Newest) -> Cut {
        let mut section = shared.section.lock();
        let state = Arc::clone(&shared.published.read());
        self.begin_epoch(shared, state.pages.epoch);
        let mut pending = std::mem::take(&mut newest.carried);
        pending.append(std::mem::take(&mut section.pending));
        Cut { state, pending }
    }

    /// Gives the newest state, as it is, to a new epoch; returns the one before. Called with the commit section locked.
    fn begin_epoch(&self, shared: &Shared, cut_epoch: u64) -> u64 {
        let mut published = shared.published.write();
        let epoch = published.pages.epoch;
        let next = State { pages: published.pages.next(cut_epoch), ..State::clone(&published) };
        self.releases.begin_epoch(&next.pages);
        *published = Arc::new(next);
        epoch
    }

    fn write_and_publish(
        &self,
        shared: &Shared,
        state: &State,
        pending: &Pending,
        newest: &mut Newest,
        below: u64,
    ) -> Result<()> {
        let checkpoint = newest.superblock.checkpoint + 1;
        let mut walk = Walk::new(self, BlockWriter::for_checkpoint(checkpoint, below));
        let written = walk.state(state, newest.tables_tree.clone(), pending).and_then(|written| {
            if planted(Fault::ReusedEarly) {
                let mut space = self.space.lock();
                written.dropped.iter().for_each(|extent| space.release(*extent));
            }
            let map = self.write_space_map(&mut walk.writer, pending, &written, newest)?;
            walk.writer.finish(self)?;
            Ok((written, map))
        });
        let (written, map) = match written {
            Ok(written) => written,
            Err(error) => {
                walk.writer.abandon(self);
                return Err(error);
            }
        };
        newest.written_bytes = walk.writer.written_bytes;
        // Commits that the superblock holds and the log does not would leave a gap in the log.
        let result = self.log.wait(&shared.section, Until::Sequence(state.sequence));
        result
            .and_then(|()| self.publish(state, newest, written, map, pending))
            .map_err(|error| self.poison.set(&error))
    }

    /// Writes the list of what is free once this checkpoint is the newest. It reaches itself, so its place is taken
    /// before it is known how long it is.
    fn write_space_map(
        &self,
        writer: &mut BlockWriter,
        pending: &Pending,
        written: &Written,
        newest: &Newest,
    ) -> Result<BlockPointer> {
        let mut dropped = if planted(Fault::ReusedEarly) { Vec::new() } else { written.dropped.clone() };
        dropped.extend_from_slice(&newest.to_release);
        dropped.extend(newest.superblock.space_map.map(|map| map.extent()));
        let encoded = self.releases.with_waiting(|waiting| {
            dropped.extend_from_slice(waiting);
            let mut space = self.space.lock();
            let before = space.encode(&pending.provisional, &dropped)?;
            let place = writer.claim(&mut space, before.len());
            match planted(Fault::MapWithoutItself) {
                true => Some((before, place)),
                false => Some((space.encode(&pending.provisional, &dropped)?, place)),
            }
        });
        let free_twice = || Error::corrupt(self.disk.place(), "a part of the file would be free twice");
        let (raw, place) = encoded.ok_or_else(free_twice)?;
        writer.write_at(self, place, raw)
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
    fn publish(
        &self,
        state: &State,
        newest: &mut Newest,
        written: Written,
        map: BlockPointer,
        pending: &Pending,
    ) -> Result<()> {
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
            tables_height: written.tables_tree.height(),
            space_map: Some(map),
            regions,
            ..newest.superblock.clone()
        };
        superblock.write(&*self.disk)?;
        written.placed.into_iter().for_each(|placed| placed.remember(self));
        {
            let mut space = self.space.lock();
            pending.provisional.iter().for_each(|extent| space.settle(*extent));
            self.log.take_outside(pending.outside_bytes());
            newest.regions_to_release.extend_from_slice(&pending.outside);
        }
        let mut writer = self.log.writer.lock();
        writer.checkpoint = superblock.checkpoint;
        writer.regions.retain(|region| dropped.iter().all(|gone| gone.ordinal != region.ordinal));
        self.log.set_oldest_region(writer.regions.front().map_or(writer.active, |region| region.ordinal));
        drop(writer);
        if !planted(Fault::ReusedEarly) {
            newest.to_release.extend(written.dropped);
        }
        newest.to_release.extend(newest.superblock.space_map.map(|map| map.extent()));
        newest.regions_to_release.extend(dropped.iter().map(|region| region.extent));
        newest.superblock = superblock;
        newest.tables_tree = written.tables_tree;
        Ok(())
    }

    /// Says in the log that the checkpoint is durable, and frees what it dropped, as far as no snapshot needs it.
    /// Without room in the log it stays as it is until the next checkpoint.
    fn announce(&self, shared: &Shared, newest: &mut Newest, epoch: u64) -> Result<()> {
        let Some(item) = shared.section.lock().queue.push_control(Item::Checkpoint) else { return Ok(()) };
        self.log.wait(&shared.section, Until::Item(item))?;
        let checkpoint = newest.superblock.checkpoint;
        let mut regions = std::mem::take(&mut newest.regions_to_release);
        if self.is_pinned_before(checkpoint) && !planted(Fault::ReusedUnderReader) {
            // Somebody may still be replaying them. Like blocks, they are in use until then, and not for the log.
            let mut space = self.space.lock();
            regions.iter().for_each(|extent| space.settle(*extent));
            newest.to_release.append(&mut regions);
        }
        self.keep_spare_region(&mut regions);
        {
            let mut space = self.space.lock();
            regions.into_iter().for_each(|extent| space.release(extent));
        }
        self.releases.add(epoch, checkpoint, std::mem::take(&mut newest.to_release));
        self.free_released();
        self.log.keep_for_deletes(&self.space);
        self.trim()
    }

    /// Frees what checkpoints dropped and nobody reads any more.
    pub(crate) fn free_released(&self) {
        self.releases.free(&self.space, &|checkpoint| self.is_pinned_before(checkpoint));
    }

    /// Whether another process reads an older checkpoint. When the system cannot tell, nobody does: where there are no
    /// locks, readers could not have pinned anything.
    fn is_pinned_before(&self, checkpoint: u64) -> bool {
        self.disk.is_pinned_before(checkpoint).unwrap_or(false)
    }

    /// Keeps the largest extent that was a region, so that the next one need not be filled with zeros.
    fn keep_spare_region(&self, released: &mut Vec<Extent>) {
        let mut writer = self.log.writer.lock();
        let current = writer.regions.back().map_or(0, |region| region.extent.len_bytes);
        let used_bytes = self.space.lock().used_bytes();
        // Regions are larger than any block but those of single huge records. Changes outside the log are released with
        // them, and lie on smaller units than a region may.
        let fits = |extent: &Extent| {
            let is_whole = [extent.offset, extent.len_bytes].iter().all(|at| at.is_multiple_of(UNIT_BYTES));
            is_whole && (current..=current * 2).contains(&extent.len_bytes) && extent.offset < used_bytes
        };
        if writer.spare.is_none()
            && let Some(at) = released.iter().position(fits)
        {
            writer.spare = Some(released.swap_remove(at));
        }
    }

    /// Shortens the file by what is free at its end.
    pub(crate) fn trim(&self) -> Result<()> {
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
