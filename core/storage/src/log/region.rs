//! Regions: the parts of the file that hold the log.

use super::Log;
use crate::block::UNIT_BYTES;
use crate::bytes::{Reader, put_u64};
use crate::commit::Section;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::space::{Extent, Space};
use crate::superblock::RegionEntry;
use parking_lot::Mutex;

/// The first region of a new file.
pub(crate) const FIRST_REGION_BYTES: u64 = 256 << 10;
/// Regions grow up to a part of the file, but at least to this size.
const REGION_GROWTH_MIN_BYTES: u64 = 4 << 20;
const REGION_PART_OF_FILE: u64 = 32;
/// The last two units of a region are for the two copies of the frame that names the next one.
pub(super) const EXTENSION_BYTES: u64 = 2 * UNIT_BYTES;
/// One more unit is kept for the announcement of a checkpoint.
pub(super) const CONTROL_BYTES: u64 = UNIT_BYTES;
/// What is set aside for deletes on a full disk: a region of a few commits, until a checkpoint frees another.
pub(crate) const KEPT_FOR_DELETES_BYTES: u64 = 64 << 10;
/// Zeros are written in pieces of this size.
const ZEROS_BYTES: usize = 256 << 10;

/// A region in use, or ready to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveRegion {
    /// Counts regions since the file was opened.
    pub(crate) ordinal: u64,
    pub(crate) extent: Extent,
    pub(crate) salt: u64,
    /// Where its frames end; 0 until it is left.
    pub(crate) end: u64,
    /// The newest commit in it.
    pub(crate) last_sequence: u64,
}

impl LiveRegion {
    pub(crate) fn room_bytes(&self) -> u64 {
        self.extent.len_bytes - EXTENSION_BYTES - CONTROL_BYTES
    }

    pub(crate) fn entry(&self) -> RegionEntry {
        RegionEntry {
            start: self.extent.offset,
            len_bytes: self.extent.len_bytes,
            salt: self.salt,
            end: self.end,
        }
    }
}

/// The payload of an extension frame: where the region's frames end, and the region that follows.
pub(super) fn encode_extension(end: u64, next: &LiveRegion) -> Vec<u8> {
    let mut payload = Vec::with_capacity(32);
    for number in [end, next.extent.offset, next.extent.len_bytes, next.salt] {
        put_u64(&mut payload, number);
    }
    payload
}

/// Reads [`encode_extension`].
pub(super) fn decode_extension(payload: &[u8]) -> Option<(u64, RegionEntry)> {
    let mut reader = Reader::new(payload);
    let (end, start, len_bytes, salt) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
    Some((end, RegionEntry { start, len_bytes, salt, end: 0 }))
}

/// How much somebody needs a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It will be needed soon.
    Soon,
    /// For a commit that takes so many bytes of it.
    Bytes(u64),
    /// For a commit that only frees space: what is kept for that may be used.
    ToFreeSpace(u64),
}

impl Need {
    fn bytes(self) -> u64 {
        match self {
            Need::Soon => 0,
            Need::Bytes(bytes) | Need::ToFreeSpace(bytes) => bytes,
        }
    }
}

impl Log {
    /// Makes a region ready, unless somebody else did meanwhile. When this fails for want of space, nothing has
    /// changed.
    pub(crate) fn prepare_region(
        &self,
        section: &Mutex<Section>,
        space: &Mutex<Space>,
        need: Need,
    ) -> Result<()> {
        let _one_at_a_time = self.preparing.lock();
        let is_there = match need {
            Need::Soon => !section.lock().queue.wants_region(),
            Need::Bytes(bytes) => section.lock().queue.has_room(bytes, false),
            Need::ToFreeSpace(bytes) => section.lock().queue.has_room(bytes, true),
        };
        if is_there {
            return Ok(());
        }
        self.poison.check()?;
        let salt =
            self.disk.entropy().map_err(|error| Error::io("make a salt", self.disk.place(), &error))?;
        let extent = self.find_extent(space, need)?;
        let mut writer = self.writer.lock();
        let ordinal = writer.regions.back().map_or(0, |region| region.ordinal + 1);
        let region = LiveRegion { ordinal, extent, salt, end: 0, last_sequence: 0 };
        writer.regions.push_back(region);
        drop(writer);
        section.lock().queue.add_region(ordinal, region.room_bytes());
        Ok(())
    }

    /// A part of the file for a region: the one that a checkpoint handed back, a larger one than the last, a small
    /// one, or for those who free space what was set aside for them.
    fn find_extent(&self, space: &Mutex<Space>, need: Need) -> Result<Extent> {
        // What is kept of a region for deletes is less than a tenth of it.
        let needed = (need.bytes() + need.bytes() / 10).next_multiple_of(UNIT_BYTES);
        let least = needed + EXTENSION_BYTES + CONTROL_BYTES + UNIT_BYTES;
        let (last_bytes, in_log, spare) = {
            let mut writer = self.writer.lock();
            let in_log = writer.regions.iter().map(|region| region.extent.len_bytes).sum::<u64>();
            let last_bytes = writer.regions.back().map_or(0, |region| region.extent.len_bytes);
            (last_bytes, in_log, writer.spare.take())
        };
        if let Some(spare) = spare {
            let is_enough = spare.len_bytes >= least;
            if is_enough && claim_free(&*self.disk, space, in_log + spare.len_bytes).is_ok() {
                return Ok(spare);
            }
            space.lock().release(spare);
        }
        let part = (space.lock().end() / REGION_PART_OF_FILE).next_power_of_two();
        let largest = part.clamp(REGION_GROWTH_MIN_BYTES, self.region_max_bytes);
        let wanted = (last_bytes * 2).clamp(FIRST_REGION_BYTES, largest).max(least);
        // On a disk that is nearly full a smaller one has to do.
        for len_bytes in [wanted, FIRST_REGION_BYTES.max(least), KEPT_FOR_DELETES_BYTES.max(least)] {
            match self.claim_region(space, in_log, len_bytes) {
                Err(Error::Full { .. }) => {}
                claimed => return claimed,
            }
        }
        if !matches!(need, Need::ToFreeSpace(_)) {
            return Err(Error::Full { place: self.disk.place().to_owned() });
        }
        let kept = self.writer.lock().kept_for_deletes.take_if(|kept| kept.len_bytes >= least);
        let in_file = || self.claim_region_in_file(space, least);
        kept.or_else(in_file).ok_or_else(|| Error::Full { place: self.disk.place().to_owned() })
    }

    /// Takes a region for which the file need not grow. It is filled all the same: a free part of the file may be one
    /// that nothing was ever written to, for which the disk has no room.
    fn claim_region_in_file(&self, space: &Mutex<Space>, len_bytes: u64) -> Option<Extent> {
        let extent = space.lock().allocate_region_in_file(len_bytes, u64::MAX)?;
        let filled = write_zeros(&*self.disk, extent);
        filled.map(|()| extent).inspect_err(|_| space.lock().release(extent)).ok()
    }

    /// Takes a region of this size, filled with zeros so that a durable write into it need not allocate blocks, and
    /// claims as much again as all regions have for the checkpoint that is going to free them. Its length is durable before anything names
    /// it.
    fn claim_region(&self, space: &Mutex<Space>, in_log: u64, len_bytes: u64) -> Result<Extent> {
        let extent = {
            let mut space = space.lock();
            let limit = space.used_bytes();
            space.allocate_region(len_bytes, limit)
        };
        let filled = write_zeros(&*self.disk, extent)
            .and_then(|()| claim_free(&*self.disk, space, in_log + len_bytes));
        if let Err(error) = filled {
            let mut space = space.lock();
            space.release(extent);
            cut_to_file(&*self.disk, &mut space);
            return Err(error);
        }
        if !planted(Fault::LengthNotSynced) {
            let place = self.disk.place();
            let synced = self.disk.sync().map_err(|error| Error::io("sync a new log region", place, &error));
            synced.map_err(|error| self.poison.set(&error))?;
        }
        Ok(extent)
    }

    /// Frees the region that is kept to be used again; says whether there was one.
    pub(crate) fn give_spare_back(&self, space: &Mutex<Space>) -> bool {
        let spare = self.writer.lock().spare.take();
        spare.into_iter().for_each(|extent| space.lock().release(extent));
        spare.is_some()
    }

    /// Sees to it that as much is free as the log holds: the checkpoint that is going to write it needs that. Who has
    /// taken much of the file for something else asks for it.
    pub(crate) fn claim_for_checkpoint(&self, space: &Mutex<Space>) -> Result<()> {
        let in_log: u64 = self.writer.lock().regions.iter().map(|region| region.extent.len_bytes).sum();
        claim_free(&*self.disk, space, in_log + self.outside_bytes())
    }

    /// Sets a small part of the file aside, so that a full disk can be emptied: deletes need log, too.
    pub(crate) fn keep_for_deletes(&self, space: &Mutex<Space>) {
        if self.writer.lock().kept_for_deletes.is_some() {
            return;
        }
        let kept = self.claim_region_in_file(space, KEPT_FOR_DELETES_BYTES);
        // Checkpoints are taken one at a time, and nobody else sets it.
        self.writer.lock().kept_for_deletes = kept;
    }
}

/// Makes the file so long that it has `len_bytes` free, and claims them of the disk.
fn claim_free(disk: &dyn Disk, space: &Mutex<Space>, len_bytes: u64) -> Result<()> {
    let grown = {
        let mut space = space.lock();
        let missing = len_bytes.saturating_sub(space.free_bytes());
        if missing == 0 {
            return Ok(());
        }
        let grown = space.grow(missing);
        // A checkpoint may write the map meanwhile: for it this is free.
        space.set_provisional(grown);
        grown
    };
    let reserved = disk.reserve(grown.offset, grown.len_bytes);
    let mut space = space.lock();
    space.release(grown);
    reserved.map_err(|error| {
        cut_to_file(disk, &mut space);
        Error::io("make room for the next checkpoint", disk.place(), &error)
    })
}

/// After a write that failed: what the file does not have is not free. Somebody else may have written behind the part
/// that failed, so what is free at the end is claimed of the disk again, or given back to it.
pub(crate) fn cut_to_file(disk: &dyn Disk, space: &mut Space) {
    space.cut_to(disk.len().unwrap_or(0));
    let end = space.end();
    let tail = space.trim();
    if end == tail || disk.reserve(tail, end - tail).is_ok() {
        space.untrim(end);
    } else {
        // A file that stays longer than it has to be does no harm.
        let _ = disk.set_len(tail);
    }
}

/// Fills a part of the file with zeros.
pub(crate) fn write_zeros(disk: &dyn Disk, extent: Extent) -> Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    let mut at = extent.offset;
    while at < extent.end() {
        let len = (extent.end() - at).min(ZEROS_BYTES as u64);
        let piece = zeros.get(..len as usize).unwrap_or_default();
        disk.write_at(at, piece).map_err(|error| Error::io("make room for the log", disk.place(), &error))?;
        at += len;
    }
    Ok(())
}
