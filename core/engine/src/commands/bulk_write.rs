//! `bulkWrite`: inserts, updates and deletes on several collections in one command (MongoDB 8.0, manual: bulkWrite).
//!
//! Every operation is checked for its shape before the first is done. Each is then an ordinary statement of
//! `insert`, `update` or `delete`; neighbouring inserts into one collection are stored together. What
//! became of each is the content of a cursor, the sums stand in the reply.

use super::CommandSpec;
use super::args::{self, Args, Field, Types};
use super::delete::DeleteParts;
use super::list_cursor::{cursor_request, reply_with};
use super::update::{self, UpdateParts};
use super::write_args::{append_retried, batch_documents, check_batch_size};
use crate::catalog::Namespace;
use crate::context::CommandContext;
use crate::exec::compile::compile_context;
use crate::exec::default_collation;
use crate::request::Request;
use crate::write::Writer;
use crate::write::delete::{delete_many, delete_one, one_deleted};
use crate::write::insert::{InsertBatch, insert};
use crate::write::new_document::EmptyTimestamps;
use crate::write::outcome::{ErrorRoom, fails_command};
use crate::write::update::{Updated, update_many, update_one};
use multifora_model::{
    DocBuilder, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result, text,
};
use multifora_query::CompileContext;

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "bulkWrite",
    help: "Inserts, updates and deletes on several collections in one command.",
    admin_only: true,
    writes: true,
    retryable: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("ops", Types::ARRAY),
    Field::required("nsInfo", Types::ARRAY),
    Field::optional("ordered", Types::STRICT_BOOL),
    Field::optional("errorsOnly", Types::BOOL),
    Field::optional("bypassDocumentValidation", Types::BOOL),
    Field::optional("bypassEmptyTsReplacement", Types::BOOL),
    Field::optional("let", Types::OBJECT),
    Field::optional("cursor", Types::OBJECT),
];

static NAMESPACE_FIELDS: &[Field] = &[
    Field::required("ns", Types::STRING),
    Field::optional("collectionUUID", Types::BINARY),
    Field::optional("encryptionInformation", Types::OBJECT),
];

static INSERT_FIELDS: &[Field] =
    &[Field::required("insert", Types::NUMBER), Field::required("document", Types::OBJECT)];

static UPDATE_FIELDS: &[Field] = &[
    Field::required("update", Types::NUMBER),
    Field::required("filter", Types::OBJECT),
    Field::required("updateMods", Types::ANY),
    Field::optional("multi", Types::STRICT_BOOL),
    Field::optional("upsert", Types::STRICT_BOOL),
    Field::optional("arrayFilters", Types::ARRAY),
    Field::optional("hint", Types::ANY),
    Field::optional("constants", Types::OBJECT),
    Field::optional("collation", Types::OBJECT),
    Field::optional("sort", Types::OBJECT),
];

static DELETE_FIELDS: &[Field] = &[
    Field::required("delete", Types::NUMBER),
    Field::required("filter", Types::OBJECT),
    Field::optional("multi", Types::STRICT_BOOL),
    Field::optional("hint", Types::ANY),
    Field::optional("collation", Types::OBJECT),
];

/// One operation, checked for its shape.
struct Operation<'a> {
    /// Its place in `nsInfo`.
    ns: usize,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Insert(RawDoc<'a>),
    Update(UpdateParts<'a>),
    Delete { parts: DeleteParts<'a>, multi: bool },
}

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("bulkWrite", FIELDS, request)?;
    let cursor = cursor_request("bulkWrite.cursor", args.doc("cursor"))?;
    let docs = batch_documents(&args, "ops", request)?;
    check_batch_size(docs.len())?;
    let namespaces: Vec<Namespace> =
        batch_documents(&args, "nsInfo", request)?.into_iter().map(namespace).collect::<Result<_>>()?;
    let operations: Vec<Operation<'_>> =
        docs.iter().map(|doc| operation(*doc, &namespaces)).collect::<Result<_>>()?;
    if context.retry_state().is_some() && operations.iter().any(|operation| operation.kind.is_multi()) {
        let text = "Cannot use (or request) retryable writes with multi=true";
        return Err(Error::new(ErrorCode::InvalidOptions, text));
    }
    let batch = Batch {
        context,
        namespaces: &namespaces,
        operations: &operations,
        names: &names_of(context, request, &namespaces)?,
        ordered: args.bool("ordered").unwrap_or(true),
        bypass_validation: args.bool("bypassDocumentValidation").unwrap_or(false),
        timestamps: EmptyTimestamps::from_bypass(args.bool("bypassEmptyTsReplacement")),
    };
    if batch.timestamps == EmptyTimestamps::Keep
        && operations.iter().any(|operation| operation.kind.is_update())
    {
        super::write_args::refuse_kept_timestamps(&args)?;
    }
    let mut done = Done { errors_only: args.bool("errorsOnly").unwrap_or(false), ..Done::default() };
    let mut writer = Writer::new(context);
    let outcome = batch.run_all(&mut writer, &mut done);
    // What was committed is acknowledged as durable even when a later operation failed.
    writer.wait_durable()?;
    outcome?;
    done.count(context);
    let items = if is_unacknowledged(request) { Vec::new() } else { std::mem::take(&mut done.items) };
    reply_with(context, "admin.$cmd.bulkWrite", items, &cursor, reply)?;
    reply.count("nErrors", done.errors).count("nInserted", done.inserted);
    reply.count("nMatched", done.matched).count("nModified", done.modified);
    reply.count("nUpserted", done.upserted).count("nDeleted", done.deleted);
    append_retried(&done.retried, reply);
    Ok(())
}

/// The names of the command's expressions, for each collection.
fn names_of(
    context: &CommandContext<'_>,
    request: &Request<'_>,
    namespaces: &[Namespace],
) -> Result<Vec<CompileContext>> {
    let names = |ns: &Namespace| {
        let default = default_collation(context.database, ns)?;
        compile_context(context, request, default)
    };
    namespaces.iter().map(names).collect()
}

/// Nobody reads what became of each operation: `writeConcern: {w: 0}`.
fn is_unacknowledged(request: &Request<'_>) -> bool {
    let concern = request.body.get("writeConcern").and_then(RawValue::as_doc);
    concern.and_then(|concern| concern.get("w")).and_then(args::to_i64) == Some(0)
}

fn namespace(doc: RawDoc<'_>) -> Result<Namespace> {
    let args = Args::nested("bulkWrite.nsInfo", NAMESPACE_FIELDS, doc)?;
    for name in ["collectionUUID", "encryptionInformation"] {
        if args.get(name).is_some() {
            let text = format!("bulkWrite.nsInfo.{name} is not supported by this version of MultiforaDB");
            return Err(Error::new(ErrorCode::CommandNotSupported, text));
        }
    }
    let ns = args.str("ns").unwrap_or_default();
    Namespace::parse(ns).map_err(|_| {
        let text = format!("Invalid namespace specified for bulkWrite: '{ns}'");
        Error::new(ErrorCode::InvalidNamespace, text)
    })
}

fn operation<'a>(doc: RawDoc<'a>, namespaces: &[Namespace]) -> Result<Operation<'a>> {
    let name = doc.iter().next().map_or("", |first| first.name());
    let (name, fields) = match name {
        "insert" => ("insert", INSERT_FIELDS),
        "update" => ("update", UPDATE_FIELDS),
        "delete" => ("delete", DELETE_FIELDS),
        other => return Err(args::unknown_field("bulkWrite", other)),
    };
    let args = Args::nested("bulkWrite.ops", fields, doc)?;
    let index = args.i64(name).unwrap_or_default();
    let Ok(ns) = usize::try_from(index) else {
        let text = format!("BSON field '{name}' value must be >= 0, actual value '{index}'");
        return Err(Error::bad_value(text));
    };
    let Some(namespace) = namespaces.get(ns) else {
        let text = format!("BulkWrite ops entry {} has an invalid nsInfo index.", text::document(doc));
        return Err(Error::bad_value(text));
    };
    namespace.check_writable()?;
    let hint = args.get("hint").filter(|hint| !hint.is_nullish());
    if hint.is_some_and(|hint| !matches!(hint.ty, ElementType::String | ElementType::Document)) {
        return Err(Error::failed_to_parse("Hint must be a string or an object"));
    }
    let query = args.doc("filter").unwrap_or(RawDoc::EMPTY);
    let multi = args.bool("multi").unwrap_or(false);
    let collation = args.doc("collation");
    let kind = match name {
        "insert" => Kind::Insert(args.doc("document").unwrap_or(RawDoc::EMPTY)),
        "delete" => Kind::Delete { parts: DeleteParts { query, hint, collation }, multi },
        _ => Kind::Update(UpdateParts {
            query,
            change: args.get("updateMods").unwrap_or(RawValue::NULL),
            constants: args.doc("constants"),
            array_filters: args.array("arrayFilters"),
            multi,
            upsert: args.bool("upsert").unwrap_or(false),
            sort: args.doc("sort"),
            hint,
            collation,
        }),
    };
    if let Kind::Update(parts) = &kind
        && !matches!(parts.change.ty, ElementType::Document | ElementType::Array)
    {
        return Err(Error::failed_to_parse("Update argument must be either an object or an array"));
    }
    Ok(Operation { ns, kind })
}

impl Kind<'_> {
    fn is_multi(&self) -> bool {
        match self {
            Kind::Insert(_) => false,
            Kind::Update(parts) => parts.multi,
            Kind::Delete { multi, .. } => *multi,
        }
    }

    fn is_update(&self) -> bool {
        matches!(self, Kind::Update(_))
    }
}

/// What all operations of one command share.
struct Batch<'a> {
    context: &'a CommandContext<'a>,
    namespaces: &'a [Namespace],
    operations: &'a [Operation<'a>],
    /// By place in `nsInfo`: how strings compare is each collection's choice.
    names: &'a [CompileContext],
    ordered: bool,
    bypass_validation: bool,
    timestamps: EmptyTimestamps,
}

impl Batch<'_> {
    fn run_all(&self, writer: &mut Writer<'_>, done: &mut Done) -> Result<()> {
        let mut at = 0;
        while let Some(operation) = self.operations.get(at) {
            self.context.interrupt.check()?;
            let errors_before = done.errors;
            at += match &operation.kind {
                Kind::Insert(_) => self.insert_from(at, writer, done)?,
                Kind::Update(parts) => {
                    let outcome = self.update(at, operation.ns, parts, writer, done);
                    done.add_update(at, outcome)?;
                    1
                }
                Kind::Delete { parts, multi } => {
                    let outcome = self.delete(at, operation.ns, parts, *multi, writer, done);
                    done.add_delete(at, outcome)?;
                    1
                }
            };
            if self.ordered && done.errors > errors_before {
                break;
            }
        }
        Ok(())
    }

    fn ns(&self, index: usize) -> Result<&Namespace> {
        self.namespaces.get(index).ok_or_else(|| Error::internal("an operation's namespace is gone"))
    }

    fn names(&self, index: usize) -> Result<&CompileContext> {
        self.names.get(index).ok_or_else(|| Error::internal("an operation's namespace is gone"))
    }

    /// Stores the documents of this operation and of the inserts into the same collection behind it; gives their number.
    fn insert_from(&self, at: usize, writer: &mut Writer<'_>, done: &mut Done) -> Result<usize> {
        let ns = self.operations.get(at).map_or(0, |operation| operation.ns);
        let following = self.operations.get(at..).unwrap_or_default().iter();
        let docs: Vec<RawDoc<'_>> = following
            .map_while(|operation| match operation.kind {
                Kind::Insert(doc) if operation.ns == ns => Some(doc),
                _ => None,
            })
            .collect();
        let inserted = insert(
            writer,
            &InsertBatch {
                ns: self.ns(ns)?,
                docs: &docs,
                first_statement: at,
                ordered: self.ordered,
                bypass_validation: self.bypass_validation,
                timestamps: self.timestamps,
                retry: self.context.retry_state(),
            },
        )?;
        done.retried.extend(&inserted.retried);
        done.inserted += inserted.n;
        let mut errors = inserted.errors.iter().peekable();
        for index in 0..docs.len() {
            match errors.next_if(|failure| failure.index == index) {
                None => done.item(at + index, &[("n", 1)], None),
                Some(failure) => {
                    done.failure(at + index, &failure.error, &["n"]);
                    if self.ordered {
                        break;
                    }
                }
            }
        }
        Ok(docs.len())
    }

    fn update(
        &self,
        at: usize,
        ns: usize,
        parts: &UpdateParts<'_>,
        writer: &mut Writer<'_>,
        done: &mut Done,
    ) -> Result<Updated> {
        let retry = self.context.retry_state().map(|retry| (retry, retry.stmt_id(at)));
        if let Some((retry, stmt_id)) = retry
            && let Some(outcome) = retry.outcome(stmt_id)
        {
            done.retried.push(stmt_id);
            return Ok(update::recalled(&outcome));
        }
        let statement = parts.compile(self.names(ns)?, self.bypass_validation)?;
        match parts.multi {
            true => update_many(writer, self.ns(ns)?, &statement),
            false => update_one(writer, self.ns(ns)?, &statement, retry, &update::remembered),
        }
    }

    fn delete(
        &self,
        at: usize,
        ns: usize,
        parts: &DeleteParts<'_>,
        multi: bool,
        writer: &mut Writer<'_>,
        done: &mut Done,
    ) -> Result<u64> {
        let retry = self.context.retry_state().map(|retry| (retry, retry.stmt_id(at)));
        if let Some((retry, stmt_id)) = retry
            && retry.outcome(stmt_id).is_some()
        {
            done.retried.push(stmt_id);
            return Ok(1);
        }
        let target = parts.compile(self.names(ns)?)?;
        if multi {
            return delete_many(writer, self.ns(ns)?, &target);
        }
        Ok(u64::from(delete_one(writer, self.ns(ns)?, &target, retry, &one_deleted)?.is_some()))
    }
}

/// What became of the operations so far.
#[derive(Default)]
struct Done {
    errors_only: bool,
    /// The documents of the reply's cursor.
    items: Vec<Vec<u8>>,
    room: ErrorRoom,
    errors: u64,
    inserted: u64,
    matched: u64,
    modified: u64,
    upserted: u64,
    deleted: u64,
    updates: u64,
    deletes: u64,
    retried: Vec<i32>,
}

impl Done {
    fn add_update(&mut self, at: usize, outcome: Result<Updated>) -> Result<()> {
        self.updates += 1;
        match outcome {
            Ok(updated) => {
                self.matched += if updated.upserted.is_some() { 0 } else { updated.n };
                self.modified += updated.modified;
                self.upserted += u64::from(updated.upserted.is_some());
                let counts = [("n", updated.n), ("nModified", updated.modified)];
                self.item(at, &counts, updated.upserted.as_ref());
            }
            Err(error) if fails_command(&error) => return Err(error),
            Err(error) => self.failure(at, &error, &["n", "nModified"]),
        }
        Ok(())
    }

    fn add_delete(&mut self, at: usize, outcome: Result<u64>) -> Result<()> {
        self.deletes += 1;
        match outcome {
            Ok(n) => {
                self.deleted += n;
                self.item(at, &[("n", n)], None);
            }
            Err(error) if fails_command(&error) => return Err(error),
            Err(error) => self.failure(at, &error, &["n"]),
        }
        Ok(())
    }

    fn item(&mut self, at: usize, counts: &[(&str, u64)], upserted: Option<&OwnedValue>) {
        if self.errors_only {
            return;
        }
        let mut item = DocBuilder::new();
        item.f64("ok", 1.0).count("idx", at as u64);
        for (name, count) in counts {
            item.count(name, *count);
        }
        if let Some(id) = upserted {
            item.start_doc("upserted").append("_id", id.as_ref()).end();
        }
        self.items.push(item.finish());
    }

    /// The counts of an operation that failed are zero.
    fn failure(&mut self, at: usize, error: &Error, counts: &[&str]) {
        self.errors += 1;
        let mut item = DocBuilder::new();
        item.f64("ok", 0.0).count("idx", at as u64);
        self.room.append(error, &mut item);
        for name in counts {
            item.i32(name, 0);
        }
        self.items.push(item.finish());
    }

    /// Adds to serverStatus's counters.
    fn count(&self, context: &CommandContext<'_>) {
        let counters = context.database.counters();
        counters.inserts.add(self.inserted);
        counters.updates.add(self.updates);
        counters.deletes.add(self.deletes);
    }
}
