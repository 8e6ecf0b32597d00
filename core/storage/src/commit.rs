//! The commit section: the one short lock under which commits are checked, numbered and made visible.
//!
//! Under it a transaction's writes are applied to a copy of the newest state. Each write finds the version that
//! the transaction saw, or the copy is thrown away and the transaction gets Conflict: nobody sees half of it. The
//! sequence, row numbers and the order in the log are given here, so all three agree.

use crate::changes::EncodedChanges;
use crate::direct_values::{self, DirectValues};
use crate::error::{Error, Result};
use crate::file_store::FileStore;
use crate::ids::{KeyId, RowId, Sequence, TableId};
use crate::intents::OwnIntents;
use crate::log::{Item, Need, Queue, Until};
use crate::pending::Pending;
use crate::snapshot::Snapshot;
use crate::space::Extent;
use crate::state::{State, Table};
use crate::store::{Medium, Shared, Store};
use crate::transaction::Transaction;
use crate::tree::{Context, Tree};
use crate::write_set::{Put, TableWrites};
use std::sync::Arc;

/// Bytes that may wait for the log before the next committer writes them.
const QUEUE_BYTES: usize = 16 << 20;
/// Log regions that may wait for a checkpoint before commits are slowed down, a millisecond for each more.
const LAG_FREE: u64 = 3;
/// Log regions that may wait for a checkpoint before commits wait too.
const LAG_LIMIT: u64 = 8;

/// Bytes of changes outside the log that may wait for a checkpoint before commits wait too, at least.
const OUTSIDE_LIMIT_BYTES: u64 = 16 << 20;

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
    /// Commits on their way to the log, in order.
    pub(crate) queue: Queue,
    /// What the next checkpoint has to know beside the state.
    pub(crate) pending: Pending,
    /// Exclusive transactions in order of arrival: the next ticket to give, and the one being served.
    next_ticket: u64,
    serving_ticket: u64,
}

impl Section {
    pub(crate) fn new(queue: Queue, pending: Pending) -> Section {
        Section { queue, pending, next_ticket: 0, serving_ticket: 0 }
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
    /// A transaction during which nobody else commits: what it read of whole tables is the newest when it commits. Served
    /// in order of arrival. Keep it short, and do not commit another transaction from the same thread meanwhile: that
    /// would wait for itself.
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
        Ok(Transaction::new(self.clone(), self.snapshot(), Some(ticket), OwnIntents::none()))
    }

    pub(crate) fn commit(&self, mut transaction: Transaction) -> Result<Committed> {
        let shared = self.shared();
        shared.check_writable()?;
        if let Some(on) = transaction.conflict() {
            return Err(Error::Conflict { on });
        }
        if transaction.is_empty() && transaction.guards.is_empty() {
            return Ok(Committed { sequence: transaction.base.sequence(), rows: Vec::new() });
        }
        let Medium::File(file) = &shared.medium else {
            return match enter_section(shared, &mut transaction, None)? {
                Entered::Committed(committed) => Ok(committed),
                // There is no log, and nothing has a place to be moved from.
                Entered::NoRoom | Entered::Moved => Err(Error::Closed),
            };
        };
        let tuning = &shared.options.tuning;
        let direct = direct_values::write(file, &transaction, tuning.direct_from_bytes)?;
        let mut early = Early { direct, outside: None };
        let result = self.commit_logged(file, &mut transaction, &mut early);
        // No frame names it: it was never there. Of a poisoned handle nobody knows that.
        if result.is_err() && file.poison.check().is_ok() {
            early.give_back_outside(file);
            early.direct.into_iter().for_each(|direct| direct.give_back(file));
        }
        result
    }

    fn commit_logged(
        &self,
        file: &FileStore,
        transaction: &mut Transaction,
        early: &mut Early,
    ) -> Result<Committed> {
        let shared = self.shared();
        let only_deletes = transaction.only_deletes();
        let mut changes = self.encode(file, transaction, early)?;
        loop {
            slow_down(shared, file);
            match enter_section(shared, transaction, Some((&mut changes, &*early)))? {
                Entered::Committed(committed) => {
                    shared.bell.ring();
                    if file.log.queued_bytes() > QUEUE_BYTES {
                        file.log.wait(&shared.section, Until::Sequence(committed.sequence.get()))?;
                    }
                    return Ok(committed);
                }
                Entered::NoRoom => {
                    transaction.forget_snapshot();
                    make_room(shared, file, Item::room_bytes(changes.bytes.len()), only_deletes)?;
                }
                Entered::Moved => {
                    find_kept(transaction, &self.snapshot())?;
                    early.give_back_outside(file);
                    changes = self.encode(file, transaction, early)?;
                }
            }
        }
    }

    /// The changes as the log is going to hold them; those of a large transaction are written elsewhere. What only frees
    /// space must work on a full disk, and stays in the log.
    fn encode(
        &self,
        file: &FileStore,
        transaction: &Transaction,
        early: &mut Early,
    ) -> Result<EncodedChanges> {
        let mut changes = EncodedChanges::of(transaction);
        let from_bytes = self.shared().options.tuning.direct_from_bytes;
        if changes.bytes.len() >= from_bytes && !transaction.only_deletes() {
            early.outside = Some(changes.move_outside(file, &transaction.appends)?);
        }
        Ok(changes)
    }
}

/// What a commit wrote before it: nobody knows of it until the commit section.
struct Early {
    direct: Option<DirectValues>,
    /// Its changes, when they are outside the log.
    outside: Option<Extent>,
}

impl Early {
    /// The commit is visible.
    fn note(&self, file: &FileStore, pending: &mut Pending) {
        self.direct.iter().for_each(|direct| direct.note(pending));
        pending.outside.extend(self.outside);
        file.log.add_outside(self.outside.map_or(0, |extent| extent.len_bytes));
    }

    fn give_back_outside(&mut self, file: &FileStore) {
        if let Some(extent) = self.outside.take() {
            file.space.lock().release(extent);
        }
    }
}

/// What the commit section did.
enum Entered {
    Committed(Committed),
    /// Nothing: the log has no room for the changes.
    NoRoom,
    /// Nothing: a checkpoint moved a value that the transaction keeps, which changes no version.
    Moved,
}

/// Finds the kept values of a transaction where they are now.
fn find_kept(transaction: &mut Transaction, now: &Snapshot) -> Result<()> {
    for (&id, writes) in &mut transaction.tables {
        for (key, write) in &mut writes.writes {
            let (base, Some(put)) = (write.base, &mut write.put) else { continue };
            let (true, Some(values)) = (put.kept.iter().any(Option::is_some), &put.values) else { continue };
            let lost = || Error::Conflict { on: KeyId::of(id, key) };
            let Ok(table) = now.table(TableId::from_u64(id)) else { return Err(lost()) };
            let found = table.tree.get(key, &now.state.context(id))?;
            let found = found.filter(|found| found.version() == base).ok_or_else(lost)?;
            let current = found.entry().values;
            let values = values.iter().zip(&put.kept).map(|(value, kept)| match kept {
                Some(number) => current.get(*number as usize).cloned().ok_or_else(lost),
                None => Ok(value.clone()),
            });
            put.values = Some(values.collect::<Result<Vec<_>>>()?.into());
        }
    }
    Ok(())
}

/// Prepares a region of the log; when the disk is full, a checkpoint may free the old ones.
fn make_room(shared: &Shared, file: &FileStore, room_bytes: u64, only_deletes: bool) -> Result<()> {
    let prepare = |need| file.log.prepare_region(&shared.section, &file.space, need);
    let full = match prepare(Need::Bytes(room_bytes)) {
        Err(full @ Error::Full { .. }) => full,
        result => return result,
    };
    match file.checkpoint(shared) {
        Ok(()) | Err(Error::Full { .. }) if only_deletes => prepare(Need::ToFreeSpace(room_bytes)),
        Ok(()) => prepare(Need::Bytes(room_bytes)),
        Err(Error::Full { .. }) => Err(full),
        Err(other) => Err(other),
    }
}

/// Poisons the handle when the commit section panics.
struct PanicGuard<'s>(&'s Shared);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if let (true, Medium::File(file)) = (std::thread::panicking(), &self.0.medium) {
            file.poison.set_cause("a panic in the commit section");
        }
    }
}

/// The commit section.
fn enter_section(
    shared: &Shared,
    transaction: &mut Transaction,
    logged: Option<(&mut EncodedChanges, &Early)>,
) -> Result<Entered> {
    let mut section = shared.section.lock();
    while transaction.ticket.is_none() && section.next_ticket != section.serving_ticket {
        shared.section_free.wait(&mut section);
    }
    shared.check_writable()?;
    let only_deletes = transaction.only_deletes();
    let room_bytes = logged.as_ref().map_or(0, |(changes, _)| Item::room_bytes(changes.bytes.len()));
    if logged.is_some() && !section.queue.has_room(room_bytes, only_deletes) {
        return Ok(Entered::NoRoom);
    }
    let guard = PanicGuard(shared);
    let mut state = State::clone(&shared.published.read());
    let mut pending = Pending::default();
    let Some(rows) = apply(&mut state, transaction, &mut pending)? else { return Ok(Entered::Moved) };
    let sequence = state.sequence;
    if let Some((changes, early)) = logged
        && !transaction.is_empty()
    {
        changes.fill(&rows, &state);
        let changes = std::mem::take(&mut changes.bytes);
        section.queue.push(Item::Commit { sequence, changes }, room_bytes, only_deletes);
        if let Medium::File(file) = &shared.medium {
            file.log.note_queue(&section.queue);
            early.note(file, &mut pending);
        }
        section.pending.append(pending);
    }
    let old = std::mem::replace(&mut *shared.published.write(), Arc::new(state));
    transaction.set_attached();
    drop(guard);
    drop(section);
    // Freeing what the last reader of the old state leaves is nobody else's business.
    drop(old);
    Ok(Entered::Committed(Committed { sequence: Sequence::from_u64(sequence), rows }))
}

/// Slows commits down when checkpoints do not keep up with the log, and takes one here when nobody else does.
fn slow_down(shared: &Shared, file: &FileStore) {
    let lag = file.log.lag();
    let outside_limit = (shared.options.cache_bytes as u64 / 4).max(OUTSIDE_LIMIT_BYTES);
    if lag >= LAG_LIMIT || file.log.outside_bytes() >= outside_limit {
        // A clean failure (a full disk) is met again when the log needs a region.
        let _ = file.checkpoint(shared);
    } else if lag > LAG_FREE && shared.options.background {
        std::thread::sleep(std::time::Duration::from_millis(lag - LAG_FREE));
    }
}

/// Applies a transaction to a copy of the newest state; `None` when a value that it keeps is elsewhere now. Without rows
/// the copy is useless.
fn apply(
    state: &mut State,
    transaction: &mut Transaction,
    pending: &mut Pending,
) -> Result<Option<Vec<RowId>>> {
    for guard in &transaction.guards {
        let lost = || Error::Conflict { on: KeyId::of(guard.table, &guard.key) };
        let table = state.tables.get(guard.table).ok_or_else(lost)?;
        if table.tree.version(&guard.key, &state.context(guard.table))? != guard.version {
            return Err(lost());
        }
    }
    if transaction.is_empty() {
        return Ok(Some(Vec::new()));
    }
    state.sequence += 1;
    for &table in &transaction.dropped {
        let gone = state.tables.get(table).ok_or_else(|| no_table(table))?;
        pending.dropped.push((table, gone.tree.clone()));
        state.tables.remove(table);
    }
    for (&id, writes) in &mut transaction.tables {
        if writes.created {
            let table = match &mut writes.built {
                Some(built) => {
                    pending.provisional.extend_from_slice(&built.extents);
                    Table { tree: built.tree.clone(), next_row: built.next_row }
                }
                None => Table::new(),
            };
            state.tables.insert(id, table);
            state.next_table = state.next_table.max(id + 1);
        }
    }
    let rows = give_rows(state, &transaction.appends)?;
    for (&id, writes) in &mut transaction.tables {
        if !apply_table(state, id, writes, &rows)? {
            return Ok(None);
        }
    }
    Ok(Some(rows))
}

/// Somebody has dropped a table that the transaction writes.
fn no_table(table: u64) -> Error {
    Error::Conflict { on: KeyId::of_table(table) }
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

/// Applies the writes to one table; false when a value that one of them keeps is elsewhere now.
fn apply_table(state: &mut State, id: u64, writes: &mut TableWrites, rows: &[RowId]) -> Result<bool> {
    if writes.writes.is_empty() {
        return Ok(true);
    }
    let (version, pages) = (state.sequence, Arc::clone(&state.pages));
    let context = Context { pages: &pages, table: id };
    let tree = &mut state.tables.get_mut(id).ok_or_else(|| no_table(id))?.tree;
    for (key, write) in &mut writes.writes {
        if let Some(put) = &mut write.put {
            fill_row(put, rows)?;
            if !are_kept_there(put, write.base, tree, &context)? {
                return Ok(false);
            }
        }
        let existed = write.is_new(key).then_some(false);
        if tree.apply(write.change(key, version), existed, &context)?.version != write.base {
            return Err(Error::Conflict { on: KeyId::of(id, key) });
        }
    }
    Ok(true)
}

/// Whether kept values are those of the record as it stands: a checkpoint may have moved them.
fn are_kept_there(put: &Put, base: u64, tree: &Tree, context: &Context<'_>) -> Result<bool> {
    if put.kept.iter().all(Option::is_none) {
        return Ok(true);
    }
    let found = tree.get(put.cell.key(), context)?;
    let lost = || Error::Conflict { on: KeyId::of(context.table, put.cell.key()) };
    let found = found.filter(|found| found.version() == base).ok_or_else(lost)?;
    let current = found.entry().values;
    let values = put.values.iter().flat_map(|values| values.iter());
    Ok(values.zip(&put.kept).all(|(value, kept)| {
        kept.is_none_or(|number| current.get(number as usize).is_some_and(|there| there.is_same(value)))
    }))
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
