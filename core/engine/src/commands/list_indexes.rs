//! `listIndexes`: the indexes of a collection, `_id_` first.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::list_cursor::{cursor_request, reply_with};
use crate::catalog;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

/// The row in the registry.
pub const SPEC: CommandSpec =
    CommandSpec { name: "listIndexes", help: "Lists the indexes of a collection.", run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[
    Field::optional("cursor", Types::OBJECT),
    Field::optional("includeBuildUUIDs", Types::BOOL),
    Field::optional("includeIndexBuildInfo", Types::BOOL),
];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("listIndexes", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let cursor = cursor_request("listIndexes.cursor", args.doc("cursor"))?;
    let snapshot = context.database.store().snapshot();
    let collection = catalog::find_existing(&snapshot, context.database.catalog_cache(), &ns)?;
    let docs = collection.indexes.iter().map(|index| index.spec.clone()).collect();
    reply_with(context, &ns.to_string(), docs, &cursor, reply)
}
