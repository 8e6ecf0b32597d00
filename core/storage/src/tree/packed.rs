//! Packed leaves: entries in two allocations, immutable, as they come from the file or out of a merge.

use super::key_prefix;
use crate::record::ValueRef;
use std::cmp::Ordering;

/// One entry, borrowed from wherever it stands.
#[derive(Clone, Copy)]
pub(crate) struct EntryRef<'l> {
    pub(crate) key: &'l [u8],
    pub(crate) head: &'l [u8],
    pub(crate) version: u64,
    pub(crate) values: &'l [ValueRef],
}

impl EntryRef<'_> {
    /// What it adds to its leaf's block, roughly.
    pub(crate) fn weight_bytes(&self) -> usize {
        self.key.len() + self.head.len() + 6 + self.values.len() * 24
    }
}

/// Where an entry is; it ends where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Slot {
    version: u64,
    key_at: u32,
    head_at: u32,
    values_at: u32,
}

/// Entries in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    /// Keys and heads in turn.
    bytes: Vec<u8>,
    /// The keys' first bytes: mostly they tell two keys apart, and no others are looked at. Side by side, so that a search
    /// touches few lines of memory.
    prefixes: Vec<u64>,
    /// One more than there are entries: the last is the end.
    slots: Vec<Slot>,
    values: Vec<ValueRef>,
    raw_bytes: usize,
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// What it takes in memory.
    pub(crate) fn weight_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.prefixes.capacity() * size_of::<u64>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.values.capacity() * size_of::<ValueRef>()
    }

    /// What its block takes before compression, roughly.
    pub(crate) fn raw_bytes(&self) -> usize {
        self.raw_bytes
    }

    pub(crate) fn values(&self) -> &[ValueRef] {
        &self.values
    }

    /// The entry at `at`.
    pub(crate) fn get(&self, at: usize) -> Option<EntryRef<'_>> {
        let (slot, next) = (self.slots.get(at)?, self.slots.get(at + 1)?);
        Some(EntryRef {
            key: self.bytes.get(slot.key_at as usize..slot.head_at as usize)?,
            head: self.bytes.get(slot.head_at as usize..next.key_at as usize)?,
            version: slot.version,
            values: self.values.get(slot.values_at as usize..next.values_at as usize)?,
        })
    }

    pub(crate) fn key(&self, at: usize) -> &[u8] {
        let slot = self.slots.get(at);
        slot.and_then(|slot| self.bytes.get(slot.key_at as usize..slot.head_at as usize)).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = EntryRef<'_>> {
        (0..self.len())
            .map(|at| self.get(at).unwrap_or(EntryRef { key: &[], head: &[], version: 0, values: &[] }))
    }

    /// Where the key is, or where it belongs.
    pub(crate) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let prefix = key_prefix(key);
        let at = self.prefixes.partition_point(|other| *other < prefix);
        // Keys that begin alike stand behind each other.
        let behind = self.prefixes.get(at..).unwrap_or_default();
        let alike = behind.partition_point(|other| *other == prefix);
        let (mut low, mut high) = (at, at + alike);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }
}

/// Makes packed leaves.
#[derive(Debug, Default)]
pub(crate) struct PackedBuilder {
    packed: Packed,
}

impl PackedBuilder {
    pub(crate) fn with_capacity(entries: usize, bytes: usize) -> PackedBuilder {
        let mut packed = Packed::default();
        packed.bytes.reserve_exact(bytes);
        packed.prefixes.reserve_exact(entries);
        packed.slots.reserve_exact(entries + 1);
        PackedBuilder { packed }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packed.slots.is_empty()
    }

    pub(crate) fn raw_bytes(&self) -> usize {
        self.packed.raw_bytes
    }

    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        let slot = self.packed.slots.last()?;
        self.packed.bytes.get(slot.key_at as usize..slot.head_at as usize)
    }

    /// Adds an entry, whose key is greater than those before.
    pub(crate) fn push(&mut self, entry: EntryRef<'_>) {
        self.push_parts(
            entry.key.len(),
            [entry.key, entry.head],
            entry.version,
            entry.values.iter().cloned(),
        );
        self.packed.raw_bytes += entry.values.len() * 24;
    }

    /// Adds an entry whose key begins as the one before.
    pub(crate) fn push_shared(
        &mut self,
        shared: usize,
        rest: &[u8],
        head: &[u8],
        version: u64,
        values: impl Iterator<Item = ValueRef>,
    ) -> Option<()> {
        let previous = self.packed.slots.last().map_or(0, |slot| slot.key_at as usize);
        let before = self.last_key().map_or(0, <[u8]>::len);
        if shared > before {
            return None;
        }
        let key_at = self.packed.bytes.len();
        self.packed.bytes.extend_from_within(previous..previous + shared);
        self.push_parts_at(key_at, shared + rest.len(), [rest, head], version, values);
        Some(())
    }

    fn push_parts(
        &mut self,
        key_len: usize,
        parts: [&[u8]; 2],
        version: u64,
        values: impl Iterator<Item = ValueRef>,
    ) {
        self.push_parts_at(self.packed.bytes.len(), key_len, parts, version, values);
    }

    fn push_parts_at(
        &mut self,
        key_at: usize,
        key_len: usize,
        parts: [&[u8]; 2],
        version: u64,
        values: impl Iterator<Item = ValueRef>,
    ) {
        let packed = &mut self.packed;
        parts.iter().for_each(|part| packed.bytes.extend_from_slice(part));
        packed.raw_bytes += packed.bytes.len() - key_at + 6;
        let key = packed.bytes.get(key_at..key_at + key_len).unwrap_or_default();
        packed.prefixes.push(key_prefix(key));
        packed.slots.push(Slot {
            version,
            key_at: key_at as u32,
            head_at: (key_at + key_len) as u32,
            values_at: packed.values.len() as u32,
        });
        packed.values.extend(values);
    }

    pub(crate) fn finish(mut self) -> Packed {
        let packed = &mut self.packed;
        if !packed.slots.is_empty() {
            let end = packed.bytes.len() as u32;
            packed.slots.push(Slot {
                version: 0,
                key_at: end,
                head_at: end,
                values_at: packed.values.len() as u32,
            });
        }
        packed.bytes.shrink_to_fit();
        packed.prefixes.shrink_to_fit();
        packed.values.shrink_to_fit();
        self.packed
    }
}

/// Compares keys by their first bytes where that is enough.
pub(super) fn compare_keys(prefix: u64, key: &[u8], other_prefix: u64, other: &[u8]) -> Ordering {
    debug_assert_eq!(prefix, key_prefix(key));
    prefix.cmp(&other_prefix).then_with(|| key.cmp(other))
}
