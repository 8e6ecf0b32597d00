//! `count`: how many documents match.
//!
//! A count without a filter is one number in the root of the table, a count within exact index bounds a
//! difference of positions; otherwise rows are looked at. The manual's page: count.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::Namespace;
use crate::context::CommandContext;
use crate::exec::compile::{compile_context, compile_filter};
use crate::exec::count::count_rows;
use crate::exec::{QuerySpec, Reading};
use crate::plan::Hint;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "count",
    help: "counts the documents of a collection that match a query",
    run,
    ..CommandSpec::BASE
};

const FIELDS: &[Field] = &[
    Field::optional("query", Types::OBJECT),
    Field::optional("limit", Types::NUMBER),
    Field::optional("skip", Types::NUMBER),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("collation", Types::OBJECT),
    // Sent by old shells, of no effect.
    Field::optional("fields", Types::OBJECT),
    Field::optional("let", Types::OBJECT),
];

/// A count, parsed.
pub struct CountQuery {
    /// The collection.
    pub ns: Namespace,
    /// Where it is read.
    pub reading: Reading,
    /// What is counted; skip and limit apply to the number.
    pub spec: QuerySpec,
}

/// Reads the arguments of `count`.
///
/// # Errors
/// Those of the arguments, of the query and of the hint.
pub fn parse(ctx: &CommandContext<'_>, request: &Request<'_>) -> Result<CountQuery> {
    let args = Args::command("count", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let reading = Reading::open(ctx.database, &ns)?;
    let collation = reading.collation(args.doc("collation"))?;
    let skip = args.i64_at_least("skip", 0)?.unwrap_or(0);
    // A negative limit means its absolute value, and zero none.
    let limit = args.i64("limit").map(i64::unsigned_abs).filter(|limit| *limit > 0);
    let hint = match args.get("hint") {
        Some(hint) => Hint::parse(hint)?,
        None => None,
    };
    let filter = compile_filter(args.doc("query"), &compile_context(ctx, request, collation.clone())?)?;
    Ok(CountQuery {
        ns,
        reading,
        spec: QuerySpec { filter, skip: skip.unsigned_abs(), limit, hint, collation, ..QuerySpec::default() },
    })
}

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let query = parse(ctx, request)?;
    let n = match &query.reading.collection {
        Some(collection) => count_rows(&query.reading.snapshot, collection, &query.spec, &ctx.interrupt)?,
        None => 0,
    };
    reply.count("n", n);
    Ok(())
}
