//! Decimal128 as text: the BSON specification's grammar and form.

use super::{Decimal128, DecimalParts as P, MAX_COEFFICIENT, MAX_DIGITS, MAX_EXPONENT, MIN_EXPONENT};
use crate::error::Error;
use std::fmt;
use std::io::Write;

impl Decimal128 {
    /// Reads a number in the BSON specification's grammar; `None` when the text is no number or
    /// could not be held without rounding.
    pub fn parse_exact(text: &str) -> Option<Self> {
        parse(text).filter(|(_, exact)| *exact).map(|(d, _)| d)
    }

    /// Reads a number in the BSON specification's grammar, rounding half to even where needed.
    pub fn parse_rounded(text: &str) -> Option<Self> {
        parse(text).map(|(d, _)| d)
    }

    /// From ASCII digits and an exponent; the flag says whether nothing was lost.
    pub(super) fn from_digits(negative: bool, digits: &[u8], exponent: i64) -> (Self, bool) {
        let zeros = digits.iter().take_while(|d| **d == b'0').count();
        let digits = digits.get(zeros..).unwrap_or_default();
        let (min, max) = (i64::from(MIN_EXPONENT), i64::from(MAX_EXPONENT));
        if digits.is_empty() {
            return (Self::finite(negative, 0, exponent.clamp(min, max) as i32), true);
        }
        let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        // How many digits must go: too many of them, or places below the smallest exponent.
        let excess = (count - i64::from(MAX_DIGITS)).max(min.saturating_sub(exponent)).max(0);
        let keep = usize::try_from(count - excess).unwrap_or(0);
        let (kept, dropped) = digits.split_at(keep.min(digits.len()));
        let mut coefficient = kept.iter().fold(0u128, |n, d| n * 10 + u128::from(d - b'0'));
        let exact = dropped.iter().all(|d| *d == b'0');
        // All digits below the place before the last kept one round to zero.
        let below_half_place = excess > count;
        if !exact && !below_half_place && rounds_up(coefficient, dropped) {
            coefficient += 1;
        }
        let mut exponent = exponent.saturating_add(excess);
        if coefficient > MAX_COEFFICIENT {
            coefficient /= 10;
            exponent += 1;
        }
        while exponent > max && coefficient != 0 && coefficient <= MAX_COEFFICIENT / 10 {
            coefficient *= 10;
            exponent -= 1;
        }
        if exponent > max {
            return (if negative { Self::NEG_INFINITY } else { Self::INFINITY }, false);
        }
        (Self::finite(negative, coefficient, exponent as i32), exact)
    }
}

/// Half to even, for what stands behind the last kept digit.
fn rounds_up(coefficient: u128, dropped: &[u8]) -> bool {
    match dropped.split_first() {
        Some((b'5', rest)) if rest.iter().all(|d| *d == b'0') => coefficient % 2 == 1,
        Some((first, _)) => *first >= b'5',
        None => false,
    }
}

fn parse(text: &str) -> Option<(Decimal128, bool)> {
    let (negative, body) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if body.eq_ignore_ascii_case(b"nan") {
        return Some((Decimal128::NAN, true));
    }
    if body.eq_ignore_ascii_case(b"inf") || body.eq_ignore_ascii_case(b"infinity") {
        return Some((if negative { Decimal128::NEG_INFINITY } else { Decimal128::INFINITY }, true));
    }
    let split = body.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, power) = match split {
        Some(at) => (body.get(..at)?, parse_exponent(body.get(at + 1..)?)?),
        None => (body, 0),
    };
    let point = mantissa.iter().position(|b| *b == b'.');
    let fraction_len = point.map_or(0, |at| mantissa.len() - at - 1);
    let digits: Vec<u8> =
        mantissa.iter().enumerate().filter(|(i, _)| Some(*i) != point).map(|(_, b)| *b).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let exponent = power.saturating_sub(i64::try_from(fraction_len).ok()?);
    Some(Decimal128::from_digits(negative, &digits, exponent))
}

/// The number behind `e`; capped far outside the format's range so that sums cannot overflow.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    const CAP: i64 = 1 << 40;
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n = digits.iter().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(CAP));
    Some(if negative { -n } else { n })
}

impl fmt::Debug for Decimal128 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Decimal128 {
    /// The BSON specification's text: plain where the exponent is small, else scientific.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (negative, coefficient, exponent) = match self.parts() {
            P::Nan => return f.write_str("NaN"),
            P::Infinity { negative } => return f.write_str(if negative { "-Infinity" } else { "Infinity" }),
            P::Finite { negative, coefficient, exponent } => (negative, coefficient, exponent),
        };
        if negative {
            f.write_str("-")?;
        }
        let text = Text::<64>::format(format_args!("{coefficient}"));
        let digits = text.as_str();
        let place = exponent + digits.len() as i32 - 1;
        if exponent > 0 || place < -6 {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            return write!(f, "{first}{point}{rest}E{place:+}");
        }
        let fraction = exponent.unsigned_abs() as usize;
        match digits.len().checked_sub(fraction) {
            _ if fraction == 0 => f.write_str(digits),
            Some(whole) if whole > 0 => {
                let (whole, rest) = digits.split_at(whole);
                write!(f, "{whole}.{rest}")
            }
            _ => write!(f, "0.{digits:0>fraction$}"),
        }
    }
}

/// Reads the BSON specification's grammar; text that would need rounding is refused.
impl std::str::FromStr for Decimal128 {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_exact(text).ok_or_else(|| Error::failed_to_parse(format!("no decimal number: {text:?}")))
    }
}

/// Text on the stack.
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub(super) fn format(args: fmt::Arguments<'_>) -> Self {
        let mut bytes = [0; N];
        let mut rest = bytes.as_mut_slice();
        // Callers choose N so that it fits; a cut text would only be a wrong digit far behind.
        let _ = rest.write_fmt(args);
        let len = N - rest.len();
        Text { bytes, len }
    }

    pub(super) fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default()
    }

    /// Splits `d.ddde-7`.
    pub(super) fn split_exponent(&self) -> (&str, i32) {
        let (digits, exponent) = self.as_str().split_once('e').unwrap_or((self.as_str(), "0"));
        (digits, exponent.parse().unwrap_or(0))
    }

    pub(super) fn coefficient_and_exponent(&self) -> (u128, i32) {
        let (digits, exponent) = self.split_exponent();
        let coefficient =
            digits.bytes().filter(u8::is_ascii_digit).fold(0u128, |n, d| n * 10 + u128::from(d - b'0'));
        (coefficient, exponent)
    }
}
