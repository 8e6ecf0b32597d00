//! The numbers that name things: tables, rows, commits.
//!
//! Newtypes, so that the compiler tells them apart. A row number read inside the transaction that appended it is
//! provisional (its top bit is set): the final one is given in commit order, so that rows become visible in order.

use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Names a table. Numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(u64);

impl TableId {
    /// The table that always exists: the catalogue of whoever uses this store.
    pub const CATALOG: TableId = TableId(0);

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The table of that number, which may not exist.
    pub fn from_u64(number: u64) -> TableId {
        TableId(number)
    }
}

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Top bit of row numbers that are not final yet.
const PROVISIONAL: u64 = 1 << 63;

/// Names a row of a table that is written with `append`. As a key it is the number's 8 big-endian bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u64);

impl RowId {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The row of that number.
    pub fn from_u64(number: u64) -> RowId {
        RowId(number)
    }

    /// The row as a key.
    pub fn to_key(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// The row that a key of 8 bytes names.
    pub fn from_key(key: &[u8]) -> Option<RowId> {
        Some(RowId(u64::from_be_bytes(key.try_into().ok()?)))
    }

    /// The row number at the end of a plain index entry's key.
    pub fn from_entry_key(key: &[u8]) -> Option<RowId> {
        key.last_chunk::<8>().map(|bytes| RowId(u64::from_be_bytes(*bytes)))
    }

    /// Whether the number was given by an `append` that is not committed yet.
    pub fn is_provisional(self) -> bool {
        self.0 & PROVISIONAL != 0
    }

    pub(crate) fn provisional(ordinal: u64) -> RowId {
        RowId(PROVISIONAL | ordinal)
    }

    /// Which append of its transaction gave this number, when it is provisional.
    pub(crate) fn ordinal(self) -> Option<u64> {
        self.is_provisional().then_some(self.0 & !PROVISIONAL)
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Numbers commits, from 1, in the order in which they become visible. 0 is the empty store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(u64);

impl Sequence {
    /// The version of a record that a transaction reads back before it committed it.
    pub const UNCOMMITTED: Sequence = Sequence(u64::MAX);

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The commit of that number.
    pub fn from_u64(number: u64) -> Sequence {
        Sequence(number)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A key that transactions compete for: equal for equal keys of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(u64);

impl KeyId {
    pub(crate) fn of(table: u64, key: &[u8]) -> KeyId {
        KeyId(xxh3_64_with_seed(key, table))
    }

    /// A table as a whole.
    pub(crate) fn of_table(table: u64) -> KeyId {
        KeyId::of(!table, &[])
    }

    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

/// How an index entry carries its row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Stored key: the key, then the row's 8 bytes; empty head. Equal keys stand side by side.
    Plain,
    /// Stored key: the key alone; the head is the row's 8 bytes. Equal keys collide.
    Unique,
}
