//! `find`: the documents that match, as a cursor.
//!
//! The manual's page: find. Every option that MongoDB 8.0 takes is read here; what this engine cannot do
//! (a tailable cursor on a collection that is not capped) is MongoDB's error.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{IndexInfo, Namespace};
use crate::context::CommandContext;
use crate::cursor::{BatchSource, CursorRequest, open_cursor};
use crate::exec::batch::{AsStored, NoRows, RowBatches, Shape};
use crate::exec::compile::{compile_context, compile_filter, compile_order};
use crate::exec::{CommandResources, QuerySpec, Reading, Row, RowStream};
use crate::interrupt::Interrupt;
use crate::plan::{self, Access};
use crate::request::Request;
use multifora_model::path::extract_keys;
use multifora_model::{DocBuilder, Error, RawDoc, Result, WholeDocument};
use multifora_query::projection::Projection;
use std::sync::Arc;

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "find",
    help: "selects documents of a collection and opens a cursor over them",
    run,
    ..CommandSpec::BASE
};

const FIELDS: &[Field] = &[
    Field::optional("filter", Types::OBJECT),
    Field::optional("projection", Types::OBJECT),
    Field::optional("sort", Types::OBJECT),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("collation", Types::OBJECT),
    Field::optional("skip", Types::NUMBER),
    Field::optional("limit", Types::NUMBER),
    Field::optional("batchSize", Types::NUMBER),
    Field::optional("singleBatch", Types::BOOL),
    Field::optional("allowDiskUse", Types::BOOL),
    Field::optional("max", Types::OBJECT),
    Field::optional("min", Types::OBJECT),
    Field::optional("returnKey", Types::BOOL),
    Field::optional("showRecordId", Types::BOOL),
    Field::optional("tailable", Types::BOOL),
    Field::optional("awaitData", Types::BOOL),
    Field::optional("oplogReplay", Types::BOOL),
    Field::optional("noCursorTimeout", Types::BOOL),
    Field::optional("allowPartialResults", Types::BOOL),
    Field::optional("mirrored", Types::BOOL),
    Field::optional("let", Types::OBJECT),
    Field::optional("term", Types::NUMBER),
    Field::optional("readOnce", Types::BOOL),
];

/// A find, parsed.
pub struct FindQuery<'a> {
    /// The collection.
    pub ns: Namespace,
    /// Where it is read.
    pub reading: Reading,
    /// Which documents, in which order.
    pub spec: QuerySpec,
    /// The sort as given.
    pub sort: Option<RawDoc<'a>>,
    /// The projection as given.
    pub projection_doc: Option<RawDoc<'a>>,
    projection: Option<Projection>,
    /// Give index keys in place of documents.
    pub return_key: bool,
    show_record_id: bool,
    tailable: bool,
    cursor: CursorRequest,
}

/// Reads the arguments of `find`.
///
/// # Errors
/// Those of the arguments, of the filter, sort, projection and hint.
pub fn parse<'a>(ctx: &CommandContext<'_>, request: &Request<'a>) -> Result<FindQuery<'a>> {
    let args = Args::command("find", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let reading = Reading::open(ctx.database, &ns)?;
    let collation = reading.collation(args.doc("collation"))?;
    let count = |name| args.i64_at_least(name, 0).map(|n| n.map(i64::unsigned_abs));
    let flag = |name| args.bool(name).unwrap_or(false);
    let context = compile_context(ctx, request, collation.clone())?;
    let filter = compile_filter(args.doc("filter"), &context)?;
    let order = compile_order(args.doc("sort"), args.get("hint"), &context)?;
    let projection_doc = args.doc("projection").filter(|doc| !doc.is_empty());
    let projection = match projection_doc {
        Some(doc) => Some(Projection::compile(doc, filter.as_ref(), &context)?),
        None => None,
    };
    let bytes = |name| args.doc(name).filter(|doc| !doc.is_empty()).map(|doc| doc.as_bytes().to_vec());
    let spec = QuerySpec {
        filter,
        sort: order.sort,
        skip: count("skip")?.unwrap_or(0),
        limit: count("limit")?.filter(|limit| *limit > 0),
        hint: order.hint,
        min: bytes("min"),
        max: bytes("max"),
        collation,
    };
    let cursor = CursorRequest {
        batch_size: count("batchSize")?,
        single_batch: flag("singleBatch"),
        no_timeout: flag("noCursorTimeout"),
        await_data: flag("awaitData"),
    };
    let query = FindQuery {
        ns,
        reading,
        spec,
        sort: args.doc("sort").filter(|sort| !sort.is_empty()),
        projection_doc,
        projection,
        return_key: flag("returnKey"),
        show_record_id: flag("showRecordId"),
        tailable: flag("tailable"),
        cursor,
    };
    query.check_tailable()?;
    Ok(query)
}

impl FindQuery<'_> {
    fn check_tailable(&self) -> Result<()> {
        if self.cursor.await_data && !self.tailable {
            return Err(Error::failed_to_parse("Cannot set 'awaitData' without also setting 'tailable'"));
        }
        if !self.tailable {
            return Ok(());
        }
        if self.cursor.single_batch {
            return Err(Error::failed_to_parse("Cannot use 'singleBatch' with 'tailable'"));
        }
        if self.spec.sort.is_some() {
            return Err(Error::bad_value("cannot use tailable option with a sort other than {$natural: 1}"));
        }
        Ok(())
    }

    /// What a row becomes, given the path it was found on.
    fn shape(&self, access: &Access) -> Box<dyn Shape> {
        if self.return_key {
            let index = match access {
                Access::Index(scan) => Some(Arc::clone(&scan.index)),
                Access::Id(lookup) => Some(Arc::clone(&lookup.index)),
                _ => None,
            };
            return Box::new(IndexKey { index, show_record_id: self.show_record_id });
        }
        match (&self.projection, self.show_record_id) {
            (None, false) => Box::new(AsStored),
            (projection, show_record_id) => {
                Box::new(Projected { projection: projection.clone(), show_record_id })
            }
        }
    }
}

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let query = parse(ctx, request)?;
    ctx.database.counters().queries.add(1);
    let ns = query.ns.to_string();
    let source: Box<dyn BatchSource> = match &query.reading.collection {
        Some(_) if query.tailable => {
            let text =
                format!("error processing query: ns={ns} tailable cursor requested on non capped collection");
            return Err(Error::bad_value(text));
        }
        Some(collection) => {
            let snapshot = &query.reading.snapshot;
            let plan = plan::plan(snapshot, collection, &query.spec)?;
            let rows = RowStream::open(snapshot, collection, &query.spec, &plan)?;
            let shape = query.shape(&plan.access);
            Box::new(RowBatches::new(query.reading.snapshot, rows, shape))
        }
        None => Box::new(NoRows),
    };
    open_cursor(ctx, &ns, source, &query.cursor, reply)
}

/// The document through a projection, with its row number when asked for.
struct Projected {
    projection: Option<Projection>,
    show_record_id: bool,
}

impl Shape for Projected {
    fn shape(&self, row: &Row, interrupt: &Interrupt, out: &mut Vec<u8>) -> Result<bool> {
        if let Some(projection) = &self.projection {
            projection.apply(&row.view()?, &CommandResources::new(interrupt), out)?;
        }
        if self.show_record_id {
            let (view, whole) = (row.view()?, WholeDocument::new());
            let shown = match &self.projection {
                Some(_) => view.derived(out, &whole)?,
                None => view,
            };
            let mut doc = DocBuilder::new();
            append_record_id(row, doc.extend(shown.to_doc()?));
            *out = doc.finish();
        }
        Ok(true)
    }
}

fn append_record_id(row: &Row, doc: &mut DocBuilder) {
    doc.i64("$recordId", i64::try_from(row.id.get()).unwrap_or(i64::MAX));
}

/// The key under which the document stands in the index that found it; nothing when none did.
struct IndexKey {
    index: Option<Arc<IndexInfo>>,
    show_record_id: bool,
}

impl Shape for IndexKey {
    fn shape(&self, row: &Row, _interrupt: &Interrupt, out: &mut Vec<u8>) -> Result<bool> {
        let mut doc = DocBuilder::with_buffer(std::mem::take(out));
        if let Some(index) = &self.index {
            let mut first = true;
            extract_keys(&index.paths, &row.view()?, &mut |tuple| {
                let values = tuple.values.iter().zip(&index.paths).filter(|_| first);
                values.for_each(|(value, path)| {
                    doc.append(path.as_str(), *value);
                });
                first = false;
                Ok(())
            })?;
        }
        if self.show_record_id {
            append_record_id(row, &mut doc);
        }
        *out = doc.finish();
        Ok(true)
    }
}
