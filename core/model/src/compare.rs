//! MongoDB's comparison order, the only one (manual: BSON Types, Comparison/Sort Order).
//!
//! Values of different classes compare by class, values of one class by value; numbers of all types
//! are one class and compare exactly. [`crate::key`] encodes the same order into bytes; the two are
//! tested against each other and must change together.

use crate::number::{Number, compare_doubles};
use crate::raw::{Elements, RawDoc, RawValue};
use crate::types::ElementType as T;
use std::cmp::Ordering;

/// Nesting below which containers compare as plain bytes. Stored documents are never that deep; the
/// limit keeps the stack bounded for computed values and unchecked bytes.
pub(crate) const MAX_COMPARE_DEPTH: u32 = 256;

/// Rules for comparing strings that are not plain bytes (collation).
pub trait Collator: Send + Sync {
    /// Compares two strings, given as bytes: what a document holds need not be UTF-8.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Appends bytes whose order is the order of [`compare`](Self::compare).
    fn sort_key(&self, text: &[u8], out: &mut Vec<u8>);
}

/// The class of a type: types of the same class compare by value, others by class.
///
/// The numbers grow in MongoDB's order. Undefined and null are two classes, as in MongoDB.
/// [`crate::key`] writes them into index keys, so they are part of the file format.
#[inline]
pub const fn canonical_class(ty: T) -> u8 {
    match ty {
        T::MinKey => 10,
        T::Undefined => 20,
        T::Null => 30,
        T::Int32 | T::Int64 | T::Double | T::Decimal128 => 40,
        T::String | T::Symbol => 50,
        T::Document => 60,
        T::Array => 70,
        T::Binary => 80,
        T::ObjectId => 90,
        T::Bool => 100,
        T::Date => 110,
        T::Timestamp => 120,
        T::Regex => 130,
        T::DbPointer => 140,
        T::JavaScript => 150,
        T::JavaScriptWithScope => 160,
        T::MaxKey => 240,
    }
}

/// Compares two values.
#[inline]
pub fn compare(a: RawValue<'_>, b: RawValue<'_>) -> Ordering {
    compare_with(a, b, None)
}

/// Compares two values, strings by `collator` when there is one.
#[inline]
pub fn compare_with(a: RawValue<'_>, b: RawValue<'_>, collator: Option<&dyn Collator>) -> Ordering {
    compare_values(a, b, collator, 0)
}

/// Does a collation reach into values of this type?
pub const fn is_collatable(ty: T) -> bool {
    matches!(ty, T::String | T::Symbol | T::Document | T::Array)
}

/// Compares two documents field by field: class, then name, then value; a document that ends first is smaller.
pub fn compare_docs(a: RawDoc<'_>, b: RawDoc<'_>) -> Ordering {
    compare_fields(a, b, None, 0)
}

/// [`compare_docs`] with a collator.
pub fn compare_docs_with(a: RawDoc<'_>, b: RawDoc<'_>, collator: Option<&dyn Collator>) -> Ordering {
    compare_fields(a, b, collator, 0)
}

/// Are two values equal in MongoDB's order (`1 == 1.0`)?
#[inline]
pub fn equal(a: RawValue<'_>, b: RawValue<'_>) -> bool {
    equal_with(a, b, None)
}

/// [`equal`] with a collator.
#[inline]
pub fn equal_with(a: RawValue<'_>, b: RawValue<'_>, collator: Option<&dyn Collator>) -> bool {
    // The same bytes are the same value, NaN included.
    (a.ty == b.ty && a.bytes == b.bytes) || compare_with(a, b, collator).is_eq()
}

fn compare_values(a: RawValue<'_>, b: RawValue<'_>, collator: Option<&dyn Collator>, depth: u32) -> Ordering {
    let by_class = canonical_class(a.ty).cmp(&canonical_class(b.ty));
    if by_class.is_ne() {
        return by_class;
    }
    match a.ty {
        T::Int32 | T::Int64 | T::Double | T::Decimal128 => compare_numbers(a, b),
        T::String | T::Symbol => compare_strings(a, b, collator),
        T::Document => match (a.as_doc(), b.as_doc()) {
            (Some(a), Some(b)) => compare_fields(a, b, collator, depth),
            _ => Ordering::Equal,
        },
        T::Array => match (a.as_array(), b.as_array()) {
            (Some(a), Some(b)) => compare_elements(a, b, collator, depth),
            _ => Ordering::Equal,
        },
        T::Binary => a.bytes.len().cmp(&b.bytes.len()).then_with(|| a.bytes.cmp(b.bytes)),
        T::Date => a.as_date_ms().cmp(&b.as_date_ms()),
        T::Timestamp => a.as_timestamp().cmp(&b.as_timestamp()),
        // Pattern and options end in zero, so the bytes order as the two strings do.
        T::ObjectId | T::Bool | T::Regex => a.bytes.cmp(b.bytes),
        T::DbPointer => a.bytes.len().cmp(&b.bytes.len()).then_with(|| a.bytes.cmp(b.bytes)),
        T::JavaScript => a.as_str_bytes().cmp(&b.as_str_bytes()),
        T::JavaScriptWithScope => match (code_and_scope(a), code_and_scope(b)) {
            (Some((code_a, scope_a)), Some((code_b, scope_b))) => {
                // A collation does not reach into the scope.
                code_a.cmp(code_b).then_with(|| compare_fields(scope_a, scope_b, None, depth))
            }
            _ => a.bytes.cmp(b.bytes),
        },
        T::MinKey | T::MaxKey | T::Null | T::Undefined => Ordering::Equal,
    }
}

fn compare_numbers(a: RawValue<'_>, b: RawValue<'_>) -> Ordering {
    match (a.ty, b.ty) {
        (T::Int32, T::Int32) => a.as_i32().cmp(&b.as_i32()),
        (T::Int64, T::Int64) => a.as_i64().cmp(&b.as_i64()),
        (T::Double, T::Double) => {
            compare_doubles(a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default())
        }
        _ => Number::from_value(a).cmp(&Number::from_value(b)),
    }
}

fn compare_strings(a: RawValue<'_>, b: RawValue<'_>, collator: Option<&dyn Collator>) -> Ordering {
    let (a, b) = (a.as_str_bytes(), b.as_str_bytes());
    match collator {
        Some(collator) => collator.compare(a.unwrap_or_default(), b.unwrap_or_default()),
        None => a.cmp(&b),
    }
}

/// Code as bytes and the scope, also where the code is not UTF-8.
pub(crate) fn code_and_scope(value: RawValue<'_>) -> Option<(&[u8], RawDoc<'_>)> {
    let text_len = usize::try_from(crate::raw::read_i32(value.bytes, 4)?).ok()?;
    let code = value.bytes.get(8..8usize.checked_add(text_len)?.checked_sub(1)?)?;
    Some((code, RawDoc::framed(value.bytes.get(8 + text_len..)?)?))
}

fn compare_fields(a: RawDoc<'_>, b: RawDoc<'_>, collator: Option<&dyn Collator>, depth: u32) -> Ordering {
    walk(a, b, depth, |x, y| {
        canonical_class(x.value.ty)
            .cmp(&canonical_class(y.value.ty))
            .then_with(|| x.name_bytes().cmp(y.name_bytes()))
            .then_with(|| compare_values(x.value, y.value, collator, depth + 1))
    })
}

fn compare_elements(a: RawDoc<'_>, b: RawDoc<'_>, collator: Option<&dyn Collator>, depth: u32) -> Ordering {
    walk(a, b, depth, |x, y| compare_values(x.value, y.value, collator, depth + 1))
}

fn walk<'a>(
    a: RawDoc<'a>,
    b: RawDoc<'a>,
    depth: u32,
    mut pair: impl FnMut(crate::raw::Element<'a>, crate::raw::Element<'a>) -> Ordering,
) -> Ordering {
    if depth >= MAX_COMPARE_DEPTH {
        return a.as_bytes().cmp(b.as_bytes());
    }
    if depth == 0 && a == b {
        return Ordering::Equal;
    }
    let (mut left, mut right): (Elements<'a>, Elements<'a>) = (a.iter(), b.iter());
    loop {
        match (left.next(), right.next()) {
            (Some(x), Some(y)) => match pair(x, y) {
                Ordering::Equal => {}
                order => return order,
            },
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests;
