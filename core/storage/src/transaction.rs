//! Transactions: a snapshot, the writes on top of it, and a commit that either happens whole or says Conflict.
//!
//! Transactions are optimistic: they wait for nobody while they run. The first to write a key has it until its end
//! ([intents](crate::intents)); whoever meets another's key, or wrote or guarded a version that is no longer the newest,
//! gets [`Error::Conflict`] and starts again, with [`Store::begin_holding`](crate::Store::begin_holding) as the next in
//! turn.

use crate::commit::{Committed, ExclusiveTicket};
use crate::error::{Error, Result};
use crate::ids::{EntryKind, KeyId, RowId, Sequence, TableId};
use crate::intents::OwnIntents;
use crate::limits::MAX_TRANSACTION_BYTES;
use crate::pages::Pages;
use crate::range::{Direction, KeyRange};
use crate::read::Read;
use crate::record::{NewRecord, Record};
use crate::scan::Scan;
use crate::snapshot::Snapshot;
use crate::state::{State, Table};
use crate::store::Store;
use crate::table_builder::BuiltTable;
use crate::write_set::{TableWrites, row_hole};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A key whose version at the commit must be the one of the snapshot.
pub(crate) struct Guard {
    pub(crate) table: u64,
    pub(crate) key: Box<[u8]>,
    pub(crate) version: u64,
}

/// Reads one snapshot and its own writes; nobody else sees the writes before [`commit`](Transaction::commit).
/// Dropping it forgets them.
pub struct Transaction {
    store: Store,
    pub(crate) base: Snapshot,
    pub(crate) tables: BTreeMap<u64, TableWrites>,
    /// Tables that existed in the snapshot and are to go.
    pub(crate) dropped: Vec<u64>,
    /// The table of every append, by ordinal.
    pub(crate) appends: Vec<u64>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) ticket: Option<ExclusiveTicket>,
    intents: OwnIntents,
    /// The key that it lost: it cannot commit any more.
    lost: Option<KeyId>,
    log_bytes: u64,
    scratch: Vec<u8>,
}

impl Transaction {
    pub(crate) fn new(
        store: Store,
        base: Snapshot,
        ticket: Option<ExclusiveTicket>,
        intents: OwnIntents,
    ) -> Transaction {
        Transaction {
            store,
            base,
            tables: BTreeMap::new(),
            dropped: Vec::new(),
            appends: Vec::new(),
            guards: Vec::new(),
            ticket,
            intents,
            lost: None,
            log_bytes: 0,
            scratch: Vec::new(),
        }
    }

    /// The commit whose state it reads.
    pub fn snapshot_sequence(&self) -> Sequence {
        self.base.sequence()
    }

    /// The snapshot under its writes.
    pub fn snapshot(&self) -> &Snapshot {
        &self.base
    }

    /// Whether it has nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty()
            && self.appends.is_empty()
            && self.tables.values().all(|t| t.writes.is_empty() && !t.created)
    }

    /// Whether it frees space only: then it may use what is kept for that.
    pub(crate) fn only_deletes(&self) -> bool {
        let deletes =
            |table: &TableWrites| !table.created && table.writes.values().all(|write| write.put.is_none());
        self.tables.values().all(deletes)
    }

    /// Gives up what it reads: while it is being committed it needs only its writes, and a checkpoint that has to make
    /// room for them could not free what its snapshot holds.
    pub(crate) fn forget_snapshot(&mut self) {
        let pages = Pages::new(0, None);
        for writes in self.tables.values_mut() {
            writes.forget_snapshot(&pages);
        }
        self.base = Snapshot { state: Arc::new(State::empty(pages)) };
    }

    /// Notes that the tables that were built for it are the store's.
    pub(crate) fn set_attached(&mut self) {
        self.tables.values_mut().filter_map(|writes| writes.built.as_mut()).for_each(|built| {
            built.is_attached = true;
        });
    }

    /// Bytes it is going to write to the log, roughly; for cutting large work into chunks.
    pub fn pending_bytes(&self) -> u64 {
        self.log_bytes
    }

    fn writes(&mut self, table: TableId) -> Result<(&mut TableWrites, &mut Vec<u8>)> {
        let id = table.get();
        if self.dropped.contains(&id) {
            return Err(Error::NoTable { table: id });
        }
        if !self.tables.contains_key(&id) {
            let base = Arc::clone(self.base.table(table)?);
            let pages = Arc::clone(&self.base.state.pages);
            self.tables.insert(id, TableWrites::new(id, base, pages, false));
        }
        match self.tables.get_mut(&id) {
            Some(writes) => Ok((writes, &mut self.scratch)),
            None => Err(Error::NoTable { table: id }),
        }
    }

    /// The key that it lost to somebody else, after a write said [`Error::Conflict`]. It cannot commit any more.
    pub fn conflict(&self) -> Option<KeyId> {
        self.lost
    }

    /// Takes the intent on a key that it is going to write.
    fn intend(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        let (writes, _) = self.writes(table)?;
        let is_own = writes.created || writes.writes.contains_key(key);
        // With a ticket nobody else commits, whatever was intended.
        if is_own || self.ticket.is_some() {
            return Ok(());
        }
        let on = KeyId::of(table.get(), key);
        let shared = self.store.shared();
        if self.intents.take(&shared.intents, on) && self.is_newest(table, key)? {
            return Ok(());
        }
        self.lost = Some(on);
        Err(Error::Conflict { on })
    }

    /// Whether nobody has committed another version of a key than the snapshot's.
    fn is_newest(&self, table: TableId, key: &[u8]) -> Result<bool> {
        let newest = self.store.newest();
        if newest.sequence == self.base.state.sequence {
            return Ok(true);
        }
        let (base, id) = (self.base.table(table)?, table.get());
        let Some(now) = newest.tables.get(id) else { return Ok(false) };
        let is_same = Arc::ptr_eq(base, now)
            || base.tree.version(key, &self.base.state.context(id))?
                == now.tree.version(key, &newest.context(id))?;
        Ok(is_same)
    }

    fn account(&mut self, bytes: u64) -> Result<()> {
        self.log_bytes += bytes;
        if self.log_bytes > MAX_TRANSACTION_BYTES {
            let what = "a transaction";
            return Err(Error::TooLarge { what, bytes: self.log_bytes, limit_bytes: MAX_TRANSACTION_BYTES });
        }
        Ok(())
    }

    /// Writes a record under `key`, in place of what is there.
    pub fn put<'r>(&mut self, table: TableId, key: &[u8], record: impl Into<NewRecord<'r>>) -> Result<()> {
        self.intend(table, key)?;
        let (writes, scratch) = self.writes(table)?;
        let bytes = writes.put(key, record.into(), None, scratch)?;
        self.account(bytes)
    }

    /// Deletes the record under `key`; says whether there was one.
    pub fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.intend(table, key)?;
        let found = self.writes(table)?.0.delete(key)?;
        self.account(key.len() as u64 + 16)?;
        Ok(found)
    }

    /// Writes a record under the table's next row number. The number given here is provisional: it works as a key
    /// and in [`put_entry`](Transaction::put_entry) of this transaction, and the commit replaces it by the final
    /// one, in commit order (see [`Committed::rows`]).
    pub fn append<'r>(&mut self, table: TableId, record: impl Into<NewRecord<'r>>) -> Result<RowId> {
        let row = RowId::provisional(self.appends.len() as u64);
        let (writes, scratch) = self.writes(table)?;
        let bytes = writes.put(&row.to_key(), record.into(), row_hole(row, 0), scratch)?;
        self.appends.push(table.get());
        self.account(bytes)?;
        Ok(row)
    }

    /// Writes an index entry for `row`. A unique entry whose key belongs to another row is
    /// [`Error::DuplicateKey`].
    pub fn put_entry(&mut self, table: TableId, key: &[u8], row: RowId, kind: EntryKind) -> Result<()> {
        if row.ordinal().is_some_and(|ordinal| ordinal >= self.appends.len() as u64) {
            return Err(Error::Misuse { what: "a provisional row number is used outside its transaction" });
        }
        let bytes = match kind {
            EntryKind::Plain => {
                let stored = [key, &row.to_key()].concat();
                let record = NewRecord { head: &[], values: &[] };
                let (writes, scratch) = self.writes(table)?;
                writes.put(&stored, record, row_hole(row, key.len()), scratch)?
            }
            EntryKind::Unique => {
                match owner_of(self.writes(table)?.0, key)? {
                    Some(owner) if owner != row => return Err(Error::DuplicateKey { row: owner }),
                    Some(_) => return Ok(()),
                    None => self.intend(table, key)?,
                }
                let (writes, scratch) = self.writes(table)?;
                writes.put(key, NewRecord::from(&row.to_key()), row_hole(row, key.len()), scratch)?
            }
        };
        self.account(bytes)
    }

    /// Deletes the index entry of `row`; says whether it was there. A unique entry of another row stays.
    pub fn delete_entry(&mut self, table: TableId, key: &[u8], row: RowId, kind: EntryKind) -> Result<bool> {
        let found = match kind {
            EntryKind::Plain => self.writes(table)?.0.delete(&[key, &row.to_key()].concat())?,
            EntryKind::Unique if owner_of(self.writes(table)?.0, key)? == Some(row) => {
                self.intend(table, key)?;
                self.writes(table)?.0.delete(key)?
            }
            EntryKind::Unique => false,
        };
        self.account(key.len() as u64 + 24)?;
        Ok(found)
    }

    /// Creates a table. Its number is final. It is not given again while the store is open, and never once committed.
    pub fn create_table(&mut self) -> Result<TableId> {
        let table = self.store.next_table_number()?;
        let pages = Arc::clone(&self.base.state.pages);
        self.tables.insert(table, TableWrites::new(table, Arc::new(Table::new()), pages, true));
        self.account(16)?;
        Ok(TableId::from_u64(table))
    }

    /// Makes a table that was built outside one of the store's. It can be read and written here like any other; when
    /// this transaction does not commit, it is gone.
    pub fn attach(&mut self, built: BuiltTable) -> Result<TableId> {
        let table = built.table;
        self.account(64 + 16 * built.extents.len() as u64)?;
        self.tables.insert(table, TableWrites::over(built, Arc::clone(&self.base.state.pages)));
        Ok(TableId::from_u64(table))
    }

    /// Drops a table and everything in it. Reads nothing of it.
    pub fn drop_table(&mut self, table: TableId) -> Result<()> {
        if table == TableId::CATALOG {
            return Err(Error::Misuse { what: "the catalogue table cannot be dropped" });
        }
        let (writes, _) = self.writes(table)?;
        let created = writes.created;
        self.tables.remove(&table.get());
        if !created {
            self.dropped.push(table.get());
        }
        self.account(16)
    }

    /// Makes the commit fail with [`Error::Conflict`] when this key changed since the snapshot.
    pub fn guard(&mut self, table: TableId, key: &[u8]) -> Result<()> {
        let version = match self.base.table(table) {
            Ok(found) => found.tree.version(key, &self.base.state.context(table.get()))?,
            // A table of this transaction's own: nobody else can change it.
            Err(_) if self.tables.contains_key(&table.get()) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.guards.push(Guard { table: table.get(), key: key.into(), version });
        Ok(())
    }

    /// Makes the writes visible to everybody, all at once. They are durable when
    /// [`Store::wait_durable`](crate::Store::wait_durable) returns for the sequence that this gives.
    pub fn commit(self) -> Result<Committed> {
        let store = self.store.clone();
        store.commit(self)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.intents.give_up(&self.store.shared().intents);
    }
}

/// The row that a unique entry belongs to.
fn owner_of(writes: &TableWrites, key: &[u8]) -> Result<Option<RowId>> {
    Ok(writes.get(key)?.and_then(|found| RowId::from_key(found.entry().head)))
}

impl Read for Transaction {
    fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Record>> {
        match self.tables.get(&table.get()) {
            Some(writes) => Ok(writes.get(key)?.map(|found| found.record(&writes.context()))),
            None if self.dropped.contains(&table.get()) => Err(Error::NoTable { table: table.get() }),
            None => self.base.get(table, key),
        }
    }

    fn scan(&self, table: TableId, range: KeyRange, direction: Direction) -> Result<Scan> {
        match self.tables.get(&table.get()) {
            Some(writes) => Scan::new(writes.tree()?, range, direction, &writes.context()),
            None if self.dropped.contains(&table.get()) => Err(Error::NoTable { table: table.get() }),
            None => self.base.scan(table, range, direction),
        }
    }

    fn count(&self, table: TableId) -> Result<u64> {
        match self.tables.get(&table.get()) {
            Some(writes) => Ok(writes.tree()?.count()),
            None if self.dropped.contains(&table.get()) => Err(Error::NoTable { table: table.get() }),
            None => self.base.count(table),
        }
    }

    fn count_range(&self, table: TableId, range: &KeyRange) -> Result<u64> {
        match self.tables.get(&table.get()) {
            Some(writes) => writes.tree()?.count_range(range, &writes.context()),
            None if self.dropped.contains(&table.get()) => Err(Error::NoTable { table: table.get() }),
            None => self.base.count_range(table, range),
        }
    }
}
