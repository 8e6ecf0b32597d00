//! Trigonometry: doubles by the machine's functions; decimals by way of doubles.

use super::registry::{Args, Operator, list};
use super::value::{null, number, present};
use super::{EvalContext, Evaluated};
use multifora_model::{Decimal128, Error, Number, Result, Val, text};

const ONE: (usize, usize) = (1, 1);

pub(super) const ROWS: &[Operator] = &[
    list("$sin", ONE, |a, cx| real(a, cx, f64::sin, FINITE), "the sine"),
    list("$cos", ONE, |a, cx| real(a, cx, f64::cos, FINITE), "the cosine"),
    list("$tan", ONE, |a, cx| real(a, cx, f64::tan, FINITE), "the tangent"),
    list("$asin", ONE, |a, cx| real(a, cx, f64::asin, (-1.0, 1.0)), "the inverse sine"),
    list("$acos", ONE, |a, cx| real(a, cx, f64::acos, (-1.0, 1.0)), "the inverse cosine"),
    list("$atan", ONE, |a, cx| real(a, cx, f64::atan, ALL), "the inverse tangent"),
    list("$sinh", ONE, |a, cx| real(a, cx, f64::sinh, ALL), "the hyperbolic sine"),
    list("$cosh", ONE, |a, cx| real(a, cx, f64::cosh, ALL), "the hyperbolic cosine"),
    list("$tanh", ONE, |a, cx| real(a, cx, f64::tanh, ALL), "the hyperbolic tangent"),
    list("$asinh", ONE, |a, cx| real(a, cx, f64::asinh, ALL), "the inverse hyperbolic sine"),
    list(
        "$acosh",
        ONE,
        |a, cx| real(a, cx, f64::acosh, (1.0, f64::INFINITY)),
        "the inverse hyperbolic cosine",
    ),
    list("$atanh", ONE, |a, cx| real(a, cx, f64::atanh, (-1.0, 1.0)), "the inverse hyperbolic tangent"),
    list("$degreesToRadians", ONE, |a, cx| real(a, cx, f64::to_radians, ALL), "degrees as radians"),
    list("$radiansToDegrees", ONE, |a, cx| real(a, cx, f64::to_degrees, ALL), "radians as degrees"),
    list("$atan2", (2, 2), atan2, "the angle of a point"),
];

const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const FINITE: (f64, f64) = (f64::MIN, f64::MAX);

/// A function on the numbers between two ends, both included.
fn real<'e>(
    args: Args<'e>,
    cx: &EvalContext<'e>,
    f: fn(f64) -> f64,
    (lowest, highest): (f64, f64),
) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let operand = numeric(args.name(), &value, 28765)?;
    let d = operand.as_f64();
    if !d.is_nan() && !(lowest..=highest).contains(&d) {
        let shown = text::value(value.as_ref());
        let message =
            format!("cannot apply {} to {shown}, value must be in [{lowest},{highest}]", args.name());
        return Err(Error::location(50989, message));
    }
    like(f(d), &[operand])
}

fn atan2<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (y, x) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(y), Some(x)) = (present(y), present(x)) else { return null() };
    let (y, x) = (numeric("$atan2", &y, 51044)?, numeric("$atan2", &x, 51045)?);
    like(y.as_f64().atan2(x.as_f64()), &[y, x])
}

fn numeric(name: &str, value: &Val<'_>, code: i32) -> Result<Number> {
    Number::from_value(value.as_ref()).ok_or_else(|| {
        let found = value.as_ref().ty.name();
        Error::location(code, format!("{name} only supports numeric types, not {found}"))
    })
}

/// A decimal where an operand was one.
fn like<'e>(d: f64, operands: &[Number]) -> Evaluated<'e> {
    let decimal = operands.iter().any(|n| matches!(n, Number::Decimal(_)));
    number(if decimal { Number::Decimal(Decimal128::from_f64_34(d)) } else { Number::Double(d) })
}
