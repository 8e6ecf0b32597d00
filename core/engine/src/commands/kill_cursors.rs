//! `killCursors`: closes cursors that will not be read to their end.

use super::CommandSpec;
use super::args::{Args, Field, Types, wrong_type};
use crate::context::CommandContext;
use crate::cursor::Killed;
use crate::request::Request;
use multifora_model::{DocBuilder, OwnedValue, RawDoc, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "killCursors", help: "closes cursors", run, ..CommandSpec::BASE };

static FIELDS: &[Field] =
    &[Field::required("killCursors", Types::STRING), Field::required("cursors", Types::ARRAY)];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("killCursors", FIELDS, request)?;
    let ns = format!("{}.{}", request.db, args.str("killCursors").unwrap_or_default());
    let mut ids = Vec::new();
    for (index, element) in args.array("cursors").unwrap_or(RawDoc::EMPTY).iter().enumerate() {
        let id = element.value.as_i64();
        ids.push(id.ok_or_else(|| {
            wrong_type(&format!("killCursors.cursors.{index}"), element.value, Types::LONG)
        })?);
    }
    let (killed, missing): (Vec<i64>, Vec<i64>) =
        ids.into_iter().partition(|id| ctx.database.cursors().kill(*id, &ns) == Killed::Yes);
    for (field, ids) in [("cursorsKilled", killed), ("cursorsNotFound", missing)] {
        reply.start_array(field);
        for id in ids {
            reply.push(OwnedValue::from(id).as_ref());
        }
        reply.end();
    }
    reply.start_array("cursorsAlive").end().start_array("cursorsUnknown").end();
    Ok(())
}
