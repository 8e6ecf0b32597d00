//! `listDatabases`: the databases that have a collection.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog;
use crate::context::CommandContext;
use crate::request::Request;
use crate::storage_error::MapStorage;
use multifora_model::{DocBuilder, DocumentView, RawDoc, Result};
use multifora_query::filter::Filter;
use multifora_query::{CompileContext, NoResources};
use multifora_storage::Read;

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "listDatabases",
    help: "lists the databases",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::optional("filter", Types::OBJECT),
    Field::optional("nameOnly", Types::BOOL),
    Field::optional("authorizedDatabases", Types::BOOL),
];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("listDatabases", FIELDS, request)?;
    let name_only = args.bool("nameOnly") == Some(true);
    let compile = CompileContext::new(ctx.now_ms);
    let filter = Filter::compile(args.doc("filter").unwrap_or(RawDoc::EMPTY), &compile)?;
    let snapshot = ctx.database.store().snapshot();
    let stats = ctx.database.store().stats();
    let used_bytes = stats.file_bytes.saturating_sub(stats.free_bytes);
    reply.start_array("databases");
    let mut total_bytes = 0;
    for name in catalog::list_databases(&snapshot)? {
        ctx.interrupt.check()?;
        let mut doc = DocBuilder::new();
        doc.str("name", &name);
        let (records, entries) = if name_only { (0, 0) } else { size_of(ctx, &snapshot, &name)? };
        // All databases share one file; its bytes are shared out by the number of entries.
        let bytes = share(used_bytes, entries, stats.entries);
        if !name_only {
            doc.i64("sizeOnDisk", i64::try_from(bytes).unwrap_or(i64::MAX)).bool("empty", records == 0);
        }
        let doc = doc.finish();
        let doc = RawDoc::framed(&doc).unwrap_or(RawDoc::EMPTY);
        if filter.matches(&DocumentView::whole(doc), &NoResources)? {
            reply.push(doc.as_value());
            total_bytes += bytes;
        }
    }
    reply.end();
    if !name_only {
        let total = i64::try_from(total_bytes).unwrap_or(i64::MAX);
        reply.i64("totalSize", total).i64("totalSizeMb", total >> 20);
    }
    Ok(())
}

/// Documents, and entries of all tables, of one database.
fn size_of(ctx: &CommandContext<'_>, reads: &dyn Read, db: &str) -> Result<(u64, u64)> {
    let (mut records, mut entries) = (0, 0);
    for collection in catalog::list_collections(reads, ctx.database.catalog_cache(), db)? {
        let count = reads.count(collection.records).mapped()?;
        records += count;
        entries += count;
        for index in &collection.indexes {
            entries += reads.count(index.table).mapped()?;
        }
    }
    Ok((records, entries))
}

fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    let shared = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(shared).unwrap_or(u64::MAX)
}
