//! `update`: statements that each update one document or all that match, or insert one.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::write_args::{append_retried, batch_documents, check_batch_size, refuse_kept_timestamps};
use crate::catalog::Namespace;
use crate::context::CommandContext;
use crate::exec::compile::{compile_context, compile_order};
use crate::exec::{default_collation, with_collation};
use crate::request::Request;
use crate::write::Writer;
use crate::write::outcome::{WriteErrors, fails_command};
use crate::write::target::Target;
use crate::write::update::{UpdateStatement, Updated, update_many, update_one};
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result};
use multifora_query::CompileContext;
use multifora_query::filter::Filter;
use multifora_query::update::Update;

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "update",
    help: "Updates documents, or inserts one when none matches (upsert).",
    writes: true,
    retryable: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("updates", Types::ARRAY),
    Field::optional("ordered", Types::STRICT_BOOL),
    Field::optional("let", Types::OBJECT),
    Field::optional("bypassDocumentValidation", Types::BOOL),
    Field::optional("bypassEmptyTsReplacement", Types::BOOL),
];

static STATEMENT_FIELDS: &[Field] = &[
    Field::required("q", Types::OBJECT),
    Field::required("u", Types::ANY),
    Field::optional("c", Types::OBJECT),
    Field::optional("multi", Types::BOOL),
    Field::optional("upsert", Types::BOOL),
    Field::optional("upsertSupplied", Types::BOOL),
    Field::optional("arrayFilters", Types::ARRAY),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("collation", Types::OBJECT),
    Field::optional("sort", Types::OBJECT),
    Field::optional("sampleId", Types::BINARY),
];

/// What became of the statements so far.
#[derive(Default)]
struct Done {
    n: u64,
    modified: u64,
    upserted: Vec<(usize, OwnedValue)>,
    errors: WriteErrors,
    retried: Vec<i32>,
}

/// What all statements of one command share.
struct Batch<'a> {
    context: &'a CommandContext<'a>,
    ns: &'a Namespace,
    names: &'a CompileContext,
    ordered: bool,
    bypass_validation: bool,
}

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("update", FIELDS, request)?;
    let ns = args.namespace(request)?;
    ns.check_writable()?;
    refuse_kept_timestamps(&args)?;
    let docs = batch_documents(&args, "updates", request)?;
    check_batch_size(docs.len())?;
    let statements: Vec<Args<'_>> = docs
        .iter()
        .map(|doc| Args::nested("update.updates", STATEMENT_FIELDS, *doc))
        .collect::<Result<_>>()?;
    let default = default_collation(context.database, &ns)?;
    let names = compile_context(context, request, default)?;
    let batch = Batch {
        context,
        ns: &ns,
        names: &names,
        ordered: args.bool("ordered").unwrap_or(true),
        bypass_validation: args.bool("bypassDocumentValidation").unwrap_or(false),
    };
    let mut writer = Writer::new(context);
    let mut done = Done::default();
    let outcome = batch.run_all(&mut writer, &statements, &mut done);
    writer.wait_durable()?;
    outcome?;
    context.database.counters().updates.add(statements.len() as u64);
    reply.count("n", done.n);
    if !done.upserted.is_empty() {
        reply.start_array("upserted");
        for (index, id) in &done.upserted {
            reply.push_start_doc().count("index", *index as u64).append("_id", id.as_ref()).end();
        }
        reply.end();
    }
    reply.count("nModified", done.modified);
    done.errors.append_to(reply);
    append_retried(&done.retried, reply);
    Ok(())
}

impl Batch<'_> {
    fn run_all(&self, writer: &mut Writer<'_>, statements: &[Args<'_>], done: &mut Done) -> Result<()> {
        for (index, args) in statements.iter().enumerate() {
            self.context.interrupt.check()?;
            match self.run_one(writer, args, index, done) {
                Ok(()) => {}
                Err(error) if fails_command(&error) => return Err(error),
                Err(error) => {
                    done.errors.push(index, error);
                    if self.ordered {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn run_one(&self, writer: &mut Writer<'_>, args: &Args<'_>, index: usize, done: &mut Done) -> Result<()> {
        let multi = args.bool("multi").unwrap_or(false);
        let retry = self.context.retry_state().map(|retry| (retry, retry.stmt_id(index)));
        if retry.is_some() && multi {
            let text = "Cannot use (or request) retryable writes with multi=true";
            return Err(Error::new(ErrorCode::InvalidOptions, text));
        }
        if let Some((retry, stmt_id)) = retry
            && let Some(outcome) = retry.outcome(stmt_id)
        {
            done.retried.push(stmt_id);
            let then = recalled(&outcome);
            done.add(index, then.n, then.modified, then.upserted);
            return Ok(());
        }
        let statement = parts(args, multi).compile(self.names, self.bypass_validation)?;
        let updated = match multi {
            true => update_many(writer, self.ns, &statement)?,
            false => update_one(writer, self.ns, &statement, retry, &remembered)?,
        };
        done.add(index, updated.n, updated.modified, updated.upserted);
        Ok(())
    }
}

fn parts<'a>(args: &Args<'a>, multi: bool) -> UpdateParts<'a> {
    UpdateParts {
        query: args.doc("q").unwrap_or(RawDoc::EMPTY),
        change: args.get("u").unwrap_or(RawValue::NULL),
        constants: args.doc("c"),
        array_filters: args.array("arrayFilters"),
        multi,
        upsert: args.bool("upsert").unwrap_or(false),
        sort: args.doc("sort"),
        hint: args.get("hint"),
        collation: args.doc("collation"),
    }
}

/// A statement as it arrives, here or in bulkWrite.
pub(super) struct UpdateParts<'a> {
    pub query: RawDoc<'a>,
    /// Operators, a replacement or a pipeline.
    pub change: RawValue<'a>,
    pub constants: Option<RawDoc<'a>>,
    pub array_filters: Option<RawDoc<'a>>,
    pub multi: bool,
    pub upsert: bool,
    pub sort: Option<RawDoc<'a>>,
    pub hint: Option<RawValue<'a>>,
    pub collation: Option<RawDoc<'a>>,
}

impl UpdateParts<'_> {
    /// Compiles the statement.
    pub(super) fn compile(&self, names: &CompileContext, bypass_validation: bool) -> Result<UpdateStatement> {
        let names = &*with_collation(names, self.collation)?;
        if self.constants.is_some() && self.change.ty != ElementType::Array {
            let text = "Constant values may only be specified for pipeline updates";
            return Err(Error::location(51198, text));
        }
        let with_constants = self.constants.map(|constants| names.clone().with_values(constants));
        let update =
            Update::compile(self.change, self.array_filters, with_constants.as_ref().unwrap_or(names))?;
        if self.multi && update.is_replacement() {
            return Err(Error::failed_to_parse("multi update is not supported for replacement-style update"));
        }
        let sort = self.sort.filter(|sort| !sort.is_empty());
        if self.multi && sort.is_some() {
            return Err(Error::failed_to_parse("Cannot specify sort with multi=true"));
        }
        let mut target = Target::new(Filter::compile(self.query, names)?);
        let order = compile_order(sort, self.hint, names)?;
        (target.spec.sort, target.spec.hint) = (order.sort, order.hint);
        Ok(UpdateStatement { target, update, upsert: self.upsert, bypass_validation })
    }
}

impl Done {
    fn add(&mut self, index: usize, n: u64, modified: u64, upserted: Option<OwnedValue>) {
        self.n += n;
        self.modified += modified;
        self.upserted.extend(upserted.map(|id| (index, id)));
    }
}

/// What is remembered of a retryable statement: `{n, nModified, upserted?}`.
pub(super) fn remembered(updated: &Updated) -> Result<Vec<u8>> {
    let mut outcome = DocBuilder::new();
    outcome.count("n", updated.n).count("nModified", updated.modified);
    if let Some(id) = &updated.upserted {
        outcome.append("upserted", id.as_ref());
    }
    Ok(outcome.finish())
}

/// The opposite of [`remembered`].
pub(super) fn recalled(outcome: &[u8]) -> Updated {
    let outcome = RawDoc::framed(outcome).unwrap_or(RawDoc::EMPTY);
    let count = |name: &str| outcome.get(name).and_then(|v| v.as_i32()).map_or(0, i32::unsigned_abs);
    Updated {
        n: u64::from(count("n")),
        modified: u64::from(count("nModified")),
        upserted: outcome.get("upserted").map(OwnedValue::from),
        ..Updated::default()
    }
}
