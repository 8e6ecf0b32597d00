//! The keys that a document has in an index.
//!
//! A key is the encoded values of the indexed paths, each in its direction, strings by the index's collation, one after the other; the
//! row number is storage's business. A document has one key, or one per element of the array that its
//! paths run through, or none (sparse and partial indexes).

use crate::catalog::IndexInfo;
use multifora_model::key::{self, KeyDirection};
use multifora_model::path::{Multikey, extract_keys};
use multifora_model::{Collation, DocumentView, ElementType, Error, ErrorCode, RawValue, Result};
use multifora_query::NoResources;

/// The code for a path component that is a position and, in the same array, a name.
const AMBIGUOUS_POSITION: i32 = 16746;

/// The distinct keys of one document in one index, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeySet {
    /// The keys' bytes, one after the other.
    bytes: Vec<u8>,
    /// Where each key lies in `bytes`.
    spans: Vec<(u32, u32)>,
    /// Bit i: an array was met along path i.
    pub array_paths: u32,
}

impl KeySet {
    /// The keys.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().filter_map(|&(start, end)| self.bytes.get(start as usize..end as usize))
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// This very key is among them.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.spans.binary_search_by(|&(start, end)| self.span(start, end).cmp(key)).is_ok()
    }

    fn span(&self, start: u32, end: u32) -> &[u8] {
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    fn push(&mut self, values: &[RawValue<'_>], index: &IndexInfo) {
        let start = self.bytes.len() as u32;
        let collator = Collation::collator(index.collation.as_ref());
        for (value, field) in values.iter().zip(&index.fields) {
            let direction = if field.descending { KeyDirection::Descending } else { KeyDirection::Ascending };
            key::encode_with(*value, direction, collator, &mut self.bytes);
        }
        self.spans.push((start, self.bytes.len() as u32));
    }

    fn sort(&mut self) {
        if self.spans.len() < 2 {
            return;
        }
        let bytes = &self.bytes;
        let span = |&(start, end): &(u32, u32)| bytes.get(start as usize..end as usize).unwrap_or_default();
        self.spans.sort_unstable_by(|a, b| span(a).cmp(span(b)));
        self.spans.dedup_by(|a, b| span(a) == span(b));
    }
}

/// The keys of a document in an index.
///
/// # Errors
/// `CannotIndexParallelArrays`; code 16746 for a position that is also a name; those of the partial filter;
/// `IncompatibleCollationVersion` for an index whose keys this build cannot make.
pub fn keys_of(index: &IndexInfo, view: &DocumentView<'_>) -> Result<KeySet> {
    if index.is_outdated() {
        return Err(outdated(index));
    }
    let mut keys = KeySet::default();
    if let Some(filter) = &index.partial_filter
        && !filter.matches(view, &NoResources)?
    {
        return Ok(keys);
    }
    // The usual index: one top-level field that holds no array.
    if let [path] = index.paths.as_slice()
        && path.is_top_level()
    {
        let value = view.get(path.first())?;
        match value {
            Some(value) if value.ty != ElementType::Array => {
                keys.push(&[value], index);
                return Ok(keys);
            }
            None if index.sparse => return Ok(keys),
            None => {
                keys.push(&[RawValue::NULL], index);
                return Ok(keys);
            }
            Some(_) => {}
        }
    }
    let Multikey { array_paths } = extract_keys(&index.paths, view, &mut |tuple| {
        if !(index.sparse && tuple.all_missing) {
            keys.push(tuple.values, index);
        }
        Ok(())
    })?;
    keys.array_paths = array_paths;
    keys.sort();
    Ok(keys)
}

/// The error for an index that has to be built anew.
fn outdated(index: &IndexInfo) -> Error {
    let text = format!(
        "the keys of index {} were made by another version of its collation's rules: drop it and create it again",
        index.name
    );
    Error::new(ErrorCode::IncompatibleCollationVersion, text)
}

/// Says whether key extraction failed because of what the document holds.
pub fn is_unindexable(error: &Error) -> bool {
    error.code() == ErrorCode::CannotIndexParallelArrays || error.code().code() == AMBIGUOUS_POSITION
}

/// The values behind one key, for the message of a duplicate: `values` in the order of the index's fields.
///
/// Only the encoded key is at hand when a duplicate is found, so the document's tuples are gone through again.
pub fn with_values_of_key(
    index: &IndexInfo,
    view: &DocumentView<'_>,
    key: &[u8],
    found: &mut dyn FnMut(&[RawValue<'_>]),
) -> Result<()> {
    let mut one = KeySet::default();
    let mut done = false;
    extract_keys(&index.paths, view, &mut |tuple| {
        one.bytes.clear();
        one.spans.clear();
        one.push(tuple.values, index);
        if !done && one.iter().next() == Some(key) {
            done = true;
            found(tuple.values);
        }
        Ok(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::index_info;
    use crate::index::ParsedSpec;
    use multifora_model::{RawDoc, extjson, key::ValueKey};
    use multifora_storage::TableId;

    fn index(spec: &str) -> IndexInfo {
        let bytes = extjson::parse_document(spec).unwrap();
        let parsed = ParsedSpec::parse(RawDoc::framed(&bytes).unwrap()).unwrap();
        index_info(parsed, TableId::from_u64(9)).unwrap()
    }

    fn keys(index: &IndexInfo, doc: &str) -> KeySet {
        let bytes = extjson::parse_document(doc).unwrap();
        keys_of(index, &DocumentView::whole(RawDoc::framed(&bytes).unwrap())).unwrap()
    }

    /// The keys of a one-field index, as the values they stand for.
    #[track_caller]
    fn check(spec: &str, doc: &str, values: &[&str]) {
        let found: Vec<Vec<u8>> = keys(&index(spec), doc).iter().map(<[u8]>::to_vec).collect();
        let mut wanted: Vec<Vec<u8>> = values
            .iter()
            .map(|text| match *text {
                "undefined" => {
                    ValueKey::new(RawValue { ty: ElementType::Undefined, bytes: &[] }).as_bytes().to_vec()
                }
                _ => ValueKey::new(extjson::parse_value(text).unwrap().as_ref()).as_bytes().to_vec(),
            })
            .collect();
        wanted.sort();
        assert_eq!(found, wanted, "{doc}");
    }

    #[test]
    fn one_field() {
        let spec = r#"{"key": {"a": 1}, "name": "n"}"#;
        check(spec, r#"{"a": 5}"#, &["5"]);
        check(spec, r#"{"b": 5}"#, &["null"]);
        check(spec, r#"{"a": [3, 1, 3, {"x": 1}]}"#, &["1", "3", r#"{"x": 1}"#]);
        check(spec, r#"{"a": []}"#, &["undefined"]);
        check(spec, r#"{"a": [[1, 2], []]}"#, &["[1, 2]", "[]"]);
        check(spec, r#"{"a": [null]}"#, &["null"]);
    }

    #[test]
    fn dotted_paths_look_into_arrays() {
        let spec = r#"{"key": {"a.b": 1}, "name": "n"}"#;
        check(spec, r#"{"a": {"b": 1}}"#, &["1"]);
        check(spec, r#"{"a": 7}"#, &["null"]);
        check(spec, r#"{"a": [{"b": 1}, {"b": [2, 3]}, {"c": 1}, 4]}"#, &["null", "1", "2", "3"]);
        check(spec, r#"{"a": []}"#, &["null"]);
        check(spec, r#"{"a": [[{"b": 1}]]}"#, &["null"]);
        check(r#"{"key": {"a.1": 1}, "name": "n"}"#, r#"{"a": [5, 6]}"#, &["6"]);
        check(r#"{"key": {"a.0.b": 1}, "name": "n"}"#, r#"{"a": [{"b": 4}, {"b": 5}]}"#, &["4"]);
        check(r#"{"key": {"a.0": 1}, "name": "n"}"#, r#"{"a": [[1, 2]]}"#, &["[1, 2]"]);
    }

    #[test]
    fn sparse_leaves_out_what_has_nothing() {
        let spec = r#"{"key": {"a.b": 1}, "name": "n", "sparse": true}"#;
        check(spec, r#"{"a": 1}"#, &[]);
        check(spec, r#"{"a": {"b": null}}"#, &["null"]);
        check(spec, r#"{"a": [{"b": 1}, {"c": 1}]}"#, &["1"]);
        let compound = index(r#"{"key": {"a": 1, "b": 1}, "name": "n", "sparse": true}"#);
        assert_eq!(keys(&compound, r#"{"c": 1}"#).len(), 0);
        assert_eq!(keys(&compound, r#"{"b": 1}"#).len(), 1);
    }

    #[test]
    fn arrays_are_noted_by_path_and_order_follows_directions() {
        let compound = index(r#"{"key": {"a": 1, "b": -1}, "name": "n"}"#);
        assert_eq!(keys(&compound, r#"{"a": 1, "b": [1, 2]}"#).array_paths, 0b10);
        assert_eq!(keys(&compound, r#"{"a": {"b": [1]}, "b": 1}"#).array_paths, 0);
        let first = |doc: &str| keys(&compound, doc).iter().next().unwrap().to_vec();
        assert!(first(r#"{"a": 1, "b": 2}"#) < first(r#"{"a": 1, "b": 1}"#));
        assert!(first(r#"{"a": 1, "b": 1}"#) < first(r#"{"a": 1.5, "b": 9}"#));
        assert_eq!(first(r#"{"a": 1, "b": 2}"#), first(r#"{"a": 1.0, "b": {"$numberDecimal": "2.0"}}"#));
    }

    #[test]
    fn a_partial_index_holds_what_matches() {
        let spec = r#"{"key": {"a": 1}, "name": "n", "partialFilterExpression": {"b": {"$gt": 1}}}"#;
        check(spec, r#"{"a": 5, "b": 1}"#, &[]);
        check(spec, r#"{"a": 5, "b": 2}"#, &["5"]);
    }
}
