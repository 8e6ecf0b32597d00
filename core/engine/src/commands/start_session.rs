//! `startSession`: a new logical session.

use super::CommandSpec;
use super::args::Args;
use crate::context::CommandContext;
use crate::limits::SESSION_TIMEOUT_MINUTES;
use crate::random;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "startSession", help: "begins a logical session", run, ..CommandSpec::BASE };

const UUID_SUBTYPE: u8 = 4;

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::command("startSession", &[], request)?;
    let id = random::uuid();
    ctx.database.sessions().get(id)?;
    reply.start_doc("id").binary("id", UUID_SUBTYPE, &id).end();
    reply.i32("timeoutMinutes", SESSION_TIMEOUT_MINUTES);
    Ok(())
}
