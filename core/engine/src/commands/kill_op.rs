//! `killOp`: stops a running command at its next check.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "killOp",
    help: "stops a running command",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[Field::optional("op", Types::NUMBER)];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("killOp", FIELDS, request)?;
    let Some(id) = args.i64("op") else {
        return Err(Error::new(ErrorCode::NoSuchKey, "Missing expected field \"op\""));
    };
    for connection in ctx.database.connections() {
        connection.for_each_operation(|op| {
            if i64::try_from(op.id) == Ok(id) {
                op.interrupt.interrupt();
            }
        });
    }
    // MongoDB answers the same whether there was such an operation or not.
    reply.str("info", "attempting to kill op");
    Ok(())
}
