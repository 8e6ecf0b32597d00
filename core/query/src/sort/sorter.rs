//! Sorting records by the keys of their documents: all of them, or the first few.
//!
//! Keys and records lie in large blocks and are never moved; what is sorted is an array of small
//! entries with the first eight bytes of each key. With a limit, a heap keeps the best so far, and a
//! record that cannot be among them is not even copied. Equal keys keep the order they came in.

use super::SortSpec;
use multifora_model::{DocumentView, Error, ErrorCode, Result};
use std::borrow::Cow;
use std::collections::BinaryHeap;

/// Most bytes that one sort holds in memory.
pub const MAX_SORT_BYTES: usize = 100 * 1024 * 1024;
/// Up to this limit a heap is kept; beyond, everything is sorted and cut.
const MAX_HEAP_ENTRIES: u64 = 10_000;
/// Blocks that keys and records are kept in begin small and double up to this size; a larger record
/// gets a block of its own.
const MAX_BLOCK_BYTES: usize = 256 * 1024;
const FIRST_BLOCK_BYTES: usize = 4 * 1024;

/// Takes records and gives them back in order.
#[derive(Debug)]
pub struct Sorter {
    spec: SortSpec,
    /// The key of the record being added, kept to spare allocations.
    key: Vec<u8>,
    added: u64,
    held_bytes: usize,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    All { arena: Arena, limit: Option<usize> },
    Best { heap: BinaryHeap<Candidate>, limit: usize },
}

/// A record in the heap; the greatest one is the first to go.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    key: Box<[u8]>,
    arrival: u64,
    record: Vec<u8>,
}

impl Sorter {
    /// A sorter; with a limit it gives only that many records, the first ones.
    pub fn new(spec: SortSpec, limit: Option<u64>) -> Self {
        let as_len = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let kept = match limit {
            Some(n) if n <= MAX_HEAP_ENTRIES => Kept::Best { heap: BinaryHeap::new(), limit: as_len(n) },
            _ => Kept::All { arena: Arena::default(), limit: limit.map(as_len) },
        };
        Sorter { spec, key: Vec::new(), added: 0, held_bytes: 0, kept }
    }

    /// Adds a record with the key of the document in `view`. The record is what comes back: the
    /// document's bytes, or whatever else the caller needs.
    ///
    /// # Errors
    /// Those of [`SortSpec::key`]; `QueryExceededMemoryLimitNoDiskUseAllowed` above [`MAX_SORT_BYTES`].
    pub fn add(&mut self, view: &DocumentView<'_>, record: &[u8]) -> Result<()> {
        self.add_with(view, || Ok(record.into()))
    }

    /// Adds a document as a record. It is read in full only if it can be among those that are given.
    ///
    /// # Errors
    /// As [`add`](Self::add), and those of reading the document.
    pub fn add_document(&mut self, view: &DocumentView<'_>) -> Result<()> {
        self.add_with(view, || view.to_raw())
    }

    fn add_with<'r>(
        &mut self,
        view: &DocumentView<'_>,
        record: impl FnOnce() -> Result<Cow<'r, [u8]>>,
    ) -> Result<()> {
        self.spec.key(view, &mut self.key)?;
        self.added += 1;
        let record_len;
        match &mut self.kept {
            Kept::All { arena, .. } => {
                let record = record()?;
                record_len = record.len();
                arena.push(&self.key, &record);
            }
            Kept::Best { limit: 0, .. } => return Ok(()),
            Kept::Best { heap, limit } => {
                if heap.len() >= *limit {
                    // A later equal key comes after: it is no better.
                    if heap.peek().is_some_and(|worst| *self.key >= *worst.key) {
                        return Ok(());
                    }
                    if let Some(worst) = heap.pop() {
                        self.held_bytes -= worst.key.len() + worst.record.len() + size_of::<Candidate>();
                    }
                }
                let key = self.key.as_slice().into();
                let record = record()?.into_owned();
                record_len = record.len();
                heap.push(Candidate { key, arrival: self.added, record });
            }
        }
        self.held_bytes += self.key.len() + record_len + size_of::<Candidate>();
        if self.held_bytes > MAX_SORT_BYTES {
            return Err(Error::new(
                ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed,
                format!(
                    "Sort exceeded memory limit of {MAX_SORT_BYTES} bytes, but did not opt in to external sorting."
                ),
            ));
        }
        Ok(())
    }

    /// Bytes held.
    pub fn len_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Sorts what was added.
    pub fn finish(self) -> Sorted {
        match self.kept {
            Kept::All { mut arena, limit } => {
                let Arena { blocks, entries } = &mut arena;
                entries
                    .sort_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| a.key(blocks).cmp(b.key(blocks))));
                entries.truncate(limit.unwrap_or(usize::MAX));
                Sorted { next: 0, source: Source::Arena(arena) }
            }
            Kept::Best { heap, .. } => {
                let records = heap.into_sorted_vec().into_iter().map(|c| c.record).collect();
                Sorted { next: 0, source: Source::Records(records) }
            }
        }
    }
}

/// Records in order.
#[derive(Debug)]
pub struct Sorted {
    next: usize,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Arena(Arena),
    Records(Vec<Vec<u8>>),
}

impl Sorted {
    /// The next record, borrowed.
    pub fn next_record(&mut self) -> Option<&[u8]> {
        let at = self.next;
        self.next += 1;
        match &self.source {
            Source::Arena(arena) => arena.entries.get(at).map(|entry| entry.record(&arena.blocks)),
            Source::Records(records) => records.get(at).map(Vec::as_slice),
        }
    }

    /// How many records are left.
    pub fn len(&self) -> usize {
        let all = match &self.source {
            Source::Arena(arena) => arena.entries.len(),
            Source::Records(records) => records.len(),
        };
        all.saturating_sub(self.next)
    }

    /// No record is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Iterator for Sorted {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if let Source::Records(records) = &mut self.source {
            let record = records.get_mut(self.next).map(std::mem::take);
            self.next += 1;
            return record;
        }
        self.next_record().map(<[u8]>::to_vec)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// Keys and records in blocks.
#[derive(Debug, Default)]
struct Arena {
    blocks: Vec<Vec<u8>>,
    entries: Vec<Entry>,
}

/// Where a key and, directly behind it, its record lie.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The key's first bytes, so that most comparisons touch nothing else.
    prefix: u64,
    block: u32,
    start: u32,
    key_len: u32,
    record_len: u32,
}

impl Entry {
    fn bytes<'b>(&self, blocks: &'b [Vec<u8>], from: u32, len: u32) -> &'b [u8] {
        let from = (self.start + from) as usize;
        let block = blocks.get(self.block as usize);
        block.and_then(|block| block.get(from..from + len as usize)).unwrap_or_default()
    }

    fn key<'b>(&self, blocks: &'b [Vec<u8>]) -> &'b [u8] {
        self.bytes(blocks, 0, self.key_len)
    }

    fn record<'b>(&self, blocks: &'b [Vec<u8>]) -> &'b [u8] {
        self.bytes(blocks, self.key_len, self.record_len)
    }
}

impl Arena {
    fn push(&mut self, key: &[u8], record: &[u8]) {
        let need = key.len() + record.len();
        if self.blocks.last().is_none_or(|block| block.capacity() - block.len() < need) {
            let doubled = self.blocks.last().map_or(FIRST_BLOCK_BYTES, |block| block.capacity() * 2);
            self.blocks.push(Vec::with_capacity(need.max(doubled.min(MAX_BLOCK_BYTES))));
        }
        let block = u32::try_from(self.blocks.len() - 1).unwrap_or(u32::MAX);
        let Some(bytes) = self.blocks.last_mut() else { return };
        // A block is at most as large as one record, far below 4 GiB: the casts keep the value.
        let entry = Entry {
            prefix: prefix(key),
            block,
            start: bytes.len() as u32,
            key_len: key.len() as u32,
            record_len: record.len() as u32,
        };
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(record);
        self.entries.push(entry);
    }
}

/// The first eight bytes as a number that orders as they do (shorter keys as if zeros followed).
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (slot, byte) in first.iter_mut().zip(key) {
        *slot = *byte;
    }
    u64::from_be_bytes(first)
}
