//! `insert`: new documents, from the body or from a document sequence.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::write_args::{append_retried, batch_documents, check_batch_size};
use crate::context::CommandContext;
use crate::request::Request;
use crate::write::Writer;
use crate::write::insert::{InsertBatch, insert};
use crate::write::new_document::EmptyTimestamps;
use multifora_model::{DocBuilder, Result};

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "insert",
    help: "Stores documents; creates the collection when there is none.",
    writes: true,
    retryable: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("documents", Types::ARRAY),
    Field::optional("ordered", Types::STRICT_BOOL),
    Field::optional("bypassDocumentValidation", Types::BOOL),
    Field::optional("bypassEmptyTsReplacement", Types::BOOL),
];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("insert", FIELDS, request)?;
    let ns = args.namespace(request)?;
    ns.check_writable()?;
    let docs = batch_documents(&args, "documents", request)?;
    check_batch_size(docs.len())?;
    let batch = InsertBatch {
        ns: &ns,
        docs: &docs,
        first_statement: 0,
        ordered: args.bool("ordered").unwrap_or(true),
        bypass_validation: args.bool("bypassDocumentValidation").unwrap_or(false),
        timestamps: EmptyTimestamps::from_bypass(args.bool("bypassEmptyTsReplacement")),
        retry: context.retry_state(),
    };
    let mut writer = Writer::new(context);
    let outcome = insert(&mut writer, &batch);
    // What was committed is acknowledged as durable even when a later chunk failed.
    writer.wait_durable()?;
    let inserted = outcome?;
    context.database.counters().inserts.add(inserted.n);
    reply.count("n", inserted.n);
    inserted.errors.append_to(reply);
    append_retried(&inserted.retried, reply);
    Ok(())
}
