//! Cursors: documents one by one, fetched in batches.

use crate::command::{run, session_of};
use crate::database::{Database, Shared, on_database};
use crate::guard::{call, call_on, quietly};
use crate::input::{document, optional_document, out_handle, required, text};
use crate::session::Session;
use crate::status::{Failure, MF_DONE, MF_OK, MfError};
use multiforadb::{DocBuilder, RawDoc, RawValue};
use parking_lot::Mutex;
use std::ffi::c_char;
use std::ops::Range;
use std::sync::Arc;

/// The documents a query gives, one after the other. Opaque. Belongs to one thread at a time.
pub struct Cursor {
    shared: Arc<Shared>,
    /// Locked for the length of a call: two threads on one cursor get an error, not a data race.
    state: Mutex<State>,
}

struct State {
    lsid: Option<Vec<u8>>,
    db_name: String,
    collection: String,
    /// The engine's cursor; 0 when it has given everything.
    id: i64,
    /// Documents per getMore; None leaves it to the engine.
    batch_size: Option<i32>,
    /// The reply whose batch is being read, and where its documents lie.
    reply: Vec<u8>,
    batch: Vec<Range<usize>>,
    next: usize,
}

/// Starts a query: all documents of `collection` that match `filter`. `options` is a document with
/// further fields of MongoDB's find command (`sort`, `projection`, `limit`, `batchSize`, …). `filter`
/// and `options` may be NULL with length 0. `session` may be NULL.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_find(
    database: *mut Database,
    session: *mut Session,
    db_name: *const c_char,
    collection: *const c_char,
    filter: *const u8,
    filter_len: usize,
    options: *const u8,
    options_len: usize,
    cursor: *mut *mut Cursor,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        open(database, session, db_name, cursor, error, || {
            let filter = optional_document(filter, filter_len, "filter")?;
            let options = optional_document(options, options_len, "options")?;
            let mut command = DocBuilder::new();
            command.str("find", text(collection, "collection")?).doc("filter", filter).extend(options);
            Ok(command.finish())
        })
    }
}

/// Starts an aggregation. `pipeline` is a document whose values, in order, are the stages: a BSON array
/// as a document, `{"0": {$match: …}, "1": {$group: …}}`. `options` is a document with further fields
/// of MongoDB's aggregate command (`cursor: {batchSize: …}`, `let`, …) and may be NULL with length 0.
/// `collection` NULL stands for an aggregation on the database. `session` may be NULL.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_aggregate(
    database: *mut Database,
    session: *mut Session,
    db_name: *const c_char,
    collection: *const c_char,
    pipeline: *const u8,
    pipeline_len: usize,
    options: *const u8,
    options_len: usize,
    cursor: *mut *mut Cursor,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        open(database, session, db_name, cursor, error, || {
            let pipeline = document(pipeline, pipeline_len, "pipeline")?;
            let options = optional_document(options, options_len, "options")?;
            let mut command = DocBuilder::new();
            match collection.is_null() {
                true => command.i32("aggregate", 1),
                false => command.str("aggregate", text(collection, "collection")?),
            };
            command.start_array("pipeline");
            for stage in pipeline {
                command.push(stage.value);
            }
            command.end().extend(options);
            if options.get("cursor").is_none() {
                command.doc("cursor", RawDoc::EMPTY);
            }
            Ok(command.finish())
        })
    }
}

/// Runs any command that answers with a cursor (find, aggregate, listCollections, listIndexes, …).
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_cursor_open(
    database: *mut Database,
    session: *mut Session,
    db_name: *const c_char,
    command: *const u8,
    command_len: usize,
    cursor: *mut *mut Cursor,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        open(database, session, db_name, cursor, error, || {
            Ok(document(command, command_len, "command")?.as_bytes().to_vec())
        })
    }
}

/// Runs the command that `build` gives and makes a cursor of its reply.
///
/// # Safety
/// The pointers follow the rules of the header.
unsafe fn open(
    database: *mut Database,
    session: *const Session,
    db_name: *const c_char,
    cursor: *mut *mut Cursor,
    error: *mut MfError,
    build: impl FnOnce() -> Result<Vec<u8>, Failure>,
) -> i32 {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        let slot = out_handle(cursor, "cursor");
        on_database(database, error, |shared| {
            let slot = slot?;
            let db_name = text(db_name, "db_name")?;
            let lsid = session_of(shared, session)?;
            let command = build()?;
            let answer = run(shared, lsid, db_name, &command);
            if let Some(failure) = answer.failure {
                return Err(failure);
            }
            let state = State::new(&command, answer.reply, db_name, lsid)?;
            let opened = Cursor { shared: Arc::clone(shared), state: Mutex::new(state) };
            *slot = Box::into_raw(Box::new(opened));
            Ok(MF_OK)
        })
    }
}

/// Gives the next document: `MF_OK` with `*doc` and `*doc_len`, or `MF_DONE` at the end. The bytes
/// belong to the cursor and stay valid until the next call on it.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_cursor_next(
    cursor: *mut Cursor,
    doc: *mut *const u8,
    doc_len: *mut usize,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        let handle = match required(cursor, "cursor") {
            Ok(handle) => handle,
            Err(failure) => return call(error, || Err(failure)),
        };
        call_on(&handle.shared.poison, error, || {
            let (Some(doc), Some(doc_len)) = (doc.as_mut(), doc_len.as_mut()) else {
                return Err(Failure::misuse("doc or doc_len is NULL"));
            };
            (*doc, *doc_len) = (std::ptr::null(), 0);
            let mut state = handle
                .state
                .try_lock()
                .ok_or_else(|| Failure::misuse("the cursor is in use by another thread"))?;
            let Some(found) = state.advance(&handle.shared)? else { return Ok(MF_DONE) };
            (*doc, *doc_len) = (found.as_ptr(), found.len());
            Ok(MF_OK)
        })
    }
}

/// Closes a cursor, at its end or before, and frees it. NULL is a no-op.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_cursor_close(cursor: *mut Cursor) {
    quietly(|| {
        if cursor.is_null() {
            return;
        }
        // SAFETY: `open` made this allocation with `Box`, and the caller closes it once.
        let cursor = unsafe { Box::from_raw(cursor) };
        let close = || {
            cursor.state.lock().kill(&cursor.shared);
            Ok(MF_OK)
        };
        // SAFETY: NULL is allowed; nobody is there to read an error.
        unsafe { call_on(&cursor.shared.poison, std::ptr::null_mut(), close) };
    });
}

impl State {
    fn new(command: &[u8], reply: Vec<u8>, db_name: &str, lsid: Option<&[u8]>) -> Result<Self, Failure> {
        let mut state = State {
            lsid: lsid.map(<[u8]>::to_vec),
            db_name: String::from(db_name),
            collection: String::new(),
            id: 0,
            batch_size: batch_size(command),
            reply: Vec::new(),
            batch: Vec::new(),
            next: 0,
        };
        state.take_batch(reply, "firstBatch")?;
        Ok(state)
    }

    /// Reads cursor id, namespace and the places of the documents out of a reply.
    fn take_batch(&mut self, reply: Vec<u8>, batch_name: &str) -> Result<(), Failure> {
        let cursor = RawDoc::framed(&reply).and_then(|r| r.get("cursor")).and_then(RawValue::as_doc);
        let cursor = cursor.ok_or_else(|| Failure::misuse("the command does not answer with a cursor"))?;
        let batch = cursor.get(batch_name).and_then(RawValue::as_array).unwrap_or(RawDoc::EMPTY);
        let start = reply.as_ptr() as usize;
        self.batch.clear();
        self.batch.extend(batch.iter().map(|element| {
            let at = element.value.bytes.as_ptr() as usize - start;
            at..at + element.value.bytes.len()
        }));
        self.next = 0;
        self.id = cursor.get("id").and_then(RawValue::as_i64).unwrap_or(0);
        if let Some((_, collection)) =
            cursor.get("ns").and_then(RawValue::as_str).and_then(|ns| ns.split_once('.'))
        {
            self.collection = String::from(collection);
        }
        self.reply = reply;
        Ok(())
    }

    /// The next document, from the batch at hand or from the next one.
    fn advance(&mut self, shared: &Shared) -> Result<Option<&[u8]>, Failure> {
        while self.next >= self.batch.len() {
            if self.id == 0 {
                self.batch = Vec::new();
                self.next = 0;
                return Ok(None);
            }
            self.get_more(shared)?;
        }
        let place = self.batch.get(self.next).cloned().unwrap_or_default();
        self.next += 1;
        Ok(self.reply.get(place))
    }

    fn get_more(&mut self, shared: &Shared) -> Result<(), Failure> {
        let mut command = DocBuilder::new();
        command.i64("getMore", self.id).str("collection", &self.collection);
        if let Some(size) = self.batch_size {
            command.i32("batchSize", size);
        }
        let answer = run(shared, self.lsid.as_deref(), &self.db_name, &command.finish());
        if let Some(failure) = answer.failure {
            self.id = 0;
            return Err(failure);
        }
        self.take_batch(answer.reply, "nextBatch")
    }

    fn kill(&mut self, shared: &Shared) {
        if self.id == 0 {
            return;
        }
        let mut command = DocBuilder::new();
        command
            .str("killCursors", &self.collection)
            .start_array("cursors")
            .push(RawValue { ty: multiforadb::ElementType::Int64, bytes: &self.id.to_le_bytes() });
        run(shared, self.lsid.as_deref(), &self.db_name, &command.finish());
        self.id = 0;
    }
}

/// The batch size a command asks for; 0 only shapes the first batch.
fn batch_size(command: &[u8]) -> Option<i32> {
    let command = RawDoc::framed(command)?;
    let nested = command.get("cursor").and_then(RawValue::as_doc).and_then(|c| c.get("batchSize"));
    let size = command.get("batchSize").or(nested)?;
    let whole = size.as_i32().map(f64::from).or(size.as_f64()).or(size.as_i64().map(|n| n as f64))?;
    (whole >= 1.0).then_some(whole as i32)
}
