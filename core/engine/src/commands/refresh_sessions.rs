//! `refreshSessions`: keeps sessions from being forgotten for being idle.

use super::{CommandSpec, session_ids};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "refreshSessions",
    help: "keeps logical sessions alive",
    run: |ctx, request, _| {
        for id in session_ids::parse("refreshSessions", request)? {
            ctx.database.sessions().get(id)?;
        }
        Ok(())
    },
    ..CommandSpec::BASE
};
