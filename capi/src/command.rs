//! The one verb: a command in, its reply out.

use crate::bytes::{self, Bytes};
use crate::database::{Database, Shared, on_database};
use crate::guard::call;
use crate::input::{document, text};
use crate::session::{Session, with_lsid};
use crate::status::{Failure, MF_ERROR, MF_INTERNAL, MF_OK, MfError};
use multiforadb::{ErrorCode, RawDoc, RawValue};
use std::ffi::c_char;
use std::sync::Arc;

/// Runs a database command, a BSON document, for the database `db_name` and gives the reply document.
/// `session` may be NULL; otherwise its `lsid` is added. `reply` may be NULL when only the status is
/// wanted.
///
/// The status is `MF_ERROR` when the reply says `ok: 0`; `error` then holds its code and text, and the
/// reply is given all the same. A reply with `ok: 1` may still carry `writeErrors`: see
/// `mf_reply_check`.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_command(
    database: *mut Database,
    session: *mut Session,
    db_name: *const c_char,
    command: *const u8,
    command_len: usize,
    reply: *mut Bytes,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        bytes::clear(reply);
        on_database(database, error, |shared| {
            let db_name = text(db_name, "db_name")?;
            let command = document(command, command_len, "command")?;
            let session = session_of(shared, session)?;
            let answer = run(shared, session, db_name, command.as_bytes());
            if let Some(slot) = reply.as_mut() {
                *slot = Bytes::from_vec(answer.reply);
            }
            answer.failure.map_or(Ok(MF_OK), Err)
        })
    }
}

/// Looks into a reply: `MF_OK` when it says `ok: 1` and has neither `writeErrors` nor a
/// `writeConcernError`; otherwise `MF_ERROR`, with the first of these errors in `error`.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_reply_check(reply: *const u8, reply_len: usize, error: *mut MfError) -> i32 {
    let check = || {
        // SAFETY: the caller keeps to the header's rules for byte arguments.
        let reply = unsafe { document(reply, reply_len, "reply") }?;
        match command_failure(reply).or_else(|| write_failure(reply)) {
            Some(failure) => Err(failure),
            None => Ok(MF_OK),
        }
    };
    // SAFETY: the caller's promise about `error` is passed on.
    unsafe { call(error, check) }
}

/// What a command gave.
pub(crate) struct Answer {
    /// The whole reply.
    pub reply: Vec<u8>,
    /// The failure the reply reports with `ok: 0`.
    pub failure: Option<Failure>,
}

/// Runs `command` in the session, if there is one.
///
/// The engine catches a panic of its own and reports it as an error; the counter of such events tells it
/// apart from other internal errors.
pub(crate) fn run(shared: &Shared, lsid: Option<&[u8]>, db_name: &str, command: &[u8]) -> Answer {
    let panics = || shared.engine.counters().asserts_internal.get();
    let panics_before = panics();
    let reply = match (lsid, RawDoc::framed(command)) {
        (Some(lsid), Some(doc)) => shared.connection.command_bytes(db_name, &with_lsid(doc, lsid)),
        _ => shared.connection.command_bytes(db_name, command),
    };
    let mut failure = match RawDoc::framed(&reply) {
        Some(reply) => command_failure(reply),
        None => Some(Failure::internal("the engine gave a reply that is not a document")),
    };
    if let Some(failure) = &mut failure
        && failure.code == ErrorCode::InternalError.code()
        && panics() != panics_before
    {
        failure.status = MF_INTERNAL;
    }
    Answer { reply, failure }
}

/// The `lsid` of a session that must belong to this database.
///
/// # Safety
/// `session` is NULL or a live session.
pub(crate) unsafe fn session_of<'a>(
    shared: &Arc<Shared>,
    session: *const Session,
) -> Result<Option<&'a [u8]>, Failure> {
    // SAFETY: passed on.
    match unsafe { session.as_ref() } {
        None => Ok(None),
        Some(session) if Arc::ptr_eq(&session.shared, shared) => Ok(Some(&session.lsid)),
        Some(_) => Err(Failure::misuse("session belongs to another database handle")),
    }
}

fn command_failure(reply: RawDoc<'_>) -> Option<Failure> {
    let ok = reply.get("ok").is_some_and(is_one);
    (!ok).then(|| failure_in(reply))
}

fn is_one(value: RawValue<'_>) -> bool {
    value.as_f64() == Some(1.0)
        || value.as_i32() == Some(1)
        || value.as_i64() == Some(1)
        || value.as_bool() == Some(true)
}

fn write_failure(reply: RawDoc<'_>) -> Option<Failure> {
    let first = reply.get("writeErrors").and_then(RawValue::as_array).and_then(|errors| errors.iter().next());
    let error = first.map(|e| e.value).or_else(|| reply.get("writeConcernError"))?;
    error.as_doc().map(failure_in)
}

fn failure_in(error: RawDoc<'_>) -> Failure {
    let string = |name: &str| error.get(name).and_then(RawValue::as_str).map(String::from);
    let code = error.get("code").and_then(RawValue::as_i32).unwrap_or(0);
    Failure {
        status: MF_ERROR,
        code,
        code_name: string("codeName").unwrap_or_else(|| ErrorCode::from_code(code).name()),
        message: string("errmsg").unwrap_or_default(),
    }
}
