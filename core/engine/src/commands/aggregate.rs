//! `aggregate`: a collection through a pipeline, as a cursor.
//!
//! What the first stages have in common with a query (`$match`, `$sort`, `$skip`, `$limit`) goes through the planner;
//! the rest pulls documents through `query::stage`. A pipeline that only counts is a count.
//! The manual's page: aggregate.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{CollectionInfo, Namespace};
use crate::context::CommandContext;
use crate::cursor::{CursorRequest, open_cursor};
use crate::exec::compile::compile_context;
use crate::exec::count::count_rows;
use crate::exec::pipeline::PipelineBatches;
use crate::exec::{QuerySpec, Reading, open_rows};
use crate::plan::Hint;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::stage::{CountingGroup, Pipeline, Stage};
use multifora_storage::Snapshot;

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "aggregate",
    help: "runs the documents of a collection through a pipeline and opens a cursor over the result",
    run,
    ..CommandSpec::BASE
};

const FIELDS: &[Field] = &[
    Field::required("pipeline", Types::ANY),
    Field::optional("cursor", Types::OBJECT),
    Field::optional("explain", Types::BOOL),
    Field::optional("allowDiskUse", Types::BOOL),
    Field::optional("bypassDocumentValidation", Types::BOOL),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("collation", Types::OBJECT),
    Field::optional("let", Types::OBJECT),
    Field::optional("fromMongos", Types::BOOL),
    Field::optional("needsMerge", Types::BOOL),
];

const CURSOR_FIELDS: &[Field] = &[Field::optional("batchSize", Types::NUMBER)];

/// An aggregation, parsed.
pub struct AggregateQuery<'a> {
    /// The collection.
    pub ns: Namespace,
    /// Where it is read.
    pub reading: Reading,
    /// The stages.
    pub pipeline: Pipeline,
    /// The stages as given.
    pub stages: RawDoc<'a>,
    /// The first stages as a query.
    pub spec: QuerySpec,
    /// How many stages `spec` stands for.
    pub planned_stages: usize,
    /// `explain: true`.
    pub explain: bool,
    cursor: CursorRequest,
}

/// Reads the arguments of `aggregate`; inside the explain command the cursor may be missing.
///
/// # Errors
/// Those of the arguments and of the stages.
pub fn parse<'a>(
    ctx: &CommandContext<'_>,
    request: &Request<'a>,
    inside_explain: bool,
) -> Result<AggregateQuery<'a>> {
    let args = Args::command("aggregate", FIELDS, request)?;
    let explain = args.bool("explain").unwrap_or(false);
    let stages = args.get("pipeline").unwrap_or(RawValue::NULL);
    let Some(stage_docs) = stages.as_array() else {
        return Err(Error::type_mismatch("'pipeline' option must be specified as an array"));
    };
    let ns = namespace(&args, request, stage_docs)?;
    if args.get("cursor").is_none() && !explain && !inside_explain {
        return Err(Error::failed_to_parse(
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ));
    }
    let reading = Reading::open(ctx.database, &ns)?;
    let collation = reading.collation(args.doc("collation"))?;
    let hint = match args.get("hint") {
        Some(hint) => Hint::parse(hint)?,
        None => None,
    };
    let cursor =
        Args::nested("aggregate.cursor", CURSOR_FIELDS, args.doc("cursor").unwrap_or(RawDoc::EMPTY))?;
    let batch_size = cursor.i64_at_least("batchSize", 0)?.map(i64::unsigned_abs);
    let pipeline = Pipeline::compile(stages, &compile_context(ctx, request, collation.clone())?)?;
    let leading = pipeline.leading();
    let spec = QuerySpec {
        filter: leading.filter,
        sort: leading.sort,
        skip: leading.skip,
        limit: leading.limit,
        hint,
        collation,
        ..QuerySpec::default()
    };
    Ok(AggregateQuery {
        ns,
        reading,
        pipeline,
        stages: stage_docs,
        spec,
        planned_stages: leading.stage_count,
        explain,
        cursor: CursorRequest { batch_size, ..CursorRequest::default() },
    })
}

/// The collection; `{aggregate: 1}` has none, and no stage yet does without.
fn namespace(args: &Args<'_>, request: &Request<'_>, stages: RawDoc<'_>) -> Result<Namespace> {
    let value = args.get("aggregate").unwrap_or(RawValue::NULL);
    if !value.ty.is_number() {
        return args.namespace(request);
    }
    if super::args::to_i64(value) != Some(1) {
        return Err(Error::failed_to_parse(
            "Invalid command format: the 'aggregate' field must specify a collection name or 1",
        ));
    }
    let first = stages.iter().next().and_then(|s| s.value.as_doc()).and_then(|s| s.iter().next());
    let text = match first {
        Some(stage) => {
            format!("{{aggregate: 1}} is not valid for '{}'; a collection is required.", stage.name())
        }
        None => String::from("{aggregate: 1} is not valid for an empty pipeline."),
    };
    Err(Error::new(ErrorCode::InvalidNamespace, text))
}

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let query = parse(ctx, request, false)?;
    if query.explain {
        return super::explain::aggregate(
            ctx,
            request,
            &query,
            super::explain::Verbosity::QueryPlanner,
            reply,
        );
    }
    let ns = query.ns.to_string();
    let snapshot = query.reading.snapshot.clone();
    let source = open_source(ctx, snapshot, query.reading.collection.as_deref(), &query)?;
    open_cursor(ctx, &ns, Box::new(source), &query.cursor, reply)
}

fn open_source(
    ctx: &CommandContext<'_>,
    snapshot: Snapshot,
    collection: Option<&CollectionInfo>,
    query: &AggregateQuery<'_>,
) -> Result<PipelineBatches> {
    let Some(collection) = collection else {
        let run = query.pipeline.start(query.planned_stages);
        return Ok(PipelineBatches::over_documents(snapshot, Vec::new(), run));
    };
    if let Some(count) = query.count_shape() {
        let n = count_rows(&snapshot, collection, &query.spec, &ctx.interrupt)?;
        let run = query.pipeline.start(query.planned_stages + 1);
        return Ok(PipelineBatches::over_documents(snapshot, count.documents(n), run));
    }
    let rows = open_rows(&snapshot, collection, &query.spec)?;
    Ok(PipelineBatches::over_rows(snapshot, rows, query.pipeline.start(query.planned_stages)))
}

impl AggregateQuery<'_> {
    /// The stage after the planned ones, when all it wants to know is how many documents there are
    /// (`$count`, and a `$group` like the one that drivers send for countDocuments).
    pub fn count_shape(&self) -> Option<CountShape<'_>> {
        match self.pipeline.stages().get(self.planned_stages)? {
            Stage::Count(name) => Some(CountShape::Field(name)),
            Stage::Group(group) => group.as_counting().map(CountShape::Group),
            _ => None,
        }
    }
}

/// A stage that makes one document of the number of documents.
pub enum CountShape<'q> {
    /// `$count`, with the field's name.
    Field(&'q str),
    /// `$group`.
    Group(CountingGroup<'q>),
}

impl CountShape<'_> {
    /// Nothing gives nothing.
    pub fn documents(&self, n: u64) -> Vec<Vec<u8>> {
        match self {
            _ if n == 0 => Vec::new(),
            CountShape::Group(group) => group.document(n).into_iter().collect(),
            CountShape::Field(name) => {
                let mut doc = DocBuilder::new();
                doc.count(name, n);
                vec![doc.finish()]
            }
        }
    }
}
