//! Which parts of the file are free.
//!
//! One map, kept in memory: it is what lies between the blocks that the newest checkpoint reaches and the log's
//! regions, so there is nothing on the disk that could contradict it. Counted in units of 4 KiB. What is given out
//! is the smallest free extent that fits, and of those the lowest, so that the end of the file empties first.

use crate::block::UNIT_BYTES;
use crate::superblock::DATA_START_BYTES;
use std::collections::{BTreeMap, BTreeSet};

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
}

impl Space {
    /// The map of a file in which exactly these extents are in use; `Err` names two that overlap.
    pub(crate) fn from_used(mut used: Vec<Extent>) -> Result<Space, (Extent, Extent)> {
        used.sort_unstable();
        let mut space =
            Space { end: DATA_START_BYTES, free: BTreeMap::new(), by_len: BTreeSet::new(), free_bytes: 0 };
        let mut last = Extent { offset: 0, len_bytes: DATA_START_BYTES };
        for extent in used {
            if extent.offset < last.end() {
                return Err((last, extent));
            }
            if extent.offset > last.end() {
                space.add(Extent { offset: last.end(), len_bytes: extent.offset - last.end() });
            }
            last = extent;
        }
        space.end = last.end();
        Ok(space)
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

    /// Whether there is a free place for `len_bytes` that begins below `limit`.
    pub(crate) fn has_below(&self, len_bytes: u64, limit: u64) -> bool {
        self.find_below(len_bytes, limit).is_some()
    }

    /// Gives out `len_bytes`, below `limit` if there is a free place, else anywhere, else behind the end.
    pub(crate) fn allocate_below(&mut self, len_bytes: u64, limit: u64) -> Extent {
        let len_bytes = len_bytes.next_multiple_of(UNIT_BYTES);
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

    /// Gives out `len_bytes` if that needs no longer file.
    pub(crate) fn allocate_in_file(&mut self, len_bytes: u64) -> Option<Extent> {
        self.has_below(len_bytes, u64::MAX).then(|| self.allocate_below(len_bytes, u64::MAX))
    }

    /// Gives out `len_bytes` behind the end, whatever is free before it.
    pub(crate) fn grow(&mut self, len_bytes: u64) -> Extent {
        let extent = Extent { offset: self.end, len_bytes: len_bytes.next_multiple_of(UNIT_BYTES) };
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
        self.untrim(before.min(file_len_bytes / UNIT_BYTES * UNIT_BYTES).max(after));
    }

    /// Takes a [`trim`](Space::trim) back that was not worth it.
    pub(crate) fn untrim(&mut self, end: u64) {
        if end > self.end {
            self.add(Extent { offset: self.end, len_bytes: end - self.end });
            self.end = end;
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
        let mut space = Space::from_used(Vec::new()).unwrap();
        let mut random = Random::new(3);
        let mut used: Vec<Extent> = Vec::new();
        for _ in 0..20_000 {
            if used.len() < 200 && !random.one_in(3) {
                let extent = space.allocate((random.below(20) + 1) * 4096);
                assert!(!space.touches_free(extent));
                used.push(extent);
            } else if !used.is_empty() {
                let extent = used.swap_remove(random.below(used.len() as u64) as usize);
                space.release(extent);
            }
            let sum: u64 = used.iter().map(|extent| extent.len_bytes).sum();
            assert_eq!(space.used_bytes(), sum + DATA_START_BYTES);
        }
        let again = Space::from_used(used.clone()).unwrap();
        space.trim();
        assert_eq!((again.end, &again.free, &again.by_len), (space.end, &space.free, &space.by_len));
        for extent in used {
            space.release(extent);
        }
        assert_eq!(space.trim(), DATA_START_BYTES);
        assert!(space.free.is_empty() && space.by_len.is_empty() && space.free_bytes == 0);
        assert!(space.end < 200 * 20 * 4096 + DATA_START_BYTES, "freed space is used again");
    }

    #[test]
    fn overlap_is_found() {
        let a = Extent { offset: 65536, len_bytes: 8192 };
        let b = Extent { offset: 69632, len_bytes: 4096 };
        assert_eq!(Space::from_used(vec![b, a]).unwrap_err(), (a, b));
        assert!(Space::from_used(vec![Extent { offset: 0, len_bytes: 4096 }]).is_err());
    }
}
