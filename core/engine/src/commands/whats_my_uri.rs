//! `whatsmyuri`: the peer's address as this side sees it.

use super::CommandSpec;
use super::args::Args;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "whatsmyuri", help: "tells the client's address", run, ..CommandSpec::BASE };

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::open_command("whatsmyuri", &[], request)?;
    reply.str("you", &ctx.connection.info().peer);
    Ok(())
}
