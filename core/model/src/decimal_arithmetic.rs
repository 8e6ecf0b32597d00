//! Arithmetic on [`Decimal128`] through libdecnumber (crate `dec`).
//!
//! Numbers cross by coefficient and exponent, because libdecnumber's own 128-bit format is packed
//! decimal and BSON's is binary. The context is IEEE 754's decimal128: 34 digits, half to even,
//! exponents clamped; so results have the same digits and trailing zeros as MongoDB's.

use crate::decimal::{Decimal128, DecimalParts as P, MAX_EXPONENT, MIN_EXPONENT};
use dec::{Context, Decimal, Rounding};

/// 36 digits in units of three: one unit more than the 34 that ever come out.
const UNITS: usize = 12;
type Wide = Decimal<UNITS>;
type Ctx = Context<Wide>;

fn context() -> Ctx {
    let mut ctx = Ctx::default();
    // These values are within what the setters accept.
    let _ = ctx.set_precision(34);
    let _ = ctx.set_max_exponent(6144);
    let _ = ctx.set_min_exponent(-6143);
    ctx.set_clamp(true);
    ctx.set_rounding(Rounding::HalfEven);
    ctx
}

fn widen(d: Decimal128) -> Wide {
    match d.parts() {
        P::Nan => Wide::nan(),
        P::Infinity { negative } => {
            let infinity = Wide::infinity();
            if negative { -infinity } else { infinity }
        }
        P::Finite { negative, coefficient, exponent } => {
            let mut units = [0u16; UNITS];
            let mut rest = coefficient;
            for unit in &mut units {
                *unit = (rest % 1000) as u16;
                rest /= 1000;
            }
            let digits = coefficient.checked_ilog10().unwrap_or(0) + 1;
            let sign = if negative { NEGATIVE } else { 0 };
            Wide::from_raw_parts(digits, exponent, sign, units)
        }
    }
}

/// libdecnumber's sign bit (`DECNEG`).
const NEGATIVE: u8 = 0x80;

fn narrow(d: &Wide) -> Decimal128 {
    if d.is_nan() {
        return Decimal128::NAN;
    }
    if d.is_infinite() {
        return if d.is_negative() { Decimal128::NEG_INFINITY } else { Decimal128::INFINITY };
    }
    let (_, exponent, bits, _) = d.to_raw_parts();
    let coefficient = d.coefficient_units().iter().rev().fold(0u128, |n, unit| n * 1000 + u128::from(*unit));
    Decimal128::from_parts(bits & NEGATIVE != 0, coefficient, exponent)
}

fn binary(a: Decimal128, b: Decimal128, op: impl FnOnce(&mut Ctx, &mut Wide, &Wide)) -> Decimal128 {
    let mut left = widen(a);
    op(&mut context(), &mut left, &widen(b));
    narrow(&left)
}

fn unary(a: Decimal128, op: impl FnOnce(&mut Ctx, &mut Wide)) -> Decimal128 {
    let mut value = widen(a);
    op(&mut context(), &mut value);
    narrow(&value)
}

/// The remainder in units of the smaller exponent. libdecnumber gives up where the quotient has more than
/// 34 digits; MongoDB does not.
fn remainder_magnitude(a: u128, a_exponent: i32, b: u128, b_exponent: i32) -> u128 {
    let shift = a_exponent.abs_diff(b_exponent);
    if a_exponent < b_exponent {
        let divisor = 10u128.checked_pow(shift).and_then(|p| p.checked_mul(b));
        return divisor.map_or(a, |d| a % d);
    }
    // 34 digits times 10^4 still fit 128 bits.
    const STEP: u32 = 4;
    let mut rest = a % b;
    for _ in 0..shift / STEP {
        rest = rest * 10u128.pow(STEP) % b;
    }
    rest * 10u128.pow(shift % STEP) % b
}

/// How [`Decimal128::round_to_exponent`] treats what is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalRounding {
    /// To the nearest, ties to even.
    HalfEven,
    /// Toward zero.
    Truncate,
    /// Toward minus infinity.
    Floor,
    /// Toward plus infinity.
    Ceiling,
}

impl Decimal128 {
    /// `self + other`.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "arithmetic here is named, not spelled with operators")]
    pub fn add(self, other: Self) -> Self {
        binary(self, other, |ctx, a, b| ctx.add(a, b))
    }

    /// `self - other`.
    #[must_use]
    pub fn subtract(self, other: Self) -> Self {
        binary(self, other, |ctx, a, b| ctx.sub(a, b))
    }

    /// `self * other`.
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        binary(self, other, |ctx, a, b| ctx.mul(a, b))
    }

    /// `self / other` (by zero: infinity or NaN; callers check first where that is an error).
    #[must_use]
    pub fn divide(self, other: Self) -> Self {
        binary(self, other, |ctx, a, b| ctx.div(a, b))
    }

    /// The remainder of division truncated toward zero; it has the sign of `self`.
    #[must_use]
    pub fn remainder(self, other: Self) -> Self {
        match (self.parts(), other.parts()) {
            (
                P::Finite { negative, coefficient, exponent },
                P::Finite { coefficient: c, exponent: e, .. },
            ) if c != 0 => {
                let rest = remainder_magnitude(coefficient, exponent, c, e);
                Self::from_parts(negative, rest, exponent.min(e))
            }
            _ => binary(self, other, |ctx, a, b| ctx.rem(a, b)),
        }
    }

    /// Brought to the exponent of `like`; NaN when that needs more than 34 digits.
    #[must_use]
    pub fn quantize(self, like: Self) -> Self {
        binary(self, like, |ctx, a, b| ctx.quantize(a, b))
    }

    /// Rounded so that no digit stands below `10^exponent`; numbers that have none stay as they are.
    #[must_use]
    pub fn round_to_exponent(self, exponent: i32, rounding: DecimalRounding) -> Self {
        let P::Finite { exponent: own, .. } = self.parts() else { return self };
        if own >= exponent {
            return self;
        }
        let like = Self::from_parts(false, 1, exponent.clamp(MIN_EXPONENT, MAX_EXPONENT));
        binary(self, like, |ctx, a, b| {
            ctx.set_rounding(match rounding {
                DecimalRounding::HalfEven => Rounding::HalfEven,
                DecimalRounding::Truncate => Rounding::Down,
                DecimalRounding::Floor => Rounding::Floor,
                DecimalRounding::Ceiling => Rounding::Ceiling,
            });
            ctx.quantize(a, b);
        })
    }

    /// The square root (NaN below zero).
    #[must_use]
    pub fn square_root(self) -> Self {
        unary(self, |ctx, a| ctx.sqrt(a))
    }

    /// `e^self`.
    #[must_use]
    pub fn exp(self) -> Self {
        unary(self, |ctx, a| ctx.exp(a))
    }

    /// The natural logarithm.
    #[must_use]
    pub fn ln(self) -> Self {
        unary(self, |ctx, a| ctx.ln(a))
    }

    /// The logarithm to base ten.
    #[must_use]
    pub fn log10(self) -> Self {
        unary(self, |ctx, a| ctx.log10(a))
    }

    /// `self^power`.
    #[must_use]
    pub fn power(self, power: Self) -> Self {
        binary(self, power, |ctx, a, b| ctx.pow(a, b))
    }
}
