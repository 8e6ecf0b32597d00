//! The superblock: where everything begins.
//!
//! Two slots are written in turn, each in two copies, each copy synced before the next is touched. A crash can
//! therefore damage one copy at most; a slot with two bad copies was damaged later, and nobody may go on from the
//! older slot as if nothing were missing. What an opener has to know stands in the first 512 bytes of a copy as long
//! as there are few log regions, so that the first superblock of a new file is there or is not.

use crate::block::{BlockPointer, UNIT_BYTES};
use crate::bytes::{Reader, put_u32, put_u64};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::fault::{Fault, checksum_fits, planted};
use xxhash_rust::xxh3::xxh3_64;

/// Version of the file format.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// Where blocks and log regions may begin: behind the superblocks, the owner's sector and three spare units.
pub(crate) const DATA_START_BYTES: u64 = 8 * UNIT_BYTES;
/// The owner's sector.
pub(crate) const OWNER_OFFSET_BYTES: u64 = 4 * UNIT_BYTES;
/// Most log regions that a superblock has room for.
pub(crate) const MAX_REGIONS: usize = 64;

const MAGIC: &[u8; 8] = b"MULTIFDB";
const COPY_BYTES: usize = UNIT_BYTES as usize;
/// Magic and checksum: the checksum covers everything behind itself.
const CHECKED_FROM: usize = 16;

/// A region of the log as the superblock names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionEntry {
    /// Where it begins, in bytes.
    pub(crate) start: u64,
    pub(crate) len_bytes: u64,
    /// Seeds every hash in it, so that what the place held before is never taken for a frame.
    pub(crate) salt: u64,
    /// Where its frames end, counted from the file's start; 0 while it is being written.
    pub(crate) end: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) uuid: [u8; 16],
    /// Counts superblocks; the greater of two is the newer.
    pub(crate) number: u64,
    pub(crate) checkpoint: u64,
    /// The newest commit in the roots.
    pub(crate) sequence: u64,
    /// Counts openings for writing.
    pub(crate) generation: u64,
    pub(crate) next_table: u64,
    /// Root of the tree of tables; `None` before the first checkpoint.
    pub(crate) tables_root: Option<BlockPointer>,
    /// Levels of branches above that tree's leaves.
    pub(crate) tables_height: u8,
    /// The list of free extents; `None` with the roots.
    pub(crate) space_map: Option<BlockPointer>,
    /// The log, oldest region first; only the last may be open.
    pub(crate) regions: Vec<RegionEntry>,
}

impl Superblock {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(COPY_BYTES);
        out.extend_from_slice(MAGIC);
        put_u64(&mut out, 0);
        put_u32(&mut out, FORMAT_VERSION);
        put_u32(&mut out, 0);
        out.extend_from_slice(&self.uuid);
        for number in [self.number, self.checkpoint, self.sequence, self.generation, self.next_table] {
            put_u64(&mut out, number);
        }
        BlockPointer::encode(self.tables_root, &mut out);
        BlockPointer::encode(self.space_map, &mut out);
        put_u32(&mut out, u32::from(self.tables_height));
        put_u32(&mut out, self.regions.len() as u32);
        for region in &self.regions {
            for number in [region.start, region.len_bytes, region.salt, region.end] {
                put_u64(&mut out, number);
            }
        }
        out.resize(COPY_BYTES, 0);
        let checksum = xxh3_64(out.get(CHECKED_FROM..).unwrap_or_default());
        if let Some(place) = out.get_mut(8..CHECKED_FROM) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
        out
    }

    /// The version of a copy whose checksum is right, whatever the layout behind it.
    fn version_of(copy: &[u8]) -> Option<u32> {
        let mut reader = Reader::new(copy);
        let has_magic = reader.bytes(8)? == MAGIC;
        let is_intact = has_magic && checksum_fits(xxh3_64(copy.get(CHECKED_FROM..)?), reader.u64()?);
        if is_intact { reader.u32() } else { None }
    }

    fn decode(copy: &[u8]) -> Option<Superblock> {
        if Superblock::version_of(copy)? != FORMAT_VERSION {
            return None;
        }
        let mut reader = Reader::new(copy.get(CHECKED_FROM..)?);
        let (_format, flags) = (reader.u32()?, reader.u32()?);
        // A flag says that something is otherwise than this build knows it.
        if flags != 0 {
            return None;
        }
        let uuid = reader.bytes(16)?.try_into().ok()?;
        let [number, checkpoint, sequence, generation, next_table] =
            [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
        let tables_root = BlockPointer::decode(&mut reader)?;
        let space_map = BlockPointer::decode(&mut reader)?;
        let tables_height = u8::try_from(reader.u32()?).ok()?;
        let count = reader.u32()? as usize;
        if count > MAX_REGIONS {
            return None;
        }
        let mut regions = Vec::with_capacity(count);
        for _ in 0..count {
            let [start, len_bytes, salt, end] = [reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?];
            regions.push(RegionEntry { start, len_bytes, salt, end });
        }
        Some(Superblock {
            uuid,
            number,
            checkpoint,
            sequence,
            generation,
            next_table,
            tables_root,
            tables_height,
            space_map,
            regions,
        })
    }

    /// Writes it into its slot, one synced copy after the other.
    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<()> {
        let bytes = self.encode();
        for copy in 0..2 {
            self.write_copy(disk, &bytes, copy)?;
        }
        Ok(())
    }

    fn write_copy(&self, disk: &dyn Disk, bytes: &[u8], copy: u64) -> Result<()> {
        let at = copy_offset(self.number % 2, copy);
        let written = match planted(Fault::SuperblockNotSynced) {
            true => disk.write_at(at, bytes),
            false => disk.write_durable_at(at, bytes),
        };
        written.map_err(|error| Error::io("write the superblock", disk.place(), &error))
    }
}

fn copy_offset(slot: u64, copy: u64) -> u64 {
    (copy * 2 + slot) * UNIT_BYTES
}

/// What the superblocks of a file say.
pub(crate) enum Found {
    /// Nothing was ever written: a new file, or one whose creation was cut short.
    New,
    /// A database.
    Database {
        superblock: Box<Superblock>,
        /// Damage that forbids writing: the newest state may be missing.
        damage: Option<Error>,
    },
}

enum Slot {
    Good(Superblock),
    /// Never written, or its first writing was cut short.
    Unused,
    Bad,
}

/// Reads the superblocks. With `repair`, both copies of the newest are written again, so that a bad one is mended.
pub(crate) fn find(disk: &dyn Disk, len_bytes: u64, initial_len_bytes: u64, repair: bool) -> Result<Found> {
    let read_error = |error| Error::io("read the superblock", disk.place(), &error);
    if len_bytes == 0 {
        return Ok(Found::New);
    }
    let mut copies = vec![0; 4 * COPY_BYTES];
    let there = (len_bytes as usize).min(copies.len());
    disk.read_at(0, copies.get_mut(..there).unwrap_or_default()).map_err(read_error)?;
    let copy = |slot: usize, copy: usize| {
        copies.get((copy * 2 + slot) * COPY_BYTES..).and_then(|at| at.get(..COPY_BYTES)).unwrap_or_default()
    };
    check_version(disk, &copies)?;
    let slots = [0, 1].map(|slot| read_slot(copy(slot, 0), copy(slot, 1)));
    let is_bad = slots.iter().any(|slot| matches!(slot, Slot::Bad));
    let newest = slots.into_iter().filter_map(|slot| match slot {
        Slot::Good(superblock) => Some(superblock),
        _ => None,
    });
    let Some(superblock) = newest.max_by_key(|superblock| superblock.number) else {
        return match is_blank(disk, len_bytes, initial_len_bytes)? {
            true => Ok(Found::New),
            false if copies.chunks(COPY_BYTES).any(|copy| copy.starts_with(MAGIC)) => {
                Err(Error::corrupt(disk.place(), "no superblock is intact"))
            }
            false => Err(Error::NotADatabase { place: disk.place().to_owned() }),
        };
    };
    let slot_number = superblock.number % 2;
    if repair {
        let bytes = superblock.encode();
        // Also where nothing seems to be wrong: a sync that failed may have left bytes that only seem to be there.
        for number in 0..2 {
            superblock.write_copy(disk, &bytes, number)?;
        }
    }
    let other_is_unused = superblock.number > 1
        && read_slot(copy(1 - slot_number as usize, 0), copy(1 - slot_number as usize, 1)).is_unused();
    let damage = (is_bad || other_is_unused).then(|| {
        Error::corrupt(disk.place(), "both copies of a superblock are bad, and it may have been the newest")
    });
    Ok(Found::Database { superblock: Box::new(superblock), damage })
}

fn check_version(disk: &dyn Disk, copies: &[u8]) -> Result<()> {
    for copy in copies.chunks(COPY_BYTES) {
        if let Some(version) = Superblock::version_of(copy)
            && version != FORMAT_VERSION
        {
            return Err(Error::OtherFormat { place: disk.place().to_owned(), version });
        }
    }
    Ok(())
}

fn read_slot(first: &[u8], second: &[u8]) -> Slot {
    let is_zero = |copy: &[u8]| copy.iter().all(|&byte| byte == 0);
    match (Superblock::decode(first), Superblock::decode(second)) {
        // A crash between the copies leaves the older one in the second.
        (Some(a), Some(b)) => Slot::Good(if a.number >= b.number { a } else { b }),
        (Some(good), None) | (None, Some(good)) => Slot::Good(good),
        (None, None) if is_zero(first) || is_zero(second) => Slot::Unused,
        (None, None) => Slot::Bad,
    }
}

impl Slot {
    fn is_unused(&self) -> bool {
        matches!(self, Slot::Unused)
    }
}

/// Whether a file without superblocks is one whose creation was cut short: nothing but zeros, and not long. In a file
/// of just the first length, one copy of the first superblock may have been written in part.
fn is_blank(disk: &dyn Disk, len_bytes: u64, initial_len_bytes: u64) -> Result<bool> {
    if len_bytes > initial_len_bytes {
        return Ok(false);
    }
    let mut bytes = vec![0; len_bytes as usize];
    disk.read_at(0, &mut bytes).map_err(|error| Error::io("read", disk.place(), &error))?;
    let first = copy_offset(1, 0) / UNIT_BYTES;
    Ok(bytes.chunks(COPY_BYTES).zip(0..).all(|(unit, number)| {
        let begins_superblock = number == first && len_bytes == initial_len_bytes && unit.starts_with(MAGIC);
        let is_zero = unit.iter().all(|&byte| byte == 0);
        is_zero || begins_superblock || number * UNIT_BYTES == OWNER_OFFSET_BYTES
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimDisk;

    fn superblock(number: u64) -> Superblock {
        let region = RegionEntry { start: 32768, len_bytes: 4096, salt: 5, end: 0 };
        let tables_root = Some(BlockPointer {
            offset: 40960,
            stored_len_bytes: 5,
            raw_len_bytes: 6,
            hash: 7,
            is_twin: true,
        });
        Superblock {
            uuid: [3; 16],
            number,
            checkpoint: 4,
            sequence: 9,
            generation: 2,
            next_table: 8,
            tables_root,
            tables_height: 2,
            space_map: tables_root,
            regions: vec![region; 3],
        }
    }

    fn newest(disk: &SimDisk) -> (u64, bool) {
        match find(disk, disk.len().unwrap(), 0, true).unwrap() {
            Found::Database { superblock, damage } => (superblock.number, damage.is_some()),
            Found::New => (0, false),
        }
    }

    #[test]
    fn there_and_back_and_one_good_copy_is_enough() {
        let disk = SimDisk::from_image(vec![0; 32768], 0);
        superblock(1).write(&*disk).unwrap();
        assert_eq!(newest(&disk), (1, false));
        superblock(2).write(&*disk).unwrap();
        assert_eq!(Superblock::decode(&superblock(2).encode()), Some(superblock(2)));
        for copy in 0..2 {
            let before = disk.image();
            disk.write_at(copy_offset(0, copy) + 100, &[0xaa]).unwrap();
            assert_eq!(newest(&disk), (2, false));
            assert_eq!(disk.image(), before, "the twin repairs it");
        }
        for copy in 0..2 {
            disk.write_at(copy_offset(0, copy) + 100, &[0xaa]).unwrap();
        }
        assert_eq!(newest(&disk), (1, true), "the older one is there, but not to go on from");
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let refuse = |bytes: Vec<u8>| match find(
            &*SimDisk::from_image(bytes.clone(), 0),
            bytes.len() as u64,
            65536,
            true,
        ) {
            Err(error) => error.to_string(),
            _ => panic!("taken for a database"),
        };
        assert!(refuse(vec![7; 100]).contains("not a MultiforaDB file"));
        assert!(refuse(vec![7; 100_000]).contains("not a MultiforaDB file"));
        assert!(refuse(vec![0; 70_000]).contains("not a MultiforaDB file"));
        assert!(refuse([MAGIC.as_slice(), &[1; 9000]].concat()).contains("no superblock is intact"));
        assert!(matches!(
            find(&*SimDisk::from_image(vec![0; 50_000], 0), 50_000, 65536, true),
            Ok(Found::New)
        ));
    }
}
