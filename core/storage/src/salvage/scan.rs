//! Looking through a whole file for leaves.
//!
//! A file also holds leaves that nobody reaches any more. The list of free space tells them from those that are in use;
//! without it the newest leaf speaks for all keys between its first and its last.

use crate::block::{self, BLOCK_UNIT_BYTES, BlockKind, BlockPointer, Header};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::node_block::decode_leaf;
use crate::pages::Pager;
use crate::space::Extent;
use crate::superblock::DATA_START_BYTES;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Bytes that are read at once.
const WINDOW_BYTES: u64 = 1 << 20;

/// Every leaf of a file, in use or not, by table.
#[derive(Default)]
pub(super) struct Scan {
    leaves: BTreeMap<u64, Vec<FoundLeaf>>,
    /// The newest list of free space, and the checkpoint that wrote it.
    newest_map: Option<(u64, BlockPointer)>,
}

struct FoundLeaf {
    pointer: BlockPointer,
    checkpoint: u64,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// A part of a leaf: its entries from the key `first` to the key `last`. Segments of a table do not overlap.
pub(super) struct Segment {
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
    pub(super) pointer: BlockPointer,
}

impl Scan {
    /// Reads the whole file; `tick` is called now and then.
    pub(super) fn of(disk: &dyn Disk, file_len: u64, tick: &mut dyn FnMut() -> Result<()>) -> Result<Scan> {
        let mut scan = Scan::default();
        let mut at = DATA_START_BYTES;
        let (mut window, mut window_start) = (Vec::new(), 0);
        while at + BLOCK_UNIT_BYTES <= file_len {
            if at < window_start || at + BLOCK_UNIT_BYTES > window_start + window.len() as u64 {
                tick()?;
                window = read_window(disk, at, (file_len - at).min(WINDOW_BYTES));
                window_start = at;
            }
            let unit = window.get((at - window_start) as usize..).unwrap_or_default();
            at += scan.look_at(disk, file_len, at, unit).unwrap_or(BLOCK_UNIT_BYTES);
        }
        Ok(scan)
    }

    /// Takes the block at `at`, if there is one; says how long it is.
    fn look_at(&mut self, disk: &dyn Disk, file_len: u64, at: u64, unit: &[u8]) -> Option<u64> {
        let header = Header::decode(unit.get(..block::HEADER_BYTES)?)?;
        let pointer = header.pointer_at(at)?;
        // Also of what is not wanted: only a whole block is passed over.
        let (kind, raw) = block::read(disk, file_len, &pointer, header.table).ok()?;
        if kind == BlockKind::SpaceMap && self.newest_map.is_none_or(|(newest, _)| newest < header.checkpoint)
        {
            self.newest_map = Some((header.checkpoint, pointer));
        }
        let leaf = if kind == BlockKind::Leaf { decode_leaf(&raw) } else { None };
        if let Some(leaf) = leaf.filter(|leaf| leaf.len() > 0) {
            self.leaves.entry(header.table).or_default().push(FoundLeaf {
                pointer,
                checkpoint: header.checkpoint,
                first: leaf.key(0).to_vec(),
                last: leaf.key(leaf.len() - 1).to_vec(),
            });
        }
        Some(pointer.extent_bytes())
    }

    /// The list of free space of the newest checkpoint that has left one.
    pub(super) fn newest_map(&self) -> Option<&BlockPointer> {
        self.newest_map.as_ref().map(|(_, map)| map)
    }

    /// The tables of which leaves were found that are in use.
    pub(super) fn tables(&self, is_in_use: &dyn Fn(Extent) -> bool) -> Vec<u64> {
        let has_leaf = |leaves: &Vec<FoundLeaf>| leaves.iter().any(|leaf| is_in_use(leaf.pointer.extent()));
        self.leaves.iter().filter(|(_, leaves)| has_leaf(leaves)).map(|(table, _)| *table).collect()
    }

    /// What the leaves of a table hold together, in the order of keys.
    pub(super) fn segments(
        &self,
        pager: &Pager,
        table: u64,
        is_in_use: &dyn Fn(Extent) -> bool,
    ) -> Result<Vec<Segment>> {
        let found = self.leaves.get(&table).map(Vec::as_slice).unwrap_or_default();
        let mut leaves: Vec<&FoundLeaf> =
            found.iter().filter(|leaf| is_in_use(leaf.pointer.extent())).collect();
        leaves.sort_by_key(|leaf| Reverse(leaf.checkpoint));
        let mut taken = Taken::default();
        for leaf in leaves {
            taken.add(pager, table, leaf)?;
        }
        Ok(taken.segments.into_values().collect())
    }
}

/// A sector that cannot be read should not hide those beside it.
fn read_window(disk: &dyn Disk, at: u64, len_bytes: u64) -> Vec<u8> {
    let mut window = vec![0; len_bytes as usize];
    if disk.read_at(at, &mut window).is_err() {
        for (number, unit) in window.chunks_mut(BLOCK_UNIT_BYTES as usize).enumerate() {
            if disk.read_at(at + number as u64 * BLOCK_UNIT_BYTES, unit).is_err() {
                unit.fill(0);
            }
        }
    }
    window
}

/// Segments by their first keys.
#[derive(Default)]
struct Taken {
    segments: BTreeMap<Vec<u8>, Segment>,
}

impl Taken {
    /// The last segment that begins at or before a key.
    fn before(&self, key: &[u8]) -> Option<&Segment> {
        let up_to = (Bound::Unbounded, Bound::Included(key));
        self.segments.range::<[u8], _>(up_to).next_back().map(|(_, segment)| segment)
    }

    /// Whether a segment begins between two keys.
    fn parts(&self, a: &[u8], b: &[u8]) -> bool {
        self.segments.range::<[u8], _>((Bound::Included(a), Bound::Included(b))).next().is_some()
    }

    fn covers(&self, key: &[u8]) -> bool {
        self.before(key).is_some_and(|segment| segment.last.as_slice() >= key)
    }

    /// Adds of an older leaf what newer ones do not speak for.
    fn add(&mut self, pager: &Pager, table: u64, leaf: &FoundLeaf) -> Result<()> {
        let is_free = self.before(&leaf.last).is_none_or(|segment| segment.last < leaf.first);
        if is_free {
            self.insert(leaf, leaf.first.clone(), leaf.last.clone());
            return Ok(());
        }
        let packed = match pager.read_leaf(&leaf.pointer, table) {
            Ok(packed) => packed,
            Err(Error::Corrupt { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut runs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for entry in packed.iter().filter(|entry| !self.covers(entry.key)) {
            match runs.last_mut().filter(|(_, last)| !self.parts(last, entry.key)) {
                Some((_, last)) => *last = entry.key.to_vec(),
                None => runs.push((entry.key.to_vec(), entry.key.to_vec())),
            }
        }
        runs.into_iter().for_each(|(first, last)| self.insert(leaf, first, last));
        Ok(())
    }

    fn insert(&mut self, leaf: &FoundLeaf, first: Vec<u8>, last: Vec<u8>) {
        let segment = Segment { first: first.clone(), last, pointer: leaf.pointer };
        self.segments.insert(first, segment);
    }
}
