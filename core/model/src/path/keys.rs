//! What an index or a sort sees in a document: tuples of values, one per element of the array that
//! the paths run through (MongoDB's multikey rules).

use super::{FieldPath, PathPart, parallel_arrays};
use crate::error::{Error, Result};
use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType;
use crate::view::DocumentView;
use smallvec::SmallVec;

/// Undefined: what an empty array gives.
const UNDEFINED: RawValue<'static> = RawValue { ty: ElementType::Undefined, bytes: &[] };

/// Which paths of [`extract_keys`] ran through arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Multikey {
    /// Bit i: an array was met on path i (the first 32 paths).
    pub array_paths: u32,
}

/// One key of a document: a value per path.
#[derive(Clone, Copy, Debug)]
pub struct KeyTuple<'t, 'a> {
    /// The values, in the order of the paths.
    pub values: &'t [RawValue<'a>],
    /// Every path was missing (a sparse index leaves such keys out).
    pub all_missing: bool,
}

/// One path on its way.
#[derive(Clone, Copy)]
struct Cursor<'a, 'p> {
    /// What is left of the path; the value is final when nothing is.
    rest: &'p [PathPart],
    /// The value reached so far.
    value: RawValue<'a>,
    /// It did not lead to anything.
    missing: bool,
    /// The element that the next part names by its position in the array being looked into.
    positioned: Option<RawValue<'a>>,
    /// The value came by position out of an array: an array there is not looked into again.
    whole: bool,
}

type Cursors<'a, 'p> = SmallVec<[Cursor<'a, 'p>; 4]>;

/// Gives every tuple of values that the paths have in the document: one tuple when no array is on
/// the way, else one per element of the array (equal tuples may be given more than once). Missing
/// is null, an empty array at the end of a path is undefined.
///
/// # Errors
/// `CannotIndexParallelArrays` when two paths run through different arrays; code 16746 when a
/// numeric part is ambiguous; those of `visit`.
pub fn extract_keys<'a>(
    paths: &[FieldPath],
    view: &DocumentView<'a>,
    visit: &mut dyn FnMut(KeyTuple<'_, 'a>) -> Result<()>,
) -> Result<Multikey> {
    let mut cursors: Cursors<'a, '_> = SmallVec::with_capacity(paths.len());
    for path in paths {
        let found = match path.parts().split_first() {
            Some((first, [])) => view.get(first.name())?.and_then(|v| descend(v, &[])),
            Some((first, rest)) => view.get_container(first.name())?.and_then(|v| descend(v, rest)),
            None => None,
        };
        cursors.push(arrived(found));
    }
    let mut keys = Keys { paths, seen: Multikey::default(), visit };
    keys.expand(&cursors)?;
    Ok(keys.seen)
}

/// Follows names through documents; stops at an array.
fn descend<'a, 'p>(value: RawValue<'a>, rest: &'p [PathPart]) -> Option<(RawValue<'a>, &'p [PathPart])> {
    match rest.split_first() {
        None => Some((value, rest)),
        Some(_) if value.ty == ElementType::Array => Some((value, rest)),
        Some((next, after)) => descend(value.as_doc()?.get(next.name())?, after),
    }
}

fn arrived<'a, 'p>(found: Option<(RawValue<'a>, &'p [PathPart])>) -> Cursor<'a, 'p> {
    let (value, rest) = found.unwrap_or((RawValue::NULL, &[]));
    Cursor { rest, value, missing: found.is_none(), positioned: None, whole: false }
}

struct Keys<'v, 'a> {
    paths: &'v [FieldPath],
    seen: Multikey,
    visit: &'v mut dyn FnMut(KeyTuple<'_, 'a>) -> Result<()>,
}

impl<'a> Keys<'_, 'a> {
    fn expand(&mut self, cursors: &[Cursor<'a, '_>]) -> Result<()> {
        let Some(array) = self.shared_array(cursors)? else {
            let values: SmallVec<[RawValue<'a>; 4]> = cursors.iter().map(|c| c.value).collect();
            let all_missing = cursors.iter().all(|c| c.missing);
            return (self.visit)(KeyTuple { values: &values, all_missing });
        };
        let mut inside: Cursors<'a, '_> = cursors.iter().copied().collect();
        for (cursor, before) in inside.iter_mut().zip(cursors) {
            if is_open_array(before)
                && let Some(next) = before.rest.first()
                && next.index().is_some()
            {
                cursor.positioned = array.get(next.name());
            }
        }
        if array.is_empty() {
            return self.element(&inside, cursors, UNDEFINED);
        }
        for element in array {
            self.element(&inside, cursors, element.value)?;
        }
        Ok(())
    }

    /// The one array that open paths stand at, if any.
    fn shared_array(&mut self, cursors: &[Cursor<'a, '_>]) -> Result<Option<RawDoc<'a>>> {
        let mut shared: Option<(RawDoc<'a>, usize)> = None;
        for (at, cursor) in cursors.iter().enumerate() {
            let Some(array) = is_open_array(cursor).then(|| cursor.value.as_array()).flatten() else {
                continue;
            };
            self.seen.array_paths |= u32::try_from(at).ok().and_then(|at| 1u32.checked_shl(at)).unwrap_or(0);
            match shared {
                None => shared = Some((array, at)),
                // The same bytes at the same place: it is the same array.
                Some((known, _)) if std::ptr::eq(known.as_bytes(), array.as_bytes()) => {}
                Some((_, other)) => {
                    let other = cursors.get(other).map_or("", |c| self.name_at(other, c));
                    return Err(parallel_arrays(self.name_at(at, cursor), other));
                }
            }
        }
        Ok(shared.map(|(array, _)| array))
    }

    /// The name of the field that a cursor stands at.
    fn name_at(&self, at: usize, cursor: &Cursor<'_, '_>) -> &str {
        let Some(path) = self.paths.get(at) else { return "" };
        let taken = path.parts().len().saturating_sub(cursor.rest.len());
        path.parts().get(taken.saturating_sub(1)).map_or("", PathPart::name)
    }

    /// One element of the shared array: every path that stands there takes its next step.
    fn element(
        &mut self,
        inside: &[Cursor<'a, '_>],
        before: &[Cursor<'a, '_>],
        element: RawValue<'a>,
    ) -> Result<()> {
        let mut next: Cursors<'a, '_> = SmallVec::with_capacity(inside.len());
        for (cursor, before) in inside.iter().zip(before) {
            next.push(if is_open_array(before) { step(cursor, element)? } else { *cursor });
        }
        self.expand(&next)
    }
}

/// Stands at an array that has to be looked into.
fn is_open_array(cursor: &Cursor<'_, '_>) -> bool {
    cursor.value.ty == ElementType::Array && !cursor.missing && !cursor.whole
}

fn step<'a, 'p>(cursor: &Cursor<'a, 'p>, element: RawValue<'a>) -> Result<Cursor<'a, 'p>> {
    let Some((next, after)) = cursor.rest.split_first() else {
        // The end of the path: the element is the value; arrays in arrays stay whole.
        return Ok(Cursor { value: element, whole: true, ..*cursor });
    };
    let named = element.as_doc().filter(|doc| doc.get(next.name()).is_some());
    match (named, cursor.positioned) {
        (Some(_), Some(_)) => Err(ambiguous(next.name())),
        (Some(_), None) => Ok(arrived(descend(element, cursor.rest))),
        (None, Some(value)) => {
            let mut reached = arrived(descend(value, after));
            reached.whole = after.is_empty();
            Ok(reached)
        }
        (None, None) => Ok(arrived(None)),
    }
}

fn ambiguous(name: &str) -> Error {
    Error::location(
        16746,
        format!(
            "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), \
             field: '{name}'"
        ),
    )
}
