//! `delete`: statements that each delete one document or all that match.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::write_args::{append_retried, batch_documents, check_batch_size};
use crate::catalog::Namespace;
use crate::context::CommandContext;
use crate::exec::compile::{compile_context, compile_order};
use crate::exec::{default_collation, with_collation};
use crate::request::Request;
use crate::write::Writer;
use crate::write::delete::{delete_many, delete_one, one_deleted};
use crate::write::outcome::{WriteErrors, fails_command};
use crate::write::target::Target;
use multifora_model::{DocBuilder, Error, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::CompileContext;
use multifora_query::filter::Filter;

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "delete",
    help: "Deletes documents.",
    writes: true,
    retryable: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("deletes", Types::ARRAY),
    Field::optional("ordered", Types::STRICT_BOOL),
    Field::optional("let", Types::OBJECT),
    Field::optional("bypassDocumentValidation", Types::BOOL),
];

static STATEMENT_FIELDS: &[Field] = &[
    Field::required("q", Types::OBJECT),
    Field::required("limit", Types::NUMBER),
    Field::optional("collation", Types::OBJECT),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("sampleId", Types::BINARY),
];

/// One statement, checked for its shape.
struct Statement<'a> {
    query: RawDoc<'a>,
    one: bool,
    args: Args<'a>,
}

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("delete", FIELDS, request)?;
    let ns = args.namespace(request)?;
    ns.check_writable()?;
    let docs = batch_documents(&args, "deletes", request)?;
    check_batch_size(docs.len())?;
    let statements: Vec<Statement<'_>> = docs.iter().map(|doc| parse(*doc)).collect::<Result<_>>()?;
    let ordered = args.bool("ordered").unwrap_or(true);
    let default = default_collation(context.database, &ns)?;
    let names = compile_context(context, request, default)?;
    let mut writer = Writer::new(context);
    let mut done = Done::default();
    let outcome = run_all(context, &mut writer, &ns, &statements, &names, ordered, &mut done);
    writer.wait_durable()?;
    outcome?;
    context.database.counters().deletes.add(statements.len() as u64);
    reply.count("n", done.n);
    done.errors.append_to(reply);
    append_retried(&done.retried, reply);
    Ok(())
}

#[derive(Default)]
struct Done {
    n: u64,
    errors: WriteErrors,
    retried: Vec<i32>,
}

fn parse(doc: RawDoc<'_>) -> Result<Statement<'_>> {
    let args = Args::nested("delete.deletes", STATEMENT_FIELDS, doc)?;
    let one = match args.i64("limit") {
        Some(0) => false,
        Some(1) => true,
        other => {
            let text = format!(
                "The limit field in delete objects must be 0 or 1. Got {}",
                other.unwrap_or_default()
            );
            return Err(Error::failed_to_parse(text));
        }
    };
    Ok(Statement { query: args.doc("q").unwrap_or(RawDoc::EMPTY), one, args })
}

fn run_all(
    context: &CommandContext<'_>,
    writer: &mut Writer<'_>,
    ns: &Namespace,
    statements: &[Statement<'_>],
    names: &CompileContext,
    ordered: bool,
    done: &mut Done,
) -> Result<()> {
    for (index, statement) in statements.iter().enumerate() {
        context.interrupt.check()?;
        match run_one(context, writer, ns, statement, names, index, done) {
            Ok(n) => done.n += n,
            Err(error) if fails_command(&error) => return Err(error),
            Err(error) => {
                done.errors.push(index, error);
                if ordered {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn run_one(
    context: &CommandContext<'_>,
    writer: &mut Writer<'_>,
    ns: &Namespace,
    statement: &Statement<'_>,
    names: &CompileContext,
    index: usize,
    done: &mut Done,
) -> Result<u64> {
    let retry = context.retry_state().map(|retry| (retry, retry.stmt_id(index)));
    if retry.is_some() && !statement.one {
        let text = "Cannot use (or request) retryable writes with limit=0";
        return Err(Error::new(ErrorCode::InvalidOptions, text));
    }
    if let Some((retry, stmt_id)) = retry
        && retry.outcome(stmt_id).is_some()
    {
        done.retried.push(stmt_id);
        return Ok(1);
    }
    let parts = DeleteParts {
        query: statement.query,
        hint: statement.args.get("hint"),
        collation: statement.args.doc("collation"),
    };
    let target = parts.compile(names)?;
    if statement.one {
        return Ok(u64::from(delete_one(writer, ns, &target, retry, &one_deleted)?.is_some()));
    }
    delete_many(writer, ns, &target)
}

/// A statement as it arrives, here or in bulkWrite.
pub(super) struct DeleteParts<'a> {
    pub query: RawDoc<'a>,
    pub hint: Option<RawValue<'a>>,
    pub collation: Option<RawDoc<'a>>,
}

impl DeleteParts<'_> {
    /// Compiles the statement.
    pub(super) fn compile(&self, names: &CompileContext) -> Result<Target> {
        let names = &*with_collation(names, self.collation)?;
        let mut target = Target::new(Filter::compile(self.query, names)?);
        target.spec.hint = compile_order(None, self.hint, names)?.hint;
        Ok(target)
    }
}
