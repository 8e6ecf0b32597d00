//! The commit section: the one short lock under which commits are checked, numbered and made visible.
//!
//! Under it a transaction's writes are applied to a copy of the newest state. Each write finds the version that
//! the transaction saw, or the copy is thrown away and the transaction gets Conflict: nobody sees half of it. The
//! sequence, row numbers and the order in the log are given here, so all three agree.

use crate::error::{Error, Result};
use crate::ids::{RowId, Sequence};
use crate::state::{State, Table};
use crate::store::{Shared, Store};
use crate::transaction::Transaction;
use crate::write_set::{Put, TableWrites};
use std::sync::Arc;

/// What a commit gave.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Its number; hand it to [`Store::wait_durable`](crate::Store::wait_durable).
    pub sequence: Sequence,
    /// The final row number of every append, in the order of the appends.
    pub rows: Vec<RowId>,
}

/// What the lock of the commit section protects.
pub(crate) struct Section {
    /// Exclusive transactions in order of arrival: the next ticket to give, and the one being served.
    next_ticket: u64,
    serving_ticket: u64,
}

impl Section {
    pub(crate) fn new() -> Section {
        Section { next_ticket: 0, serving_ticket: 0 }
    }
}

/// The right to be the only one who commits; given up when dropped.
pub(crate) struct ExclusiveTicket {
    shared: Arc<Shared>,
}

impl Drop for ExclusiveTicket {
    fn drop(&mut self) {
        self.shared.section.lock().serving_ticket += 1;
        self.shared.section_free.notify_all();
    }
}

impl Store {
    /// A transaction during which nobody else commits, so that it cannot lose a conflict: for keys that lost
    /// several in a row. Served in order of arrival. Keep it short, and do not commit another transaction from
    /// the same thread meanwhile: that would wait for itself.
    pub fn begin_exclusive(&self) -> Result<Transaction> {
        let shared = self.shared();
        shared.check_writable()?;
        let mut section = shared.section.lock();
        let mine = section.next_ticket;
        section.next_ticket += 1;
        while section.serving_ticket != mine {
            shared.section_free.wait(&mut section);
        }
        drop(section);
        let ticket = ExclusiveTicket { shared: Arc::clone(shared) };
        Ok(Transaction::new(self.clone(), self.snapshot(), Some(ticket)))
    }

    pub(crate) fn commit(&self, mut transaction: Transaction) -> Result<Committed> {
        let shared = self.shared();
        shared.check_writable()?;
        if transaction.is_empty() && transaction.guards.is_empty() {
            return Ok(Committed { sequence: transaction.base.sequence(), rows: Vec::new() });
        }
        let mut section = shared.section.lock();
        while transaction.ticket.is_none() && section.next_ticket != section.serving_ticket {
            shared.section_free.wait(&mut section);
        }
        let mut state = State::clone(&shared.published.read());
        let rows = apply(&mut state, &mut transaction)?;
        let sequence = Sequence::from_u64(state.sequence);
        let old = std::mem::replace(&mut *shared.published.write(), Arc::new(state));
        drop(section);
        // Freeing what the last reader of the old state leaves is nobody else's business.
        drop(old);
        Ok(Committed { sequence, rows })
    }
}

/// Applies a transaction to a copy of the newest state. An error leaves the copy useless.
fn apply(state: &mut State, transaction: &mut Transaction) -> Result<Vec<RowId>> {
    for guard in &transaction.guards {
        let table = state.tables.get(guard.table).ok_or(Error::Conflict)?;
        if table.tree.get(&guard.key).map_or(0, |item| item.version) != guard.version {
            return Err(Error::Conflict);
        }
    }
    if transaction.is_empty() {
        return Ok(Vec::new());
    }
    state.sequence += 1;
    for &table in &transaction.dropped {
        if !state.tables.remove(table) {
            return Err(Error::Conflict);
        }
    }
    for (&id, writes) in &transaction.tables {
        if writes.created {
            state.tables.insert(id, Table::new());
            state.next_table = state.next_table.max(id + 1);
        }
    }
    let rows = give_rows(state, &transaction.appends)?;
    for (&id, writes) in &mut transaction.tables {
        if !writes.writes.is_empty() {
            apply_table(state, id, writes, &rows)?;
        }
    }
    Ok(rows)
}

fn give_rows(state: &mut State, appends: &[u64]) -> Result<Vec<RowId>> {
    let mut rows = Vec::with_capacity(appends.len());
    for &id in appends {
        // An append into a table that the same transaction dropped later has no row.
        let Some(table) = state.tables.get_mut(id) else {
            rows.push(RowId::from_u64(0));
            continue;
        };
        rows.push(RowId::from_u64(table.next_row));
        table.next_row += 1;
    }
    Ok(rows)
}

fn apply_table(state: &mut State, id: u64, writes: &mut TableWrites, rows: &[RowId]) -> Result<()> {
    let version = state.sequence;
    let table = state.tables.get_mut(id).ok_or(Error::Conflict)?;
    for (key, write) in &mut writes.writes {
        let found = match &mut write.put {
            None => table.tree.remove(key),
            Some(put) => {
                fill_row(put, rows)?;
                table.tree.insert(put.item(version))
            }
        };
        if found.map_or(0, |item| item.version) != write.base {
            return Err(Error::Conflict);
        }
    }
    Ok(())
}

fn fill_row(put: &mut Put, rows: &[RowId]) -> Result<()> {
    if let Some(hole) = put.row {
        let row = rows
            .get(hole.ordinal as usize)
            .ok_or(Error::Misuse { what: "a row number of another transaction" })?;
        put.cell.patch(hole.at, &row.to_key());
    }
    Ok(())
}
