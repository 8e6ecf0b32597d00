//! `endSessions`: drivers send it when they close, without waiting for the answer.

use super::{CommandSpec, session_ids};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "endSessions",
    help: "ends logical sessions and closes their cursors",
    run: |ctx, request, _| {
        session_ids::end(ctx, &session_ids::parse("endSessions", request)?);
        Ok(())
    },
    ..CommandSpec::BASE
};
