//! Operators on strings: by bytes, by characters (code points), by search.

use super::array::search_range;
use super::registry::{Args, MANY, Operator, list};
use super::types::to_text;
use super::value::{array, check_size, count, give, null, present, string, type_name};
use super::{EvalContext, Evaluated};
use multifora_model::{DocBuilder, ElementType as T, Error, Number, OwnedValue, Result, Val};

const ONE: (usize, usize) = (1, 1);
const TWO: (usize, usize) = (2, 2);
const THREE: (usize, usize) = (3, 3);

pub(super) const ROWS: &[Operator] = &[
    list("$concat", (0, MANY), concat, "the strings one after the other"),
    list("$toUpper", ONE, |a, cx| string(&coerced(a, cx, 0)?.to_ascii_uppercase()), "in upper case (ASCII)"),
    list("$toLower", ONE, |a, cx| string(&coerced(a, cx, 0)?.to_ascii_lowercase()), "in lower case (ASCII)"),
    list("$strcasecmp", TWO, strcasecmp, "order without regard to case (ASCII)"),
    list("$strLenBytes", ONE, |a, cx| length(a, cx, 34473, str::len), "the length in bytes"),
    list("$strLenCP", ONE, |a, cx| length(a, cx, 34471, |s| s.chars().count()), "the length in characters"),
    list("$substr", THREE, substr_bytes, "a part, by bytes"),
    list("$substrBytes", THREE, substr_bytes, "a part, by bytes"),
    list("$substrCP", THREE, substr_chars, "a part, by characters"),
    list("$indexOfBytes", (2, 4), index_of_bytes, "where a string occurs, in bytes"),
    list("$indexOfCP", (2, 4), index_of_chars, "where a string occurs, in characters"),
    list("$split", TWO, split, "the parts between separators"),
];

fn concat<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut all = String::new();
    for arg in args.iter() {
        let Some(value) = present(arg.eval(cx)?) else { return null() };
        match value.as_ref().as_str().filter(|_| value.as_ref().ty == T::String) {
            Some(text) => {
                check_size(all.len() + text.len())?;
                all.push_str(text);
            }
            None => {
                let found = value.as_ref().ty.name();
                return Err(Error::location(16702, format!("$concat only supports strings, not {found}")));
            }
        }
    }
    string(&all)
}

/// The argument as text: numbers and dates are written out, null and missing are empty.
fn coerced<'e>(args: Args<'e>, cx: &EvalContext<'e>, at: usize) -> Result<String> {
    match present(args.eval(at, cx)?) {
        None => Ok(String::new()),
        Some(value) => to_text(value.as_ref()).ok_or_else(|| {
            let found = value.as_ref().ty.name();
            Error::location(16007, format!("can't convert from BSON type {found} to String"))
        }),
    }
}

fn strcasecmp<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let a = coerced(args, cx, 0)?.to_ascii_uppercase();
    let b = coerced(args, cx, 1)?.to_ascii_uppercase();
    give(a.as_bytes().cmp(b.as_bytes()) as i32)
}

/// The text of a value that has to be a string.
pub(super) fn text_of<'v>(value: Option<&'v Val<'_>>, code: i32, message: &str) -> Result<&'v str> {
    value
        .filter(|v| v.as_ref().ty == T::String)
        .and_then(|v| v.as_ref().as_str())
        .ok_or_else(|| Error::location(code, format!("{message}, found: {}", type_name(value))))
}

fn length<'e>(args: Args<'e>, cx: &EvalContext<'e>, code: i32, len: fn(&str) -> usize) -> Evaluated<'e> {
    let value = args.eval(0, cx)?;
    let message = format!("{} requires a string argument", args.name());
    count(len(text_of(value.as_ref(), code, &message)?))
}

/// A number argument of `$substr…`, cut to a whole number.
fn offset<'e>(args: Args<'e>, cx: &EvalContext<'e>, at: usize, (code, what): (i32, &str)) -> Result<i64> {
    let value = args.eval(at, cx)?;
    let number = value.as_ref().and_then(|v| Number::from_value(v.as_ref())).ok_or_else(|| {
        let found = type_name(value.as_ref());
        let message = format!("{}:  {what} must be a numeric type (is BSON type {found})", args.name());
        Error::location(code, message)
    })?;
    Ok(number.truncate_to_i64())
}

fn substr_bytes<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let text = coerced(args, cx, 0)?;
    let start = offset(args, cx, 1, (16034, "starting index"))?;
    let len = offset(args, cx, 2, (16035, "length"))?;
    let Ok(start) = usize::try_from(start) else {
        let message = format!("{}: starting index must be non-negative (got: {start})", args.name());
        return Err(Error::location(50752, message));
    };
    let start = start.min(text.len());
    // A negative length stands for the rest.
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let end = start.saturating_add(len).min(text.len());
    if !text.is_char_boundary(start) {
        let message =
            format!("{}:  Invalid range, starting index is a UTF-8 continuation byte.", args.name());
        return Err(Error::location(28656, message));
    }
    if !text.is_char_boundary(end) {
        let message =
            format!("{}:  Invalid range, ending index is in the middle of a UTF-8 character.", args.name());
        return Err(Error::location(28657, message));
    }
    string(text.get(start..end).unwrap_or_default())
}

/// A whole, non-negative int argument of `$substrCP`.
fn whole_offset<'e>(args: Args<'e>, cx: &EvalContext<'e>, at: usize, code: i32, what: &str) -> Result<usize> {
    let value = args.eval(at, cx)?;
    let number = value.as_ref().and_then(|v| Number::from_value(v.as_ref())).ok_or_else(|| {
        let found = type_name(value.as_ref());
        Error::location(code, format!("$substrCP: {what} must be a numeric type (is BSON type {found})"))
    })?;
    let n = number.as_i32_exact().ok_or_else(|| {
        let message = format!("$substrCP: {what} cannot be represented as a 32-bit integral value");
        Error::location(code + 1, message)
    })?;
    usize::try_from(n).map_err(|_| {
        let code = if at == 1 { 34455 } else { 34454 };
        let verb = if at == 1 { "the starting index" } else { "length" };
        Error::location(code, format!("$substrCP: {verb} must be a nonnegative integer."))
    })
}

fn substr_chars<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let text = coerced(args, cx, 0)?;
    let start = whole_offset(args, cx, 1, 34450, "starting index")?;
    let len = whole_offset(args, cx, 2, 34452, "length")?;
    string(&text.chars().skip(start).take(len).collect::<String>())
}

fn index_of_bytes<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let text = text_of(Some(&value), 40091, "$indexOfBytes requires a string as the first argument")?;
    let wanted = args.eval(1, cx)?;
    let wanted = text_of(wanted.as_ref(), 40092, "$indexOfBytes requires a string as the second argument")?;
    let (start, end) = search_range(args, cx)?;
    let end = end.unwrap_or(text.len()).min(text.len());
    let bytes = text.as_bytes();
    let found = find_bytes(bytes.get(..end).unwrap_or_default(), wanted.as_bytes(), start);
    found.map_or_else(|| give(-1), count)
}

fn find_bytes(text: &[u8], wanted: &[u8], start: usize) -> Option<usize> {
    if wanted.is_empty() {
        return (start <= text.len()).then_some(start);
    }
    text.get(start..)?.windows(wanted.len()).position(|w| w == wanted).map(|at| at + start)
}

fn index_of_chars<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let text = text_of(Some(&value), 40093, "$indexOfCP requires a string as the first argument")?;
    let wanted = args.eval(1, cx)?;
    let wanted = text_of(wanted.as_ref(), 40094, "$indexOfCP requires a string as the second argument")?;
    let (start, end) = search_range(args, cx)?;
    let chars: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = wanted.chars().collect();
    let end = end.unwrap_or(chars.len()).min(chars.len());
    let searched = chars.get(..end).unwrap_or_default();
    let found = if wanted.is_empty() {
        (start <= searched.len()).then_some(start)
    } else {
        let rest = searched.get(start..).unwrap_or_default();
        rest.windows(wanted.len()).position(|w| w == wanted).map(|at| at + start)
    };
    found.map_or_else(|| give(-1), count)
}

fn split<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (value, separator) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(value), Some(separator)) = (present(value), present(separator)) else { return null() };
    let text = text_of(
        Some(&value),
        40085,
        "$split requires an expression that evaluates to a string as a first argument",
    )?;
    let separator = text_of(
        Some(&separator),
        40086,
        "$split requires an expression that evaluates to a string as a second argument",
    )?;
    if separator.is_empty() {
        return Err(Error::location(40087, "$split requires a non-empty separator"));
    }
    let mut out = DocBuilder::new_array();
    for part in text.split(separator) {
        out.push(OwnedValue::string(part).as_ref());
        check_size(out.len_bytes())?;
    }
    array(out)
}
