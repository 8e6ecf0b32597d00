//! `dbStats`: how large a database is.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::coll_stats::{CollectionSize, scale_of};
use crate::catalog;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "dbStats",
    aliases: &["dbstats"],
    help: "tells the size of a database",
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] =
    &[Field::optional("scale", Types::NUMBER), Field::optional("freeStorage", Types::NUMBER)];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("dbStats", FIELDS, request)?;
    let scale = scale_of(&args)?;
    let snapshot = ctx.database.store().snapshot();
    let (mut collections, mut objects, mut indexes) = (0_u64, 0_u64, 0_u64);
    let (mut data_bytes, mut index_bytes) = (0_u64, 0_u64);
    for collection in catalog::list_collections(&snapshot, ctx.database.catalog_cache(), request.db)? {
        let size = CollectionSize::of(&snapshot, &collection, &ctx.interrupt)?;
        collections += 1;
        objects += size.documents;
        indexes += size.indexes.len() as u64;
        data_bytes += size.data_bytes;
        index_bytes += size.index_bytes();
    }
    let scaled = |bytes: u64| (bytes / scale) as f64;
    reply.str("db", request.db);
    reply.count("collections", collections).i32("views", 0).count("objects", objects);
    let average = if objects == 0 { 0.0 } else { data_bytes as f64 / objects as f64 };
    reply
        .f64("avgObjSize", average)
        .f64("dataSize", scaled(data_bytes))
        .f64("storageSize", scaled(data_bytes));
    reply.count("indexes", indexes).f64("indexSize", scaled(index_bytes));
    reply.f64("totalSize", scaled(data_bytes + index_bytes)).count("scaleFactor", scale);
    Ok(())
}
