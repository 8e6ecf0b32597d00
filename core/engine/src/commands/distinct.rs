//! `distinct`: the different values at a path.
//!
//! Arrays on the way and at the end of the path are looked into, one level; values that compare equal are
//! one, the first one found. The manual's page: distinct.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::Namespace;
use crate::context::CommandContext;
use crate::exec::compile::{compile_context, compile_filter};
use crate::exec::{QuerySpec, Reading, open_rows};
use crate::plan::Hint;
use crate::request::Request;
use multifora_model::compare::Collator;
use multifora_model::key::ValueKey;
use multifora_model::limits::MAX_DOCUMENT_BYTES;
use multifora_model::path::{FieldPath, LeafArrays};
use multifora_model::{Collation, DocBuilder, DocumentView, ElementType, Error, ErrorCode, RawValue, Result};
use std::collections::HashSet;

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "distinct", help: "lists the different values of a field", run, ..CommandSpec::BASE };

const FIELDS: &[Field] = &[
    Field::required("key", Types::STRING),
    Field::optional("query", Types::OBJECT),
    Field::optional("hint", Types::STRING_OR_OBJECT),
    Field::optional("collation", Types::OBJECT),
    Field::optional("let", Types::OBJECT),
];

/// A distinct command, parsed.
pub struct DistinctQuery {
    /// The collection.
    pub ns: Namespace,
    /// Where it is read.
    pub reading: Reading,
    /// Where the values are.
    pub path: FieldPath,
    /// Which documents count.
    pub spec: QuerySpec,
}

/// Reads the arguments of `distinct`.
///
/// # Errors
/// Those of the arguments and of the query.
pub fn parse(ctx: &CommandContext<'_>, request: &Request<'_>) -> Result<DistinctQuery> {
    let args = Args::command("distinct", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let reading = Reading::open(ctx.database, &ns)?;
    let collation = reading.collation(args.doc("collation"))?;
    let key = args.str("key").unwrap_or_default();
    if key.contains('\0') {
        return Err(Error::bad_value("Key field cannot contain an embedded null byte"));
    }
    let hint = match args.get("hint") {
        Some(hint) => Hint::parse(hint)?,
        None => None,
    };
    let filter = compile_filter(args.doc("query"), &compile_context(ctx, request, collation.clone())?)?;
    Ok(DistinctQuery {
        ns,
        reading,
        path: FieldPath::parse(key),
        spec: QuerySpec { filter, hint, collation, ..QuerySpec::default() },
    })
}

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let query = parse(ctx, request)?;
    let snapshot = &query.reading.snapshot;
    let collator = Collation::collator(query.spec.collation.as_ref());
    let mut values = DistinctValues { reply, collator, seen: HashSet::new(), len_bytes: 0 };
    values.reply.start_array("values");
    if let Some(collection) = &query.reading.collection {
        let mut rows = open_rows(snapshot, collection, &query.spec)?;
        while let Some(row) = rows.next(snapshot, &ctx.interrupt)? {
            values.add(&query.path, &row.view()?)?;
        }
    }
    values.reply.end();
    Ok(())
}

struct DistinctValues<'r> {
    reply: &'r mut DocBuilder,
    collator: Option<&'r dyn Collator>,
    seen: HashSet<ValueKey>,
    len_bytes: usize,
}

impl DistinctValues<'_> {
    fn add(&mut self, path: &FieldPath, view: &DocumentView<'_>) -> Result<()> {
        let mut visit = |met: multifora_model::path::Met<'_>| {
            match met.value {
                Some(array) if array.ty == ElementType::Array => {
                    for element in array.as_array().into_iter().flatten() {
                        self.value(element.value)?;
                    }
                }
                Some(value) => self.value(value)?,
                None => {}
            }
            Ok(false)
        };
        path.walk(view, LeafArrays::Whole, &mut visit).map(drop)
    }

    fn value(&mut self, value: RawValue<'_>) -> Result<()> {
        if !self.seen.insert(ValueKey::with_collator(value, self.collator)) {
            return Ok(());
        }
        // Type, position as text, and the value.
        self.len_bytes += value.bytes.len() + 2 + self.seen.len().to_string().len();
        if self.len_bytes > MAX_DOCUMENT_BYTES {
            return Err(Error::new(ErrorCode::Location(17217), "distinct too big, 16mb cap"));
        }
        self.reply.push(value);
        Ok(())
    }
}
