//! `killSessions`, `killAllSessions`, `killAllSessionsByPattern`: stop what sessions run and close their cursors.

use super::args::{Types, wrong_type};
use super::{CommandSpec, session_ids};
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, RawValue, Result};

/// The row of `killSessions`. An empty list means every session.
pub const SPEC: CommandSpec = CommandSpec {
    name: "killSessions",
    help: "kills logical sessions",
    run: |ctx, request, _| {
        let ids = session_ids::parse("killSessions", request)?;
        match ids.is_empty() {
            true => kill_all(ctx),
            false => session_ids::end(ctx, &ids),
        }
        Ok(())
    },
    ..CommandSpec::BASE
};

/// The row of `killAllSessions`. There are no users, so a list of users names everybody or nobody.
pub const ALL: CommandSpec = CommandSpec {
    name: "killAllSessions",
    help: "kills all logical sessions",
    run: |ctx, request, _| {
        if own_array("killAllSessions", request)?.is_none_or(|users| users == 0) {
            kill_all(ctx);
        }
        Ok(())
    },
    ..CommandSpec::BASE
};

/// The row of `killAllSessionsByPattern`. A pattern without an `lsid` names every session.
pub const BY_PATTERN: CommandSpec = CommandSpec {
    name: "killAllSessionsByPattern",
    help: "kills logical sessions that match a pattern",
    run: run_by_pattern,
    ..CommandSpec::BASE
};

fn run_by_pattern(ctx: &CommandContext<'_>, request: &Request<'_>, _: &mut DocBuilder) -> Result<()> {
    if own_array("killAllSessionsByPattern", request)?.is_none_or(|patterns| patterns == 0) {
        kill_all(ctx);
        return Ok(());
    }
    let patterns = request.body.iter().next().and_then(|e| e.value.as_array());
    for pattern in patterns.into_iter().flat_map(|p| p.iter()).filter_map(|e| e.value.as_doc()) {
        match session_ids::lsid_of(pattern)? {
            Some(id) => session_ids::end(ctx, &[id]),
            None => kill_all(ctx),
        }
    }
    Ok(())
}

fn kill_all(ctx: &CommandContext<'_>) {
    session_ids::end(ctx, &ctx.database.sessions().ids());
}

/// The length of the array that is the command's own field.
fn own_array(command: &'static str, request: &Request<'_>) -> Result<Option<usize>> {
    super::args::Args::command(command, &[], request)?;
    let value = request.body.iter().next().map_or(RawValue::NULL, |e| e.value);
    match value.as_array() {
        Some(array) => Ok(Some(array.iter().count())),
        None if value.is_nullish() => Ok(None),
        None => Err(wrong_type(&format!("{command}.{command}"), value, Types::ARRAY)),
    }
}
