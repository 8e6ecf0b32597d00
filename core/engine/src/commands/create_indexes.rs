//! `createIndexes`: declares indexes and builds them over what is there.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::index::ParsedSpec;
use crate::request::Request;
use crate::write::Writer;
use crate::write::index_build::create_indexes;
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, RawDoc, RawValue, Result};

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "createIndexes",
    help: "Creates indexes; creates the collection when there is none.",
    writes: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("indexes", Types::ARRAY),
    Field::optional("commitQuorum", Types::ANY),
    Field::optional("ignoreUnknownIndexOptions", Types::STRICT_BOOL),
];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("createIndexes", FIELDS, request)?;
    let ns = args.namespace(request)?;
    if ns.is_system() {
        ns.check_writable()?;
    }
    check_commit_quorum(args.get("commitQuorum"))?;
    let specs = parse_specs(args.array("indexes").unwrap_or(RawDoc::EMPTY))?;
    let mut writer = Writer::new(context);
    let outcome = create_indexes(&mut writer, &ns, &specs, &context.progress);
    writer.wait_durable()?;
    let report = outcome?;
    reply.count("numIndexesBefore", report.before as u64).count("numIndexesAfter", report.after as u64);
    if report.before == report.after && !report.created_collection {
        reply.str("note", "all indexes already exist");
    } else {
        reply.bool("createdCollectionAutomatically", report.created_collection);
    }
    Ok(())
}

fn parse_specs(indexes: RawDoc<'_>) -> Result<Vec<ParsedSpec>> {
    if indexes.is_empty() {
        return Err(Error::bad_value("Must specify at least one index to create"));
    }
    let parse = |(at, value): (usize, RawValue<'_>)| match value.as_doc() {
        Some(spec) => ParsedSpec::parse(spec),
        None => {
            let path = format!("createIndexes.indexes.{at}");
            Err(super::args::wrong_type(&path, value, Types::OBJECT))
        }
    };
    indexes.iter().map(|e| e.value).enumerate().map(parse).collect()
}

/// One node is every quorum that can be met; anything else is an error, as on a replica set of one.
fn check_commit_quorum(quorum: Option<RawValue<'_>>) -> Result<()> {
    let Some(quorum) = quorum.filter(|q| !q.is_nullish()) else { return Ok(()) };
    let refused = |text: String| Err(Error::new(ErrorCode::UnsatisfiableCommitQuorum, text));
    match quorum.ty {
        ElementType::String => match quorum.as_str().unwrap_or_default() {
            "majority" | "votingMembers" => Ok(()),
            mode => refused(format!("Commit quorum cannot be satisfied: unknown mode '{mode}'")),
        },
        ty if ty.is_number() => match super::args::to_i64(quorum) {
            Some(0 | 1) => Ok(()),
            _ => refused(String::from(
                "Commit quorum cannot be satisfied with the current replica set configuration",
            )),
        },
        _ => Err(Error::failed_to_parse("commitQuorum has to be a string or a number")),
    }
}
