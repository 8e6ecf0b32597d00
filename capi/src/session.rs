//! Logical sessions: an identity that commands carry, for retryable writes and transactions.

use crate::command::run;
use crate::database::{Database, Shared, on_database};
use crate::guard::{call_on, quietly};
use crate::input::out_handle;
use crate::status::{Failure, MF_OK, MfError};
use multiforadb::{DocBuilder, Error, ErrorCode, RawDoc};
use std::sync::Arc;

/// A logical session. Opaque. Belongs to one thread at a time.
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    /// The session's `lsid`: `{id: UUID}`.
    pub(crate) lsid: Vec<u8>,
}

impl Session {
    fn new(shared: &Arc<Shared>) -> Result<Self, Failure> {
        let mut lsid = DocBuilder::new();
        lsid.binary("id", UUID_SUBTYPE, &random_uuid()?);
        Ok(Session { shared: Arc::clone(shared), lsid: lsid.finish() })
    }
}

const UUID_SUBTYPE: u8 = 4;

fn random_uuid() -> Result<[u8; 16], Failure> {
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|e| Error::new(ErrorCode::OperationFailed, format!("no random numbers: {e}")))?;
    id[6] = (id[6] & 0x0f) | 0x40;
    id[8] = (id[8] & 0x3f) | 0x80;
    Ok(id)
}

/// The command with the session's `lsid`; a command that brings its own keeps it.
pub(crate) fn with_lsid(command: RawDoc<'_>, lsid: &[u8]) -> Vec<u8> {
    let mut out = DocBuilder::with_buffer(Vec::with_capacity(command.as_bytes().len() + lsid.len() + 8));
    out.extend(command);
    if let (None, Some(lsid)) = (command.get("lsid"), RawDoc::framed(lsid)) {
        out.doc("lsid", lsid);
    }
    out.finish()
}

/// Starts a session. On success `*session` is a handle for `mf_session_end`, else NULL.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_session_start(
    database: *mut Database,
    session: *mut *mut Session,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller promises that a non-NULL pointer is writable.
    let slot = unsafe { out_handle(session, "session") };
    let start = |shared: &Arc<Shared>| {
        let slot = slot?;
        *slot = Box::into_raw(Box::new(Session::new(shared)?));
        Ok(MF_OK)
    };
    // SAFETY: the caller's promises are passed on.
    unsafe { on_database(database, error, start) }
}

/// Ends a session and frees it; a transaction it left open is aborted. NULL is a no-op.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_session_end(session: *mut Session) {
    quietly(|| {
        if session.is_null() {
            return;
        }
        // SAFETY: `mf_session_start` made this allocation with `Box`, and the caller ends it once.
        let session = unsafe { Box::from_raw(session) };
        let end = || {
            let mut command = DocBuilder::new();
            command.start_array("endSessions");
            if let Some(lsid) = RawDoc::framed(&session.lsid) {
                command.push(lsid.as_value());
            }
            run(&session.shared, None, "admin", &command.finish());
            Ok(MF_OK)
        };
        // SAFETY: NULL is allowed; nobody is there to read an error.
        unsafe { call_on(&session.shared.poison, std::ptr::null_mut(), end) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lsid_is_added_once() {
        let mut lsid = DocBuilder::new();
        lsid.binary("id", UUID_SUBTYPE, &random_uuid().unwrap());
        let lsid = lsid.finish();
        let mut ping = DocBuilder::new();
        ping.i32("ping", 1);
        let ping = ping.finish();
        let once = with_lsid(RawDoc::framed(&ping).unwrap(), &lsid);
        let once = RawDoc::framed(&once).unwrap();
        assert_eq!(once.get("lsid").unwrap().bytes, lsid);
        assert_eq!(with_lsid(once, &lsid), once.as_bytes());
    }
}
