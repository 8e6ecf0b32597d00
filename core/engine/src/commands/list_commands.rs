//! `listCommands`: the registry, for tools and for people.

use super::args::Args;
use super::{CommandSpec, REGISTRY, generic};
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, OwnedValue, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "listCommands", help: "lists the commands", run, ..CommandSpec::BASE };

fn run(_: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::open_command("listCommands", &[], request)?;
    reply.start_doc("commands");
    for spec in REGISTRY {
        reply.start_doc(spec.name).str("help", spec.help);
        reply
            .bool("requiresAuth", false)
            .bool("secondaryOk", !spec.writes)
            .bool("adminOnly", spec.admin_only);
        reply.start_array("apiVersions");
        if generic::is_in_stable_api(spec.name) {
            reply.push(OwnedValue::string("1").as_ref());
        }
        reply.end().start_array("deprecatedApiVersions").end().end();
    }
    reply.end();
    Ok(())
}
