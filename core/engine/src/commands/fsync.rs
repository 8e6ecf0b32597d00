//! `fsync`: writes a checkpoint. (Acknowledged writes are on disk without it.)

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::request::Request;
use crate::storage_error::MapStorage;
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "fsync", help: "writes a checkpoint", admin_only: true, run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[
    Field::optional("lock", Types::BOOL),
    Field::optional("async", Types::BOOL),
    Field::optional("fsyncLockAcquisitionTimeoutMillis", Types::NUMBER),
];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("fsync", FIELDS, request)?;
    if args.bool("lock") == Some(true) {
        let text = "fsync with lock is not supported: back the file up while it is in use instead";
        return Err(Error::new(ErrorCode::CommandNotSupported, text));
    }
    if !ctx.database.is_read_only() {
        ctx.database.store().checkpoint().mapped()?;
    }
    reply.i32("numFiles", 1);
    Ok(())
}
