//! One test on a value as intervals of encoded keys.
//!
//! The keys a document has at a path are the values that a filter sees there, with three differences:
//! missing is null, an empty array is undefined, and an array is its elements, never the whole.
//! What comes out always holds every key that could prove the test; [`ValueBounds::exact`] says
//! that every key inside does prove it, which is what negation and counting need.

use super::interval::{ByteRange, Intervals};
use multifora_model::compare::is_collatable;
use multifora_model::key::{self, KeyDirection};
use multifora_model::{Collation, ElementType as T, OwnedValue, RawDoc, RawValue};
use multifora_query::filter::{CompareOp, Comparison, InSet, RegexTest, Test, TypeSet};
use std::sync::Arc;

/// Where the keys are that can satisfy a test.
#[derive(Clone, Debug)]
pub struct ValueBounds {
    /// The keys, in the byte order of the index field.
    pub intervals: Intervals,
    /// Every key inside belongs to a value that satisfies the test.
    pub exact: bool,
    /// A missing value cannot satisfy it.
    pub needs_value: bool,
}

/// The bounds of a test in an index field of this direction, in an index of this collation; `None` when an index does
/// not help: also where strings are compared by another collation than the one they stand in the index by.
pub fn test_bounds(
    test: &Test,
    direction: KeyDirection,
    collation: Option<&Arc<Collation>>,
) -> Option<ValueBounds> {
    let encoder = Encoder { direction, collation };
    match test {
        Test::Compare(comparison) => encoder.comparison(comparison),
        Test::In(set) => encoder.set(set),
        Test::Regex(regex) => Some(ValueBounds::some(encoder.regex(regex))),
        Test::Exists => Some(ValueBounds::some(Intervals::full())),
        Test::Type(types) => encoder.types(*types),
        Test::Mod(_) => Some(ValueBounds::some(encoder.brackets(&[T::Double]))),
        Test::Bits(_) => Some(ValueBounds::some(encoder.brackets(&[T::Double, T::Binary]))),
        Test::Size(_) | Test::ElemMatchObject(_) | Test::ElemMatchValue(_) => None,
    }
}

/// The bounds of a test that must not hold.
///
/// A document without a value that satisfies the test has only keys outside the test's exact
/// bounds, and it has at least one key. Where it has one key only, being outside is proof, too.
pub fn negated_bounds(
    test: &Test,
    direction: KeyDirection,
    collation: Option<&Arc<Collation>>,
) -> Option<ValueBounds> {
    if matches!(test, Test::Exists) {
        return Some(Encoder { direction, collation }.nullish());
    }
    let bounds = test_bounds(test, direction, collation).filter(|b| b.exact)?;
    Some(ValueBounds { intervals: bounds.intervals.complement(), exact: true, needs_value: false })
}

impl ValueBounds {
    /// Keys that may satisfy a test that a missing value does not satisfy.
    fn some(intervals: Intervals) -> Self {
        ValueBounds { intervals, exact: false, needs_value: true }
    }

    fn exactly(intervals: Intervals) -> Self {
        ValueBounds { intervals, exact: true, needs_value: true }
    }
}

struct Encoder<'i> {
    direction: KeyDirection,
    /// The collation of the index.
    collation: Option<&'i Arc<Collation>>,
}

impl Encoder<'_> {
    fn encode(&self, value: RawValue<'_>, direction: KeyDirection) -> Vec<u8> {
        let mut bytes = Vec::new();
        key::encode_with(value, direction, Collation::collator(self.collation), &mut bytes);
        bytes
    }

    fn comparison(&self, comparison: &Comparison) -> Option<ValueBounds> {
        let operand = comparison.value.as_ref();
        if is_collatable(operand.ty) && comparison.collation.as_ref() != self.collation {
            return None;
        }
        match (comparison.op, operand.ty) {
            (_, T::Null | T::Undefined) => Some(self.nullish()),
            (CompareOp::Eq, T::Array) => Some(self.array_equality(operand)),
            (CompareOp::Eq, _) => Some(ValueBounds::exactly(self.point(operand))),
            // Whole arrays are not in the index; the two ends of the order relate to everything.
            (_, T::Array | T::MinKey | T::MaxKey) => None,
            (op, T::Double | T::Decimal128) if is_nan(operand) => Some(match op.includes_equal() {
                true => ValueBounds::exactly(self.point(operand)),
                false => ValueBounds::exactly(Intervals::none()),
            }),
            (op, _) => Some(ValueBounds::exactly(self.range(op, operand))),
        }
    }

    /// The values from the operand to the end of its type's bracket.
    fn range(&self, op: CompareOp, operand: RawValue<'_>) -> Intervals {
        let at = self.encode(operand, KeyDirection::Ascending);
        let after = key::prefix_successor(&at).unwrap_or_default();
        let (mut first, end) = key::type_bracket_bounds(operand.ty);
        if operand.ty.is_number() {
            // NaN is below every number and within no range.
            let lowest = OwnedValue::from(f64::NEG_INFINITY);
            first = self.encode(lowest.as_ref(), KeyDirection::Ascending);
        }
        let (lower, upper) = match op {
            CompareOp::Gt => (after, end),
            CompareOp::Gte => (at, end),
            CompareOp::Lt => (first, at),
            CompareOp::Lte => (first, after),
            CompareOp::Eq => (at, after),
        };
        Intervals::new(vec![self.between(lower, upper)])
    }

    /// An ascending range of bytes in the direction of the field.
    fn between(&self, lower: Vec<u8>, upper: Vec<u8>) -> ByteRange {
        match self.direction {
            KeyDirection::Ascending => ByteRange::new(lower, Some(upper)),
            KeyDirection::Descending => {
                let (lo, hi) = key::descending_bounds(&lower, &upper);
                ByteRange::new(lo, hi)
            }
        }
    }

    fn point_range(&self, value: RawValue<'_>) -> ByteRange {
        ByteRange::point(self.encode(value, self.direction))
    }

    fn point(&self, value: RawValue<'_>) -> Intervals {
        Intervals::new(vec![self.point_range(value)])
    }

    /// Null, which is also what missing looks like, and undefined, which is also an empty array.
    fn nullish(&self) -> ValueBounds {
        // Two points rather than one range, so that what follows in a compound key stays bounded.
        let undefined = RawValue { ty: T::Undefined, bytes: &[] };
        let points = Intervals::new(vec![self.point_range(undefined), self.point_range(RawValue::NULL)]);
        ValueBounds { intervals: points, exact: false, needs_value: false }
    }

    /// An array equals the operand as a whole (the index has its elements, so its first one) or
    /// holds the operand as an element.
    fn array_equality(&self, operand: RawValue<'_>) -> ValueBounds {
        let first = operand.as_array().unwrap_or(RawDoc::EMPTY).iter().next();
        let first = first.map_or(RawValue { ty: T::Undefined, bytes: &[] }, |e| e.value);
        ValueBounds::some(Intervals::new(vec![self.point_range(first), self.point_range(operand)]))
    }

    fn set(&self, set: &InSet) -> Option<ValueBounds> {
        let mut ranges = Vec::with_capacity(set.values().len() + set.regexes().len());
        let mut exact = set.regexes().is_empty();
        for value in set.values() {
            let equal = Comparison::new(CompareOp::Eq, value.clone(), set.collation());
            let bounds = self.comparison(&equal)?;
            exact &= bounds.exact;
            ranges.extend_from_slice(bounds.intervals.ranges());
        }
        for regex in set.regexes() {
            ranges.extend_from_slice(self.regex(regex).ranges());
        }
        let needs_value = !set.values().iter().any(|v| v.as_ref().is_nullish());
        Some(ValueBounds { intervals: Intervals::new(ranges), exact, needs_value })
    }

    /// Strings with the pattern's literal beginning, and regular expressions. A collation says nothing about how a
    /// pattern's beginning is ordered.
    fn regex(&self, regex: &RegexTest) -> Intervals {
        let strings = match regex.regex.literal_prefix() {
            Some(prefix) if self.collation.is_none() => key::string_prefix_bounds(&prefix.text),
            _ => key::type_bracket_bounds(T::String),
        };
        let (lower, upper) = key::type_bracket_bounds(T::Regex);
        Intervals::new(vec![self.between(strings.0, strings.1), self.between(lower, upper)])
    }

    fn types(&self, types: TypeSet) -> Option<ValueBounds> {
        // An array at the end of a path is in the index as its elements.
        if types.contains(T::Array) || types.contains(T::Undefined) {
            return None;
        }
        let wanted: Vec<T> = BRACKETS.iter().copied().filter(|ty| types.contains(*ty)).collect();
        Some(ValueBounds::some(self.brackets(&wanted)))
    }

    fn brackets(&self, types: &[T]) -> Intervals {
        let bracket = |ty: &T| {
            let (lower, upper) = key::type_bracket_bounds(*ty);
            self.between(lower, upper)
        };
        Intervals::new(types.iter().map(bracket).collect())
    }
}

/// All types whose values stand in an index as themselves.
const BRACKETS: [T; 19] = [
    T::MinKey,
    T::Null,
    T::Double,
    T::Int32,
    T::Int64,
    T::Decimal128,
    T::String,
    T::Symbol,
    T::Document,
    T::Binary,
    T::ObjectId,
    T::Bool,
    T::Date,
    T::Timestamp,
    T::Regex,
    T::DbPointer,
    T::JavaScript,
    T::JavaScriptWithScope,
    T::MaxKey,
];

fn is_nan(value: RawValue<'_>) -> bool {
    multifora_model::number::Number::from_value(value).is_some_and(|n| n.is_nan())
}
