//! The keys that a document has in an index.
//!
//! A key is the encoded values of the indexed paths, each in its direction, one after the other; the
//! row number is storage's business. A document has one key, or one per element of the array that its
//! paths run through, or none (sparse and partial indexes).

use crate::catalog::IndexInfo;
use multifora_model::key::{self, KeyDirection};
use multifora_model::path::{Multikey, extract_keys};
use multifora_model::{DocumentView, ElementType, RawValue, Result};
use multifora_query::NoResources;

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
        for (value, field) in values.iter().zip(&index.fields) {
            let direction = if field.descending { KeyDirection::Descending } else { KeyDirection::Ascending };
            key::encode(*value, direction, &mut self.bytes);
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
/// `CannotIndexParallelArrays`; code 16746 for a position that is also a name; those of the partial filter.
pub fn keys_of(index: &IndexInfo, view: &DocumentView<'_>) -> Result<KeySet> {
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
