//! The tests on a single value: comparison, type, remainder, bits, regular expression.
//!
//! Each takes a value as a filter meets it at a path (`None`: missing) and allocates nothing.

use super::node::{CompareOp, Comparison, RegexTest};
use multifora_model::compare::{canonical_class, compare_with, is_collatable};
use multifora_model::{Collation, ElementType as T, Number, OwnedValue, RawValue, Result};
use std::cmp::Ordering;
use std::sync::Arc;

impl Comparison {
    /// A comparison with a constant under a collation.
    pub fn new(op: CompareOp, value: OwnedValue, collation: Option<&Arc<Collation>>) -> Self {
        let collation = collation.filter(|_| is_collatable(value.ty)).cloned();
        Comparison { op, value, collation }
    }

    /// Does the comparison hold for the value?
    #[inline]
    pub fn matches(&self, value: Option<RawValue<'_>>) -> bool {
        let operand = self.value.as_ref();
        let Some(value) = value else { return self.matches_missing() };
        if canonical_class(value.ty) != canonical_class(operand.ty) {
            // Of other types, only the two ends of the order can be compared with.
            return self.holds_for_other_types();
        }
        let order = compare_with(value, operand, Collation::collator(self.collation.as_ref()));
        let equal_only = value.ty.is_number() && (is_nan(value) || is_nan(operand));
        match (order, equal_only) {
            // NaN is outside every range: only NaN itself relates to it.
            (_, true) => order.is_eq() && self.op.includes_equal(),
            (order, false) => self.holds_for(order),
        }
    }

    /// Does the comparison hold for values of other types than the operand's?
    pub(super) fn holds_for_other_types(&self) -> bool {
        self.is_beyond(self.value.ty)
    }

    fn holds_for(&self, order: Ordering) -> bool {
        match self.op {
            CompareOp::Eq => order.is_eq(),
            CompareOp::Lt => order.is_lt(),
            CompareOp::Lte => order.is_le(),
            CompareOp::Gt => order.is_gt(),
            CompareOp::Gte => order.is_ge(),
        }
    }

    /// Missing equals null, and stands between MinKey and MaxKey like everything else.
    fn matches_missing(&self) -> bool {
        match self.value.ty {
            T::Null => self.op.includes_equal(),
            operand => self.is_beyond(operand),
        }
    }

    fn is_beyond(&self, operand: T) -> bool {
        match operand {
            T::MinKey => matches!(self.op, CompareOp::Gt | CompareOp::Gte),
            T::MaxKey => matches!(self.op, CompareOp::Lt | CompareOp::Lte),
            _ => false,
        }
    }
}

fn is_nan(value: RawValue<'_>) -> bool {
    matches!(value.ty, T::Double | T::Decimal128) && Number::from_value(value).is_some_and(Number::is_nan)
}

impl RegexTest {
    /// A string the pattern matches, or the same regular expression.
    ///
    /// # Errors
    /// The pattern took too long (PCRE's limits).
    pub fn matches(&self, value: RawValue<'_>) -> Result<bool> {
        match value.ty {
            T::String | T::Symbol => {
                value.as_str_bytes().map_or(Ok(false), |text| self.regex.is_match_bytes(text))
            }
            T::Regex => Ok(value.as_regex().is_some_and(|(pattern, options)| {
                pattern == self.regex.pattern() && options == self.sorted_options
            })),
            _ => Ok(false),
        }
    }
}

/// A set of BSON types, as `$type` takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeSet(u32);

impl TypeSet {
    /// Adds a type.
    pub fn insert(&mut self, ty: T) {
        self.0 |= Self::bit(ty);
    }

    /// Has the type.
    pub fn contains(self, ty: T) -> bool {
        self.0 & Self::bit(ty) != 0
    }

    fn bit(ty: T) -> u32 {
        // The tags are 1 to 19, 127 and 255.
        match ty {
            T::MinKey => 1,
            T::MaxKey => 1 << 31,
            other => 1 << (other as u8 & 31),
        }
    }
}

/// `$mod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModTest {
    /// Not zero.
    pub divisor: i64,
    /// What the division must leave.
    pub remainder: i64,
}

impl ModTest {
    /// Does the value leave the remainder? (Cut to a whole number first; NaN, infinities and what
    /// exceeds int64 never do.)
    pub fn matches(self, value: RawValue<'_>) -> bool {
        Number::from_value(value)
            .and_then(Number::truncate_to_i64_checked)
            .is_some_and(|n| n.wrapping_rem(self.divisor) == self.remainder)
    }
}

/// How the bits of the mask are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitsRule {
    /// `$bitsAllSet`
    AllSet,
    /// `$bitsAllClear`
    AllClear,
    /// `$bitsAnySet`
    AnySet,
    /// `$bitsAnyClear`
    AnyClear,
}

/// `$bitsAllSet` and the like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitsTest {
    /// The rule.
    pub rule: BitsRule,
    /// Positions of single bits.
    pub positions: Vec<u32>,
    /// Further bits as a mask, little-endian. (A mask of binary data stays one: as a list of
    /// positions it could be a hundred times as large.)
    pub mask: Vec<u8>,
}

impl BitsTest {
    /// Does the number (as two's complement, extended for ever) or the binary value (little-endian,
    /// zeros beyond its end) have the bits as asked?
    pub fn matches(&self, value: RawValue<'_>) -> bool {
        if let Some((_, bytes)) = value.as_binary() {
            return self.holds(|at| bytes.get(at as usize / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1));
        }
        let Some(bits) = Number::from_value(value).and_then(Number::as_i64_exact) else { return false };
        self.holds(|at| bits >> at.min(63) & 1 == 1)
    }

    fn holds(&self, is_set: impl Fn(u32) -> bool) -> bool {
        let masked = self.mask.iter().zip(0u32..).flat_map(|(byte, at)| {
            (0..8u32).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at.saturating_mul(8) + bit)
        });
        let mut positions = self.positions.iter().copied().chain(masked);
        match self.rule {
            BitsRule::AllSet => positions.all(is_set),
            BitsRule::AllClear => !positions.any(is_set),
            BitsRule::AnySet => positions.any(is_set),
            BitsRule::AnyClear => !positions.all(is_set),
        }
    }
}
