//! `connectionStatus`: who is logged in on this connection (nobody: there are no users yet).

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "connectionStatus", help: "tells who is logged in", run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[Field::optional("showPrivileges", Types::BOOL)];

fn run(_: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("connectionStatus", FIELDS, request)?;
    reply.start_doc("authInfo");
    reply.start_array("authenticatedUsers").end();
    reply.start_array("authenticatedUserRoles").end();
    if args.bool("showPrivileges") == Some(true) {
        reply.start_array("authenticatedUserPrivileges").end();
    }
    reply.end();
    Ok(())
}
