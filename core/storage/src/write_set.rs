//! What a transaction is going to write, table by table, before anybody else sees it.

use crate::error::{Error, Result};
use crate::ids::RowId;
use crate::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES, MAX_VALUES};
use crate::pages::Pages;
use crate::record::{Cell, FreshValue, NewRecord, NewValue, ValueRef, Values};
use crate::state::Table;
use crate::table_builder::BuiltTable;
use crate::tree::{Change, Context, Found, Tree};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// The version under which a transaction sees its own writes.
pub(crate) const UNCOMMITTED: u64 = u64::MAX;

/// A row number inside a key or head that only the commit makes final.
#[derive(Clone, Copy)]
pub(crate) struct RowHole {
    /// Which append of the transaction gives the number.
    pub(crate) ordinal: u64,
    /// Where its 8 bytes are, counted from the key's first byte on through the head.
    pub(crate) at: usize,
}

/// What is to become of one key.
pub(crate) struct Write {
    /// Version of the record in the transaction's snapshot, 0 when there was none: what the commit must find.
    pub(crate) base: u64,
    /// The new record; `None` deletes.
    pub(crate) put: Option<Put>,
}

/// A record to be written.
#[derive(Clone)]
pub(crate) struct Put {
    pub(crate) cell: Cell,
    pub(crate) values: Values,
    /// For every value, its number in the base record when it is kept; `None` when it is new.
    pub(crate) kept: Vec<Option<u32>>,
    pub(crate) row: Option<RowHole>,
}

impl Write {
    /// Whether the key cannot be there already.
    pub(crate) fn is_new(&self, key: &[u8]) -> bool {
        self.put.as_ref().is_some_and(|put| is_in_key(put.row, key))
    }

    /// What it does to the tree; `key` is the one under which it was recorded.
    pub(crate) fn change(&self, key: &[u8], version: u64) -> Change {
        match &self.put {
            Some(put) => put.change(version),
            None => Change::delete(Cell::new(key, &[], &mut Vec::new()), version),
        }
    }
}

impl Put {
    pub(crate) fn change(&self, version: u64) -> Change {
        Change::put(self.cell.clone(), self.values.clone(), version)
    }

    /// The values that came with it.
    pub(crate) fn fresh_values(&self) -> impl Iterator<Item = &Arc<FreshValue>> {
        let values = self.values.iter().flat_map(|values| values.iter()).zip(&self.kept);
        values.filter_map(|(value, kept)| match value {
            ValueRef::Fresh(fresh) if kept.is_none() => Some(fresh),
            _ => None,
        })
    }

    /// Bytes that have to go to the log for it.
    pub(crate) fn log_bytes(&self) -> u64 {
        let fresh: usize = self.fresh_values().map(|fresh| fresh.len_bytes()).sum();
        (self.cell.len_bytes() + fresh + 12 * self.kept.len()) as u64
    }
}

/// Mostly short, and inline then: keys are compared without following a pointer.
type WriteKey = SmallVec<[u8; 24]>;

/// The writes of a transaction in one table.
pub(crate) struct TableWrites {
    id: u64,
    /// The table in the transaction's snapshot; an empty one when the transaction created it.
    base: Arc<Table>,
    pages: Arc<Pages>,
    pub(crate) created: bool,
    /// The table was built outside, and comes with the commit.
    pub(crate) built: Option<BuiltTable>,
    pub(crate) writes: BTreeMap<WriteKey, Write>,
    /// Snapshot and writes as one tree: made when a scan or a count first needs it, kept up to date from then on.
    overlay: OnceLock<Tree>,
}

impl TableWrites {
    pub(crate) fn new(id: u64, base: Arc<Table>, pages: Arc<Pages>, created: bool) -> TableWrites {
        let (writes, overlay) = (BTreeMap::new(), OnceLock::new());
        TableWrites { id, base, pages, created, built: None, writes, overlay }
    }

    /// The writes of a table that was built outside.
    pub(crate) fn over(built: BuiltTable, pages: Arc<Pages>) -> TableWrites {
        let built_id = built.table;
        let table = Arc::new(Table { tree: built.tree.clone(), next_row: built.next_row });
        TableWrites { built: Some(built), ..TableWrites::new(built_id, table, pages, true) }
    }

    /// Keeps the writes alone.
    pub(crate) fn forget_snapshot(&mut self, pages: &Arc<Pages>) {
        (self.pages, self.base, self.overlay) = (Arc::clone(pages), Arc::new(Table::new()), OnceLock::new());
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context { pages: &self.pages, table: self.id }
    }

    /// The record under `key` as the transaction sees it.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Found>> {
        match self.writes.get(key) {
            Some(write) => Ok(write.put.as_ref().map(|put| Found::Changed(put.change(UNCOMMITTED)))),
            None => self.base.tree.get(key, &self.context()),
        }
    }

    pub(crate) fn tree(&self) -> Result<&Tree> {
        if self.writes.is_empty() {
            return Ok(&self.base.tree);
        }
        if self.overlay.get().is_none() {
            let mut tree = self.base.tree.clone();
            for (key, write) in &self.writes {
                tree.apply(write.change(key, UNCOMMITTED), None, &self.context())?;
            }
            let _ = self.overlay.set(tree);
        }
        self.overlay.get().ok_or(Error::Misuse { what: "a transaction is read by two threads" })
    }

    fn note(&mut self, change: impl FnOnce() -> Change) -> Result<()> {
        let context = Context { pages: &self.pages, table: self.id };
        match self.overlay.get_mut() {
            Some(tree) => tree.apply(change(), None, &context).map(drop),
            None => Ok(()),
        }
    }

    /// Records a put. Returns the bytes it adds to the log.
    pub(crate) fn put(
        &mut self,
        key: &[u8],
        record: NewRecord<'_>,
        row: Option<RowHole>,
        scratch: &mut Vec<u8>,
    ) -> Result<u64> {
        check_sizes(key, &record)?;
        let (values, kept) = self.resolve_values(key, record.values)?;
        let put = Put { cell: Cell::new(key, record.head, scratch), values, kept, row };
        let bytes = put.log_bytes();
        self.note(|| put.change(UNCOMMITTED))?;
        match self.writes.get_mut(key) {
            Some(write) => {
                // A row that this transaction appended keeps its hole when it is written again.
                let hole = write
                    .put
                    .as_ref()
                    .and_then(|old| old.row)
                    .filter(|hole| row.is_none() && hole.at + 8 <= key.len());
                write.put = Some(Put { row: row.or(hole), ..put });
            }
            None => {
                let base =
                    if is_in_key(row, key) { 0 } else { self.base.tree.version(key, &self.context())? };
                self.writes.insert(WriteKey::from_slice(key), Write { base, put: Some(put) });
            }
        }
        Ok(bytes)
    }

    /// Records a delete. Returns whether there was anything to delete.
    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let found = match self.writes.get_mut(key) {
            Some(write) if write.base == 0 => {
                let found = write.put.is_some();
                self.writes.remove(key);
                found
            }
            Some(write) => write.put.take().is_some(),
            None => match self.base.tree.version(key, &self.context())? {
                0 => false,
                base => {
                    self.writes.insert(WriteKey::from_slice(key), Write { base, put: None });
                    true
                }
            },
        };
        if found {
            self.note(|| Change::delete(Cell::new(key, &[], &mut Vec::new()), UNCOMMITTED))?;
        }
        Ok(found)
    }

    /// Turns values and keeps into values, with each kept one's number in the base record.
    fn resolve_values(&self, key: &[u8], values: &[NewValue<'_>]) -> Result<(Values, Vec<Option<u32>>)> {
        if values.is_empty() {
            return Ok((None, Vec::new()));
        }
        let own = self.writes.get(key);
        let keeps = values.iter().any(|value| matches!(value, NewValue::Keep(_)));
        let current = match own {
            _ if !keeps => None,
            Some(write) => write.put.as_ref().and_then(|put| put.values.clone()),
            None => self.base.tree.get(key, &self.context())?.and_then(|found| {
                let values = found.entry().values;
                (!values.is_empty()).then(|| Arc::from(values))
            }),
        };
        let mut resolved = Vec::with_capacity(values.len());
        let mut kept = Vec::with_capacity(values.len());
        let mut taken = BTreeSet::new();
        for value in values {
            match *value {
                NewValue::New(bytes) => {
                    resolved.push(ValueRef::Fresh(FreshValue::new(bytes)));
                    kept.push(None);
                }
                NewValue::Keep(number) => {
                    if !taken.insert(number) {
                        return Err(Error::Misuse { what: "a value is kept twice: it has one place" });
                    }
                    let at = number as usize;
                    let value = current.as_ref().and_then(|values| values.get(at)).cloned();
                    resolved.push(
                        value.ok_or(Error::Misuse {
                            what: "the record to keep a value of does not have it",
                        })?,
                    );
                    // What an earlier write of this transaction brought is not in the base record.
                    kept.push(match own.and_then(|write| write.put.as_ref()) {
                        Some(put) => put.kept.get(at).copied().flatten(),
                        None => Some(number),
                    });
                }
            }
        }
        Ok((Some(Arc::from(resolved)), kept))
    }
}

fn check_sizes(key: &[u8], record: &NewRecord<'_>) -> Result<()> {
    let check = |what, len: usize, limit: usize| match len <= limit {
        true => Ok(()),
        false => Err(Error::TooLarge { what, bytes: len as u64, limit_bytes: limit as u64 }),
    };
    check("a key", key.len(), MAX_KEY_BYTES)?;
    check("a record", record.head.len(), MAX_VALUE_BYTES)?;
    if record.values.len() > MAX_VALUES {
        return Err(Error::Misuse { what: "a record has too many values" });
    }
    record.values.iter().try_for_each(|value| match value {
        NewValue::New(bytes) => check("a value", bytes.len(), MAX_VALUE_BYTES),
        NewValue::Keep(_) => Ok(()),
    })
}

/// Whether the key has the number of a row that is just being appended: then it cannot be there.
fn is_in_key(row: Option<RowHole>, key: &[u8]) -> bool {
    row.is_some_and(|hole| hole.at + 8 <= key.len())
}

/// The hole of a provisional row, `at` bytes behind the key's first.
pub(crate) fn row_hole(row: RowId, at: usize) -> Option<RowHole> {
    row.ordinal().map(|ordinal| RowHole { ordinal, at })
}
