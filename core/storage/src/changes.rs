//! The content of a log frame: commits, each a list of changes to tables.
//!
//! Changes are physical: they say which bytes stand under which key afterwards, and what stood there before in
//! outline (something or nothing), so that replay notices when the log does not fit the state it is applied to.
//! A transaction writes its changes before it enters the commit section, with holes where row numbers go; the commit
//! section fills the holes.

use crate::bytes::{Reader, put_prefixed, put_u64, put_varint};
use crate::ids::RowId;
use crate::record::{Cell, StoredValue};
use crate::state::{State, Table};
use crate::transaction::Transaction;
use crate::tree::Item;
use crate::write_set::{Put, Write};
use std::sync::Arc;

const CREATE_TABLE: u8 = 1;
const DROP_TABLE: u8 = 2;
const INSERT: u8 = 3;
const REPLACE: u8 = 4;
const DELETE: u8 = 5;
/// The next row number of a table.
const NEXT_ROW: u8 = 6;

const VALUE_NEW: u8 = 0;
const VALUE_KEPT: u8 = 1;

/// Bytes in front of each commit in a frame: its sequence and length, at most.
pub(crate) const COMMIT_PREFIX_BYTES: usize = 8 + 10;

/// A transaction's changes as bytes, not numbered yet.
#[derive(Default)]
pub(crate) struct EncodedChanges {
    pub(crate) bytes: Vec<u8>,
    /// Where row numbers belong: position, and the ordinal of the append.
    row_holes: Vec<(usize, u64)>,
    /// Where next row numbers of tables belong: position and table.
    next_row_holes: Vec<(usize, u64)>,
}

impl EncodedChanges {
    pub(crate) fn of(transaction: &Transaction) -> EncodedChanges {
        let mut changes = EncodedChanges::default();
        changes.bytes.reserve(transaction.pending_bytes() as usize + 64);
        for &table in &transaction.dropped {
            changes.start(DROP_TABLE, table);
        }
        for (&table, writes) in &transaction.tables {
            if writes.created {
                changes.start(CREATE_TABLE, table);
            }
            writes.writes.iter().for_each(|(key, write)| changes.push(table, key, write));
        }
        let mut appended = transaction.appends.clone();
        appended.sort_unstable();
        appended.dedup();
        for table in appended {
            changes.start(NEXT_ROW, table);
            changes.next_row_holes.push((changes.bytes.len(), table));
            put_u64(&mut changes.bytes, 0);
        }
        changes
    }

    fn start(&mut self, kind: u8, table: u64) {
        self.bytes.push(kind);
        put_varint(&mut self.bytes, table);
    }

    fn push(&mut self, table: u64, key: &[u8], write: &Write) {
        match &write.put {
            None => {
                self.start(DELETE, table);
                put_prefixed(&mut self.bytes, key);
            }
            Some(put) => {
                self.start(if write.base == 0 { INSERT } else { REPLACE }, table);
                self.push_put(key.len(), put);
            }
        }
    }

    fn push_put(&mut self, key_len: usize, put: &Put) {
        let (key, head) = (put.cell.key(), put.cell.head());
        put_varint(&mut self.bytes, key.len() as u64);
        let key_at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        put_varint(&mut self.bytes, head.len() as u64);
        let head_at = self.bytes.len();
        self.bytes.extend_from_slice(head);
        if let Some(hole) = put.row {
            let at = if hole.at < key_len { key_at + hole.at } else { head_at + hole.at - key_len };
            self.row_holes.push((at, hole.ordinal));
        }
        put_varint(&mut self.bytes, put.kept.len() as u64);
        for (value, kept) in put.values.iter().flat_map(|values| values.iter()).zip(&put.kept) {
            match kept {
                Some(number) => {
                    self.bytes.push(VALUE_KEPT);
                    put_varint(&mut self.bytes, u64::from(*number));
                }
                None => {
                    self.bytes.push(VALUE_NEW);
                    put_prefixed(&mut self.bytes, &value.bytes);
                }
            }
        }
    }

    /// Fills the holes, once the commit section has given the numbers.
    pub(crate) fn fill(&mut self, rows: &[RowId], state: &State) {
        let rows = self
            .row_holes
            .iter()
            .filter_map(|&(at, ordinal)| Some((at, rows.get(ordinal as usize)?.to_key())));
        let next = self.next_row_holes.iter().map(|&(at, table)| {
            (at, state.tables.get(table).map_or(0, |table| table.next_row).to_le_bytes())
        });
        for (at, number) in rows.chain(next) {
            if let Some(hole) = self.bytes.get_mut(at..at + 8) {
                hole.copy_from_slice(&number);
            }
        }
    }
}

/// Appends one commit to a frame's payload.
pub(crate) fn push_commit(payload: &mut Vec<u8>, sequence: u64, changes: &[u8]) {
    put_u64(payload, sequence);
    put_prefixed(payload, changes);
}

/// The commits of a frame's payload, in order; `None` in place of one that is cut short.
pub(crate) fn commits(payload: &[u8]) -> impl Iterator<Item = Option<(u64, &[u8])>> {
    let mut reader = Reader::new(payload);
    std::iter::from_fn(move || {
        if reader.is_empty() {
            return None;
        }
        let commit = reader.u64().and_then(|sequence| Some((sequence, reader.prefixed()?)));
        if commit.is_none() {
            reader = Reader::new(&[]);
        }
        Some(commit)
    })
}

/// Applies one commit's changes. `None` when they do not fit the state.
pub(crate) fn replay(state: &mut State, sequence: u64, changes: &[u8], scratch: &mut Vec<u8>) -> Option<()> {
    let mut reader = Reader::new(changes);
    while !reader.is_empty() {
        let (kind, id) = (reader.u8()?, reader.varint()?);
        match kind {
            CREATE_TABLE => {
                if state.tables.get(id).is_some() {
                    return None;
                }
                state.tables.insert(id, Table::new());
                state.next_table = state.next_table.max(id.checked_add(1)?);
            }
            DROP_TABLE => state.tables.remove(id).then_some(())?,
            INSERT | REPLACE => {
                let table = state.tables.get_mut(id)?;
                let item = replay_put(table, &mut reader, sequence, scratch)?;
                let replaced = table.tree.insert(item);
                if replaced.is_some() != (kind == REPLACE) {
                    return None;
                }
            }
            DELETE => {
                let key = reader.prefixed()?;
                state.tables.get_mut(id)?.tree.remove(key)?;
            }
            NEXT_ROW => {
                let next_row = reader.u64()?;
                // An append whose table was dropped in the same commit leaves nothing to number.
                if let Some(table) = state.tables.get_mut(id) {
                    table.next_row = table.next_row.max(next_row);
                }
            }
            _ => return None,
        }
    }
    state.sequence = sequence;
    Some(())
}

fn replay_put(table: &Table, reader: &mut Reader<'_>, sequence: u64, scratch: &mut Vec<u8>) -> Option<Item> {
    let (key, head) = (reader.prefixed()?, reader.prefixed()?);
    let count = usize::try_from(reader.varint()?).ok()?;
    // Each value takes at least two bytes.
    if count > reader.left() {
        return None;
    }
    let base = if count > 0 { table.tree.get(key).and_then(|item| item.values.clone()) } else { None };
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(match reader.u8()? {
            VALUE_NEW => StoredValue::new(reader.prefixed()?),
            VALUE_KEPT => Arc::clone(base.as_ref()?.get(usize::try_from(reader.varint()?).ok()?)?),
            _ => return None,
        });
    }
    Some(Item::new(Cell::new(key, head, scratch), (!values.is_empty()).then(|| Arc::new(values)), sequence))
}
