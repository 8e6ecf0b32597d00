//! Operators on arrays that look at elements one by one.

use super::registry::{Args, MANY, Operator, list};
use super::value::{array, as_int, check_size, count, elements, give, is_nullish, null, present, type_name};
use super::{EvalContext, Evaluated};
use multifora_model::compare::equal_with;
use multifora_model::{
    DocBuilder, ElementType as T, Error, ErrorCode, Number, OwnedValue, RawValue, Result, Val, text,
};

const ONE: (usize, usize) = (1, 1);
const TWO: (usize, usize) = (2, 2);
/// Longest array that `$range` makes.
const MAX_RANGE_ELEMENTS: i64 = 4_000_000;

pub(super) const ROWS: &[Operator] = &[
    list("$size", ONE, size, "the number of elements"),
    list("$isArray", ONE, is_array, "is it an array?"),
    list("$arrayElemAt", TWO, elem_at, "the element at a position"),
    list("$first", ONE, |a, cx| end(a, cx, 0), "the first element"),
    list("$last", ONE, |a, cx| end(a, cx, -1), "the last element"),
    list("$in", TWO, is_in, "is the value an element?"),
    list("$indexOfArray", (2, 4), index_of, "the position of a value"),
    list("$slice", (2, 3), slice, "a part of an array"),
    list("$concatArrays", (0, MANY), concat, "the arrays one after the other"),
    list("$reverseArray", ONE, reverse, "the elements from back to front"),
    list("$range", (2, 3), range, "a sequence of whole numbers"),
];

fn size<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let value = args.eval(0, cx)?;
    match value.as_ref().and_then(|v| v.as_ref().as_array()) {
        Some(items) => count(items.iter().count()),
        None => {
            let found = type_name(value.as_ref());
            let message = format!("The argument to $size must be an array, but was of type: {found}");
            Err(Error::location(17124, message))
        }
    }
}

fn is_array<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    give(args.eval(0, cx)?.is_some_and(|v| v.as_ref().ty == T::Array))
}

fn elem_at<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (items, at) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(items), Some(at)) = (present(items), present(at)) else { return null() };
    if items.as_ref().ty != T::Array {
        let found = items.as_ref().ty.name();
        let message = format!("$arrayElemAt's first argument must be an array, but is {found}");
        return Err(Error::location(28689, message));
    }
    if !at.as_ref().ty.is_number() {
        let found = at.as_ref().ty.name();
        let message = format!("$arrayElemAt's second argument must be a numeric value, but is {found}");
        return Err(Error::location(28690, message));
    }
    let at = as_int(at.as_ref()).ok_or_else(|| {
        let shown = text::value(at.as_ref());
        let message =
            format!("$arrayElemAt's second argument must be representable as a 32-bit integer: {shown}");
        Error::location(28691, message)
    })?;
    Ok(element(items, at))
}

/// The element at a position, from the end when it is negative.
fn element(items: Val<'_>, at: i32) -> Option<Val<'_>> {
    let find = |array: RawValue<'_>| -> Option<usize> {
        if at >= 0 {
            return usize::try_from(at).ok();
        }
        let len = array.as_array()?.iter().count();
        len.checked_sub(usize::try_from(at.unsigned_abs()).ok()?)
    };
    match items {
        Val::Borrowed(array) => array.as_array()?.iter().nth(find(array)?).map(|e| Val::Borrowed(e.value)),
        Val::Owned(array) => {
            let raw = array.as_ref();
            raw.as_array()?.iter().nth(find(raw)?).map(|e| Val::Owned(e.value.into()))
        }
    }
}

fn end<'e>(args: Args<'e>, cx: &EvalContext<'e>, at: i32) -> Evaluated<'e> {
    let Some(items) = present(args.eval(0, cx)?) else { return null() };
    if items.as_ref().ty != T::Array {
        let found = items.as_ref().ty.name();
        let message = format!("{}'s argument must be an array, but is {found}", args.name());
        return Err(Error::location(28689, message));
    }
    Ok(element(items, at))
}

fn is_in<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (value, items) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let Some(items) = items.filter(|v| v.as_ref().ty == T::Array) else {
        let items = args.eval(1, cx)?;
        let found = type_name(items.as_ref());
        return Err(Error::location(
            40081,
            format!("$in requires an array as a second argument, found: {found}"),
        ));
    };
    let found =
        value.is_some_and(|value| elements(&items).any(|e| equal_with(e, value.as_ref(), cx.collator())));
    give(found)
}

/// A position argument: a whole number that is not negative.
fn position(value: Option<&Val<'_>>, operator: &str, what: &str) -> Result<usize> {
    let shown = || value.map_or_else(|| "missing".to_owned(), |v| text::value(v.as_ref()));
    let number = value
        .and_then(|v| Number::from_value(v.as_ref()))
        .and_then(Number::as_i32_exact)
        .ok_or_else(|| {
            Error::location(
                40096,
                format!(
                    "{operator} requires an integral {what} index, found a value of type: {}, with value: {}",
                    type_name(value),
                    shown()
                ),
            )
        })?;
    usize::try_from(number).map_err(|_| {
        Error::location(40097, format!("{operator} requires a nonnegative {what} index, found: {number}"))
    })
}

/// Start and end of a search; the end is `None` when it was not given.
pub(super) fn search_range<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Result<(usize, Option<usize>)> {
    let mut start = 0;
    let mut end = None;
    if args.len() > 2 {
        start = position(args.eval(2, cx)?.as_ref(), args.name(), "starting")?;
    }
    if args.len() > 3 {
        end = Some(position(args.eval(3, cx)?.as_ref(), args.name(), "ending")?);
    }
    Ok((start, end))
}

fn index_of<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(items) = present(args.eval(0, cx)?) else { return null() };
    if items.as_ref().ty != T::Array {
        let found = items.as_ref().ty.name();
        let message = format!("$indexOfArray requires an array as a first argument, found: {found}");
        return Err(Error::location(40090, message));
    }
    let wanted = args.eval(1, cx)?;
    let (start, end) = search_range(args, cx)?;
    let end = end.unwrap_or(usize::MAX);
    let found = wanted.and_then(|wanted| {
        let mut items = elements(&items).enumerate().take(end).skip(start);
        items.find(|(_, e)| equal_with(*e, wanted.as_ref(), cx.collator())).map(|(at, _)| at)
    });
    match found {
        Some(at) => count(at),
        None => give(-1),
    }
}

fn slice<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (items, first) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let third = if args.len() > 2 { Some(args.eval(2, cx)?) } else { None };
    let nothing = is_nullish(items.as_ref()) || is_nullish(first.as_ref());
    if nothing || third.as_ref().is_some_and(|v| is_nullish(v.as_ref())) {
        return null();
    }
    let Some(items) = items.filter(|v| v.as_ref().ty == T::Array) else {
        let found = type_name(args.eval(0, cx)?.as_ref());
        let message = format!("First argument to $slice must be an array, but is of type: {found}");
        return Err(Error::location(28724, message));
    };
    let first = slice_number(first.as_ref(), "Second", 28725)?;
    let len = i64::try_from(elements(&items).count()).unwrap_or(i64::MAX);
    let (start, take) = match third {
        None if first >= 0 => (0, i64::from(first)),
        None => ((len + i64::from(first)).max(0), len),
        Some(n) => {
            let n = slice_number(n.as_ref(), "Third", 28727)?;
            if n <= 0 {
                return Err(Error::location(
                    28729,
                    format!("Third argument to $slice must be positive: {n}"),
                ));
            }
            let start = if first >= 0 { i64::from(first) } else { (len + i64::from(first)).max(0) };
            (start, i64::from(n))
        }
    };
    let as_len = |n: i64| usize::try_from(n).unwrap_or_default();
    let mut out = DocBuilder::new_array();
    for element in elements(&items).skip(as_len(start)).take(as_len(take)) {
        out.push(element);
    }
    array(out)
}

fn slice_number(value: Option<&Val<'_>>, which: &str, code: i32) -> Result<i32> {
    let number = value.and_then(|v| Number::from_value(v.as_ref())).ok_or_else(|| {
        let found = type_name(value);
        Error::location(code, format!("{which} argument to $slice must be numeric, but is of type: {found}"))
    })?;
    number.as_i32_exact().ok_or_else(|| {
        let shown = text::value(number.to_owned_value().as_ref());
        Error::location(
            code + 1,
            format!("{which} argument to $slice can't be represented as a 32-bit integer: {shown}"),
        )
    })
}

fn concat<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut out = DocBuilder::new_array();
    for arg in args.iter() {
        let Some(items) = present(arg.eval(cx)?) else { return null() };
        if items.as_ref().ty != T::Array {
            let found = items.as_ref().ty.name();
            return Err(Error::location(28664, format!("$concatArrays only supports arrays, not {found}")));
        }
        check_size(out.len_bytes() + items.as_ref().bytes.len())?;
        for element in elements(&items) {
            out.push(element);
        }
    }
    array(out)
}

fn reverse<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(items) = present(args.eval(0, cx)?) else { return null() };
    if items.as_ref().ty != T::Array {
        let found = items.as_ref().ty.name();
        let message = format!("The argument to $reverseArray must be an array, but was of type: {found}");
        return Err(Error::location(34435, message));
    }
    let all: Vec<RawValue<'_>> = elements(&items).collect();
    array_of(all.into_iter().rev())
}

/// An array of these values.
pub(super) fn array_of<'v, 'e>(values: impl Iterator<Item = RawValue<'v>>) -> Evaluated<'e> {
    let mut out = DocBuilder::new_array();
    for value in values {
        out.push(value);
    }
    array(out)
}

fn range<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let start = range_number(args.eval(0, cx)?.as_ref(), "starting value", 34443)?;
    let end = range_number(args.eval(1, cx)?.as_ref(), "ending value", 34445)?;
    let step =
        if args.len() > 2 { range_number(args.eval(2, cx)?.as_ref(), "step value", 34447)? } else { 1 };
    if step == 0 {
        return Err(Error::location(34449, "$range requires a non-zero step value"));
    }
    let distance = if step > 0 { end - start } else { start - end };
    let steps = if distance <= 0 { 0 } else { (distance + step.abs() - 1) / step.abs() };
    if steps > MAX_RANGE_ELEMENTS {
        let message = "$range would use too much memory (its array is too long)";
        return Err(Error::new(ErrorCode::ExceededMemoryLimit, message));
    }
    let mut out = DocBuilder::new_array();
    for at in 0..steps {
        let n = i32::try_from(start + at * step).unwrap_or_default();
        out.push(OwnedValue::from(n).as_ref());
    }
    array(out)
}

fn range_number(value: Option<&Val<'_>>, what: &str, code: i32) -> Result<i64> {
    let number = value.and_then(|v| Number::from_value(v.as_ref())).ok_or_else(|| {
        let found = type_name(value);
        Error::location(code, format!("$range requires a numeric {what}, found value of type:{found}"))
    })?;
    number.as_i32_exact().map(i64::from).ok_or_else(|| {
        let shown = text::value(number.to_owned_value().as_ref());
        Error::location(
            code + 1,
            format!(
                "$range requires a {what} that can be represented as a 32-bit integer, found value: {shown}"
            ),
        )
    })
}
