//! What the filter of an upsert says about the document to be made.

use crate::filter::{CompareOp, FilterNode, Test};
use crate::write::{begin, frame, put, put_header};
use multifora_model::{ElementType, Error, ErrorCode, RawDoc, RawValue, Result};

/// Most parts of a path that becomes nested documents.
const MAX_PATH_PARTS: usize = 200;

/// What an upsert takes over from its filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// Every field that must be equal to a value (update by operators or pipeline).
    Equalities,
    /// The `_id` only (replacement).
    IdOnly,
}

/// The document that the equality conditions of a filter describe: `$eq`, `$and`, an `$or` with one branch, an
/// `$in` or `$all` with one value. Dotted paths become nested documents; fields come in the order of their paths.
///
/// # Errors
/// `NotSingleValueField` when a path is named twice or two paths are inside each other;
/// `NotExactValueField` when a replacement's `_id` is given by parts only.
pub fn upsert_seed(filter: &FilterNode, seed: Seed) -> Result<Vec<u8>> {
    let mut equalities = Vec::new();
    collect(filter, &mut equalities);
    if seed == Seed::IdOnly {
        equalities.retain(|(path, _)| *path == "_id" || path.starts_with("_id."));
        if let Some((path, _)) = equalities.iter().find(|(path, _)| *path != "_id") {
            return Err(Error::new(
                ErrorCode::NotExactValueField,
                format!("field at '_id' must be exactly specified, field at sub-path '{path}'found"),
            ));
        }
    }
    equalities.sort_by(|a, b| a.0.cmp(b.0));
    check(&equalities)?;
    let mut out = Vec::new();
    write(&equalities, 0, &mut out);
    Ok(out)
}

type Equality<'f> = (&'f str, RawValue<'f>);

fn collect<'f>(node: &'f FilterNode, found: &mut Vec<Equality<'f>>) {
    match node {
        FilterNode::And(branches) => branches.iter().for_each(|branch| collect(branch, found)),
        FilterNode::Or(branches) => {
            if let [only] = branches.as_slice() {
                collect(only, found);
            }
        }
        FilterNode::Field(field) => {
            let value = match &field.test {
                Test::Compare(comparison) if comparison.op == CompareOp::Eq => Some(&comparison.value),
                Test::In(set) if set.regexes().is_empty() => match set.values() {
                    [only] => Some(only),
                    _ => None,
                },
                _ => None,
            };
            found.extend(value.map(|value| (field.path.as_str(), value.as_ref())));
        }
        _ => {}
    }
}

/// `equalities` are in the order of their paths.
fn check(equalities: &[Equality<'_>]) -> Result<()> {
    for (at, (path, _)) in equalities.iter().enumerate() {
        let message = match equalities.get(at + 1..).unwrap_or_default().iter().find(|(other, _)| {
            other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }) {
            None if path.split('.').count() > MAX_PATH_PARTS => {
                return Err(Error::new(
                    ErrorCode::Overflow,
                    "the filter's path is nested too deeply to be stored",
                ));
            }
            None => continue,
            Some((other, _)) if other == path => {
                format!("cannot infer query fields to set, path '{path}' is matched twice")
            }
            Some((other, _)) => {
                format!("cannot infer query fields to set, both paths '{path}' and '{other}' are matched")
            }
        };
        return Err(Error::new(ErrorCode::NotSingleValueField, message));
    }
    Ok(())
}

/// Writes a document of the equalities, whose paths agree in the first `skip` bytes.
fn write(mut equalities: &[Equality<'_>], skip: usize, out: &mut Vec<u8>) {
    let start = begin(out);
    while let Some((path, value)) = equalities.first() {
        let rest = path.get(skip..).unwrap_or_default();
        let (name, is_leaf) = match rest.split_once('.') {
            Some((name, _)) => (name, false),
            None => (rest, true),
        };
        let below = path.get(..skip + name.len() + 1).unwrap_or(path);
        let ty = if is_leaf { value.ty } else { ElementType::Document };
        put_header(out, name.as_bytes(), ty);
        let taken = match is_leaf {
            true => {
                out.extend_from_slice(value.bytes);
                1
            }
            false => {
                let taken = equalities.iter().take_while(|(path, _)| path.starts_with(below)).count();
                write(equalities.get(..taken).unwrap_or_default(), below.len(), out);
                taken.max(1)
            }
        };
        equalities = equalities.get(taken..).unwrap_or_default();
    }
    frame(out, start);
}

/// The document with its `_id` first.
pub(super) fn id_first(doc: Vec<u8>) -> Vec<u8> {
    let Some(raw) = RawDoc::framed(&doc) else { return doc };
    let at = raw.iter().position(|e| e.name() == "_id");
    let Some(at) = at.filter(|at| *at > 0) else { return doc };
    let mut moved = Vec::with_capacity(doc.len());
    let start = begin(&mut moved);
    let others = raw.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, e)| e);
    for field in raw.iter().skip(at).take(1).chain(others) {
        put(&mut moved, field.name_bytes(), field.value);
    }
    frame(&mut moved, start);
    moved
}
