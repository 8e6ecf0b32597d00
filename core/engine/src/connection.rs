//! One socket's or handle's way to a database.
//!
//! A [`Connection`] may be shared by threads; it knows what it is running, so that a door can interrupt it
//! and killOp and currentOp can find it. [`Connection::command`] always gives a whole reply document and never
//! unwinds: a panic inside a command becomes `InternalError`.

use crate::commands::dispatch;
use crate::database::Database;
use crate::interrupt::Interrupt;
use crate::limits::MAX_CLIENT_METADATA_BYTES;
use crate::progress::Progress;
use crate::request::{DocumentSequence, Request};
use multifora_model::limits::{MAX_COMMAND_DEPTH, MAX_INTERNAL_DOCUMENT_BYTES};
use multifora_model::{DocBuilder, Error, ErrorCode, RawDoc, Result, validate};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// What a one-member replica set announces of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaSet {
    /// The set's name.
    pub name: String,
    /// The member's address, `host:port`, as clients reach it.
    pub host: String,
}

/// Who opens a connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionInfo {
    /// The door: `tcp`, `unix`, `rust`, `c`, `python`, `node`, `cli`.
    pub door: &'static str,
    /// The peer's address, or a word for the handle (`in-process`).
    pub peer: String,
    /// The one-member replica set that hello announces to this peer; `None`: a plain server.
    pub replica_set: Option<ReplicaSet>,
}

impl ConnectionInfo {
    /// A handle in the same process.
    pub fn in_process(door: &'static str) -> Self {
        ConnectionInfo { door, peer: String::from("in-process"), replica_set: None }
    }
}

/// One socket's or handle's way to a database.
pub struct Connection {
    database: Database,
    shared: Arc<ConnectionShared>,
}

/// What the database knows of a connection.
pub(crate) struct ConnectionShared {
    pub(crate) id: u64,
    pub(crate) info: ConnectionInfo,
    /// What the client told of itself in its first hello (`appName`, driver), as a BSON document.
    client_metadata: Mutex<Option<Vec<u8>>>,
    running: Mutex<Vec<Operation>>,
}

/// A command that is running.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(crate) id: u64,
    pub(crate) command: &'static str,
    pub(crate) ns: String,
    pub(crate) started: Instant,
    pub(crate) interrupt: Interrupt,
    pub(crate) progress: Arc<Progress>,
}

impl ConnectionShared {
    pub(crate) fn new(id: u64, info: ConnectionInfo) -> Self {
        ConnectionShared { id, info, client_metadata: Mutex::new(None), running: Mutex::new(Vec::new()) }
    }

    /// What is running, for currentOp and killOp.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.running.lock().clone()
    }

    pub(crate) fn for_each_operation(&self, mut visit: impl FnMut(&Operation)) {
        self.running.lock().iter().for_each(&mut visit);
    }

    pub(crate) fn set_client_metadata(&self, client: RawDoc<'_>) {
        let bytes = client.as_bytes();
        if bytes.len() <= MAX_CLIENT_METADATA_BYTES {
            *self.client_metadata.lock() = Some(bytes.to_vec());
        }
    }

    pub(crate) fn client_metadata(&self) -> Option<Vec<u8>> {
        self.client_metadata.lock().clone()
    }
}

/// Takes the operation off its connection's list when the command is over, however it ends.
pub(crate) struct Running<'c> {
    connection: &'c ConnectionShared,
    id: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = self.connection.running.lock();
        if let Some(at) = running.iter().position(|op| op.id == self.id) {
            running.swap_remove(at);
        }
    }
}

impl Connection {
    pub(crate) fn new(database: Database, shared: Arc<ConnectionShared>) -> Self {
        Connection { database, shared }
    }

    /// The database it leads to.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Its number, unique while the database is open.
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// Who opened it.
    pub fn info(&self) -> &ConnectionInfo {
        &self.shared.info
    }

    pub(crate) fn shared(&self) -> &ConnectionShared {
        &self.shared
    }

    /// Runs a command; gives its whole reply document (`ok: 1` or `ok: 0`).
    pub fn command(&self, request: &Request<'_>) -> Vec<u8> {
        let mut reply = Vec::with_capacity(256);
        self.command_into(request, &mut reply);
        reply
    }

    /// Like [`command`](Self::command), for bytes from outside: checks them first.
    pub fn command_bytes(&self, db: &str, body: &[u8]) -> Vec<u8> {
        match check_bytes(body) {
            Ok(body) => self.command(&Request::new(db, body)),
            Err(error) => error.to_reply(),
        }
    }

    /// Like [`command_bytes`](Self::command_bytes), with documents beside the body: each pair is the argument
    /// they belong to (`documents`, `updates`, `deletes`) and the documents.
    pub fn command_with_sequences(&self, db: &str, body: &[u8], sequences: &[(&str, Vec<&[u8]>)]) -> Vec<u8> {
        let parse = || {
            let mut request = Request::new(db, check_bytes(body)?);
            for (name, documents) in sequences {
                let docs = documents.iter().map(|bytes| check_bytes(bytes)).collect::<Result<_>>()?;
                request.sequences.push(DocumentSequence { name, docs });
            }
            Ok(request)
        };
        match parse() {
            Ok(request) => self.command(&request),
            Err(error) => Error::to_reply(&error),
        }
    }

    /// Like [`command`](Self::command), but appends the reply to `out`, behind what is there (a message header).
    pub fn command_into(&self, request: &Request<'_>, out: &mut Vec<u8>) {
        // A message header is short; kept aside, it survives a panic that takes the buffer along.
        let before: SmallVec<[u8; 32]> = SmallVec::from_slice(out);
        let buffer = std::mem::take(out);
        let outcome = contain_panic(request.command_name(), || {
            dispatch::run(self, request, DocBuilder::with_buffer(buffer))
        });
        self.database.counters().add_values();
        *out = outcome.unwrap_or_else(|error| {
            if error.code() == ErrorCode::InternalError {
                self.database.counters().asserts_internal.add(1);
            }
            error_reply(&before, &error)
        });
    }

    /// Stops what this connection is running; the commands answer with `Interrupted` (11601).
    pub fn interrupt(&self) {
        self.shared.for_each_operation(|op| op.interrupt.interrupt());
    }

    /// Stops what this connection is running because its listener ends; the commands answer with
    /// `InterruptedAtShutdown` (11600), which tells drivers that they may send them again.
    pub fn shut_down(&self) {
        self.shared.for_each_operation(|op| op.interrupt.shut_down());
    }

    /// Puts a command on the list of what is running.
    pub(crate) fn begin(
        &self,
        command: &'static str,
        db: &str,
        interrupt: &Interrupt,
        progress: &Arc<Progress>,
    ) -> Running<'_> {
        let id = self.database.next_operation_id();
        let operation = Operation {
            id,
            command,
            ns: db.to_owned(),
            started: Instant::now(),
            interrupt: interrupt.clone(),
            progress: Arc::clone(progress),
        };
        self.shared.running.lock().push(operation);
        Running { connection: &self.shared, id }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.database.forget_connection(self.shared.id);
    }
}

/// Checks a command document, or a document beside one, as it comes from outside.
///
/// # Errors
/// `InvalidBSON`, `BSONObjectTooLarge`, `Overflow` (too deeply nested).
pub fn check_bytes(bytes: &[u8]) -> Result<RawDoc<'_>> {
    validate::document(bytes, MAX_INTERNAL_DOCUMENT_BYTES, MAX_COMMAND_DEPTH)
}

fn error_reply(before: &[u8], error: &Error) -> Vec<u8> {
    let reply = error.to_reply();
    let mut out = Vec::with_capacity(before.len() + reply.len());
    out.extend_from_slice(before);
    out.extend_from_slice(&reply);
    out
}

/// Runs a command; a panic in it becomes `InternalError`, and the caller goes on.
pub(crate) fn contain_panic<T>(command: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing that a command shares is left half changed by unwinding: locks are released as they were taken,
    // and what was to be written stands in a transaction that is dropped.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome,
        Err(panic) => Err(panic_error(command, panic.as_ref())),
    }
}

fn panic_error(command: &str, panic: &(dyn std::any::Any + Send)) -> Error {
    let what = (panic.downcast_ref::<&str>().copied())
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::internal(format!(
        "the command '{command}' broke one of its own promises (a panic: {what}); this is a fault in MultiforaDB"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_names_the_command() {
        let error = contain_panic::<()>("find", || panic!("index {} is out of range", 7)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InternalError);
        assert!(
            error.message().contains("'find'") && error.message().contains("index 7 is out of range"),
            "{error}"
        );
        assert!(contain_panic("find", || Ok(vec![1])).is_ok());
    }

    #[test]
    fn an_error_reply_stands_behind_what_was_there() {
        let reply = error_reply(b"header", &Error::internal("x"));
        assert!(reply.starts_with(b"header") && RawDoc::framed(&reply[6..]).is_some());
    }
}
