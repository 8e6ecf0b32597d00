//! Scans: the entries of a range, one after the other.

use crate::error::Result;
use crate::ids::{RowId, Sequence};
use crate::pages::Pages;
use crate::range::{Direction, KeyRange};
use crate::record::{Record, Value, value_of};
use crate::tree::{Context, Cursor, EntryRef, FoundRef, Tree};
use std::sync::Arc;

/// Reads a range of a table in order. Owns what it reads, so it can be kept for as long as one likes.
pub struct Scan {
    cursor: Cursor,
}

impl Scan {
    pub(crate) fn new(
        tree: &Tree,
        range: KeyRange,
        direction: Direction,
        context: &Context<'_>,
    ) -> Result<Scan> {
        Ok(Scan { cursor: Cursor::new(tree, range, direction, context)? })
    }

    /// The next entry, or `None` at the end of the range. Allocates nothing, but for reading a leaf from the file.
    #[expect(
        clippy::should_implement_trait,
        reason = "entries borrow from the scan, which Iterator cannot say"
    )]
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        self.cursor.advance()?;
        let cursor = &self.cursor;
        Ok(cursor.current().map(|found| {
            let entry = found.entry();
            Entry { key: entry.key, entry, found, pages: cursor.pages(), table: cursor.table() }
        }))
    }

    /// Goes on at the first entry from `key` on in the scan's direction, also backwards, but never out of its range.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.cursor.seek(key)
    }

    /// Passes over the next `n` entries of the range. Costs a path of the tree, not `n` steps.
    pub fn skip(&mut self, n: u64) -> Result<()> {
        self.cursor.skip(n)
    }
}

/// One entry of a scan, borrowed from it.
#[derive(Clone, Copy)]
pub struct Entry<'s> {
    /// The stored key.
    pub key: &'s [u8],
    entry: EntryRef<'s>,
    found: FoundRef<'s>,
    pages: &'s Arc<Pages>,
    table: u64,
}

impl<'s> Entry<'s> {
    /// The record's head.
    pub fn head(&self) -> &'s [u8] {
        self.entry.head
    }

    /// The commit that wrote the record.
    pub fn version(&self) -> Sequence {
        Sequence::from_u64(self.entry.version)
    }

    /// The row number at the end of the key, for entries of kind [`EntryKind::Plain`](crate::EntryKind::Plain).
    pub fn row_in_key(&self) -> Option<RowId> {
        RowId::from_entry_key(self.key)
    }

    /// How many values the record has out of line.
    pub fn value_count(&self) -> usize {
        self.entry.values.len()
    }

    /// Value number `index` of the record.
    pub fn value(&self, index: usize) -> Result<Value> {
        value_of(self.entry.values, index, self.pages, self.table)
    }

    /// The record, to keep. Copies no bytes.
    pub fn to_record(&self) -> Record {
        Record::new(Arc::clone(self.pages), self.table, self.found.to_found())
    }
}
