//! `$sum`, `$avg` and `$count`: exact for whole numbers, compensated for doubles, decimals apart.

use super::Accumulate;
use multifora_model::{Decimal128, ElementType as T, Number, OwnedValue, RawValue, Result};

/// A running sum of numbers of all types. What is no number is left out.
///
/// Whole numbers are added exactly; doubles with the error of each addition carried along, so that
/// the order of the values hardly matters; decimals as decimals. Only the result is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    /// The widest type so far.
    widest: T,
    whole: i128,
    doubles: f64,
    /// What rounding has cut off `doubles`.
    error: f64,
    /// Sum of the infinities and NaNs.
    special: Option<f64>,
    decimals: Decimal128,
    /// How many numbers there were.
    pub(crate) count: u64,
}

impl Default for Total {
    fn default() -> Self {
        Total {
            widest: T::Int32,
            whole: 0,
            doubles: 0.0,
            error: 0.0,
            special: None,
            decimals: Decimal128::ZERO,
            count: 0,
        }
    }
}

impl Total {
    /// Adds a value, if it is a number.
    #[inline]
    pub(crate) fn add(&mut self, value: RawValue<'_>) {
        if let Some(number) = Number::from_value(value) {
            self.add_number(number);
        }
    }

    /// Adds a number.
    #[inline]
    pub(crate) fn add_number(&mut self, number: Number) {
        self.count += 1;
        match number {
            Number::Int32(n) => self.whole += i128::from(n),
            Number::Int64(n) => {
                self.whole += i128::from(n);
                self.widen(T::Int64);
            }
            Number::Double(d) => {
                self.add_double(d);
                self.widen(T::Double);
            }
            Number::Decimal(d) => {
                self.decimals = self.decimals.add(d);
                self.widen(T::Decimal128);
            }
        }
    }

    fn widen(&mut self, ty: T) {
        let rank = |ty: T| match ty {
            T::Int32 => 0,
            T::Int64 => 1,
            T::Double => 2,
            _ => 3,
        };
        if rank(ty) > rank(self.widest) {
            self.widest = ty;
        }
    }

    fn add_double(&mut self, d: f64) {
        if !d.is_finite() {
            self.special = Some(self.special.unwrap_or(0.0) + d);
            return;
        }
        let (sum, error) = two_sum(self.doubles, d);
        self.doubles = sum;
        self.error += error;
    }

    /// The sum of all but the decimals, and what rounding it cut off.
    fn double_parts(&self) -> (f64, f64) {
        if let Some(special) = self.special {
            return (special, 0.0);
        }
        let high = self.whole as f64;
        // What the nearest double leaves of the whole part is small enough to be exact itself.
        let low = (self.whole - high as i128) as f64;
        let (sum, error) = two_sum(self.doubles, high);
        let rest = error + self.error + low;
        let total = sum + rest;
        (total, if total.is_finite() { rest - (total - sum) } else { 0.0 })
    }

    fn decimal(&self) -> Decimal128 {
        let mut rest = self.decimals;
        if self.widest == T::Decimal128 && (self.doubles != 0.0 || self.special.is_some()) {
            let (total, error) = self.double_parts();
            rest = rest.add(Decimal128::from_f64_34(total));
            if error != 0.0 {
                rest = rest.add(Decimal128::from_f64_34(error));
            }
            return rest;
        }
        match i64::try_from(self.whole) {
            Ok(0) => rest,
            Ok(whole) => rest.add(Decimal128::from_i64(whole)),
            Err(_) => rest.add(Decimal128::from_f64_34(self.whole as f64)),
        }
    }

    /// The sum, of the widest type that came in (wider where it does not fit).
    pub(crate) fn sum(&self) -> Number {
        let whole = i64::try_from(self.whole);
        match (self.widest, whole) {
            (T::Int32, Ok(n)) => Number::int_or_long(n),
            (T::Int64, Ok(n)) => Number::Int64(n),
            (T::Decimal128, _) => Number::Decimal(self.decimal()),
            _ => Number::Double(self.double_parts().0),
        }
    }

    /// The mean; `None` when there was no number.
    pub(crate) fn mean(&self) -> Option<Number> {
        if self.count == 0 {
            return None;
        }
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        Some(match self.widest {
            T::Decimal128 => Number::Decimal(self.decimal().divide(Decimal128::from_i64(count))),
            _ => Number::Double(self.double_parts().0 / count as f64),
        })
    }
}

/// The rounded sum and the exact rest (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    if !sum.is_finite() {
        return (sum, 0.0);
    }
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// `$sum`.
#[derive(Default)]
pub(super) struct Sum(Total);

impl Accumulate for Sum {
    #[inline]
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        if let Some(value) = value {
            self.0.add(value);
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(self.0.sum().to_owned_value())
    }
}

/// `$avg`.
#[derive(Default)]
pub(super) struct Avg(Total);

impl Accumulate for Avg {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        if let Some(value) = value {
            self.0.add(value);
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(self.0.mean().map_or_else(OwnedValue::null, Number::to_owned_value))
    }
}

/// `$count`.
#[derive(Default)]
pub(super) struct Count(i64);

impl Accumulate for Count {
    fn add(&mut self, _: Option<RawValue<'_>>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(Number::int_or_long(self.0).to_owned_value())
    }
}
