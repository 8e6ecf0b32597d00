//! What the client says about the access path: `hint`, `min`, `max`.

use super::index_match::direction_of;
use super::interval::ByteRange;
use crate::catalog::{CollectionInfo, IndexInfo};
use multifora_model::compare::{compare_docs, is_collatable};
use multifora_model::number::Number;
use multifora_model::{Collation, Error, ErrorCode, RawDoc, RawValue, Result, key};
use std::sync::Arc;

/// Which access path the client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// An index by name.
    Name(String),
    /// An index by key pattern, as a BSON document.
    KeyPattern(Vec<u8>),
    /// `{$natural: 1}` or `{$natural: -1}`: the table itself, forwards or backwards.
    Natural {
        /// From the last row to the first.
        backwards: bool,
    },
}

impl Hint {
    /// Reads a `hint` argument: a name, a key pattern or `{$natural: ±1}`. `{}` is no hint.
    ///
    /// # Errors
    /// `FailedToParse` for another type, `BadValue` for a bad `$natural`.
    pub fn parse(value: RawValue<'_>) -> Result<Option<Hint>> {
        if let Some(name) = value.as_str() {
            return Ok(Some(Hint::Name(name.to_owned())));
        }
        let Some(doc) = value.as_doc() else {
            return Err(Error::failed_to_parse("Hint must be a string or an object"));
        };
        let Some(first) = doc.iter().next() else { return Ok(None) };
        if first.name() != "$natural" {
            return Ok(Some(Hint::KeyPattern(doc.as_bytes().to_vec())));
        }
        natural_direction(doc).map(|backwards| Some(Hint::Natural { backwards }))
    }

    /// The index that the hint names.
    ///
    /// # Errors
    /// `BadValue` when there is none; `IndexNotFound` when a key pattern is that of several, which differ in something
    /// else (their collations, say).
    pub(super) fn index(&self, collection: &CollectionInfo) -> Result<Option<Arc<IndexInfo>>> {
        let found = match self {
            Hint::Natural { .. } => return Ok(None),
            Hint::Name(name) => collection.index(name),
            Hint::KeyPattern(pattern) => {
                let pattern = RawDoc::framed(pattern).unwrap_or(RawDoc::EMPTY);
                let mut found = (collection.indexes.iter())
                    .filter(|index| index.is_usable() && same_pattern(index.key_pattern(), pattern));
                let (first, second) = (found.next(), found.next());
                if let (Some(first), Some(second)) = (first, second) {
                    return Err(ambiguous(first, second));
                }
                first
            }
        };
        match found.filter(|index| index.is_usable()) {
            Some(index) => Ok(Some(Arc::clone(index))),
            None => Err(no_such_index()),
        }
    }
}

/// `{$natural: 1}` or `{$natural: -1}`, from a hint or a sort: whether it is backwards.
pub(crate) fn natural_direction(doc: RawDoc<'_>) -> Result<bool> {
    let mut fields = doc.iter();
    let direction = fields.next().and_then(|f| Number::from_value(f.value)).map(Number::truncate_to_i64);
    match (direction, fields.next()) {
        (Some(1), None) => Ok(false),
        (Some(-1), None) => Ok(true),
        (_, Some(_)) => {
            Err(Error::bad_value("$natural sort cannot be combined with other sort or hint fields"))
        }
        _ => Err(Error::bad_value("$natural sort cannot be set to a value other than -1 or 1.")),
    }
}

fn same_pattern(a: RawDoc<'_>, b: RawDoc<'_>) -> bool {
    compare_docs(a, b).is_eq()
}

fn no_such_index() -> Error {
    Error::bad_value(
        "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
    )
}

fn ambiguous(first: &IndexInfo, second: &IndexInfo) -> Error {
    let text = format!(
        "error processing query: planner returned error :: caused by :: the hint is the key pattern of several indexes \
         ({} and {}): hint by name",
        first.name, second.name
    );
    Error::new(ErrorCode::IndexNotFound, text)
}

/// The whole keys between `min` (inclusive) and `max` (exclusive) in the hinted index.
///
/// # Errors
/// Codes 51173 (no hint), 51174 (not the index's fields, or strings under another collation), 51175 (`min` not before `max`), 51176 (the two
/// name different fields).
pub(super) fn min_max_range(
    min: Option<RawDoc<'_>>,
    max: Option<RawDoc<'_>>,
    index: Option<&IndexInfo>,
    collation: Option<&Arc<Collation>>,
) -> Result<ByteRange> {
    if let (Some(min), Some(max)) = (min, max)
        && !min.iter().map(|f| f.name()).eq(max.iter().map(|f| f.name()))
    {
        return Err(Error::location(51176, "min and max must have the same field names"));
    }
    let Some(index) = index else {
        return Err(Error::location(
            51173,
            "When using min()/max() a hint of which index to use must be provided",
        ));
    };
    let mut range = ByteRange::full();
    if let Some(min) = min {
        range.lo = whole_key(min, index, collation)?;
    }
    if let Some(max) = max {
        range.hi = Some(whole_key(max, index, collation)?);
    }
    if range.is_empty() {
        return Err(Error::location(
            51175,
            "The value provided for min() does not come before the value provided for max() in the hinted index",
        ));
    }
    Ok(range)
}

fn whole_key(bound: RawDoc<'_>, index: &IndexInfo, collation: Option<&Arc<Collation>>) -> Result<Vec<u8>> {
    let has_other_strings =
        collation != index.collation.as_ref() && bound.iter().any(|f| is_collatable(f.value.ty));
    if has_other_strings || !bound.iter().map(|f| f.name()).eq(index.fields.iter().map(|f| f.path.as_str())) {
        return Err(Error::location(51174, "The index chosen is not compatible with min/max"));
    }
    let mut bytes = Vec::new();
    for (bound, field) in bound.iter().zip(&index.fields) {
        let collator = Collation::collator(index.collation.as_ref());
        key::encode_with(bound.value, direction_of(field.descending), collator, &mut bytes);
    }
    Ok(bytes)
}

/// The error for a hinted plan that cannot be.
pub(super) fn no_plan(why: &str) -> Error {
    Error::new(
        ErrorCode::NoQueryExecutionPlans,
        format!("error processing query: planner returned error :: caused by :: {why}"),
    )
}
