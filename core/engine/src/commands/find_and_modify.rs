//! `findAndModify`: changes or deletes one document and gives it, as it was before or as it is after.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use super::write_args::refuse_kept_timestamps;
use crate::catalog::Namespace;
use crate::context::CommandContext;
use crate::exec::compile::{compile_context, compile_order};
use crate::exec::{CommandResources, default_collation, with_collation};
use crate::request::Request;
use crate::write::Writer;
use crate::write::delete::{RetryStatement, delete_one};
use crate::write::target::Target;
use crate::write::update::{UpdateStatement, Updated, update_one};
use multifora_model::{
    DocBuilder, DocumentView, ElementType, Error, RawDoc, RawValue, Result, WholeDocument,
};
use multifora_query::CompileContext;
use multifora_query::filter::Filter;
use multifora_query::projection::Projection;
use multifora_query::update::Update;

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "findAndModify",
    aliases: &["findandmodify"],
    help: "Updates or deletes one document and returns it.",
    writes: true,
    retryable: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::optional("query", Types::OBJECT),
    Field::optional("fields", Types::OBJECT),
    Field::optional("sort", Types::OBJECT),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("collation", Types::OBJECT),
    Field::optional("arrayFilters", Types::ARRAY),
    Field::optional("remove", Types::BOOL),
    Field::optional("update", Types::OBJECT_OR_ARRAY),
    Field::optional("upsert", Types::BOOL),
    Field::optional("new", Types::BOOL),
    Field::optional("bypassDocumentValidation", Types::BOOL),
    Field::optional("bypassEmptyTsReplacement", Types::BOOL),
    Field::optional("let", Types::OBJECT),
    Field::optional("sampleId", Types::BINARY),
];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("findAndModify", FIELDS, request)?;
    let ns = args.namespace(request)?;
    ns.check_writable()?;
    refuse_kept_timestamps(&args)?;
    check_options(&args)?;
    let retry = context.retry_state().map(|retry| (retry, retry.stmt_id(0)));
    if let Some((retry, stmt_id)) = retry
        && let Some(outcome) = retry.outcome(stmt_id)
    {
        reply.extend(RawDoc::framed(&outcome).unwrap_or(RawDoc::EMPTY));
        reply.i32("retriedStmtId", stmt_id);
        return Ok(());
    }
    let default = default_collation(context.database, &ns)?;
    let names = compile_context(context, request, default)?;
    let names = &*with_collation(&names, args.doc("collation"))?;
    let command = Command::compile(context, &args, names)?;
    let mut writer = Writer::new(context);
    let outcome = command.run(&mut writer, &ns, &args, names, retry);
    writer.wait_durable()?;
    let fields = outcome?;
    reply.extend(RawDoc::framed(&fields).unwrap_or(RawDoc::EMPTY));
    Ok(())
}

/// Options that contradict each other.
fn check_options(args: &Args<'_>) -> Result<()> {
    let on = |name: &str| args.bool(name).unwrap_or(false);
    let update = args.get("update");
    let refused = if on("remove") {
        match () {
            () if update.is_some() => Some("Cannot specify both an update and remove=true"),
            () if on("upsert") => Some("Cannot specify both upsert=true and remove=true"),
            () if on("new") => Some(
                "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
            ),
            () if args.get("arrayFilters").is_some() => Some("Cannot specify arrayFilters and remove=true"),
            () => None,
        }
    } else if let Some(update) = update {
        let both = update.ty == ElementType::Array && args.get("arrayFilters").is_some();
        both.then_some("Cannot specify arrayFilters and a pipeline update")
    } else {
        Some("Either an update or remove=true must be specified")
    };
    match refused {
        Some(text) => Err(Error::failed_to_parse(text)),
        None => Ok(()),
    }
}

/// What the update and the delete have in common.
struct Command<'a> {
    context: &'a CommandContext<'a>,
    target: Target,
    projection: Option<Projection>,
    returns_new: bool,
}

impl<'a> Command<'a> {
    fn compile(context: &'a CommandContext<'a>, args: &Args<'_>, names: &CompileContext) -> Result<Self> {
        let filter = Filter::compile(args.doc("query").unwrap_or(RawDoc::EMPTY), names)?;
        let returns_new = args.bool("new").unwrap_or(false);
        let projection = match args.doc("fields").filter(|fields| !fields.is_empty()) {
            Some(fields) => {
                if returns_new && fields.iter().any(|f| f.name().ends_with(".$")) {
                    let text = "cannot use a positional projection and return the new document";
                    return Err(Error::bad_value(text));
                }
                Some(Projection::compile(fields, Some(&filter), names)?)
            }
            None => None,
        };
        let mut target = Target::new(filter);
        let order = compile_order(args.doc("sort"), args.get("hint"), names)?;
        (target.spec.sort, target.spec.hint) = (order.sort, order.hint);
        Ok(Command { context, target, projection, returns_new })
    }

    /// Does it; gives the fields of the reply.
    fn run(
        self,
        writer: &mut Writer<'_>,
        ns: &Namespace,
        args: &Args<'_>,
        names: &CompileContext,
        retry: RetryStatement<'_>,
    ) -> Result<Vec<u8>> {
        let Some(change) = args.get("update") else {
            let deleted = delete_one(writer, ns, &self.target, retry, &|deleted| {
                self.deleted_reply(Some(&deleted.view()?))
            })?;
            self.context.database.counters().deletes.add(u64::from(deleted.is_some()));
            return deleted.map_or_else(|| self.deleted_reply(None), Ok);
        };
        let Command { context, target, projection, returns_new } = self;
        let statement = UpdateStatement {
            target,
            update: Update::compile(change, args.array("arrayFilters"), names)?,
            upsert: args.bool("upsert").unwrap_or(false),
            bypass_validation: args.bool("bypassDocumentValidation").unwrap_or(false),
        };
        let reply_of = |updated: &Updated| {
            let whole = WholeDocument::new();
            let view = match returns_new {
                true => updated.view_after(&whole)?,
                false => updated.view_before()?,
            };
            let value = view.map(|view| shown(context, projection.as_ref(), &view)).transpose()?;
            updated_reply(updated, value)
        };
        let updated = update_one(writer, ns, &statement, retry, &reply_of)?;
        context.database.counters().updates.add(updated.n);
        Ok(updated.outcome)
    }

    fn deleted_reply(&self, deleted: Option<&DocumentView<'_>>) -> Result<Vec<u8>> {
        let value = deleted.map(|view| shown(self.context, self.projection.as_ref(), view)).transpose()?;
        let mut reply = DocBuilder::new();
        reply.start_doc("lastErrorObject").i32("n", i32::from(value.is_some())).end();
        append_value(&mut reply, value.as_deref());
        Ok(reply.finish())
    }
}

/// The document as the `fields` of the command show it.
fn shown(
    context: &CommandContext<'_>,
    projection: Option<&Projection>,
    view: &DocumentView<'_>,
) -> Result<Vec<u8>> {
    let Some(projection) = projection else { return view.to_vec() };
    let mut head = Vec::new();
    projection.apply(view, &CommandResources::new(&context.interrupt), &mut head)?;
    view.derived(&head, &WholeDocument::new())?.to_vec()
}

fn updated_reply(updated: &Updated, value: Option<Vec<u8>>) -> Result<Vec<u8>> {
    let mut reply = DocBuilder::new();
    reply
        .start_doc("lastErrorObject")
        .count("n", updated.n)
        .bool("updatedExisting", updated.before.is_some());
    if let Some(id) = &updated.upserted {
        reply.append("upserted", id.as_ref());
    }
    reply.end();
    append_value(&mut reply, value.as_deref());
    Ok(reply.finish())
}

fn append_value(reply: &mut DocBuilder, value: Option<&[u8]>) {
    match value.and_then(RawDoc::framed) {
        Some(doc) => reply.doc("value", doc),
        None => reply.append("value", RawValue::NULL),
    };
}
