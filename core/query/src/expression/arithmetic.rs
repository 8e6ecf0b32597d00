//! Arithmetic: int, long, double and decimal with MongoDB's promotion; dates with `$add` and `$subtract`.

use super::registry::{Args, MANY, Operator, list};
use super::value::{give, is_nullish, null, number, present, type_name};
use super::{EvalContext, Evaluated};
use crate::accumulator::Total;
use multifora_model::{
    Decimal128, DecimalRounding, ElementType as T, Error, ErrorCode, Number, OwnedValue, Result, Val, text,
};

const ONE: (usize, usize) = (1, 1);
const TWO: (usize, usize) = (2, 2);

pub(super) const ROWS: &[Operator] = &[
    list("$add", (0, MANY), add, "the sum; with one date, a date"),
    list("$subtract", TWO, subtract, "the difference; of dates in milliseconds"),
    list("$multiply", (0, MANY), multiply, "the product"),
    list("$divide", TWO, divide, "the quotient"),
    list("$mod", TWO, modulo, "the remainder"),
    list("$abs", ONE, |a, cx| unary(a, cx, absolute), "the absolute value"),
    list(
        "$ceil",
        ONE,
        |a, cx| unary(a, cx, |n| Ok(to_whole(n, f64::ceil, DecimalRounding::Ceiling))),
        "rounded up",
    ),
    list(
        "$floor",
        ONE,
        |a, cx| unary(a, cx, |n| Ok(to_whole(n, f64::floor, DecimalRounding::Floor))),
        "rounded down",
    ),
    list("$round", (1, 2), |a, cx| to_place(a, cx, DecimalRounding::HalfEven), "rounded half to even"),
    list("$trunc", (1, 2), |a, cx| to_place(a, cx, DecimalRounding::Truncate), "cut toward zero"),
    list("$sqrt", ONE, |a, cx| unary(a, cx, square_root), "the square root"),
    list("$exp", ONE, |a, cx| unary(a, cx, |n| Ok(real(n, f64::exp, Decimal128::exp))), "e to the power"),
    list(
        "$ln",
        ONE,
        |a, cx| unary(a, cx, |n| logarithm(n, 28766, "$ln", f64::ln, Decimal128::ln)),
        "the natural logarithm",
    ),
    list(
        "$log10",
        ONE,
        |a, cx| unary(a, cx, |n| logarithm(n, 28761, "$log10", f64::log10, Decimal128::log10)),
        "the logarithm to base 10",
    ),
    list("$log", TWO, log_to_base, "the logarithm to a base"),
    list("$pow", TWO, power, "a power"),
    list("$bitAnd", (0, MANY), |a, cx| bitwise(a, cx, -1, |x, y| x & y), "bitwise and"),
    list("$bitOr", (0, MANY), |a, cx| bitwise(a, cx, 0, |x, y| x | y), "bitwise or"),
    list("$bitXor", (0, MANY), |a, cx| bitwise(a, cx, 0, |x, y| x ^ y), "bitwise exclusive or"),
    list("$bitNot", ONE, bit_not, "bitwise not"),
    list("$rand", (0, 0), |_, cx| give(cx.resources().random_f64()), "a random number"),
];

fn add<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut total = Total::default();
    let mut date = None;
    for arg in args.iter() {
        let Some(value) = present(arg.eval(cx)?) else { return null() };
        let raw = value.as_ref();
        match raw.as_date_ms() {
            Some(_) if date.is_some() => {
                return Err(Error::location(16612, "only one date allowed in an $add expression"));
            }
            Some(ms) => date = Some(ms),
            None if raw.ty.is_number() => total.add(raw),
            None => {
                let message = format!("$add only supports numeric or date types, not {}", raw.ty.name());
                return Err(Error::type_mismatch(message));
            }
        }
    }
    match date {
        Some(ms) => shifted(ms, total.sum()),
        None => number(total.sum()),
    }
}

fn shifted<'e>(ms: i64, by: Number) -> Evaluated<'e> {
    let by = match by {
        Number::Double(d) => Number::Double(d).truncate_to_i64_checked().map(|_| round_half_away(d)),
        Number::Decimal(d) => d.round_to_exponent(0, DecimalRounding::HalfEven).to_i64_exact(),
        whole => whole.as_i64_exact(),
    };
    let sum = by.and_then(|by| ms.checked_add(by));
    give(OwnedValue::date_ms(sum.ok_or_else(|| Error::new(ErrorCode::Overflow, "date overflow"))?))
}

fn round_half_away(d: f64) -> i64 {
    d.round() as i64
}

fn subtract<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (a, b) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(a), Some(b)) = (present(a), present(b)) else { return null() };
    let (a, b) = (a.as_ref(), b.as_ref());
    if let Some(from) = a.as_date_ms() {
        if let Some(what) = b.as_date_ms() {
            let difference = from.checked_sub(what);
            return give(difference.ok_or_else(|| Error::new(ErrorCode::Overflow, "date overflow"))?);
        }
        if let Some(what) = Number::from_value(b) {
            return shifted(from, what.negate());
        }
    }
    match (Number::from_value(a), Number::from_value(b)) {
        (Some(a), Some(b)) => number(a.subtract(b)),
        _ => Err(Error::type_mismatch(format!("can't $subtract {} from {}", b.ty.name(), a.ty.name()))),
    }
}

fn multiply<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut product = Number::Int32(1);
    for arg in args.iter() {
        let Some(value) = present(arg.eval(cx)?) else { return null() };
        let factor = Number::from_value(value.as_ref()).ok_or_else(|| {
            let ty = value.as_ref().ty.name();
            Error::type_mismatch(format!("$multiply only supports numeric types, not {ty}"))
        })?;
        product = product.multiply(factor);
    }
    number(product)
}

/// Two numbers; `None` when one of them is null or missing.
fn two_numbers<'e>(
    args: Args<'e>,
    cx: &EvalContext<'e>,
    refuse: impl Fn(&str, &str) -> Error,
) -> Result<Option<(Number, Number)>> {
    let (a, b) = (args.eval(0, cx)?, args.eval(1, cx)?);
    if is_nullish(a.as_ref()) || is_nullish(b.as_ref()) {
        return Ok(None);
    }
    let as_number = |v: &Option<Val<'_>>| v.as_ref().and_then(|v| Number::from_value(v.as_ref()));
    match (as_number(&a), as_number(&b)) {
        (Some(a), Some(b)) => Ok(Some((a, b))),
        _ => Err(refuse(type_name(a.as_ref()), type_name(b.as_ref()))),
    }
}

fn divide<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let refuse = |a: &str, b: &str| {
        Error::type_mismatch(format!("$divide only supports numeric types, not {a} and {b}"))
    };
    let Some((a, b)) = two_numbers(args, cx, refuse)? else { return null() };
    number(a.divide(b).ok_or_else(|| Error::bad_value("can't $divide by zero"))?)
}

fn modulo<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let refuse = |a: &str, b: &str| {
        Error::location(16611, format!("$mod only supports numeric types, not {a} and {b}"))
    };
    let Some((a, b)) = two_numbers(args, cx, refuse)? else { return null() };
    number(a.modulo(b).ok_or_else(|| Error::location(16610, "can't $mod by zero"))?)
}

/// An operator on one number.
fn unary<'e>(args: Args<'e>, cx: &EvalContext<'e>, f: impl Fn(Number) -> Result<Number>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let operand = Number::from_value(value.as_ref()).ok_or_else(|| {
        let ty = value.as_ref().ty.name();
        Error::location(28765, format!("{} only supports numeric types, not {ty}", args.name()))
    })?;
    number(f(operand)?)
}

fn absolute(n: Number) -> Result<Number> {
    match n {
        Number::Int64(i64::MIN) => Err(Error::location(28680, "can't take $abs of long long min")),
        Number::Double(d) => Ok(Number::Double(d.abs())),
        Number::Decimal(d) => Ok(Number::Decimal(d.abs())),
        whole if whole.is_negative() => Ok(whole.negate()),
        whole => Ok(whole),
    }
}

fn to_whole(n: Number, double: fn(f64) -> f64, decimal: DecimalRounding) -> Number {
    match n {
        Number::Double(d) => Number::Double(double(d)),
        Number::Decimal(d) => Number::Decimal(d.round_to_exponent(0, decimal)),
        whole => whole,
    }
}

/// A function of real numbers: decimals stay decimals, all else becomes a double.
fn real(n: Number, double: fn(f64) -> f64, decimal: fn(Decimal128) -> Decimal128) -> Number {
    match n {
        Number::Decimal(d) => Number::Decimal(decimal(d)),
        other => Number::Double(double(other.as_f64())),
    }
}

fn square_root(n: Number) -> Result<Number> {
    if n.is_negative() {
        return Err(Error::location(28714, "$sqrt's argument must be greater than or equal to 0"));
    }
    Ok(real(n, f64::sqrt, Decimal128::square_root))
}

fn logarithm(
    n: Number,
    code: i32,
    name: &str,
    double: fn(f64) -> f64,
    decimal: fn(Decimal128) -> Decimal128,
) -> Result<Number> {
    if !n.is_nan() && (n.is_negative() || n.is_zero()) {
        let shown = text::value(n.to_owned_value().as_ref());
        let message = format!("{name}'s argument must be a positive number, but is {shown}");
        return Err(Error::location(code, message));
    }
    Ok(real(n, double, decimal))
}

fn log_to_base<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (n, base) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(n), Some(base)) = (present(n), present(base)) else { return null() };
    let numeric = |v: &Val<'_>, code: i32, what: &str| {
        Number::from_value(v.as_ref()).ok_or_else(|| {
            Error::location(code, format!("$log's {what} must be numeric, not {}", v.as_ref().ty.name()))
        })
    };
    let n = numeric(&n, 28756, "argument")?;
    let base = numeric(&base, 28757, "base")?;
    let shown = |n: Number| text::value(n.to_owned_value().as_ref());
    if n.is_negative() || n.is_zero() {
        let message = format!("$log's argument must be a positive number, but is {}", shown(n));
        return Err(Error::location(28758, message));
    }
    if base.is_negative() || base.is_zero() || base == Number::Int32(1) {
        let message = format!("$log's base must be a positive number not equal to 1, but is {}", shown(base));
        return Err(Error::location(28759, message));
    }
    number(match (n, base) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(n.as_decimal().log10().divide(base.as_decimal().log10()))
        }
        _ => Number::Double(n.as_f64().ln() / base.as_f64().ln()),
    })
}

fn power<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (base, exponent) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(base), Some(exponent)) = (present(base), present(exponent)) else { return null() };
    let numeric = |v: &Val<'_>, code: i32, what: &str| {
        Number::from_value(v.as_ref()).ok_or_else(|| {
            Error::location(code, format!("$pow's {what} must be numeric, not {}", v.as_ref().ty.name()))
        })
    };
    let base = numeric(&base, 28762, "base")?;
    let exponent = numeric(&exponent, 28763, "exponent")?;
    if base.is_zero() && exponent.is_negative() {
        return Err(Error::location(28764, "$pow cannot take a base of 0 and a negative exponent"));
    }
    match (base, exponent) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            number(Number::Decimal(base.as_decimal().power(exponent.as_decimal())))
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => {
            number(Number::Double(base.as_f64().powf(exponent.as_f64())))
        }
        _ => number(whole_power(base, exponent)),
    }
}

/// A power of whole numbers: whole where it fits, else a double.
fn whole_power(base: Number, exponent: Number) -> Number {
    let double = || Number::Double(base.as_f64().powf(exponent.as_f64()));
    let (Some(b), Some(e)) = (base.as_i64_exact(), exponent.as_i64_exact()) else { return double() };
    let long = base.ty() == T::Int64 || exponent.ty() == T::Int64;
    let whole = match u32::try_from(e) {
        Ok(e) => b.checked_pow(e),
        // Only of 1 and -1 a huge or negative power is whole.
        Err(_) if b == 1 => Some(1),
        Err(_) if b == -1 => Some(if e % 2 == 0 { 1 } else { -1 }),
        Err(_) if e > 0 && b == 0 => Some(0),
        Err(_) => None,
    };
    match whole {
        Some(n) if long => Number::Int64(n),
        Some(n) => Number::int_or_long(n),
        None => double(),
    }
}

/// `$round` and `$trunc` at a decimal place.
fn to_place<'e>(args: Args<'e>, cx: &EvalContext<'e>, rounding: DecimalRounding) -> Evaluated<'e> {
    let name = args.name();
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let mut place = 0i64;
    if args.len() > 1 {
        let Some(given) = present(args.eval(1, cx)?) else { return null() };
        place = Number::from_value(given.as_ref()).and_then(Number::as_i64_exact).ok_or_else(|| {
            Error::location(51082, format!("precision argument to  {name} must be a integral value"))
        })?;
        if !(-20..=100).contains(&place) {
            let message =
                format!("cannot apply {name} with precision value {place} value must be in [-20, 100]");
            return Err(Error::location(51083, message));
        }
    }
    let operand = Number::from_value(value.as_ref()).ok_or_else(|| {
        let message = format!("{name} only supports numeric types, not {}", value.as_ref().ty.name());
        Error::location(51081, message)
    })?;
    number(rounded(operand, i32::try_from(place).unwrap_or_default(), rounding)?)
}

fn rounded(n: Number, place: i32, rounding: DecimalRounding) -> Result<Number> {
    Ok(match n {
        Number::Decimal(d) if !d.is_finite() => n,
        Number::Decimal(d) => Number::Decimal(d.round_to_exponent(-place, rounding)),
        Number::Double(d) if !d.is_finite() => n,
        Number::Double(d) if place == 0 => {
            let whole = rounding == DecimalRounding::Truncate;
            Number::Double(if whole { d.trunc() } else { d.round_ties_even() })
        }
        Number::Double(d) => {
            Number::Double(Decimal128::from_f64_34(d).round_to_exponent(-place, rounding).to_f64())
        }
        whole if place >= 0 => whole,
        whole => {
            let decimal = whole.as_decimal().round_to_exponent(-place, rounding);
            let n = decimal.to_i64_exact().ok_or_else(|| {
                let shown = text::value(whole.to_owned_value().as_ref());
                Error::location(
                    51080,
                    format!("invalid conversion from Decimal128 result in rounding {shown}"),
                )
            })?;
            if whole.ty() == T::Int64 { Number::Int64(n) } else { Number::int_or_long(n) }
        }
    })
}

fn bitwise<'e>(args: Args<'e>, cx: &EvalContext<'e>, start: i64, f: fn(i64, i64) -> i64) -> Evaluated<'e> {
    let mut bits = start;
    let mut long = false;
    for arg in args.iter() {
        let Some(value) = present(arg.eval(cx)?) else { return null() };
        let (n, is_long) = whole_operand(args.name(), &value)?;
        bits = f(bits, n);
        long |= is_long;
    }
    number(if long { Number::Int64(bits) } else { Number::int_or_long(bits) })
}

fn bit_not<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let (n, long) = whole_operand(args.name(), &value)?;
    number(if long { Number::Int64(!n) } else { Number::int_or_long(!n) })
}

fn whole_operand(name: &str, value: &Val<'_>) -> Result<(i64, bool)> {
    let value = value.as_ref();
    match (value.as_i32(), value.as_i64()) {
        (Some(n), _) => Ok((n.into(), false)),
        (_, Some(n)) => Ok((n, true)),
        _ => {
            let message = format!("{name} only supports int and long operands.");
            Err(Error::type_mismatch(message))
        }
    }
}
