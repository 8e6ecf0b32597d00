//! Numbers of all four types: promotion, arithmetic, coercion.
//!
//! Two manners of arithmetic, because MongoDB has two: `checked_*` (update operators `$inc`, `$mul`:
//! int32 widens to int64, an int64 overflow is `None` and the caller's error) and `add`, `subtract`, `multiply`
//! (expressions: an int64 overflow goes on as a double). The result has the widest type of the operands:
//! int32 < int64 < double < decimal.

use crate::decimal::Decimal128;
use crate::raw::RawValue;
use crate::types::ElementType as T;
use crate::value::OwnedValue;
use std::cmp::Ordering;

/// A number as BSON knows it.
///
/// Equality is numeric (`Int32(1) == Double(1.0)`), as is order; NaN equals itself and is smallest.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// 32-bit integer (`int`).
    Int32(i32),
    /// 64-bit integer (`long`).
    Int64(i64),
    /// Double.
    Double(f64),
    /// Decimal128.
    Decimal(Decimal128),
}

use Number as N;

impl Number {
    /// The number, for the four number types.
    #[inline]
    pub fn from_value(value: RawValue<'_>) -> Option<Self> {
        match value.ty {
            T::Int32 => value.as_i32().map(N::Int32),
            T::Int64 => value.as_i64().map(N::Int64),
            T::Double => value.as_f64().map(N::Double),
            T::Decimal128 => value.as_decimal_bytes().map(|b| N::Decimal(Decimal128::from_le_bytes(b))),
            _ => None,
        }
    }

    /// An int where the value fits, else a long.
    pub fn int_or_long(n: i64) -> Self {
        i32::try_from(n).map_or(N::Int64(n), N::Int32)
    }

    /// The number as a value of its type.
    pub fn to_owned_value(self) -> OwnedValue {
        match self {
            N::Int32(n) => n.into(),
            N::Int64(n) => n.into(),
            N::Double(d) => d.into(),
            N::Decimal(d) => OwnedValue::new(T::Decimal128, &d.to_le_bytes()),
        }
    }

    /// The BSON type.
    pub fn ty(self) -> T {
        match self {
            N::Int32(_) => T::Int32,
            N::Int64(_) => T::Int64,
            N::Double(_) => T::Double,
            N::Decimal(_) => T::Decimal128,
        }
    }

    /// Is it NaN?
    pub fn is_nan(self) -> bool {
        match self {
            N::Double(d) => d.is_nan(),
            N::Decimal(d) => d.is_nan(),
            _ => false,
        }
    }

    /// Is it neither NaN nor infinite?
    pub fn is_finite(self) -> bool {
        match self {
            N::Double(d) => d.is_finite(),
            N::Decimal(d) => d.is_finite(),
            _ => true,
        }
    }

    /// Is it zero, of any sign?
    pub fn is_zero(self) -> bool {
        match self {
            N::Int32(n) => n == 0,
            N::Int64(n) => n == 0,
            N::Double(d) => d == 0.0,
            N::Decimal(d) => d.is_zero(),
        }
    }

    /// Is it below zero? (False for NaN and -0.)
    pub fn is_negative(self) -> bool {
        match self {
            N::Int32(n) => n < 0,
            N::Int64(n) => n < 0,
            N::Double(d) => d < 0.0,
            N::Decimal(d) => d.is_negative() && !d.is_zero(),
        }
    }

    /// Is it a finite whole number, of whatever type?
    pub fn is_integral(self) -> bool {
        match self {
            N::Int32(_) | N::Int64(_) => true,
            N::Double(d) => d.is_finite() && d.trunc() == d,
            N::Decimal(d) => d.is_integral(),
        }
    }

    /// The i64 with exactly this value: whole and in range, whatever the type.
    pub fn as_i64_exact(self) -> Option<i64> {
        match self {
            N::Int32(n) => Some(n.into()),
            N::Int64(n) => Some(n),
            N::Double(d) => (d.trunc() == d && in_i64_range(d)).then_some(d as i64),
            N::Decimal(d) => d.to_i64_exact(),
        }
    }

    /// The i32 with exactly this value.
    pub fn as_i32_exact(self) -> Option<i32> {
        self.as_i64_exact().and_then(|n| n.try_into().ok())
    }

    /// Cut toward zero; NaN gives 0 and what is out of range gives the nearest end (MongoDB's `safeNumberLong`).
    pub fn truncate_to_i64(self) -> i64 {
        match self {
            N::Int32(n) => n.into(),
            N::Int64(n) => n,
            // Rust's cast saturates and takes NaN to 0.
            N::Double(d) => d as i64,
            N::Decimal(d) if d.is_nan() => 0,
            N::Decimal(d) => {
                d.to_i64_truncated().unwrap_or(if d.is_negative() { i64::MIN } else { i64::MAX })
            }
        }
    }

    /// Cut toward zero, when the whole part fits an i64 (NaN and infinities do not).
    pub fn truncate_to_i64_checked(self) -> Option<i64> {
        match self {
            N::Int32(n) => Some(n.into()),
            N::Int64(n) => Some(n),
            N::Double(d) => in_i64_range(d.trunc()).then_some(d as i64),
            N::Decimal(d) => d.to_i64_truncated(),
        }
    }

    /// The nearest double.
    pub fn as_f64(self) -> f64 {
        match self {
            N::Int32(n) => n.into(),
            N::Int64(n) => n as f64,
            N::Double(d) => d,
            N::Decimal(d) => d.to_f64(),
        }
    }

    /// The number as a decimal; doubles are rounded to 15 digits, as MongoDB does.
    pub fn as_decimal(self) -> Decimal128 {
        match self {
            N::Int32(n) => Decimal128::from_i64(n.into()),
            N::Int64(n) => Decimal128::from_i64(n),
            N::Double(d) => Decimal128::from_f64(d),
            N::Decimal(d) => d,
        }
    }

    /// Sum for `$inc`; `None` when two integers exceed int64.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.arithmetic(other, &ADD)
    }

    /// Difference; `None` when two integers exceed int64.
    pub fn checked_subtract(self, other: Self) -> Option<Self> {
        self.arithmetic(other, &SUBTRACT)
    }

    /// Product for `$mul`; `None` when two integers exceed int64.
    pub fn checked_multiply(self, other: Self) -> Option<Self> {
        self.arithmetic(other, &MULTIPLY)
    }

    /// Sum as `$add` gives it: an int64 overflow becomes a double.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "one of two manners of adding; an operator would hide which"
    )]
    pub fn add(self, other: Self) -> Self {
        self.checked_add(other).unwrap_or_else(|| N::Double(self.as_f64() + other.as_f64()))
    }

    /// Difference as `$subtract` gives it: an int64 overflow becomes a double.
    #[must_use]
    pub fn subtract(self, other: Self) -> Self {
        self.checked_subtract(other).unwrap_or_else(|| N::Double(self.as_f64() - other.as_f64()))
    }

    /// Product as `$multiply` gives it: an int64 overflow becomes a double.
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        self.checked_multiply(other).unwrap_or_else(|| N::Double(self.as_f64() * other.as_f64()))
    }

    /// Quotient as `$divide` gives it: a double unless one is a decimal. `None` when dividing by zero.
    pub fn divide(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        Some(match (self, other) {
            (N::Decimal(_), _) | (_, N::Decimal(_)) => {
                N::Decimal(self.as_decimal().divide(other.as_decimal()))
            }
            _ => N::Double(self.as_f64() / other.as_f64()),
        })
    }

    /// Remainder with the sign of the dividend, as expression `$mod` gives it. `None` when dividing by zero.
    pub fn modulo(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        Some(match (self, other) {
            (N::Decimal(_), _) | (_, N::Decimal(_)) => {
                N::Decimal(self.as_decimal().remainder(other.as_decimal()))
            }
            (N::Double(_), _) | (_, N::Double(_)) => N::Double(self.as_f64() % other.as_f64()),
            (N::Int32(a), N::Int32(b)) => N::Int32(a.wrapping_rem(b)),
            _ => N::Int64(self.truncate_to_i64().wrapping_rem(other.truncate_to_i64())),
        })
    }

    /// The negative; `-(-2^31)` widens, `-(-2^63)` becomes a double.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            N::Int32(n) => n.checked_neg().map_or(N::Int64(-i64::from(n)), N::Int32),
            N::Int64(n) => n.checked_neg().map_or(N::Double(-(n as f64)), N::Int64),
            N::Double(d) => N::Double(-d),
            N::Decimal(d) => N::Decimal(d.negate()),
        }
    }

    fn arithmetic(self, other: Self, op: &Operation) -> Option<Self> {
        Some(match (self, other) {
            (N::Decimal(_), _) | (_, N::Decimal(_)) => {
                N::Decimal((op.decimal)(self.as_decimal(), other.as_decimal()))
            }
            (N::Double(_), _) | (_, N::Double(_)) => N::Double((op.double)(self.as_f64(), other.as_f64())),
            (N::Int32(a), N::Int32(b)) => N::int_or_long((op.long)(a.into(), b.into())?),
            _ => N::Int64((op.long)(self.truncate_to_i64(), other.truncate_to_i64())?),
        })
    }

    /// Exact comparison across types; NaN is equal to NaN and smaller than every other number.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (N::Int32(a), N::Int32(b)) => a.cmp(&b),
            (N::Double(a), N::Double(b)) => compare_doubles(a, b),
            (N::Decimal(a), N::Decimal(b)) => a.cmp(&b),
            (N::Decimal(a), N::Double(b)) => a.compare_f64(b),
            (N::Double(a), N::Decimal(b)) => b.compare_f64(a).reverse(),
            (N::Decimal(a), _) => a.cmp(&Decimal128::from_i64(other.truncate_to_i64())),
            (_, N::Decimal(b)) => Decimal128::from_i64(self.truncate_to_i64()).cmp(&b),
            (N::Double(a), _) => compare_double_to_long(a, other.truncate_to_i64()),
            (_, N::Double(b)) => compare_double_to_long(b, self.truncate_to_i64()).reverse(),
            _ => self.truncate_to_i64().cmp(&other.truncate_to_i64()),
        }
    }
}

/// One row per operation that behaves alike in all types.
struct Operation {
    long: fn(i64, i64) -> Option<i64>,
    double: fn(f64, f64) -> f64,
    decimal: fn(Decimal128, Decimal128) -> Decimal128,
}

const ADD: Operation = Operation { long: i64::checked_add, double: |a, b| a + b, decimal: Decimal128::add };
const SUBTRACT: Operation =
    Operation { long: i64::checked_sub, double: |a, b| a - b, decimal: Decimal128::subtract };
const MULTIPLY: Operation =
    Operation { long: i64::checked_mul, double: |a, b| a * b, decimal: Decimal128::multiply };

/// 2^63 as a double: the first one above the range of i64.
const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;

fn in_i64_range(d: f64) -> bool {
    (-TWO_POW_63..TWO_POW_63).contains(&d)
}

/// Doubles in MongoDB's order: NaN smallest and equal to NaN, -0 equal to 0.
#[inline]
pub fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

fn compare_double_to_long(d: f64, n: i64) -> Ordering {
    if d.is_nan() || d < -TWO_POW_63 {
        return Ordering::Less;
    }
    if d >= TWO_POW_63 {
        return Ordering::Greater;
    }
    // The whole part is exact in i64; the fraction decides between equals.
    (d as i64).cmp(&n).then_with(|| compare_doubles(d, d.trunc()))
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(*other)
    }
}

#[cfg(test)]
mod tests;
