//! `getCmdLineOpts`: how the file was opened, in the shape of a server's configuration.

use super::CommandSpec;
use super::args::Args;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, OwnedValue, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "getCmdLineOpts",
    help: "tells how the file was opened",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::open_command("getCmdLineOpts", &[], request)?;
    let path = ctx.database.path();
    reply.start_array("argv");
    for word in ["multifora", "serve", path] {
        reply.push(OwnedValue::string(word).as_ref());
    }
    reply.end().start_doc("parsed");
    reply.start_doc("storage").str("dbPath", path).end();
    if let Some(set) = &ctx.connection.info().replica_set {
        reply.start_doc("replication").str("replSet", &set.name).end();
    }
    reply.end();
    Ok(())
}
