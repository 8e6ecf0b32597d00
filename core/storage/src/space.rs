//! Which parts of the file are free.
//!
//! One map, kept in memory and written with every checkpoint: what the newest checkpoint does not reach is free there.
//! What was given out since for the log, or for commits that no checkpoint holds yet, is *provisional*: in use here,
//! free in what is written, because the log names it and an opener marks it before it gives anything out. Counted in
//! units of 128 bytes, log regions in 4 KiB. What is given out is the smallest free extent that fits, and of those the
//! lowest, so that the end of the file empties first.

use crate::block::{BLOCK_UNIT_BYTES, UNIT_BYTES};
use crate::bytes::{Reader, put_varint};
use crate::fault::{Fault, planted};
use crate::superblock::DATA_START_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// No file is longer, so that what is added to its end cannot overflow.
const MAX_FILE_BYTES: u64 = 1 << 62;
/// Most free extents that are looked at for one that lies low enough.
const SEARCH_LIMIT: usize = 64;

/// A part of the file, in bytes; both numbers are whole units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) len_bytes: u64,
}

impl Extent {
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.len_bytes)
    }
}

/// The free parts of the file below its end, and the end.
#[derive(Debug)]
pub(crate) struct Space {
    /// Bytes that are described here; the file is as long, or going to be.
    end: u64,
    /// Free extents by offset; no two touch.
    free: BTreeMap<u64, u64>,
    by_len: BTreeSet<(u64, u64)>,
    free_bytes: u64,
    /// In use, but not by the newest checkpoint.
    provisional: BTreeMap<u64, u64>,
}

impl Space {
    /// The map of a file that holds nothing.
    pub(crate) fn new() -> Space {
        Space {
            end: DATA_START_BYTES,
            free: BTreeMap::new(),
            by_len: BTreeSet::new(),
            free_bytes: 0,
            provisional: BTreeMap::new(),
        }
    }

    /// The map of a file in which just these extents are in use, in ascending order; `None` when they overlap or lie
    /// outside.
    pub(crate) fn with_used(used: &[Extent], end: u64) -> Option<Space> {
        let mut space = Space::all_used(end);
        let mut at = DATA_START_BYTES;
        let rest = Extent { offset: space.end, len_bytes: 0 };
        for extent in used.iter().chain([&rest]) {
            let gap = extent.offset.checked_sub(at)?;
            if gap > 0 {
                space.release(Extent { offset: at, len_bytes: gap });
            }
            at = extent.end();
        }
        Some(space)
    }

    /// The map of a file of this length in which nothing is known to be free.
    pub(crate) fn all_used(file_len: u64) -> Space {
        let end = (file_len - file_len % BLOCK_UNIT_BYTES).max(DATA_START_BYTES);
        Space { end, ..Space::new() }
    }

    /// Reads what [`encode`](Space::encode) wrote; `None` when it is not a map.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Space> {
        let mut reader = Reader::new(bytes);
        let mut space = Space::new();
        let bytes_of = |units: u64| units.checked_mul(BLOCK_UNIT_BYTES);
        space.end = bytes_of(reader.varint()?).filter(|end| *end <= MAX_FILE_BYTES)?;
        let count = reader.varint()?;
        let mut at = 0u64;
        for _ in 0..count {
            let offset = at.checked_add(bytes_of(reader.varint()?)?)?;
            let len_bytes = bytes_of(reader.varint()?)?;
            at = offset.checked_add(len_bytes)?;
            if offset < DATA_START_BYTES || len_bytes == 0 || at > space.end {
                return None;
            }
            space.release(Extent { offset, len_bytes });
        }
        // The rest of its block is filled with zeros.
        let is_end = (0..reader.left()).all(|_| reader.u8() == Some(0));
        (is_end && space.end >= DATA_START_BYTES).then_some(space)
    }

    /// The map as of a checkpoint that reaches everything that is in use, but not what is provisional, except
    /// `reached`, and not what `dropped` lists. `None` when anything is free twice: blocks of a damaged file may lead
    /// anywhere.
    pub(crate) fn encode(&self, reached: &[Extent], dropped: &[Extent]) -> Option<Vec<u8>> {
        let mut free: Vec<(u64, u64)> = self.free.iter().map(|(&offset, &len)| (offset, len)).collect();
        let mut reached: BTreeSet<u64> = reached.iter().map(|extent| extent.offset).collect();
        if planted(Fault::ProvisionalTooLong) {
            reached.clear();
        }
        free.extend(
            self.provisional
                .iter()
                .filter(|(offset, _)| !reached.contains(offset) && !planted(Fault::ProvisionalLeftOut))
                .map(|(&offset, &len)| (offset, len)),
        );
        free.extend(dropped.iter().map(|extent| (extent.offset, extent.len_bytes)));
        free.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(free.len());
        for (offset, len) in free {
            match joined.last_mut() {
                Some((last, last_len)) if *last + *last_len == offset => *last_len += len,
                _ => joined.push((offset, len)),
            }
        }
        let mut out = Vec::new();
        put_varint(&mut out, self.end / BLOCK_UNIT_BYTES);
        put_varint(&mut out, joined.len() as u64);
        let mut at = 0;
        for (offset, len) in joined {
            put_varint(&mut out, offset.checked_sub(at)? / BLOCK_UNIT_BYTES);
            put_varint(&mut out, len / BLOCK_UNIT_BYTES);
            at = offset.checked_add(len).filter(|end| offset >= DATA_START_BYTES && *end <= self.end)?;
        }
        Some(out)
    }

    /// Marks what the log names as in use, until a checkpoint reaches it. False when any of it is in use already.
    pub(crate) fn mark_provisional(&mut self, extent: Extent) -> bool {
        if extent.end() > self.end {
            // Behind the end of what the checkpoint knew.
            let end = extent.end();
            self.untrim(end);
        }
        let found = self.free.range(..=extent.offset).next_back().map(|(&offset, &len)| (offset, len));
        let Some((offset, len)) = found.filter(|&(offset, len)| offset + len >= extent.end()) else {
            return false;
        };
        self.take(offset, len);
        if offset < extent.offset {
            self.add(Extent { offset, len_bytes: extent.offset - offset });
        }
        if extent.end() < offset + len {
            self.add(Extent { offset: extent.end(), len_bytes: offset + len - extent.end() });
        }
        self.provisional.insert(extent.offset, extent.len_bytes);
        true
    }

    /// Gives out something that no checkpoint reaches yet.
    pub(crate) fn set_provisional(&mut self, extent: Extent) {
        self.provisional.insert(extent.offset, extent.len_bytes);
    }

    /// Takes back what was not used of a provisional run.
    pub(crate) fn shrink_provisional(&mut self, run: Extent, used_bytes: u64) {
        if used_bytes < run.len_bytes {
            self.release(Extent { offset: run.offset + used_bytes, len_bytes: run.len_bytes - used_bytes });
            match used_bytes {
                0 => drop(self.provisional.remove(&run.offset)),
                _ => drop(self.provisional.insert(run.offset, used_bytes)),
            }
        }
    }

    /// The newest checkpoint reaches what was provisional.
    pub(crate) fn settle(&mut self, extent: Extent) {
        self.provisional.remove(&extent.offset);
    }

    /// What is provisional.
    pub(crate) fn provisional(&self) -> impl Iterator<Item = Extent> + '_ {
        self.provisional.iter().map(|(&offset, &len_bytes)| Extent { offset, len_bytes })
    }

    fn add(&mut self, extent: Extent) {
        self.free.insert(extent.offset, extent.len_bytes);
        self.by_len.insert((extent.len_bytes, extent.offset));
        self.free_bytes += extent.len_bytes;
    }

    fn take(&mut self, offset: u64, len_bytes: u64) {
        self.free.remove(&offset);
        self.by_len.remove(&(len_bytes, offset));
        self.free_bytes -= len_bytes;
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Bytes in use, the fixed part at the beginning included.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.end - self.free_bytes
    }

    /// Gives out `len_bytes`, from the free parts or behind the end.
    #[cfg(test)]
    pub(crate) fn allocate(&mut self, len_bytes: u64) -> Extent {
        self.allocate_below(len_bytes, u64::MAX)
    }

    fn find_below(&self, len_bytes: u64, limit: u64) -> Option<(u64, u64)> {
        let fitting = self.by_len.range((len_bytes, 0)..).take(SEARCH_LIMIT);
        fitting.copied().find(|&(_, offset)| offset < limit)
    }

    /// Gives out `len_bytes`, below `limit` if there is a free place, else anywhere, else behind the end.
    pub(crate) fn allocate_below(&mut self, len_bytes: u64, limit: u64) -> Extent {
        let len_bytes = len_bytes.next_multiple_of(BLOCK_UNIT_BYTES);
        let below = self.find_below(len_bytes, limit);
        let Some((found, offset)) = below.or_else(|| self.by_len.range((len_bytes, 0)..).next().copied())
        else {
            return self.extend(len_bytes);
        };
        self.take(offset, found);
        if found > len_bytes {
            self.add(Extent { offset: offset + len_bytes, len_bytes: found - len_bytes });
        }
        Extent { offset, len_bytes }
    }

    /// A free place in which aligned units fit.
    fn find_region(&self, len_bytes: u64, limit: u64) -> Option<Extent> {
        let fits =
            |&(len, offset): &(u64, u64)| offset.next_multiple_of(UNIT_BYTES) + len_bytes <= offset + len;
        let fitting = || self.by_len.range((len_bytes, 0)..).take(SEARCH_LIMIT).filter(|found| fits(found));
        let below = fitting().find(|&&(_, offset)| offset < limit);
        below.or_else(|| fitting().next()).map(|&(len_bytes, offset)| Extent { offset, len_bytes })
    }

    /// Gives out whole, aligned units of the log, as provisional.
    pub(crate) fn allocate_region(&mut self, len_bytes: u64, limit: u64) -> Extent {
        let len_bytes = len_bytes.next_multiple_of(UNIT_BYTES);
        self.allocate_region_in_file(len_bytes, limit).unwrap_or_else(|| {
            let given = self.extend(len_bytes + UNIT_BYTES - BLOCK_UNIT_BYTES);
            self.cut_aligned(given, len_bytes)
        })
    }

    /// As [`allocate_region`](Space::allocate_region), if that needs no longer file.
    pub(crate) fn allocate_region_in_file(&mut self, len_bytes: u64, limit: u64) -> Option<Extent> {
        let found = self.find_region(len_bytes, limit)?;
        self.take(found.offset, found.len_bytes);
        Some(self.cut_aligned(found, len_bytes))
    }

    /// Keeps the aligned part of what was taken, as provisional.
    fn cut_aligned(&mut self, taken: Extent, len_bytes: u64) -> Extent {
        let extent = Extent { offset: taken.offset.next_multiple_of(UNIT_BYTES), len_bytes };
        if extent.offset > taken.offset {
            self.release(Extent { offset: taken.offset, len_bytes: extent.offset - taken.offset });
        }
        if extent.end() < taken.end() {
            self.release(Extent { offset: extent.end(), len_bytes: taken.end() - extent.end() });
        }
        self.set_provisional(extent);
        extent
    }

    /// Gives out `len_bytes` behind the end, whatever is free before it.
    pub(crate) fn grow(&mut self, len_bytes: u64) -> Extent {
        let extent = Extent { offset: self.end, len_bytes: len_bytes.next_multiple_of(BLOCK_UNIT_BYTES) };
        self.end = extent.end();
        extent
    }

    /// Grows the file; what is free at its end is used first.
    fn extend(&mut self, len_bytes: u64) -> Extent {
        let tail = self.free.last_key_value().map(|(&offset, &len)| Extent { offset, len_bytes: len });
        let offset = match tail {
            Some(tail) if tail.end() == self.end => {
                self.take(tail.offset, tail.len_bytes);
                tail.offset
            }
            _ => self.end,
        };
        self.end = offset + len_bytes;
        Extent { offset, len_bytes }
    }

    /// Takes an extent back and joins it with its neighbours.
    pub(crate) fn release(&mut self, extent: Extent) {
        self.provisional.remove(&extent.offset);
        let mut joined = extent;
        if let Some((&offset, &len)) = self.free.range(..extent.offset).next_back()
            && offset + len == extent.offset
        {
            self.take(offset, len);
            joined = Extent { offset, len_bytes: len + joined.len_bytes };
        }
        if let Some(&len) = self.free.get(&extent.end()) {
            self.take(extent.end(), len);
            joined.len_bytes += len;
        }
        self.add(joined);
    }

    /// Gives up what is free at the end; returns the new end.
    pub(crate) fn trim(&mut self) -> u64 {
        if let Some((&offset, &len)) = self.free.last_key_value()
            && offset + len == self.end
        {
            self.take(offset, len);
            self.end = offset;
        }
        self.end
    }

    /// Forgets what is free behind the end of a file of this length: writing it failed, so it is not there.
    pub(crate) fn cut_to(&mut self, file_len_bytes: u64) {
        let before = self.end;
        let after = self.trim();
        self.untrim(before.min(file_len_bytes / BLOCK_UNIT_BYTES * BLOCK_UNIT_BYTES).max(after));
    }

    /// Takes a [`trim`](Space::trim) back that was not worth it.
    pub(crate) fn untrim(&mut self, end: u64) {
        if end > self.end {
            let regained = Extent { offset: self.end, len_bytes: end - self.end };
            self.end = end;
            self.release(regained);
        }
    }

    /// Whether any part of the extent is free.
    pub(crate) fn touches_free(&self, extent: Extent) -> bool {
        let before = self.free.range(..extent.end()).next_back();
        before.is_some_and(|(&offset, &len)| offset + len > extent.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Random;

    #[test]
    fn random_use_never_overlaps_and_gives_everything_back() {
        let mut space = Space::new();
        let mut random = Random::new(3);
        let mut used: Vec<Extent> = Vec::new();
        for _ in 0..20_000 {
            if used.len() < 200 && !random.one_in(3) {
                let extent = match random.one_in(20) {
                    true => space.allocate_region((random.below(5) + 1) * UNIT_BYTES, u64::MAX),
                    false => space.allocate((random.below(20) + 1) * BLOCK_UNIT_BYTES),
                };
                assert!(!space.touches_free(extent));
                used.push(extent);
            } else if !used.is_empty() {
                let extent = used.swap_remove(random.below(used.len() as u64) as usize);
                space.release(extent);
            }
            let sum: u64 = used.iter().map(|extent| extent.len_bytes).sum();
            assert_eq!(space.used_bytes(), sum + DATA_START_BYTES);
        }
        for extent in used {
            space.release(extent);
        }
        assert_eq!(space.trim(), DATA_START_BYTES);
        assert!(space.free.is_empty() && space.by_len.is_empty() && space.free_bytes == 0);
        assert!(space.provisional.is_empty());
        assert!(space.end < 200 * 20 * 4096 + DATA_START_BYTES, "freed space is used again");
    }

    #[test]
    fn the_written_map_frees_what_no_checkpoint_reaches() {
        let mut space = Space::new();
        let [a, b, c, d] = [4, 2, 6, 3].map(|units| space.allocate(units * BLOCK_UNIT_BYTES));
        space.release(b);
        space.set_provisional(c);
        space.set_provisional(d);
        let mut read = Space::decode(&space.encode(&[d], &[a]).unwrap()).unwrap();
        assert!(space.encode(&[d], &[a, a]).is_none() && space.encode(&[d], &[b]).is_none());
        assert_eq!((read.end(), read.used_bytes()), (space.end(), DATA_START_BYTES + d.len_bytes));
        assert!(read.mark_provisional(c) && !read.mark_provisional(c) && !read.mark_provisional(d));
        let beyond = Extent { offset: space.end() + 512, len_bytes: 1024 };
        assert!(read.mark_provisional(beyond) && read.end() == beyond.end());
        assert_eq!(read.used_bytes(), DATA_START_BYTES + c.len_bytes + d.len_bytes + beyond.len_bytes);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut random = Random::new(5);
        for len in 0..2000 {
            let bytes: Vec<u8> = (0..len % 40).map(|_| random.next() as u8 % 4).collect();
            Space::decode(&bytes);
        }
    }
}
