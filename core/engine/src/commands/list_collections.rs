//! `listCollections`: the collections of a database, filtered.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::list_cursor::{cursor_request, reply_with};
use crate::catalog::{self, CollectionInfo};
use crate::context::CommandContext;
use crate::exec::CommandResources;
use crate::request::Request;
use multifora_model::{DocBuilder, DocumentView, RawDoc, Result};
use multifora_query::CompileContext;
use multifora_query::filter::Filter;

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "listCollections",
    help: "Lists the collections of a database.",
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::optional("filter", Types::OBJECT),
    Field::optional("cursor", Types::OBJECT),
    Field::optional("nameOnly", Types::BOOL),
    Field::optional("authorizedCollections", Types::BOOL),
];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("listCollections", FIELDS, request)?;
    let cursor = cursor_request("listCollections.cursor", args.doc("cursor"))?;
    let name_only = args.bool("nameOnly").unwrap_or(false);
    let filter = match args.doc("filter") {
        Some(filter) => Filter::compile(filter, &CompileContext::new(context.now_ms))?,
        None => Filter::always_true(),
    };
    let snapshot = context.database.store().snapshot();
    let resources = CommandResources::new(&context.interrupt);
    let mut docs = Vec::new();
    for collection in catalog::list_collections(&snapshot, context.database.catalog_cache(), request.db)? {
        context.interrupt.check()?;
        let doc = describe(&collection, name_only);
        let matches = RawDoc::framed(&doc).map(|raw| filter.matches(&DocumentView::whole(raw), &resources));
        if matches.transpose()?.unwrap_or(false) {
            docs.push(doc);
        }
    }
    let ns = format!("{}.$cmd.listCollections", request.db);
    reply_with(context, &ns, docs, &cursor, reply)
}

fn describe(collection: &CollectionInfo, name_only: bool) -> Vec<u8> {
    let mut out = DocBuilder::new();
    out.str("name", &collection.ns.coll).str("type", "collection");
    if name_only {
        return out.finish();
    }
    out.doc("options", collection.options_doc());
    out.start_doc("info").bool("readOnly", false).binary("uuid", 4, &collection.uuid).end();
    if let Some(id_index) = collection.indexes.first() {
        out.doc("idIndex", id_index.spec_doc());
    }
    out.finish()
}
