//! The content of a log frame: commits, each a list of changes to tables.
//!
//! Changes are physical: they say which bytes stand under which key afterwards, and what stood there before in
//! outline (something or nothing), so that replay notices when the log does not fit the state it is applied to.
//! A transaction writes its changes before it enters the commit section, with holes where row numbers go; the commit
//! section fills the holes.

use crate::block::BlockPointer;
use crate::bytes::{Reader, put_prefixed, put_u64, put_varint};
use crate::error::Error;
use crate::ids::RowId;
use crate::pending::Pending;
use crate::record::{Cell, FreshValue, ValueRef};
use crate::space::Extent;
use crate::state::{State, Table};
use crate::table_builder::BuiltTable;
use crate::transaction::Transaction;
use crate::tree::{Change, Context, Link, Tree};
use crate::write_set::{Put, Write};
use std::sync::Arc;

const CREATE_TABLE: u8 = 1;
const DROP_TABLE: u8 = 2;
const INSERT: u8 = 3;
const REPLACE: u8 = 4;
const DELETE: u8 = 5;
/// The next row number of a table.
const NEXT_ROW: u8 = 6;
/// A table whose blocks are in the file already.
const ATTACH_TABLE: u8 = 7;

/// The bytes follow.
const VALUE_NEW: u8 = 0;
/// The value of that number of the record that is replaced, which was not in the file yet.
const VALUE_KEPT: u8 = 1;
/// A value of the record that is replaced, by its block.
const VALUE_PLACED: u8 = 2;
/// A new value whose block was written and synced before.
const VALUE_DIRECT: u8 = 3;

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
            match &writes.built {
                Some(built) => changes.push_attach(built),
                None if writes.created => changes.start(CREATE_TABLE, table),
                None => {}
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

    fn push_attach(&mut self, built: &BuiltTable) {
        self.start(ATTACH_TABLE, built.table);
        let tree = &built.tree;
        BlockPointer::encode(tree.root().and_then(Link::pointer), &mut self.bytes);
        self.bytes.extend_from_slice(&[tree.height(), u8::from(tree.has_values())]);
        put_varint(&mut self.bytes, tree.count());
        put_varint(&mut self.bytes, built.next_row);
        put_varint(&mut self.bytes, built.extents.len() as u64);
        for extent in &built.extents {
            put_varint(&mut self.bytes, extent.offset);
            put_varint(&mut self.bytes, extent.len_bytes);
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
            match (value, kept, value.pointer()) {
                (_, kept, Some(pointer)) => {
                    self.bytes.push(if kept.is_some() { VALUE_PLACED } else { VALUE_DIRECT });
                    BlockPointer::encode(Some(pointer), &mut self.bytes);
                }
                (_, Some(number), None) => {
                    self.bytes.push(VALUE_KEPT);
                    put_varint(&mut self.bytes, u64::from(*number));
                }
                (ValueRef::Fresh(fresh), None, None) => {
                    self.bytes.push(VALUE_NEW);
                    put_prefixed(&mut self.bytes, &fresh.bytes().unwrap_or_default());
                }
                (ValueRef::Stored(_), None, None) => {}
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

/// What a replay adds to a state, and to what the checkpoint knows of the file.
pub(crate) struct Replaying<'r> {
    pub(crate) state: &'r mut State,
    pub(crate) pending: &'r mut Pending,
    pub(crate) scratch: Vec<u8>,
}

/// Why a commit cannot be applied.
pub(crate) enum Unfit {
    /// Its bytes are not changes, or do not fit the state.
    Changes,
    /// Something that it needs cannot be read.
    Reading(Error),
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Unfit {
        Unfit::Reading(error)
    }
}

impl Replaying<'_> {
    /// Applies one commit's changes. Reads no leaves, but for values that the checkpoint has and the log does not place.
    pub(crate) fn commit(&mut self, sequence: u64, changes: &[u8]) -> Result<(), Unfit> {
        let mut reader = Reader::new(changes);
        while !reader.is_empty() {
            let kind = reader.u8().ok_or(Unfit::Changes)?;
            let id = reader.varint().ok_or(Unfit::Changes)?;
            match kind {
                INSERT | REPLACE => self.put(id, kind == REPLACE, sequence, &mut reader)?,
                DELETE => {
                    let key = reader.prefixed().ok_or(Unfit::Changes)?;
                    let change = Change::delete(Cell::new(key, &[], &mut self.scratch), sequence);
                    self.apply(id, change, true)?;
                }
                _ => self.table_change(kind, id, &mut reader).ok_or(Unfit::Changes)?,
            }
        }
        self.state.sequence = sequence;
        Ok(())
    }

    fn table_change(&mut self, kind: u8, id: u64, reader: &mut Reader<'_>) -> Option<()> {
        match kind {
            CREATE_TABLE => self.create(id, Table::new()),
            ATTACH_TABLE => {
                let (table, extents) = read_attach(reader)?;
                self.pending.provisional.extend(extents);
                self.create(id, table)
            }
            DROP_TABLE => {
                let table = Arc::clone(self.state.tables.get(id)?);
                self.pending.dropped.push((id, table.tree.clone()));
                self.state.tables.remove(id).then_some(())
            }
            NEXT_ROW => {
                let next_row = reader.u64()?;
                // An append whose table was dropped in the same commit leaves nothing to number.
                if let Some(table) = self.state.tables.get_mut(id) {
                    table.next_row = table.next_row.max(next_row);
                }
                Some(())
            }
            _ => None,
        }
    }

    fn create(&mut self, id: u64, table: Table) -> Option<()> {
        // The catalogue table always exists: of a copy it is attached in place of the empty one.
        if self.state.tables.get(id).is_some_and(|there| id != 0 || there.tree.count() > 0) {
            return None;
        }
        self.state.tables.insert(id, table);
        self.state.next_table = self.state.next_table.max(id.checked_add(1)?);
        Some(())
    }

    fn apply(&mut self, id: u64, change: Change, existed: bool) -> Result<(), Unfit> {
        let pages = Arc::clone(&self.state.pages);
        let table = self.state.tables.get_mut(id).ok_or(Unfit::Changes)?;
        if existed && table.tree.count() == 0 {
            return Err(Unfit::Changes);
        }
        let old = table.tree.apply(change, Some(existed), &Context { pages: &pages, table: id })?;
        if old.existed == existed { Ok(()) } else { Err(Unfit::Changes) }
    }

    fn put(&mut self, id: u64, replaces: bool, sequence: u64, reader: &mut Reader<'_>) -> Result<(), Unfit> {
        let key = reader.prefixed().ok_or(Unfit::Changes)?;
        let head = reader.prefixed().ok_or(Unfit::Changes)?;
        let count = reader.varint().and_then(|count| usize::try_from(count).ok()).ok_or(Unfit::Changes)?;
        // Each value takes at least two bytes.
        if count > reader.left() {
            return Err(Unfit::Changes);
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(self.value(id, key, reader)?);
        }
        let values = (!values.is_empty()).then(|| Arc::from(values));
        let change = Change::put(Cell::new(key, head, &mut self.scratch), values, sequence);
        self.apply(id, change, replaces)
    }

    fn value(&mut self, id: u64, key: &[u8], reader: &mut Reader<'_>) -> Result<ValueRef, Unfit> {
        let kind = reader.u8().ok_or(Unfit::Changes)?;
        match kind {
            VALUE_NEW => {
                let bytes = reader.prefixed().ok_or(Unfit::Changes)?;
                Ok(ValueRef::Fresh(FreshValue::new(bytes)))
            }
            VALUE_KEPT => {
                let number = reader.varint().and_then(|number| usize::try_from(number).ok());
                let table = self.state.tables.get(id).ok_or(Unfit::Changes)?;
                let found = table.tree.get(key, &self.state.context(id))?.ok_or(Unfit::Changes)?;
                let value = number.and_then(|number| found.entry().values.get(number).cloned());
                value.ok_or(Unfit::Changes)
            }
            VALUE_PLACED | VALUE_DIRECT => {
                let pointer = BlockPointer::decode(reader).flatten().ok_or(Unfit::Changes)?;
                if kind == VALUE_DIRECT {
                    self.pending.provisional.push(pointer.extent());
                    self.pending.values.push(pointer.extent());
                }
                Ok(ValueRef::Stored(pointer))
            }
            _ => Err(Unfit::Changes),
        }
    }
}

fn read_attach(reader: &mut Reader<'_>) -> Option<(Table, Vec<Extent>)> {
    let root = BlockPointer::decode(reader)?;
    let (height, has_values) = (reader.u8()?, reader.u8()? == 1);
    let (count, next_row) = (reader.varint()?, reader.varint()?);
    let extents = usize::try_from(reader.varint()?).ok()?;
    if extents > reader.left() / 2 {
        return None;
    }
    let extents = (0..extents)
        .map(|_| Some(Extent { offset: reader.varint()?, len_bytes: reader.varint()? }))
        .collect::<Option<Vec<_>>>()?;
    let tree = match root {
        Some(root) => Tree::from_root(root, height, count, has_values),
        None => Tree::default(),
    };
    Some((Table { tree, next_row }, extents))
}
