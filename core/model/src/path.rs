//! Dotted paths: parsed once, walked with MongoDB's array rules.
//!
//! There are three ways to read a path, and each is here once:
//! - [`FieldPath::walk`]: what a filter sees. Arrays on the way are looked into (one level, not
//!   arrays of arrays), a numeric part is a position as well as a name, and at the end an array is
//!   seen element by element and then whole.
//! - [`extract_keys`]: what an index or a sort sees. One tuple of values per element of the one
//!   array the paths may share; missing is null, an empty array is undefined.
//! - [`FieldPath::lookup`]: what an expression (`"$a.b"`) sees. An array of documents gives the
//!   array of what is found in each; numbers are names only.
//!
//! Walking gives the values to a visitor and allocates nothing; the visitor ends the walk by
//! answering `true`.

use crate::builder::DocBuilder;
use crate::error::{Error, ErrorCode, Result};
use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType;
use crate::value::{OwnedValue, Val};
use crate::view::DocumentView;

mod keys;

pub use keys::{KeyTuple, Multikey, extract_keys};

/// One part of a path: a name, and a position when it is written like one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPart {
    name: Box<str>,
    index: Option<u32>,
}

impl PathPart {
    fn new(name: &str) -> Self {
        PathPart { name: name.into(), index: array_index(name) }
    }

    /// The part as written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The array position, when the part is written like one (`0`, `17`, not `01`).
    pub fn index(&self) -> Option<u32> {
        self.index
    }
}

/// `"17"` as an array position; no sign, no leading zeros.
fn array_index(name: &str) -> Option<u32> {
    let digits = name.as_bytes();
    let canonical = !digits.is_empty()
        && digits.len() <= 10
        && digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 1 || digits.first() != Some(&b'0'));
    canonical.then(|| name.parse().ok()).flatten()
}

/// A dotted path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath {
    text: Box<str>,
    parts: Box<[PathPart]>,
}

/// How [`FieldPath::walk`] treats an array at the end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafArrays {
    /// Each element, then the whole array (comparisons).
    Traverse,
    /// The whole array only (`$size`, `$elemMatch`, `$exists`).
    Whole,
}

/// A value met on a walk.
#[derive(Clone, Copy, Debug)]
pub struct Met<'a> {
    /// The value; `None` where the path is missing.
    pub value: Option<RawValue<'a>>,
    /// The position of the element in the outermost array that was looked into implicitly
    /// (what the positional `$` stands for).
    pub array_position: Option<u32>,
}

impl FieldPath {
    /// Parses a path. Any text is a path: empty parts are names too.
    pub fn parse(text: &str) -> Self {
        FieldPath { text: text.into(), parts: text.split('.').map(PathPart::new).collect() }
    }

    /// The path with no parts at all: stands for the value itself.
    pub fn empty() -> Self {
        FieldPath { text: "".into(), parts: Box::default() }
    }

    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The parts.
    pub fn parts(&self) -> &[PathPart] {
        &self.parts
    }

    /// The first part's name.
    pub fn first(&self) -> &str {
        self.parts.first().map_or("", PathPart::name)
    }

    /// Has one part only.
    pub fn is_top_level(&self) -> bool {
        self.parts.len() == 1
    }

    /// Some part is written like an array position.
    pub fn has_index(&self) -> bool {
        self.parts.iter().any(|p| p.index.is_some())
    }

    /// `self` is `other` or a path that leads to it (`a.b` of `a.b.c`).
    pub fn is_prefix_of(&self, other: &FieldPath) -> bool {
        self.parts.len() <= other.parts.len()
            && self.parts.iter().zip(&*other.parts).all(|(a, b)| a.name == b.name)
    }

    /// Visits what a filter sees at this path until `visit` answers `true`; gives that answer.
    ///
    /// # Errors
    /// Those of `visit` and of reading the document.
    #[inline]
    pub fn walk<'a, F>(&self, view: &DocumentView<'a>, leaf: LeafArrays, visit: &mut F) -> Result<bool>
    where
        F: FnMut(Met<'a>) -> Result<bool>,
    {
        let Some((first, rest)) = self.parts.split_first() else {
            return visit(Met { value: None, array_position: None });
        };
        // What cannot be looked into is as good as missing to a longer path.
        let value = if rest.is_empty() { view.get(&first.name)? } else { view.get_container(&first.name)? };
        match value {
            // The usual case, decided without further calls.
            Some(v) if rest.is_empty() && v.ty != ElementType::Array => {
                visit(Met { value, array_position: None })
            }
            None => visit(Met { value: None, array_position: None }),
            Some(v) => Walk { leaf, visit }.descend(v, rest, None),
        }
    }

    /// Like [`walk`](Self::walk), inside a document or array that is a value (for `$elemMatch`:
    /// an array is read like a document whose names are the positions).
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn walk_doc<'a, F>(&self, doc: RawDoc<'a>, leaf: LeafArrays, visit: &mut F) -> Result<bool>
    where
        F: FnMut(Met<'a>) -> Result<bool>,
    {
        Walk { leaf, visit }.document(doc, &self.parts, None)
    }

    /// What an expression sees: the value, for arrays of documents the array of what is found in
    /// them, `None` where it is missing.
    ///
    /// # Errors
    /// Those of reading the document.
    pub fn lookup<'a>(&self, view: &DocumentView<'a>) -> Result<Option<Val<'a>>> {
        let Some((first, rest)) = self.parts.split_first() else { return Ok(None) };
        let value = if rest.is_empty() { view.get(&first.name)? } else { view.get_container(&first.name)? };
        Ok(value.and_then(|v| lookup_value(v, rest)))
    }

    /// Like [`lookup`](Self::lookup), beginning at a value (`"$$this.a"`).
    pub fn lookup_in<'a>(&self, value: RawValue<'a>) -> Option<Val<'a>> {
        lookup_value(value, &self.parts)
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A walk as a filter does it (MongoDB's `ElementPath` iteration, in order).
struct Walk<'f, F> {
    leaf: LeafArrays,
    visit: &'f mut F,
}

impl<'a, F: FnMut(Met<'a>) -> Result<bool>> Walk<'_, F> {
    fn meet(&mut self, value: Option<RawValue<'a>>, array_position: Option<u32>) -> Result<bool> {
        (self.visit)(Met { value, array_position })
    }

    /// Inside a document: the part as a name. `position` is that of the outermost array so far.
    fn document(&mut self, doc: RawDoc<'a>, parts: &[PathPart], position: Option<u32>) -> Result<bool> {
        let Some((first, rest)) = parts.split_first() else {
            return self.meet(Some(doc.as_value()), position);
        };
        match doc.get(&first.name) {
            Some(value) => self.descend(value, rest, position),
            None => self.meet(None, position),
        }
    }

    /// At a value that a name led to, with `rest` still to go.
    fn descend(&mut self, value: RawValue<'a>, rest: &[PathPart], position: Option<u32>) -> Result<bool> {
        match value.ty {
            ElementType::Array => self.array(value, rest, position),
            ElementType::Document if !rest.is_empty() => match value.as_doc() {
                Some(doc) => self.document(doc, rest, position),
                None => Ok(false),
            },
            _ if rest.is_empty() => self.meet(Some(value), position),
            _ => self.meet(None, position),
        }
    }

    /// Looks into an array implicitly.
    fn array(&mut self, array: RawValue<'a>, rest: &[PathPart], outer: Option<u32>) -> Result<bool> {
        if rest.is_empty() {
            if self.leaf == LeafArrays::Traverse {
                for (value, at) in elements(array) {
                    if self.meet(Some(value), outer.or(Some(at)))? {
                        return Ok(true);
                    }
                }
            }
            return self.meet(Some(array), outer);
        }
        self.array_with_rest(array, rest, outer)
    }

    /// The elements of an array with path left: documents by name, and the one at the position
    /// that the next part names.
    fn array_with_rest(
        &mut self,
        array: RawValue<'a>,
        rest: &[PathPart],
        outer: Option<u32>,
    ) -> Result<bool> {
        let Some((next, after)) = rest.split_first() else { return Ok(false) };
        for (value, at) in elements(array) {
            if let Some(doc) = value.as_doc()
                && self.document(doc, rest, outer.or(Some(at)))?
            {
                return Ok(true);
            }
            if next.index != Some(at) {
                continue;
            }
            // An explicit position is no implicit traversal: it gives no array position of its own.
            let done = match (after.is_empty(), value.ty) {
                (true, _) => self.meet(Some(value), outer)?,
                (false, ElementType::Document) => match value.as_doc() {
                    Some(doc) => self.document(doc, after, outer)?,
                    None => false,
                },
                (false, ElementType::Array) => self.array_with_rest(value, after, outer)?,
                (false, _) => false,
            };
            if done {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The elements of an array with their positions.
fn elements(array: RawValue<'_>) -> impl Iterator<Item = (RawValue<'_>, u32)> {
    array.as_array().into_iter().flatten().map(|e| e.value).zip(0u32..)
}

fn lookup_value<'a>(value: RawValue<'a>, rest: &[PathPart]) -> Option<Val<'a>> {
    let Some((next, after)) = rest.split_first() else { return Some(Val::Borrowed(value)) };
    if let Some(doc) = value.as_doc() {
        return lookup_value(doc.get(&next.name)?, after);
    }
    let array = value.as_array()?;
    let mut found = DocBuilder::new_array();
    for element in array {
        let hit =
            element.value.as_doc().and_then(|doc| doc.get(&next.name)).and_then(|v| lookup_value(v, after));
        if let Some(hit) = hit {
            found.push(hit.as_ref());
        }
    }
    Some(Val::Owned(OwnedValue::from_vec(ElementType::Array, found.finish())))
}

/// The error for two arrays that would have to be multiplied.
fn parallel_arrays(first: &str, second: &str) -> Error {
    Error::new(
        ErrorCode::CannotIndexParallelArrays,
        format!("cannot index parallel arrays [{first}] [{second}]"),
    )
}

#[cfg(test)]
mod tests;
