//! Applying commits that were read back to a state.

use crate::changes::{Op, ValueOp, ops};
use crate::error::Error;
use crate::fault::{Fault, planted};
use crate::pending::Pending;
use crate::record::{Cell, FreshValue, ValueRef};
use crate::state::{State, Table};
use crate::tree::{Change, Context};
use std::sync::Arc;

/// Takes the commits of a log in their order.
pub(crate) trait Apply {
    /// The newest commit that it has.
    fn sequence(&self) -> u64;
    /// Takes the next one.
    fn commit(&mut self, sequence: u64, changes: &[u8]) -> Result<(), Unfit>;
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

/// What a replay adds to a state, and to what the checkpoint knows of the file.
pub(crate) struct Replaying<'r> {
    pub(crate) state: &'r mut State,
    pub(crate) pending: &'r mut Pending,
    /// The last commit that it takes.
    pub(crate) last: u64,
    pub(crate) scratch: Vec<u8>,
}

impl Apply for Replaying<'_> {
    fn sequence(&self) -> u64 {
        self.state.sequence
    }

    /// Reads no leaves, but for values that the checkpoint has and the log does not place.
    fn commit(&mut self, sequence: u64, changes: &[u8]) -> Result<(), Unfit> {
        if sequence > self.last {
            return Err(Unfit::Changes);
        }
        for op in ops(changes) {
            let (id, op) = op.ok_or(Unfit::Changes)?;
            match op {
                Op::Put { replaces, key, head, values } => {
                    let values = values
                        .iter()
                        .map(|value| self.value(id, key, value))
                        .collect::<Result<Vec<_>, _>>()?;
                    let values = (!values.is_empty()).then(|| Arc::from(values));
                    let change = Change::put(Cell::new(key, head, &mut self.scratch), values, sequence);
                    self.apply(id, change, replaces)?;
                }
                Op::Delete { key } => {
                    let change = Change::delete(Cell::new(key, &[], &mut self.scratch), sequence);
                    self.apply(id, change, true)?;
                }
                op => self.table_change(id, op).ok_or(Unfit::Changes)?,
            }
        }
        self.state.sequence = sequence;
        Ok(())
    }
}

impl Replaying<'_> {
    fn table_change(&mut self, id: u64, op: Op<'_>) -> Option<()> {
        match op {
            Op::Create => self.create(id, Table::new()),
            Op::Attach(table, extents) => {
                if !planted(Fault::AttachedNotMarked) {
                    self.pending.provisional.extend(extents);
                }
                self.create(id, table)
            }
            Op::Drop => {
                let table = Arc::clone(self.state.tables.get(id)?);
                self.pending.dropped.push((id, table.tree.clone()));
                self.state.tables.remove(id).then_some(())
            }
            Op::NextRow(next_row) => {
                // An append whose table was dropped in the same commit leaves nothing to number.
                if let Some(table) = self.state.tables.get_mut(id) {
                    table.next_row = table.next_row.max(next_row);
                }
                Some(())
            }
            Op::Put { .. } | Op::Delete { .. } => None,
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

    fn value(&mut self, id: u64, key: &[u8], value: &ValueOp<'_>) -> Result<ValueRef, Unfit> {
        match value {
            ValueOp::New(bytes) => Ok(ValueRef::Fresh(FreshValue::new(bytes))),
            ValueOp::Kept(number) => {
                let table = self.state.tables.get(id).ok_or(Unfit::Changes)?;
                let found = table.tree.get(key, &self.state.context(id))?.ok_or(Unfit::Changes)?;
                found.entry().values.get(*number).cloned().ok_or(Unfit::Changes)
            }
            ValueOp::Stored { pointer, is_direct } => {
                if *is_direct && !planted(Fault::DirectNotMarked) {
                    self.pending.provisional.push(pointer.extent());
                    self.pending.values.push(pointer.extent());
                }
                Ok(ValueRef::Stored(*pointer))
            }
        }
    }
}
