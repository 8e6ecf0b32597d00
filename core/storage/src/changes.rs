//! The content of a log frame: commits, each a list of changes to tables.
//!
//! Changes are physical: they say which bytes stand under which key afterwards, and what stood there before in
//! outline (something or nothing), so that replay notices when the log does not fit the state it is applied to.
//! A transaction writes its changes before it enters the commit section, with holes where row numbers go; the commit
//! section fills the holes.

use crate::block::BlockPointer;
use crate::bytes::{Reader, put_prefixed, put_u64, put_varint};
use crate::error::Result;
use crate::file_store::FileStore;
use crate::ids::RowId;
use crate::outside;
use crate::record::ValueRef;
use crate::space::Extent;
use crate::state::{State, Table};
use crate::table_builder::BuiltTable;
use crate::transaction::Transaction;
use crate::tree::{Link, Tree};
use crate::write_set::{Put, Write};

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
    /// Where first row numbers of tables belong, when the changes are outside the log: position, and the ordinal of the
    /// append.
    first_row_holes: Vec<(usize, u64)>,
}

impl EncodedChanges {
    /// Writes the changes outside the log and keeps what the log is going to hold instead. Says where they are.
    pub(crate) fn move_outside(&mut self, file: &FileStore, appends: &[u64]) -> Result<Extent> {
        let unnumbered = outside::Unnumbered {
            bytes: &self.bytes,
            appends,
            row_holes: &self.row_holes,
            next_row_holes: &self.next_row_holes,
        };
        let pointer = outside::write(file, &unnumbered)?;
        *self = EncodedChanges::default();
        self.first_row_holes = outside::encode(pointer, appends, &mut self.bytes);
        Ok(pointer.extent())
    }

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
    pub(crate) fn fill(&mut self, rows_given: &[RowId], state: &State) {
        let rows = self
            .row_holes
            .iter()
            .filter_map(|&(at, ordinal)| Some((at, rows_given.get(ordinal as usize)?.to_key())));
        let next = self.next_row_holes.iter().map(|&(at, table)| {
            (at, state.tables.get(table).map_or(0, |table| table.next_row).to_le_bytes())
        });
        let first = self
            .first_row_holes
            .iter()
            .filter_map(|&(at, ordinal)| Some((at, rows_given.get(ordinal as usize)?.get().to_le_bytes())));
        for (at, number) in rows.chain(next).chain(first) {
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

/// A change to a table, as it is read back.
pub(crate) enum Op<'c> {
    Create,
    Drop,
    /// The table, and the parts of the file that its blocks take.
    Attach(Table, Vec<Extent>),
    NextRow(u64),
    Put {
        /// Whether something stood there.
        replaces: bool,
        key: &'c [u8],
        head: &'c [u8],
        values: Vec<ValueOp<'c>>,
    },
    /// Something stood there.
    Delete {
        key: &'c [u8],
    },
}

/// Where a value of a record that is put comes from.
pub(crate) enum ValueOp<'c> {
    New(&'c [u8]),
    /// The value of that number of the record that is replaced.
    Kept(usize),
    /// In the file; a direct one was written for this commit.
    Stored {
        pointer: BlockPointer,
        is_direct: bool,
    },
}

/// The changes of a commit, each with its table, in order; `None` in place of what cannot be read, and then no more.
pub(crate) fn ops(changes: &[u8]) -> impl Iterator<Item = Option<(u64, Op<'_>)>> {
    let mut reader = Reader::new(changes);
    std::iter::from_fn(move || {
        if reader.is_empty() {
            return None;
        }
        let op = read_op(&mut reader);
        if op.is_none() {
            reader = Reader::new(&[]);
        }
        Some(op)
    })
}

fn read_op<'c>(reader: &mut Reader<'c>) -> Option<(u64, Op<'c>)> {
    let (kind, table) = (reader.u8()?, reader.varint()?);
    let op = match kind {
        CREATE_TABLE => Op::Create,
        DROP_TABLE => Op::Drop,
        ATTACH_TABLE => {
            let (table, extents) = read_attach(reader)?;
            Op::Attach(table, extents)
        }
        NEXT_ROW => Op::NextRow(reader.u64()?),
        DELETE => Op::Delete { key: reader.prefixed()? },
        INSERT | REPLACE => {
            let (key, head) = (reader.prefixed()?, reader.prefixed()?);
            let count = usize::try_from(reader.varint()?).ok()?;
            // Each value takes at least two bytes.
            if count > reader.left() {
                return None;
            }
            let values = (0..count).map(|_| read_value(reader)).collect::<Option<_>>()?;
            Op::Put { replaces: kind == REPLACE, key, head, values }
        }
        _ => return None,
    };
    Some((table, op))
}

fn read_value<'c>(reader: &mut Reader<'c>) -> Option<ValueOp<'c>> {
    Some(match reader.u8()? {
        VALUE_NEW => ValueOp::New(reader.prefixed()?),
        VALUE_KEPT => ValueOp::Kept(usize::try_from(reader.varint()?).ok()?),
        kind @ (VALUE_PLACED | VALUE_DIRECT) => {
            let pointer = BlockPointer::decode(reader).flatten()?;
            ValueOp::Stored { pointer, is_direct: kind == VALUE_DIRECT }
        }
        _ => return None,
    })
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
