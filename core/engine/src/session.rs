//! Logical sessions, and what makes a write that is sent twice apply once.
//!
//! A command with an `lsid` belongs to a [`Session`]; with a `txnNumber` beside it, it is a retryable write:
//! the session is checked out to it alone, and it gets a [`RetryableWrite`]. Before each statement the command
//! asks whether that statement is done already, and answers with the outcome kept then. The outcomes
//! of a chunk of statements are written in the same storage transaction as the statements themselves, so
//! that after a crash either both are there or neither:
//!
//! ```text
//! if let Some(outcome) = retry.outcome(stmt_id) { … answer from it, count it as retried … }
//! let mut chunk = retry.chunk();
//! chunk.add(stmt_id, outcome_document);
//! chunk.put(&mut transaction)?;      // every attempt at the chunk
//! transaction.commit()?;
//! chunk.committed();                 // once it is committed
//! ```
//!
//! In the file: a table of its own. Under the session's id stands a document `{txnNumber, lastUse}`; under
//! id ‖ txnNumber ‖ first statement, a chunk's outcomes: runs of (first statement, count, document).
//! Multi-document transactions will hang on the same check-out: a session then also holds the open
//! storage transaction between commands.

use crate::database::{Database, now_ms};
use crate::interrupt::Interrupt;
use crate::limits::{MAX_SESSIONS, SESSION_IDLE};
use crate::storage_error::{MapStorage, from_storage};
use multifora_model::raw::read_i32;
use multifora_model::{DocBuilder, Error, ErrorCode, RawDoc, Result};
use multifora_storage::{
    Committed, Direction, Error as StorageError, KeyRange, Read, Store, TableId, Transaction,
};
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The id of a logical session: the UUID of its `lsid`.
pub type SessionId = [u8; 16];

/// A shared handle on a session.
pub type SessionRef = Arc<Session>;

/// How long a waiting command sleeps before it looks at its interrupt again.
const CHECK_OUT_POLL: Duration = Duration::from_millis(20);

/// One logical session.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    last_used: Instant,
    checked_out: bool,
    /// The session's latest write; `None` until it was looked up in the file.
    latest: Option<WriteRecord>,
}

/// What is known of the latest retryable write of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteRecord {
    /// Its transaction number; -1 when the session has not written yet.
    txn_number: i64,
    /// First statement of a run of equal outcomes → how many, and the outcome.
    outcomes: BTreeMap<i32, (i32, Vec<u8>)>,
    /// Rows in the sessions table that belong to this number.
    rows: Vec<Vec<u8>>,
    /// Rows of the number before, to be deleted with the first chunk.
    stale_rows: Vec<Vec<u8>>,
}

impl Session {
    fn new(id: SessionId) -> Self {
        let state = State { last_used: Instant::now(), checked_out: false, latest: None };
        Session { id, state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.id
    }
}

/// The sessions that are in use.
#[derive(Debug, Default)]
pub struct SessionRegistry {
    sessions: Mutex<HashMap<SessionId, SessionRef>>,
}

impl SessionRegistry {
    /// The session with this id; a new one if it is not known yet.
    pub fn get(&self, id: SessionId) -> Result<SessionRef> {
        let mut sessions = self.sessions.lock();
        if let Some(session) = sessions.get(&id) {
            session.state.lock().last_used = Instant::now();
            return Ok(Arc::clone(session));
        }
        if sessions.len() >= MAX_SESSIONS {
            let text = format!("cannot add a session: {MAX_SESSIONS} are in use");
            return Err(Error::new(ErrorCode::TooManyLogicalSessions, text));
        }
        let session = Arc::new(Session::new(id));
        sessions.insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Forgets a session; what the file holds about its last write stays until it expires.
    pub fn end(&self, id: SessionId) {
        self.sessions.lock().remove(&id);
    }

    /// The ids of all sessions in use.
    pub fn ids(&self) -> Vec<SessionId> {
        self.sessions.lock().keys().copied().collect()
    }

    /// Forgets the sessions that nobody used for thirty minutes; gives their ids.
    pub(crate) fn remove_idle(&self, now: Instant) -> Vec<SessionId> {
        let idle = |session: &SessionRef| {
            let state = session.state.lock();
            !state.checked_out && now.saturating_duration_since(state.last_used) >= SESSION_IDLE
        };
        self.sessions.lock().extract_if(|_, session| idle(session)).map(|(id, _)| id).collect()
    }
}

/// The table in which sessions keep their latest writes; made with the first retryable write.
#[derive(Debug, Default)]
pub(crate) struct SessionsTable {
    found: Mutex<Option<TableId>>,
}

/// Its row in the catalogue. No database name is empty, so this key is no collection's.
const CATALOG_KEY: &[u8] = b"\0sessions";

impl SessionsTable {
    /// The table, if the file has it.
    pub(crate) fn find(&self, reads: &dyn Read) -> Result<Option<TableId>> {
        let mut found = self.found.lock();
        if found.is_none() {
            let record = reads.get(TableId::CATALOG, CATALOG_KEY).mapped()?;
            *found = record.and_then(|r| decode_table(r.head()));
        }
        Ok(*found)
    }

    /// The table; created, in a commit of its own, when the file has none yet.
    fn find_or_create(&self, store: &Store) -> Result<TableId> {
        loop {
            if let Some(table) = self.find(&store.snapshot())? {
                return Ok(table);
            }
            match create_table(store) {
                Ok(_) | Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(from_storage(error)),
            }
        }
    }

    /// Deletes what sessions that last wrote before `oldest_ms` left behind; at most `most` sessions.
    pub(crate) fn expire(&self, store: &Store, oldest_ms: i64, most: usize) -> Result<usize> {
        let snapshot = store.snapshot();
        let Some(table) = self.find(&snapshot)? else { return Ok(0) };
        let mut transaction = store.begin();
        let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Forward).mapped()?;
        let (mut expired, mut prefix) = (0, None);
        while let Some(entry) = scan.next().mapped()? {
            let header = <SessionId>::try_from(entry.key).ok();
            if let Some(id) = header {
                let old = RawDoc::framed(entry.head()).and_then(|d| d.get("lastUse")?.as_date_ms());
                prefix = old.is_none_or(|ms| ms < oldest_ms).then_some(id);
                expired += usize::from(prefix.is_some());
                if expired > most {
                    break;
                }
            }
            if prefix.is_some_and(|id| entry.key.starts_with(&id)) {
                match transaction.delete(table, entry.key) {
                    // A session that writes just now is not expired; the next round looks again.
                    Err(StorageError::Conflict { .. }) => return Ok(0),
                    result => result.mapped()?,
                };
            }
        }
        match transaction.commit() {
            Ok(_) => Ok(expired),
            Err(StorageError::Conflict { .. }) => Ok(0),
            Err(error) => Err(from_storage(error)),
        }
    }
}

/// Creates the table in a commit of its own. Whoever does so at the same time conflicts with it.
fn create_table(store: &Store) -> multifora_storage::Result<Committed> {
    let mut transaction = store.begin();
    transaction.guard(TableId::CATALOG, CATALOG_KEY)?;
    let table = transaction.create_table()?;
    let mut record = DocBuilder::new();
    record.i64("table", i64::try_from(table.get()).unwrap_or(i64::MAX));
    transaction.put(TableId::CATALOG, CATALOG_KEY, &record.finish())?;
    transaction.commit()
}

fn decode_table(record: &[u8]) -> Option<TableId> {
    let number = RawDoc::framed(record)?.get("table")?.as_i64()?;
    Some(TableId::from_u64(u64::try_from(number).ok()?))
}

/// The record of one retryable write; its session is checked out to it until it is dropped.
pub struct RetryableWrite {
    session: SessionRef,
    table: TableId,
    txn_number: i64,
    first_stmt_id: i32,
    stmt_ids: Option<Vec<i32>>,
}

impl RetryableWrite {
    /// Waits until no other command works for the session, and looks up what it did last.
    pub(crate) fn check_out(
        database: &Database,
        session: &SessionRef,
        txn_number: i64,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let table = database.sessions_table().find_or_create(database.store())?;
        let mut state = session.state.lock();
        while state.checked_out {
            interrupt.check()?;
            session.freed.wait_for(&mut state, CHECK_OUT_POLL);
        }
        if state.latest.is_none() {
            let snapshot = database.store().snapshot();
            state.latest = Some(WriteRecord::load(&snapshot, table, session.id)?);
        }
        let latest = state.latest.get_or_insert_default();
        if txn_number < latest.txn_number {
            let text = format!(
                "Retryable write with txnNumber {txn_number} is prohibited on session {} because a newer retryable \
                 write with txnNumber {} has already started on this session.",
                text_of(session.id),
                latest.txn_number
            );
            return Err(Error::new(ErrorCode::TransactionTooOld, text));
        }
        latest.move_on_to(txn_number);
        state.checked_out = true;
        drop(state);
        Ok(RetryableWrite {
            session: Arc::clone(session),
            table,
            txn_number,
            first_stmt_id: 0,
            stmt_ids: None,
        })
    }

    pub(crate) fn set_stmt_ids(&mut self, first: Option<i32>, ids: Option<Vec<i32>>) {
        self.first_stmt_id = first.unwrap_or(0);
        self.stmt_ids = ids;
    }

    /// The statement number of the command's statement at `index` (from 0).
    pub fn stmt_id(&self, index: usize) -> i32 {
        let explicit = self.stmt_ids.as_ref().and_then(|ids| ids.get(index)).copied();
        explicit
            .unwrap_or_else(|| self.first_stmt_id.saturating_add(i32::try_from(index).unwrap_or(i32::MAX)))
    }

    /// What the statement's first execution came to, as a document, when it is done already.
    pub fn outcome(&self, stmt_id: i32) -> Option<Vec<u8>> {
        let state = self.session.state.lock();
        let (first, (count, outcome)) = state.latest.as_ref()?.outcomes.range(..=stmt_id).next_back()?;
        (stmt_id - first < *count).then(|| outcome.clone())
    }

    /// A new chunk of outcomes, for one attempt at a storage transaction.
    pub fn chunk(&self) -> RetryChunk<'_> {
        RetryChunk { write: self, runs: Vec::new() }
    }
}

impl Drop for RetryableWrite {
    fn drop(&mut self) {
        self.session.state.lock().checked_out = false;
        self.session.freed.notify_one();
    }
}

/// Equal outcomes of consecutive statements.
struct Run {
    first: i32,
    count: i32,
    outcome: Vec<u8>,
}

/// The outcomes of the statements of one storage transaction.
pub struct RetryChunk<'w> {
    write: &'w RetryableWrite,
    runs: Vec<Run>,
}

impl RetryChunk<'_> {
    /// Adds the outcome of a statement, as a document of the command's own making.
    pub fn add(&mut self, stmt_id: i32, outcome: RawDoc<'_>) {
        if let Some(last) = self.runs.last_mut()
            && last.first.checked_add(last.count) == Some(stmt_id)
            && last.outcome == outcome.as_bytes()
        {
            last.count += 1;
            return;
        }
        self.runs.push(Run { first: stmt_id, count: 1, outcome: outcome.as_bytes().to_vec() });
    }

    /// Puts the outcomes into the transaction that does the statements.
    pub fn put(&self, transaction: &mut Transaction) -> Result<()> {
        let Some(first) = self.runs.first() else { return Ok(()) };
        let write = self.write;
        let stale =
            write.session.state.lock().latest.as_ref().map(|l| l.stale_rows.clone()).unwrap_or_default();
        for row in stale {
            transaction.delete(write.table, &row).mapped()?;
        }
        let mut header = DocBuilder::new();
        header.i64("txnNumber", write.txn_number).date_ms("lastUse", now_ms());
        transaction.put(write.table, &write.session.id, &header.finish()).mapped()?;
        let mut runs = Vec::new();
        for run in &self.runs {
            runs.extend_from_slice(&run.first.to_le_bytes());
            runs.extend_from_slice(&run.count.to_le_bytes());
            runs.extend_from_slice(&run.outcome);
        }
        transaction.put(write.table, &self.row_key(first.first), &runs).mapped()
    }

    /// Remembers the outcomes in memory too, once their transaction is committed.
    pub fn committed(self) {
        let Some(first) = self.runs.first() else { return };
        let key = self.row_key(first.first);
        let mut state = self.write.session.state.lock();
        let latest = state.latest.get_or_insert_default();
        latest.stale_rows.clear();
        latest.rows.push(key);
        latest.outcomes.extend(self.runs.into_iter().map(|run| (run.first, (run.count, run.outcome))));
    }

    fn row_key(&self, first_stmt_id: i32) -> Vec<u8> {
        let mut key = self.write.session.id.to_vec();
        key.extend_from_slice(&self.write.txn_number.to_be_bytes());
        key.extend_from_slice(&first_stmt_id.to_be_bytes());
        key
    }
}

impl WriteRecord {
    fn load(reads: &dyn Read, table: TableId, id: SessionId) -> Result<Self> {
        let mut record = WriteRecord { txn_number: -1, ..WriteRecord::default() };
        let mut scan = reads.scan(table, KeyRange::prefix(&id), Direction::Forward).mapped()?;
        while let Some(entry) = scan.next().mapped()? {
            if entry.key.len() == id.len() {
                let number = RawDoc::framed(entry.head()).and_then(|d| d.get("txnNumber")?.as_i64());
                record.txn_number = number.unwrap_or(-1);
                continue;
            }
            record.rows.push(entry.key.to_vec());
            record.read_runs(entry.head());
        }
        Ok(record)
    }

    fn read_runs(&mut self, mut bytes: &[u8]) {
        while let (Some(first), Some(count), Some(len)) =
            (read_i32(bytes, 0), read_i32(bytes, 4), read_i32(bytes, 8))
        {
            let end = usize::try_from(len).unwrap_or(0).saturating_add(8);
            let Some(outcome) = bytes.get(8..end) else { return };
            self.outcomes.insert(first, (count, outcome.to_vec()));
            bytes = bytes.get(end..).unwrap_or_default();
        }
    }

    /// A higher number: what the session did before will not be asked for again.
    fn move_on_to(&mut self, txn_number: i64) {
        if txn_number > self.txn_number {
            self.txn_number = txn_number;
            self.outcomes.clear();
            self.stale_rows.append(&mut self.rows);
        }
    }
}

fn text_of(id: SessionId) -> String {
    let hex: String = id.iter().map(|b| format!("{b:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
