//! Decimal128 (IEEE 754-2008, BID encoding): parts, text, conversions, comparison.
//!
//! A value is its sixteen bytes; everything else is computed from sign, coefficient (at most 34
//! digits) and exponent. Text is exactly what the BSON specification prescribes, so that clients,
//! Extended JSON and error messages agree. Arithmetic is in `decimal_arithmetic`.

mod text;

use std::cmp::Ordering;
use text::Text;

/// Most digits of a coefficient.
pub const MAX_DIGITS: u32 = 34;
/// Largest coefficient: 34 nines.
pub const MAX_COEFFICIENT: u128 = 10u128.pow(MAX_DIGITS) - 1;
/// Largest exponent of an integer coefficient.
pub const MAX_EXPONENT: i32 = 6111;
/// Smallest exponent of an integer coefficient.
pub const MIN_EXPONENT: i32 = -6176;

const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0x78 << 120;
const NAN: u128 = 0x7C << 120;

/// A 128-bit decimal floating-point number.
///
/// Equality and order of this type are the numbers' (`1.0 == 1.00`, NaN is equal to itself and
/// smallest); compare [`to_le_bytes`](Self::to_le_bytes) for identity.
#[derive(Clone, Copy)]
pub struct Decimal128(u128);

/// What a [`Decimal128`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalParts {
    /// `(-1)^negative * coefficient * 10^exponent`.
    Finite {
        /// The sign (zeros have one too).
        negative: bool,
        /// At most 34 digits.
        coefficient: u128,
        /// From -6176 to 6111.
        exponent: i32,
    },
    /// Plus or minus infinity.
    Infinity {
        /// Minus infinity.
        negative: bool,
    },
    /// Not a number, quiet or signalling.
    Nan,
}

use DecimalParts as P;

impl Decimal128 {
    /// `0`.
    pub const ZERO: Decimal128 = Decimal128::finite(false, 0, 0);
    /// `1`.
    pub const ONE: Decimal128 = Decimal128::finite(false, 1, 0);
    /// Not a number.
    pub const NAN: Decimal128 = Decimal128(NAN);
    /// Plus infinity.
    pub const INFINITY: Decimal128 = Decimal128(INFINITY);
    /// Minus infinity.
    pub const NEG_INFINITY: Decimal128 = Decimal128(SIGN | INFINITY);

    /// From the bytes that stand in a document.
    pub fn from_le_bytes(bytes: [u8; 16]) -> Self {
        Decimal128(u128::from_le_bytes(bytes))
    }

    /// The bytes that stand in a document.
    pub fn to_le_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Callers keep the parts in range.
    const fn finite(negative: bool, coefficient: u128, exponent: i32) -> Self {
        let biased = (exponent - MIN_EXPONENT) as u128;
        Decimal128(if negative { SIGN } else { 0 } | biased << 113 | coefficient)
    }

    /// From parts, rounded half to even to what the format holds; overflow gives infinity.
    pub fn from_parts(negative: bool, coefficient: u128, exponent: i32) -> Self {
        if coefficient <= MAX_COEFFICIENT && (MIN_EXPONENT..=MAX_EXPONENT).contains(&exponent) {
            return Self::finite(negative, coefficient, exponent);
        }
        Self::from_digits(negative, coefficient.to_string().as_bytes(), exponent.into()).0
    }

    /// Sign, coefficient and exponent. Coefficients that are no valid encoding read as zero (IEEE 754).
    pub fn parts(self) -> DecimalParts {
        let negative = self.0 & SIGN != 0;
        let combination = (self.0 >> 122) as u32 & 0x1F;
        match combination {
            0x1F => P::Nan,
            0x1E => P::Infinity { negative },
            // The form with an implied leading 100 always exceeds 34 digits.
            0x18..=0x1D => {
                P::Finite { negative, coefficient: 0, exponent: biased(self.0 >> 111) + MIN_EXPONENT }
            }
            _ => {
                let coefficient = self.0 & ((1 << 113) - 1);
                let coefficient = if coefficient > MAX_COEFFICIENT { 0 } else { coefficient };
                P::Finite { negative, coefficient, exponent: biased(self.0 >> 113) + MIN_EXPONENT }
            }
        }
    }

    /// Is it NaN?
    pub fn is_nan(self) -> bool {
        self.parts() == P::Nan
    }

    /// Is it plus or minus infinity?
    pub fn is_infinite(self) -> bool {
        matches!(self.parts(), P::Infinity { .. })
    }

    /// Is it neither NaN nor infinite?
    pub fn is_finite(self) -> bool {
        matches!(self.parts(), P::Finite { .. })
    }

    /// Is it a zero of any sign and exponent?
    pub fn is_zero(self) -> bool {
        matches!(self.parts(), P::Finite { coefficient: 0, .. })
    }

    /// Is the sign bit set (also on -0)?
    pub fn is_negative(self) -> bool {
        !self.is_nan() && self.0 & SIGN != 0
    }

    /// Is it a finite whole number?
    pub fn is_integral(self) -> bool {
        match self.parts() {
            P::Finite { coefficient: 0, .. } => true,
            P::Finite { coefficient, exponent, .. } => {
                exponent >= 0
                    || 10u128.checked_pow(exponent.unsigned_abs()).is_some_and(|p| coefficient % p == 0)
            }
            _ => false,
        }
    }

    /// The same number with the sign flipped.
    #[must_use]
    pub fn negate(self) -> Self {
        Decimal128(self.0 ^ SIGN)
    }

    /// The same number without sign.
    #[must_use]
    pub fn abs(self) -> Self {
        Decimal128(self.0 & !SIGN)
    }

    /// The whole number, exactly.
    pub fn from_i64(n: i64) -> Self {
        Self::finite(n < 0, n.unsigned_abs().into(), 0)
    }

    /// A double as MongoDB makes decimals of doubles: rounded to 15 significant digits, all of which
    /// are kept (`2.5` gives `2.50000000000000`).
    pub fn from_f64(d: f64) -> Self {
        Self::from_f64_digits(d, 15)
    }

    /// A double rounded to 34 significant digits.
    pub fn from_f64_34(d: f64) -> Self {
        Self::from_f64_digits(d, 34)
    }

    fn from_f64_digits(d: f64, digits: usize) -> Self {
        if d.is_nan() {
            return Self::NAN;
        }
        if d.is_infinite() {
            return if d < 0.0 { Self::NEG_INFINITY } else { Self::INFINITY };
        }
        if d == 0.0 {
            return Self::finite(d.is_sign_negative(), 0, 0);
        }
        let text = Text::<64>::format(format_args!("{:.*e}", digits - 1, d.abs()));
        let (coefficient, exponent) = text.coefficient_and_exponent();
        Self::from_parts(d < 0.0, coefficient, exponent - (digits as i32 - 1))
    }

    /// The nearest double (ties to even).
    pub fn to_f64(self) -> f64 {
        match self.parts() {
            P::Nan => f64::NAN,
            P::Infinity { negative } => {
                if negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }
            P::Finite { negative, coefficient, exponent } => {
                let magnitude = magnitude_to_f64(coefficient, exponent);
                if negative { -magnitude } else { magnitude }
            }
        }
    }

    /// The whole part as an i64, when it fits; `None` for NaN and what is out of range.
    pub fn to_i64_truncated(self) -> Option<i64> {
        let P::Finite { negative, coefficient, exponent } = self.parts() else { return None };
        let power = 10u128.checked_pow(exponent.unsigned_abs());
        let magnitude = match power {
            _ if coefficient == 0 => 0,
            Some(p) if exponent >= 0 => coefficient.checked_mul(p)?,
            None if exponent >= 0 => return None,
            Some(p) => coefficient / p,
            None => 0,
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if negative { -magnitude } else { magnitude }).ok()
    }

    /// The i64 with exactly this value.
    pub fn to_i64_exact(self) -> Option<i64> {
        if self.is_integral() { self.to_i64_truncated() } else { None }
    }

    /// Exact comparison with a double, in MongoDB's order (NaN equal to NaN and smallest).
    pub fn compare_f64(self, d: f64) -> Ordering {
        match self.parts() {
            P::Nan => {
                if d.is_nan() {
                    Ordering::Equal
                } else {
                    Ordering::Less
                }
            }
            _ if d.is_nan() => Ordering::Greater,
            P::Infinity { .. } => self.to_f64().total_cmp(&d),
            P::Finite { negative, coefficient, exponent } => {
                // Rounding keeps order, so only a double that is the nearest one needs more thought.
                let nearest = self.to_f64();
                match nearest.partial_cmp(&d) {
                    Some(Ordering::Equal) if d.is_infinite() => {
                        if negative {
                            Ordering::Greater
                        } else {
                            Ordering::Less
                        }
                    }
                    Some(Ordering::Equal) => {
                        let magnitude = compare_magnitude(coefficient, exponent, d.abs());
                        if negative { magnitude.reverse() } else { magnitude }
                    }
                    Some(order) => order,
                    None => Ordering::Equal,
                }
            }
        }
    }

    /// The largest double that is not above this number, and whether it is equal to it.
    pub fn floor_f64(self) -> (f64, bool) {
        let nearest = self.to_f64();
        match self.compare_f64(nearest) {
            Ordering::Equal => (nearest, true),
            Ordering::Greater => (nearest, false),
            Ordering::Less => (nearest.next_down(), false),
        }
    }

    /// Place of the leading digit and the coefficient brought to 34 digits; for finite non-zero
    /// numbers the pair orders magnitudes.
    pub(crate) fn normalized(coefficient: u128, exponent: i32) -> (i32, u128) {
        let Some(digits) = coefficient.checked_ilog10().map(|n| n + 1) else { return (i32::MIN, 0) };
        let scaled = coefficient.saturating_mul(10u128.pow(MAX_DIGITS.saturating_sub(digits)));
        (exponent + digits as i32, scaled)
    }
}

fn biased(shifted: u128) -> i32 {
    (shifted & 0x3FFF) as i32
}

/// Powers of ten that are exact doubles.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

fn magnitude_to_f64(coefficient: u128, exponent: i32) -> f64 {
    // Both operands exact: the one operation rounds correctly (Clinger's fast path).
    if coefficient < 1 << 53
        && let Some(power) = EXACT_POWERS.get(exponent.unsigned_abs() as usize)
    {
        let c = coefficient as u64 as f64;
        return if exponent < 0 { c / power } else { c * power };
    }
    Text::<64>::format(format_args!("{coefficient}e{exponent}")).as_str().parse().unwrap_or(f64::NAN)
}

/// Compares `coefficient * 10^exponent` with a finite double, both not negative, exactly.
fn compare_magnitude(coefficient: u128, exponent: i32, d: f64) -> Ordering {
    if coefficient == 0 || d == 0.0 {
        return (coefficient != 0).cmp(&(d != 0.0));
    }
    if let Some(order) = compare_magnitude_u128(coefficient, exponent, d) {
        return order;
    }
    // A double's exact decimal expansion has at most 767 significant digits.
    let text = Text::<800>::format(format_args!("{d:.766e}"));
    let (text_digits, text_exponent) = text.split_exponent();
    let decimal = Text::<64>::format(format_args!("{coefficient}"));
    let digits = decimal.as_str().bytes();
    let place = exponent + decimal.as_str().len() as i32 - 1;
    place.cmp(&text_exponent).then_with(|| {
        let mut own = digits.chain(std::iter::repeat(b'0'));
        let others = text_digits.bytes().filter(|b| *b != b'.');
        others.map(|b| own.next().unwrap_or(b'0').cmp(&b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    })
}

/// The same where both sides fit 128 bits after clearing denominators.
fn compare_magnitude_u128(coefficient: u128, exponent: i32, d: f64) -> Option<Ordering> {
    let bits = d.to_bits();
    let (biased, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (mantissa, power) = if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let ten = 10u128.checked_pow(exponent.unsigned_abs())?;
    let (mut left, mut right) = (coefficient, u128::from(mantissa));
    let scaled = if exponent < 0 { &mut right } else { &mut left };
    *scaled = scaled.checked_mul(ten)?;
    let shifted = if power < 0 { &mut left } else { &mut right };
    if shifted.leading_zeros() < power.unsigned_abs() {
        return None;
    }
    *shifted <<= power.unsigned_abs();
    Some(left.cmp(&right))
}

impl Ord for Decimal128 {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.parts(), other.parts());
        let rank = |p: DecimalParts| match p {
            P::Nan => 0u8,
            P::Infinity { negative: true } => 1,
            P::Finite { coefficient: 0, .. } => 3,
            P::Finite { negative: true, .. } => 2,
            P::Finite { .. } => 4,
            P::Infinity { .. } => 5,
        };
        rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
            (
                P::Finite { negative, coefficient, exponent },
                P::Finite { coefficient: c, exponent: e, .. },
            ) => {
                let order = Self::normalized(coefficient, exponent).cmp(&Self::normalized(c, e));
                if negative && coefficient != 0 { order.reverse() } else { order }
            }
            _ => Ordering::Equal,
        })
    }
}

impl PartialOrd for Decimal128 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal128 {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal128 {}

#[cfg(test)]
mod tests;
