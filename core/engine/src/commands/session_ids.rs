//! The session ids that endSessions, refreshSessions and killSessions name.

use super::args::{Types, wrong_type};
use super::generic;
use crate::context::CommandContext;
use crate::request::Request;
use crate::session::SessionId;
use multifora_model::{RawDoc, RawValue, Result};

/// Most sessions that one command may name, as in MongoDB.
const MAX_SESSION_IDS: usize = 10_000;

/// The `lsid` documents in the array that is the command's own field.
pub(super) fn parse(command: &'static str, request: &Request<'_>) -> Result<Vec<SessionId>> {
    super::args::Args::command(command, &[], request)?;
    let value = request.body.iter().next().map_or(RawValue::NULL, |e| e.value);
    let path = format!("{command}.{command}");
    let array = value.as_array().ok_or_else(|| wrong_type(&path, value, Types::ARRAY))?;
    let id = |value: RawValue<'_>| {
        let lsid = value.as_doc().ok_or_else(|| wrong_type(&path, value, Types::OBJECT))?;
        generic::session_id(lsid)
    };
    if array.iter().count() > MAX_SESSION_IDS {
        let text = format!("{command} takes at most {MAX_SESSION_IDS} sessions");
        return Err(multifora_model::Error::bad_value(text));
    }
    array.iter().map(|e| id(e.value)).collect()
}

/// Ends sessions: their cursors are closed, and what they run is stopped.
pub(super) fn end(ctx: &CommandContext<'_>, ids: &[SessionId]) {
    for id in ids {
        ctx.database.cursors().kill_session(*id);
        ctx.database.sessions().end(*id);
    }
}

/// Does the pattern of killAllSessionsByPattern name an `lsid`?
pub(super) fn lsid_of(pattern: RawDoc<'_>) -> Result<Option<SessionId>> {
    pattern.get("lsid").and_then(RawValue::as_doc).map(generic::session_id).transpose()
}
