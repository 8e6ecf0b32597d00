//! `getMore`: the next batch of a cursor.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::cursor;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "getMore", help: "fetches the next batch of a cursor", run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[
    Field::required("getMore", Types::LONG),
    Field::required("collection", Types::STRING),
    Field::optional("batchSize", Types::NUMBER),
    Field::optional("term", Types::NUMBER),
    Field::optional("lastKnownCommittedOpTime", Types::OBJECT),
    Field::optional("includeQueryStatsMetrics", Types::BOOL),
];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("getMore", FIELDS, request)?;
    let id = args.i64("getMore").unwrap_or(0);
    let collection = args.str("collection").unwrap_or_default();
    if collection.is_empty() {
        let text = format!("Invalid namespace for getMore: {}.", request.db);
        return Err(Error::new(ErrorCode::InvalidNamespace, text));
    }
    // Zero means the default here: as much as fits.
    let batch_size =
        args.i64_at_least("batchSize", 0)?.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
    ctx.database.counters().get_mores.add(1);
    cursor::fetch_more(ctx, id, &format!("{}.{collection}", request.db), batch_size, reply)
}
