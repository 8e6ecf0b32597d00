//! Scans: the entries of a range, one after the other.

use crate::error::Result;
use crate::ids::{RowId, Sequence};
use crate::range::{Direction, KeyRange};
use crate::record::{Record, Value, value_of};
use crate::tree::{Cursor, Item, Tree};

/// Reads a range of a table in order. Owns what it reads, so it can be kept for as long as one likes.
pub struct Scan {
    cursor: Cursor,
}

impl Scan {
    pub(crate) fn new(tree: &Tree, range: KeyRange, direction: Direction) -> Scan {
        Scan { cursor: Cursor::new(tree.root().clone(), range, direction) }
    }

    /// The next entry, or `None` at the end of the range. Allocates nothing.
    #[expect(
        clippy::should_implement_trait,
        reason = "entries borrow from the scan, which Iterator cannot say"
    )]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        Ok(self.cursor.next().map(|item| Entry { key: item.cell.key(), item }))
    }

    /// Goes on at the first entry from `key` on in the scan's direction, also backwards, but never out of its range.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.cursor.seek(key);
        Ok(())
    }
}

/// One entry of a scan, borrowed from it.
#[derive(Clone, Copy)]
pub struct Entry<'s> {
    /// The stored key.
    pub key: &'s [u8],
    item: &'s Item,
}

impl<'s> Entry<'s> {
    /// The record's head.
    pub fn head(&self) -> &'s [u8] {
        self.item.cell.head()
    }

    /// The commit that wrote the record.
    pub fn version(&self) -> Sequence {
        Sequence::from_u64(self.item.version)
    }

    /// The row number at the end of the key, for entries of kind [`EntryKind::Plain`](crate::EntryKind::Plain).
    pub fn row_in_key(&self) -> Option<RowId> {
        RowId::from_entry_key(self.key)
    }

    /// How many values the record has out of line.
    pub fn value_count(&self) -> usize {
        self.item.values.as_ref().map_or(0, |values| values.len())
    }

    /// Value number `index` of the record.
    pub fn value(&self, index: usize) -> Result<Value> {
        value_of(&self.item.values, index)
    }

    /// The record, to keep. Copies no bytes.
    pub fn to_record(&self) -> Record {
        self.item.record()
    }
}
