//! `explain`: how a command would be run, and at its other verbosities how it went.
//!
//! The explained command is parsed by its own parser and planned by the same planner; with
//! `executionStats` the plan is run (writes are only looked up, nothing is changed). The manual's page: explain.

use super::aggregate::AggregateQuery;
use super::args::{Args, Field, Types};
use super::{CommandSpec, aggregate, count, distinct, find};
use crate::catalog::{CollectionInfo, Namespace};
use crate::context::CommandContext;
use crate::exec::compile::{compile_context, compile_filter, compile_order};
use crate::exec::count::{is_whole_collection, run_count};
use crate::exec::explain::{Explained, Run, Stage, row_stages};
use crate::exec::{CommandResources, QuerySpec, Reading, RowStream, pipeline};
use crate::plan::{self, Access, Plan, plan_count};
use crate::request::Request;
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::stage::Documents;
use multifora_storage::Snapshot;
use std::time::Instant;

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "explain", help: "shows how a command is run", run, ..CommandSpec::BASE };

const FIELDS: &[Field] = &[Field::optional("verbosity", Types::STRING)];

/// How much explain tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// The plan.
    QueryPlanner,
    /// The plan, and what running it did.
    ExecutionStats,
    /// The same, with a place for the plans that were tried (none are).
    AllPlansExecution,
}

/// The commands that can be explained.
type Explain = fn(&CommandContext<'_>, &Request<'_>, Verbosity, &mut DocBuilder) -> Result<()>;
const EXPLAINABLE: &[(&str, Explain)] = &[
    ("find", find),
    ("count", count),
    ("distinct", distinct),
    ("aggregate", |ctx, inner, verbosity, reply| {
        let query = aggregate::parse(ctx, inner, true)?;
        aggregate(ctx, inner, &query, verbosity, reply)
    }),
    ("update", |ctx, inner, v, reply| statement(ctx, inner, ("updates", "q", "UPDATE"), v, reply)),
    ("delete", |ctx, inner, v, reply| statement(ctx, inner, ("deletes", "q", "DELETE"), v, reply)),
    ("findAndModify", find_and_modify),
];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("explain", FIELDS, request)?;
    let verbosity = match args.str("verbosity") {
        None | Some("allPlansExecution") => Verbosity::AllPlansExecution,
        Some("queryPlanner") => Verbosity::QueryPlanner,
        Some("executionStats") => Verbosity::ExecutionStats,
        Some(other) => {
            let text =
                format!("Enumeration value '{other}' for field 'explain.verbosity' is not a valid value.");
            return Err(Error::bad_value(text));
        }
    };
    let value = args.get("explain").unwrap_or(RawValue::NULL);
    let Some(body) = value.as_doc() else {
        return Err(super::args::wrong_type("explain.explain", value, Types::OBJECT));
    };
    let inner = Request { db: request.db, body, sequences: request.sequences.clone() };
    let name = inner.command_name();
    let Some(spec) = super::lookup(name) else {
        let text = format!("Explain failed due to unknown command: {name}");
        return Err(Error::new(ErrorCode::CommandNotFound, text));
    };
    match EXPLAINABLE.iter().find(|row| row.0 == spec.name) {
        Some((_, explain)) => explain(ctx, &inner, verbosity, reply),
        None => Err(Error::new(ErrorCode::IllegalOperation, format!("Cannot explain cmd: {}", spec.name))),
    }
}

/// One query with its plan, on its way into a reply.
struct Subject<'q> {
    ctx: &'q CommandContext<'q>,
    ns: &'q Namespace,
    snapshot: Snapshot,
    collection: Option<std::sync::Arc<CollectionInfo>>,
    spec: &'q QuerySpec,
    plan: Plan,
    query: Vec<u8>,
}

impl<'q> Subject<'q> {
    fn new(
        ctx: &'q CommandContext<'q>,
        ns: &'q Namespace,
        reading: &Reading,
        spec: &'q QuerySpec,
        query: Option<RawDoc<'_>>,
        make_plan: impl Fn(&Snapshot, &CollectionInfo, &QuerySpec) -> Result<Plan>,
    ) -> Result<Self> {
        let Reading { snapshot, collection } = reading.clone();
        let plan = match &collection {
            Some(collection) => make_plan(&snapshot, collection, spec)?,
            None => Plan { access: Access::Nothing, in_order: true, rejected: Vec::new() },
        };
        let query = parsed_query(query.unwrap_or(RawDoc::EMPTY));
        Ok(Subject { ctx, ns, snapshot, collection, spec, plan, query })
    }

    fn query_doc(&self) -> RawDoc<'_> {
        RawDoc::framed(&self.query).unwrap_or(RawDoc::EMPTY)
    }

    fn explained<'s>(&'s self, stages: Vec<Stage<'s>>, counts_keys: bool) -> Explained<'s> {
        Explained {
            stages,
            access: &self.plan.access,
            filter: self.query_doc(),
            counts_keys,
            only_stage: None,
        }
    }

    fn write_planner(&self, explained: &Explained<'_>, reply: &mut DocBuilder) {
        reply.start_doc("queryPlanner").str("namespace", &self.ns.to_string());
        reply.doc("parsedQuery", self.query_doc()).bool("indexFilterSet", false);
        reply.i32("optimizationTimeMillis", 0);
        reply.bool("maxIndexedOrSolutionsReached", false).bool("maxIndexedAndSolutionsReached", false);
        reply.bool("maxScansToExplodeReached", false).bool("prunedSimilarIndexes", false);
        explained.write("winningPlan", None, reply);
        reply.start_array("rejectedPlans");
        for access in &self.plan.rejected {
            reply.push_start_doc();
            Explained { access, ..self.explained(Vec::new(), false) }.write_fields(None, reply);
            reply.end();
        }
        reply.end().end();
    }

    /// A plan whose rows are counted, below these stages.
    fn explained_count<'s>(&'s self, stages: Vec<Stage<'s>>) -> Explained<'s> {
        let whole = self.collection.is_some() && is_whole_collection(self.spec, &self.plan);
        let by_keys = matches!(&self.plan.access, Access::Index(scan) if scan.decides);
        Explained {
            only_stage: whole.then_some("RECORD_STORE_FAST_COUNT"),
            ..self.explained(stages, by_keys)
        }
    }

    /// Counts; what is returned is the number.
    fn run_count(&self) -> Result<Run> {
        let began = Instant::now();
        let (returned, examined) = match &self.collection {
            Some(collection) => {
                run_count(&self.snapshot, collection, self.spec, &self.plan, &self.ctx.interrupt)?
            }
            None => Default::default(),
        };
        Ok(Run { returned, examined, millis: millis_since(began) })
    }

    /// Opens the plan's rows, when there is a collection.
    fn rows(&self) -> Result<Option<RowStream>> {
        match &self.collection {
            Some(collection) => RowStream::open(&self.snapshot, collection, self.spec, &self.plan).map(Some),
            None => Ok(None),
        }
    }

    /// Runs the plan to its end.
    fn run_rows(&self) -> Result<Run> {
        let began = Instant::now();
        let Some(mut rows) = self.rows()? else { return Ok(Run::default()) };
        let mut returned = 0;
        while rows.next(&self.snapshot, &self.ctx.interrupt)?.is_some() {
            returned += 1;
        }
        Ok(Run { returned, examined: rows.examined(), millis: millis_since(began) })
    }
}

fn millis_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn write_execution(explained: &Explained<'_>, run: &Run, verbosity: Verbosity, reply: &mut DocBuilder) {
    reply.start_doc("executionStats").bool("executionSuccess", true).count("nReturned", run.returned);
    reply.count("executionTimeMillis", run.millis).count("totalKeysExamined", run.examined.keys);
    reply.count("totalDocsExamined", run.examined.docs);
    explained.write("executionStages", Some(run), reply);
    if verbosity == Verbosity::AllPlansExecution {
        reply.start_array("allPlansExecution").end();
    }
    reply.end();
}

/// What follows the plan in every reply.
fn write_surroundings(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) {
    reply.start_doc("command").extend(request.body).str("$db", request.db).end();
    reply.start_doc("serverInfo").str("host", "localhost").i32("port", 0);
    reply
        .str("version", env!("CARGO_PKG_VERSION"))
        .str("gitVersion", "")
        .str("file", ctx.database.path())
        .end();
    reply.start_doc("serverParameters").end();
}

/// Plan, figures if asked for, surroundings.
fn write_all(
    subject: &Subject<'_>,
    stages: Vec<Stage<'_>>,
    request: &Request<'_>,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let explained = subject.explained(stages, false);
    reply.str("explainVersion", "1");
    subject.write_planner(&explained, reply);
    if verbosity != Verbosity::QueryPlanner {
        let run = subject.run_rows()?;
        write_execution(&explained, &run, verbosity, reply);
    }
    write_surroundings(subject.ctx, request, reply);
    Ok(())
}

fn find(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let query = find::parse(ctx, request)?;
    let filter = request.body.get("filter").and_then(RawValue::as_doc);
    let subject =
        Subject::new(ctx, &query.ns, &query.reading, &query.spec, filter, |s, c, q| plan::plan(s, c, q))?;
    let mut stages = row_stages(&query.spec, &subject.plan, query.sort);
    if let Some(projection) = query.projection_doc {
        stages.insert(
            stages.iter().take_while(|s| matches!(s, Stage::Limit(_))).count(),
            Stage::Projection(projection),
        );
    }
    if query.return_key {
        stages.insert(0, Stage::Named("RETURN_KEY"));
    }
    write_all(&subject, stages, request, verbosity, reply)
}

fn count(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let query = count::parse(ctx, request)?;
    let filter = request.body.get("query").and_then(RawValue::as_doc);
    let subject =
        Subject::new(ctx, &query.ns, &query.reading, &query.spec, filter, |s, c, q| plan_count(s, c, q))?;
    let explained = subject.explained_count(vec![Stage::Named("COUNT")]);
    reply.str("explainVersion", "1");
    subject.write_planner(&explained, reply);
    if verbosity != Verbosity::QueryPlanner {
        let run = Run { returned: 0, ..subject.run_count()? };
        write_execution(&explained, &run, verbosity, reply);
    }
    write_surroundings(ctx, request, reply);
    Ok(())
}

fn distinct(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let query = distinct::parse(ctx, request)?;
    let filter = request.body.get("query").and_then(RawValue::as_doc);
    let subject =
        Subject::new(ctx, &query.ns, &query.reading, &query.spec, filter, |s, c, q| plan::plan(s, c, q))?;
    write_all(&subject, Vec::new(), request, verbosity, reply)
}

/// Explains an aggregation: like a find when the planner answers it alone, else stage by stage.
///
/// # Errors
/// Those of planning and, at other verbosities, of running.
pub fn aggregate(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    query: &AggregateQuery<'_>,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let filter = leading_match(query);
    let counting = query.count_shape();
    let subject = Subject::new(
        ctx,
        &query.ns,
        &query.reading,
        &query.spec,
        filter.as_deref().and_then(RawDoc::framed),
        |s, c, q| {
            if counting.is_some() { plan_count(s, c, q) } else { plan::plan(s, c, q) }
        },
    )?;
    let sort = query.stages.iter().filter_map(|s| s.value.as_doc()?.get("$sort")?.as_doc()).next();
    let stages = row_stages(&query.spec, &subject.plan, sort);
    if query.planned_stages >= query.pipeline.stages().len() {
        return write_all(&subject, stages, request, verbosity, reply);
    }
    let explained = match counting {
        Some(_) => subject.explained_count(row_stages(&query.spec, &subject.plan, None)),
        None => subject.explained(stages, false),
    };
    reply.str("explainVersion", "1").start_array("stages").push_start_doc().start_doc("$cursor");
    subject.write_planner(&explained, reply);
    let mut returned = None;
    if verbosity != Verbosity::QueryPlanner {
        let began = Instant::now();
        let mut run = Run::default();
        if let Some(counting) = &counting {
            run = subject.run_count()?;
            let mut counted = Documents::new(counting.documents(run.returned));
            let mut rest = query.pipeline.start(query.planned_stages + 1);
            let resources = CommandResources::new(&ctx.interrupt);
            returned = Some(rest.collect(&mut counted, &resources)?.len() as u64);
        } else if let Some(mut rows) = subject.rows()? {
            let mut rest = query.pipeline.start(query.planned_stages);
            returned = Some(pipeline::drain(&subject.snapshot, &mut rows, &mut rest, &ctx.interrupt)?);
            run.examined = rows.examined();
        }
        run.millis = millis_since(began);
        write_execution(&explained, &run, verbosity, reply);
    }
    reply.end().end();
    let rest = query.stages.iter().skip(query.planned_stages);
    let last = query.stages.iter().count();
    for (at, stage) in rest.enumerate() {
        reply.push_start_doc().extend(stage.value.as_doc().unwrap_or(RawDoc::EMPTY));
        if let Some(returned) = returned.filter(|_| at + query.planned_stages + 1 == last) {
            reply.count("nReturned", returned);
        }
        reply.end();
    }
    reply.end();
    write_surroundings(ctx, request, reply);
    Ok(())
}

/// The conditions of the leading `$match` stages, for show.
fn leading_match(query: &AggregateQuery<'_>) -> Option<Vec<u8>> {
    let stages = query.stages.iter().take(query.planned_stages);
    let found: Vec<RawDoc<'_>> = stages.filter_map(|s| s.value.as_doc()?.get("$match")?.as_doc()).collect();
    match found.as_slice() {
        [] => None,
        [only] => Some(only.as_bytes().to_vec()),
        many => {
            let mut doc = DocBuilder::new();
            doc.start_array("$and");
            many.iter().for_each(|part| {
                doc.push(part.as_value());
            });
            Some(doc.finish())
        }
    }
}

/// The first statement of an update or delete: how its documents are found.
fn statement(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    (list, query_field, stage): (&'static str, &str, &'static str),
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let in_body = request.body.get(list).and_then(RawValue::as_array).unwrap_or(RawDoc::EMPTY);
    let mut statements = in_body.iter().filter_map(|e| e.value.as_doc());
    let in_sequence = request.sequence(list).unwrap_or_default();
    let (Some(statement), 1) = (
        statements.next().or_else(|| in_sequence.first().copied()),
        in_body.iter().count() + in_sequence.len(),
    ) else {
        return Err(Error::new(ErrorCode::InvalidLength, "explained write batches must be of size 1"));
    };
    write_lookup(ctx, request, statement, query_field, stage, verbosity, reply)
}

fn find_and_modify(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let removes = request.body.get("remove").and_then(RawValue::as_bool) == Some(true);
    let stage = if removes { "DELETE" } else { "UPDATE" };
    write_lookup(ctx, request, request.body, "query", stage, verbosity, reply)
}

/// Explains how a write finds its documents.
fn write_lookup(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    statement: RawDoc<'_>,
    query_field: &str,
    stage: &'static str,
    verbosity: Verbosity,
    reply: &mut DocBuilder,
) -> Result<()> {
    let ns = match request.body.iter().next().map(|first| first.value) {
        Some(name) if name.ty == ElementType::String => {
            Namespace::new(request.db, name.as_str().unwrap_or_default())?
        }
        _ => return Err(Error::new(ErrorCode::InvalidNamespace, "collection name has invalid type")),
    };
    let filter = statement.get(query_field).and_then(RawValue::as_doc);
    let sort = statement.get("sort").and_then(RawValue::as_doc);
    let reading = Reading::open(ctx.database, &ns)?;
    let collation = reading.collation(statement.get("collation").and_then(RawValue::as_doc))?;
    let context = compile_context(ctx, request, collation.clone())?;
    let order = compile_order(sort, statement.get("hint"), &context)?;
    let single = sort.is_some() || query_field == "query";
    let spec = QuerySpec {
        filter: compile_filter(filter, &context)?,
        sort: order.sort,
        hint: order.hint,
        limit: single.then_some(1),
        collation,
        ..QuerySpec::default()
    };
    let subject = Subject::new(ctx, &ns, &reading, &spec, filter, |s, c, q| plan::plan(s, c, q))?;
    let mut stages = vec![Stage::Named(stage)];
    stages.extend(row_stages(&spec, &subject.plan, sort));
    write_all(&subject, stages, request, verbosity, reply)
}

/// The query as MongoDB shows it once parsed: equalities written out, several conditions under `$and`.
fn parsed_query(query: RawDoc<'_>) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for field in query {
        let operators =
            field.value.as_doc().filter(|doc| doc.iter().next().is_some_and(|f| f.name().starts_with('$')));
        match operators {
            _ if field.name().starts_with('$') => {
                let mut part = DocBuilder::new();
                part.append(field.name(), field.value);
                parts.push(part.finish());
            }
            Some(operators) => parts.extend(operators.iter().map(|operator| {
                let mut part = DocBuilder::new();
                part.start_doc(field.name()).append(operator.name(), operator.value).end();
                part.finish()
            })),
            None => {
                let operator = if field.value.ty == ElementType::Regex { "$regex" } else { "$eq" };
                let mut part = DocBuilder::new();
                part.start_doc(field.name()).append(operator, field.value).end();
                parts.push(part.finish());
            }
        }
    }
    match parts.len() {
        0 => RawDoc::EMPTY.as_bytes().to_vec(),
        1 => parts.swap_remove(0),
        _ => {
            let mut all = DocBuilder::new();
            all.start_array("$and");
            for part in &parts {
                all.push(RawValue { ty: ElementType::Document, bytes: part });
            }
            all.finish()
        }
    }
}
