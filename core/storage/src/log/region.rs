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
/// Regions grow up to a part of the file, but at least and at most to these sizes.
const REGION_GROWTH_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=64 << 20;
const REGION_PART_OF_FILE: u64 = 32;
/// The last two units of a region are for the two copies of the frame that names the next one.
pub(super) const EXTENSION_BYTES: u64 = 2 * UNIT_BYTES;
/// One more unit is kept for the announcement of a checkpoint.
pub(super) const CONTROL_BYTES: u64 = UNIT_BYTES;
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

impl Log {
    /// Makes a region ready that has room for `needed_bytes`, unless somebody else did meanwhile. When this fails for
    /// want of space, nothing has changed.
    pub(crate) fn prepare_region(
        &self,
        section: &Mutex<Section>,
        space: &Mutex<Space>,
        needed_bytes: u64,
    ) -> Result<()> {
        let _one_at_a_time = self.preparing.lock();
        {
            let section = section.lock();
            // Asked for ahead of need, one region is enough.
            if if needed_bytes == 0 {
                !section.queue.wants_region()
            } else {
                section.queue.has_room(needed_bytes)
            } {
                return Ok(());
            }
        }
        self.poison.check()?;
        let salt =
            self.disk.entropy().map_err(|error| Error::io("make a salt", self.disk.place(), &error))?;
        let (last_bytes, spare) = {
            let mut writer = self.writer.lock();
            let last = writer.regions.back().map_or(0, |region| region.extent.len_bytes);
            (last, writer.spare.take())
        };
        let least = needed_bytes + EXTENSION_BYTES + CONTROL_BYTES;
        let extent = match spare {
            Some(extent) if extent.len_bytes >= least => extent,
            spare => {
                let extent = {
                    let mut space = space.lock();
                    spare.into_iter().for_each(|extent| space.release(extent));
                    let part = (space.end() / REGION_PART_OF_FILE).next_power_of_two();
                    let largest = part.clamp(*REGION_GROWTH_BYTES.start(), *REGION_GROWTH_BYTES.end());
                    let wanted = (last_bytes * 2).clamp(FIRST_REGION_BYTES, largest);
                    space.allocate_below(wanted.max(least), u64::MAX)
                };
                if let Err(error) = self.fill(extent) {
                    let mut space = space.lock();
                    space.release(extent);
                    space.trim();
                    return Err(error);
                }
                extent
            }
        };
        let mut writer = self.writer.lock();
        let ordinal = writer.regions.back().map_or(0, |region| region.ordinal + 1);
        let region = LiveRegion { ordinal, extent, salt, end: 0, last_sequence: 0 };
        writer.regions.push_back(region);
        drop(writer);
        section.lock().queue.add_region(ordinal, region.room_bytes());
        Ok(())
    }
}

impl Log {
    /// Writes zeros over a region, so that a durable write into it need not allocate blocks or change the file's
    /// length, and makes that length durable before anything names the region.
    fn fill(&self, extent: Extent) -> Result<()> {
        write_zeros(&*self.disk, extent)?;
        if !planted(Fault::LengthNotSynced) {
            let synced = self
                .disk
                .sync()
                .map_err(|error| Error::io("sync a new log region", self.disk.place(), &error));
            synced.map_err(|error| self.poison.set(&error))?;
        }
        Ok(())
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
