//! `collStats`: how large a collection and its indexes are.
//!
//! Sizes are those of the bytes as they are kept in the tables, before compression. They are counted by walking the
//! tables, which costs a pass over the keys and no look into a document.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{self, CollectionInfo};
use crate::context::CommandContext;
use crate::interrupt::Interrupt;
use crate::request::Request;
use crate::storage_error::MapStorage;
use crate::stored::Stored;
use multifora_model::{DocBuilder, Result};
use multifora_storage::{Direction, KeyRange, Read, TableId};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "collStats",
    aliases: &["collstats"],
    help: "tells the size of a collection and its indexes",
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[Field::optional("scale", Types::NUMBER)];

/// The size of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CollectionSize {
    pub(super) documents: u64,
    /// Bytes of all documents.
    pub(super) data_bytes: u64,
    /// For each index: its name, and the bytes of its entries.
    pub(super) indexes: Vec<(String, u64)>,
}

impl CollectionSize {
    /// Counts the bytes of a collection.
    pub(super) fn of(reads: &dyn Read, collection: &CollectionInfo, interrupt: &Interrupt) -> Result<Self> {
        let mut size = CollectionSize {
            documents: reads.count(collection.records).mapped()?,
            data_bytes: document_bytes(reads, collection.records, interrupt)?,
            indexes: Vec::with_capacity(collection.indexes.len()),
        };
        for index in &collection.indexes {
            size.indexes.push((index.name.clone(), entry_bytes(reads, index.table, interrupt)?));
        }
        Ok(size)
    }

    /// Bytes of all index entries.
    pub(super) fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Bytes of all documents, values out of line included.
fn document_bytes(reads: &dyn Read, table: TableId, interrupt: &Interrupt) -> Result<u64> {
    let mut bytes = 0;
    let mut scan = reads.scan(table, KeyRange::all(), Direction::Forward).mapped()?;
    while let Some(entry) = scan.next().mapped()? {
        interrupt.check()?;
        bytes += Stored::new(entry).len_bytes() as u64;
    }
    Ok(bytes)
}

/// Bytes of an index's keys and heads.
fn entry_bytes(reads: &dyn Read, table: TableId, interrupt: &Interrupt) -> Result<u64> {
    let mut bytes = 0;
    let mut scan = reads.scan(table, KeyRange::all(), Direction::Forward).mapped()?;
    while let Some(entry) = scan.next().mapped()? {
        interrupt.check()?;
        bytes += (entry.key.len() + entry.head().len()) as u64;
    }
    Ok(bytes)
}

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("collStats", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let scale = scale_of(&args)?;
    let snapshot = ctx.database.store().snapshot();
    let found = catalog::find(&snapshot, ctx.database.catalog_cache(), &ns)?;
    let size = match &found {
        Some(collection) => CollectionSize::of(&snapshot, collection, &ctx.interrupt)?,
        // MongoDB answers for a collection that does not exist, with zeros.
        None => CollectionSize::default(),
    };
    let index_bytes = size.index_bytes();
    reply.str("ns", &ns.to_string());
    reply.count("size", size.data_bytes / scale).count("count", size.documents);
    if let Some(average) = size.data_bytes.checked_div(size.documents) {
        reply.count("avgObjSize", average);
    }
    reply.i32("numOrphanDocs", 0).count("storageSize", size.data_bytes / scale);
    reply.bool("capped", false).count("nindexes", size.indexes.len() as u64);
    reply.start_doc("indexDetails").end().start_array("indexBuilds").end();
    reply.count("totalIndexSize", index_bytes / scale);
    reply.count("totalSize", (size.data_bytes + index_bytes) / scale);
    reply.start_doc("indexSizes");
    for (name, bytes) in &size.indexes {
        reply.count(name, bytes / scale);
    }
    reply.end().count("scaleFactor", scale);
    Ok(())
}

/// What sizes are divided by.
pub(super) fn scale_of(args: &Args<'_>) -> Result<u64> {
    Ok(args.i64_at_least("scale", 1)?.and_then(|n| u64::try_from(n).ok()).unwrap_or(1))
}
