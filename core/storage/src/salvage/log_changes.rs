//! What the log has beyond the checkpoint: changes by table and key, to be laid over what the checkpoint holds. It needs
//! no block of the file, so damage there does not keep a commit from being read.

use crate::block::BlockPointer;
use crate::changes::{Op, ValueOp, ops};
use crate::checkpoint::TableEntry;
use crate::replay::{Apply, Unfit};
use crate::space::Extent;
use crate::state::Table;
use crate::tree::Link;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The commits of the log, added up.
#[derive(Default)]
pub(super) struct LogChanges {
    /// The newest commit of the checkpoint and the log.
    pub(super) sequence: u64,
    pub(super) tables: BTreeMap<u64, TableChanges>,
    pub(super) dropped: BTreeSet<u64>,
    /// Parts of the file that commits brought with them.
    pub(super) attached: Vec<Extent>,
}

/// What happened to one table.
#[derive(Default)]
pub(super) struct TableChanges {
    /// It was created; what the checkpoint has under its number is another one.
    pub(super) is_new: bool,
    /// The blocks with which it was created.
    pub(super) attached: Option<TableEntry>,
    pub(super) rows: BTreeMap<Vec<u8>, RowChange>,
    pub(super) next_row: u64,
}

/// The last change of a key.
pub(super) struct RowChange {
    /// Whether the checkpoint has the key.
    pub(super) was_there: bool,
    /// None: it was deleted.
    pub(super) put: Option<NewRow>,
}

/// A record as it was written.
pub(super) struct NewRow {
    pub(super) head: Vec<u8>,
    pub(super) values: Vec<RowValue>,
}

#[derive(Clone)]
pub(super) enum RowValue {
    Bytes(Arc<[u8]>),
    Stored(BlockPointer),
    /// The value of that number of the record that the checkpoint has.
    OfBase(usize),
}

impl LogChanges {
    /// What happened to a table.
    pub(super) fn take(&mut self, table: u64) -> TableChanges {
        self.tables.remove(&table).unwrap_or_default()
    }

    fn apply(&mut self, table: u64, op: Op<'_>) {
        match op {
            Op::Create => {
                self.tables.insert(table, TableChanges { is_new: true, ..TableChanges::default() });
            }
            Op::Attach(built, extents) => {
                self.attached.extend(extents);
                let attached = Some(entry_of(&built));
                self.tables.insert(table, TableChanges { is_new: true, attached, ..TableChanges::default() });
            }
            Op::Drop => {
                self.tables.remove(&table);
                self.dropped.insert(table);
            }
            // An append whose table was dropped in the same commit leaves nothing to number.
            Op::NextRow(_) if self.dropped.contains(&table) => {}
            Op::NextRow(next_row) => {
                let changes = self.tables.entry(table).or_default();
                changes.next_row = changes.next_row.max(next_row);
            }
            Op::Put { replaces, key, head, values } => {
                let rows = &mut self.tables.entry(table).or_default().rows;
                let before = rows.get(key);
                let values = values.iter().map(|value| value_of(value, before)).collect();
                let was_there = before.map_or(replaces, |before| before.was_there);
                let put = Some(NewRow { head: head.to_vec(), values });
                rows.insert(key.to_vec(), RowChange { was_there, put });
            }
            Op::Delete { key } => {
                let rows = &mut self.tables.entry(table).or_default().rows;
                let was_there = rows.get(key).is_none_or(|before| before.was_there);
                rows.insert(key.to_vec(), RowChange { was_there, put: None });
            }
        }
    }
}

fn value_of(value: &ValueOp<'_>, before: Option<&RowChange>) -> RowValue {
    match value {
        ValueOp::New(bytes) => RowValue::Bytes(Arc::from(*bytes)),
        ValueOp::Stored { pointer, .. } => RowValue::Stored(*pointer),
        ValueOp::Kept(number) => before
            .and_then(|before| before.put.as_ref())
            .and_then(|row| row.values.get(*number).cloned())
            .unwrap_or(RowValue::OfBase(*number)),
    }
}

fn entry_of(table: &Table) -> TableEntry {
    TableEntry {
        root: table.tree.root().and_then(Link::pointer),
        height: table.tree.height(),
        has_values: table.tree.has_values(),
        count: table.tree.count(),
        next_row: table.next_row,
    }
}

impl Apply for LogChanges {
    fn sequence(&self) -> u64 {
        self.sequence
    }

    fn commit(&mut self, sequence: u64, changes: &[u8]) -> Result<(), Unfit> {
        // All of it or nothing.
        let ops: Vec<(u64, Op<'_>)> = ops(changes).collect::<Option<_>>().ok_or(Unfit::Changes)?;
        ops.into_iter().for_each(|(table, op)| self.apply(table, op));
        self.sequence = sequence;
        Ok(())
    }
}
