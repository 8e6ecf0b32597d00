//! Types and conversions: `$type`, `$isNumber`, `$convert` and its short forms, sizes.

use super::calendar;
use super::parse::ExprParser;
use super::registry::{Args, Operator, list, own};
use super::value::{count, give, null, present, string, type_name};
use super::{EvalContext, Evaluated, Expr};
use multifora_model::{
    Decimal128, ElementType as T, Error, ErrorCode, Number, OwnedValue, RawValue, Result, object_id, text,
};

const ONE: (usize, usize) = (1, 1);

pub(super) const ROWS: &[Operator] = &[
    list("$type", ONE, type_of, "the name of the type"),
    list(
        "$isNumber",
        ONE,
        |a, cx| give(a.eval(0, cx)?.is_some_and(|v| v.as_ref().ty.is_number())),
        "is it a number?",
    ),
    own("$convert", read_convert, convert_operator, "the value as another type"),
    list("$toBool", ONE, |a, cx| short(a, cx, T::Bool), "as a bool"),
    list("$toInt", ONE, |a, cx| short(a, cx, T::Int32), "as an int"),
    list("$toLong", ONE, |a, cx| short(a, cx, T::Int64), "as a long"),
    list("$toDouble", ONE, |a, cx| short(a, cx, T::Double), "as a double"),
    list("$toDecimal", ONE, |a, cx| short(a, cx, T::Decimal128), "as a decimal"),
    list("$toString", ONE, |a, cx| short(a, cx, T::String), "as a string"),
    list("$toObjectId", ONE, |a, cx| short(a, cx, T::ObjectId), "as an ObjectId"),
    list("$toDate", ONE, |a, cx| short(a, cx, T::Date), "as a date"),
    list("$tsSecond", ONE, |a, cx| timestamp_part(a, cx, |t| t >> 32), "the seconds of a timestamp"),
    list(
        "$tsIncrement",
        ONE,
        |a, cx| timestamp_part(a, cx, |t| t & 0xFFFF_FFFF),
        "the counter of a timestamp",
    ),
    list("$bsonSize", ONE, bson_size, "the bytes of a document"),
    list("$binarySize", ONE, binary_size, "the bytes of a string or binary value"),
];

fn timestamp_part<'e>(args: Args<'e>, cx: &EvalContext<'e>, part: fn(u64) -> u64) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let timestamp = value.as_ref().as_timestamp().ok_or_else(|| {
        let (name, found) = (args.name(), value.as_ref().ty.name());
        let code = if name == "$tsSecond" { 5_687_301 } else { 5_687_302 };
        Error::location(code, format!("Argument to {name} must be a timestamp, but is {found}"))
    })?;
    give(i64::try_from(part(timestamp)).unwrap_or(i64::MAX))
}

fn type_of<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    match args.expr(0).as_path().filter(|path| path.is_top_level()) {
        Some(path) => string(cx.type_of(path.first()).map_or("missing", |ty| ty.name())),
        None => string(type_name(args.eval(0, cx)?.as_ref())),
    }
}

fn bson_size<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    if matches!(args.expr(0), Expr::Root) {
        return count(cx.root_len_bytes());
    }
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    match value.as_ref().as_doc() {
        Some(doc) => count(doc.as_bytes().len()),
        None => {
            let found = value.as_ref().ty.name();
            Err(Error::location(31393, format!("$bsonSize requires a document input, found: {found}")))
        }
    }
}

fn binary_size<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let raw = value.as_ref();
    match (raw.as_binary(), raw.ty) {
        (Some((_, bytes)), _) => count(bytes.len()),
        (None, T::String) => count(raw.as_str_bytes().map_or(0, <[u8]>::len)),
        _ => {
            let found = raw.ty.name();
            Err(Error::location(
                51276,
                format!("$binarySize requires a string or BinData argument, found: {found}"),
            ))
        }
    }
}

fn short<'e>(args: Args<'e>, cx: &EvalContext<'e>, to: T) -> Evaluated<'e> {
    match present(args.eval(0, cx)?) {
        None => null(),
        Some(value) => give(convert(value.as_ref(), to)?),
    }
}

/// `{input, to, onError, onNull}`; whether the last two are there is in the number of arguments'
/// places: a missing one reads as missing.
fn read_convert(
    parser: &mut ExprParser<'_>,
    operator: &'static Operator,
    value: RawValue<'_>,
) -> Result<Expr> {
    let doc = value.as_doc().ok_or_else(|| {
        let found = value.ty.name();
        Error::failed_to_parse(format!("$convert expects an object of named arguments but found: {found}"))
    })?;
    let names = ["input", "to", "onError", "onNull"];
    let mut args = vec![Expr::Missing; names.len()];
    for field in doc {
        match names.iter().zip(args.iter_mut()).find(|(name, _)| **name == field.name()) {
            Some((_, slot)) => *slot = parser.operand(field.value)?,
            None => {
                let message = format!("$convert found an unknown argument: {}", field.name());
                return Err(Error::failed_to_parse(message));
            }
        }
    }
    for name in ["input", "to"] {
        if doc.get(name).is_none() {
            return Err(Error::failed_to_parse(format!("Missing '{name}' parameter to $convert")));
        }
    }
    Ok(Expr::Call(operator, args))
}

fn convert_operator<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let to = args.eval(1, cx)?;
    let input = present(args.eval(0, cx)?);
    let Some(input) = input else {
        return if args.has(3) { args.eval(3, cx) } else { null() };
    };
    let Some(to) = present(to) else { return null() };
    let to = target_type(to.as_ref())?;
    match convert(input.as_ref(), to) {
        Ok(value) => give(value),
        Err(_) if args.has(2) => args.eval(2, cx),
        Err(error) => Err(error),
    }
}

/// The type that `to` names: an alias, a code, or `{type: …}`.
fn target_type(to: RawValue<'_>) -> Result<T> {
    if let Some(named) = to.as_doc().and_then(|doc| doc.get("type")) {
        return target_type(named);
    }
    if to.ty == T::String {
        let name = to.as_str().unwrap_or_default();
        return T::from_name(name).ok_or_else(|| Error::bad_value(format!("Unknown type name: {name}")));
    }
    let code = Number::from_value(to).ok_or_else(|| {
        Error::failed_to_parse(format!(
            "$convert's 'to' argument must be a string or number, but is {}",
            to.ty.name()
        ))
    })?;
    let ty = code.as_i64_exact().and_then(|n| match n {
        -1 => Some(T::MinKey),
        255 => None,
        n => u8::try_from(n).ok().and_then(T::from_byte),
    });
    ty.ok_or_else(|| {
        let message = "In $convert, numeric value for 'to' does not correspond to a BSON type: ";
        Error::failed_to_parse(format!("{message}{}", text::value(to)))
    })
}

fn failure(message: String) -> Error {
    Error::new(ErrorCode::ConversionFailure, message)
}

fn unsupported(from: T, to: T) -> Error {
    failure(format!(
        "Unsupported conversion from {} to {} in $convert with no onError value",
        from.name(),
        to.name()
    ))
}

/// Converts a value that is not null.
fn convert(value: RawValue<'_>, to: T) -> Result<OwnedValue> {
    if value.ty == to {
        return Ok(value.into());
    }
    match to {
        T::Bool => Ok(super::is_truthy(value).into()),
        T::String => to_string(value),
        T::Double | T::Int32 | T::Int64 | T::Decimal128 => to_number(value, to),
        T::ObjectId => to_object_id(value),
        T::Date => to_date(value),
        _ => Err(unsupported(value.ty, to)),
    }
}

fn to_string(value: RawValue<'_>) -> Result<OwnedValue> {
    let text = match value.ty {
        T::Bool => Some(value.as_bool().unwrap_or_default().to_string()),
        T::ObjectId => value.as_object_id().map(object_id::to_hex),
        T::Symbol | T::JavaScript | T::Timestamp => None,
        _ => to_text(value),
    };
    text.map(|text| OwnedValue::string(&text)).ok_or_else(|| unsupported(value.ty, T::String))
}

/// A value as text, where it has one: strings, numbers, dates (`$concat`'s relatives take them all).
pub(super) fn to_text(value: RawValue<'_>) -> Option<String> {
    match value.ty {
        T::String | T::Symbol | T::JavaScript => value.as_str().map(str::to_owned),
        T::Date => value.as_date_ms().map(calendar::iso),
        T::Timestamp => value.as_timestamp().map(|_| text::value(value)),
        _ => Number::from_value(value).map(|number| match number {
            Number::Int32(n) => n.to_string(),
            Number::Int64(n) => n.to_string(),
            Number::Double(d) => double_text(d),
            Number::Decimal(d) => d.to_string(),
        }),
    }
}

/// A double as MongoDB's `$toString` writes it: like C's `%.16g`.
fn double_text(d: f64) -> String {
    if d.is_nan() {
        return "NaN".to_owned();
    }
    if d.is_infinite() {
        return if d > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if d == 0.0 {
        return if d.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    // The shortest digits that read back; never more than 17.
    let scientific = format!("{d:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-5..16).contains(&exponent) {
        return format!("{d}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn to_number(value: RawValue<'_>, to: T) -> Result<OwnedValue> {
    let number = match value.ty {
        T::Bool => Number::Int32(value.as_bool().unwrap_or_default().into()),
        T::String => return parse_number(value.as_str().unwrap_or_default(), to),
        T::Date if to != T::Int32 => Number::Int64(value.as_date_ms().unwrap_or_default()),
        _ => Number::from_value(value).ok_or_else(|| unsupported(value.ty, to))?,
    };
    let overflow = || {
        failure(format!(
            "Conversion would overflow target type in $convert with no onError value: {}",
            text::value(value)
        ))
    };
    if matches!(to, T::Int32 | T::Int64) && !number.is_finite() {
        let what = if number.is_nan() { "NaN" } else { "infinity" };
        let message =
            format!("Attempt to convert {what} value to integer type in $convert with no onError value");
        return Err(failure(message));
    }
    Ok(match to {
        T::Double => {
            let d = number.as_f64();
            if number.is_finite() && !d.is_finite() {
                return Err(overflow());
            }
            d.into()
        }
        T::Decimal128 => Number::Decimal(number.as_decimal()).to_owned_value(),
        T::Int32 => {
            let n = number.truncate_to_i64_checked().and_then(|n| i32::try_from(n).ok());
            n.ok_or_else(overflow)?.into()
        }
        _ => number.truncate_to_i64_checked().ok_or_else(overflow)?.into(),
    })
}

fn parse_number(text: &str, to: T) -> Result<OwnedValue> {
    let refuse = |why: &str| {
        failure(format!("Failed to parse number '{text}' in $convert with no onError value: {why}"))
    };
    if text.is_empty() {
        return Err(refuse("Empty string"));
    }
    if text.starts_with(char::is_whitespace) {
        return Err(refuse("Leading whitespace"));
    }
    let rest = "Did not consume whole string.";
    Ok(match to {
        T::Int32 => text.parse::<i32>().map_err(|e| refuse(parse_fault(&e)))?.into(),
        T::Int64 => text.parse::<i64>().map_err(|e| refuse(parse_fault(&e)))?.into(),
        T::Double => {
            let d: f64 = text.parse().map_err(|_| refuse(rest))?;
            if d.is_infinite() && !text.to_ascii_lowercase().contains("inf") {
                return Err(refuse("Out of range"));
            }
            d.into()
        }
        _ => {
            let d =
                Decimal128::parse_rounded(text).ok_or_else(|| refuse("Failed to parse string to decimal"))?;
            Number::Decimal(d).to_owned_value()
        }
    })
}

fn parse_fault(error: &std::num::ParseIntError) -> &'static str {
    match error.kind() {
        std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "Overflow",
        _ => "Did not consume whole string.",
    }
}

fn to_object_id(value: RawValue<'_>) -> Result<OwnedValue> {
    if value.ty != T::String {
        return Err(unsupported(value.ty, T::ObjectId));
    }
    let text = value.as_str().unwrap_or_default();
    let id = object_id::from_hex(text).ok_or_else(|| {
        failure(format!(
            "Failed to parse objectId '{text}' in $convert with no onError value: Invalid string length for \
             parsing to OID, expected 24 but found {}",
            text.len()
        ))
    })?;
    Ok(OwnedValue::new(T::ObjectId, &id))
}

fn to_date(value: RawValue<'_>) -> Result<OwnedValue> {
    let ms = match value.ty {
        T::ObjectId => value.as_object_id().map(|id| i64::from(object_id::unix_secs(id)) * 1000),
        T::Timestamp => {
            value.as_timestamp().and_then(|t| i64::try_from(t >> 32).ok()).map(|secs| secs * 1000)
        }
        T::String => return calendar::parse(value.as_str().unwrap_or_default()).map(OwnedValue::date_ms),
        T::Double | T::Decimal128 | T::Int64 => {
            match Number::from_value(value).map(Number::truncate_to_i64_checked) {
                Some(None) => {
                    let message = "Conversion would overflow target type in $convert with no onError value: ";
                    return Err(failure(format!("{message}{}", text::value(value))));
                }
                found => found.flatten(),
            }
        }
        _ => None,
    };
    ms.map(OwnedValue::date_ms).ok_or_else(|| unsupported(value.ty, T::Date))
}
