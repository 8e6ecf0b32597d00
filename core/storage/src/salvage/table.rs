//! Copying one table of a damaged file: what its tree holds, what a scan finds where the tree is broken, and the log's
//! changes over both, in the order of keys.

use super::log_changes::{NewRow, RowValue, TableChanges};
use super::scan::Segment;
use super::source::Source;
use super::{SalvagedTable, Work};
use crate::checkpoint::TableEntry;
use crate::error::{Error, Result};
use crate::ids::{RowId, TableId};
use crate::inspect::{self, Lost, Values, Visit};
use crate::problem::Problem;
use crate::record::ValueRef;
use crate::space::Extent;
use crate::store::Store;
use crate::table_builder::{BuiltTable, TableBuilder};
use crate::tree::{EntryRef, Packed};

/// Entries and bytes between two reports.
const REPORT_EVERY_ENTRIES: u64 = 1024;
const REPORT_EVERY_BYTES: usize = 4 << 20;

pub(super) struct TableCopy<'c, 'w> {
    source: &'c Source,
    id: u64,
    entry: Option<TableEntry>,
    changes: TableChanges,
    builder: TableBuilder,
    work: &'c mut Work<'w>,
    saved: SalvagedTable,
    /// The key that was met last.
    last_key: Option<Vec<u8>>,
    /// Entries of the checkpoint that were met, and those that were not and have been replaced since.
    met: u64,
    replaced: u64,
    segments: Option<Vec<Segment>>,
    unreported_bytes: usize,
    is_scanning: bool,
}

impl<'c, 'w> TableCopy<'c, 'w> {
    pub(super) fn new(
        source: &'c Source,
        target: &Store,
        id: u64,
        mut changes: TableChanges,
        work: &'c mut Work<'w>,
    ) -> Result<TableCopy<'c, 'w>> {
        let table = TableId::from_u64(id);
        let entry = match changes.is_new {
            true => Some(changes.attached.take().unwrap_or_else(TableEntry::empty)),
            false => source.entry_of(id),
        };
        Ok(TableCopy {
            source,
            id,
            entry,
            changes,
            builder: target.build_table_as(table)?,
            work,
            saved: SalvagedTable { table, entries: 0, scanned_entries: 0, may_be_stale: false },
            last_key: None,
            met: 0,
            replaced: 0,
            segments: None,
            unreported_bytes: 0,
            is_scanning: false,
        })
    }

    pub(super) fn run(mut self) -> Result<BuiltTable> {
        match self.entry.clone() {
            Some(entry) => {
                let pager = std::sync::Arc::clone(&self.source.pager);
                inspect::table(&pager, self.id, &entry, Values::Skip, &mut self)?;
            }
            None => {
                self.fill(&[], None)?;
                let what = "no list names it; this is what a scan of the file found of it";
                let place = format!("table {}", self.id);
                let lost = Lost::Range { lower: &[], upper: None, entries: None, level: 0 };
                self.report(Error::corrupt(place, what), lost);
            }
        }
        self.changes_before(None)?;
        let noted = self.entry.as_ref().map_or_else(|| self.guessed_next_row(), |entry| entry.next_row);
        self.builder.set_next_row(noted.max(self.changes.next_row));
        self.work.report.tables.push(self.saved);
        self.builder.finish()
    }

    /// Of a table that is written with `append`, the number after its last row.
    fn guessed_next_row(&self) -> u64 {
        let last = self.last_key.as_deref().and_then(RowId::from_key);
        last.filter(|row| !row.is_provisional()).map_or(1, |row| row.get().saturating_add(1))
    }

    fn report(&mut self, error: Error, lost: Lost<'_>) {
        self.work.report.problems.push(Problem::new(self.id, error, lost));
    }

    /// Copies what a scan finds of the keys from `lower` up to, and without, `upper`.
    fn fill(&mut self, lower: &[u8], upper: Option<&[u8]>) -> Result<()> {
        let segments = match self.segments.take() {
            Some(segments) => segments,
            None => self.source.segments(self.id, self.work)?,
        };
        self.is_scanning = true;
        self.saved.may_be_stale |= !self.source.knows_free_space();
        let is_in_range = |key: &[u8]| key >= lower && upper.is_none_or(|upper| key < upper);
        for segment in &segments {
            if segment.last.as_slice() < lower || upper.is_some_and(|upper| segment.first.as_slice() >= upper)
            {
                continue;
            }
            let Ok(leaf) = self.source.pager.read_leaf(&segment.pointer, self.id) else { continue };
            let is_part = |key: &[u8]| segment.first.as_slice() <= key && key <= segment.last.as_slice();
            for entry in leaf.iter().filter(|entry| is_part(entry.key) && is_in_range(entry.key)) {
                self.base_entry(entry)?;
            }
        }
        self.is_scanning = false;
        self.segments = Some(segments);
        Ok(())
    }

    /// Takes an entry of the checkpoint, unless the log has another.
    fn base_entry(&mut self, entry: EntryRef<'_>) -> Result<()> {
        if self.last_key.as_deref().is_some_and(|last| last >= entry.key) {
            let error = Error::corrupt(format!("table {}", self.id), "an entry is out of order");
            self.report(error, Lost::Entry(entry.key));
            return Ok(());
        }
        self.changes_before(Some(entry.key))?;
        self.last_key = Some(entry.key.to_vec());
        self.met += 1;
        match self.changes.rows.remove(entry.key) {
            Some(change) => match change.put {
                Some(row) => self.put_row(entry.key, &row, Some(entry.values)),
                None => Ok(()),
            },
            None => {
                let values = entry.values.iter().map(|value| self.read_value(value)).collect();
                self.put(entry.key, entry.head, values)
            }
        }
    }

    /// Takes what the log has under keys before `key`.
    fn changes_before(&mut self, key: Option<&[u8]>) -> Result<()> {
        while let Some(first) = self.changes.rows.first_entry() {
            if key.is_some_and(|key| first.key().as_slice() >= key) {
                break;
            }
            let (key, change) = first.remove_entry();
            self.replaced += u64::from(change.was_there);
            if let Some(row) = change.put {
                self.put_row(&key, &row, None)?;
            }
        }
        Ok(())
    }

    fn put_row(&mut self, key: &[u8], row: &NewRow, base: Option<&[ValueRef]>) -> Result<()> {
        let of_base = |number: usize| base.and_then(|values| values.get(number));
        let values = row.values.iter().map(|value| match value {
            RowValue::Bytes(bytes) => Ok(bytes.to_vec()),
            RowValue::Stored(pointer) => self.source.pager.read_value(pointer, self.id),
            RowValue::OfBase(number) => match of_base(*number) {
                Some(value) => self.read_value(value),
                None => {
                    let what = "a value of it was in a block that cannot be read";
                    Err(Error::corrupt(format!("table {}", self.id), what))
                }
            },
        });
        let values = values.collect();
        self.put(key, &row.head, values)
    }

    fn read_value(&self, value: &ValueRef) -> Result<Vec<u8>> {
        let pointer = value.pointer().ok_or(Error::Misuse { what: "a value that is in no file" })?;
        self.source.pager.read_value(&pointer, self.id)
    }

    /// Writes an entry whose values could all be read.
    fn put(&mut self, key: &[u8], head: &[u8], values: Result<Vec<Vec<u8>>>) -> Result<()> {
        match values {
            Ok(values) => {
                let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
                self.builder.push_with_values(key, head, &values)?;
                self.saved.entries += 1;
                self.unreported_bytes += head.len() + values.iter().map(|value| value.len()).sum::<usize>();
                self.saved.scanned_entries += u64::from(self.is_scanning);
            }
            Err(error) => self.report(error, Lost::Entry(key)),
        }
        self.work.progress.done += 1;
        let is_due = self.work.progress.done.is_multiple_of(REPORT_EVERY_ENTRIES)
            || self.unreported_bytes > REPORT_EVERY_BYTES;
        if !is_due {
            return Ok(());
        }
        self.unreported_bytes = 0;
        self.work.tick()
    }
}

impl Visit for TableCopy<'_, '_> {
    fn block(&mut self, _: Extent) {}

    fn leaf(&mut self, _: u64, leaf: &Packed) -> Result<()> {
        leaf.iter().try_for_each(|entry| self.base_entry(entry))
    }

    fn problem(&mut self, _: u64, error: Error, lost: Lost<'_>) -> Result<()> {
        let Lost::Range { lower, upper, entries, level } = lost else {
            self.report(error, lost);
            return Ok(());
        };
        // What comes before is not a part of it.
        self.changes_before(Some(lower))?;
        let accounted = self.met + self.replaced;
        if level > 0 {
            self.fill(lower, upper)?;
        }
        self.changes_before(upper)?;
        let found = self.met + self.replaced - accounted;
        match entries.map(|entries| entries.saturating_sub(found)) {
            Some(0) => self.report(error, Lost::Nothing),
            entries => self.report(error, Lost::Range { lower, upper, entries, level }),
        }
        Ok(())
    }
}
