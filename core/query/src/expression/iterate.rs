//! Operators that evaluate an expression for every element: `$map $filter $reduce`, and `$zip`, `$sortArray`.

use super::parse::{ExprParser, check_defined_variable};
use super::registry::{Args, NamedCodes, Operator, named, own};
use super::value::{array, check_size, elements, null, present, type_name};
use super::{EvalContext, Evaluated, Expr};
use crate::sort::SortSpec;
use multifora_model::compare::compare_with;
use multifora_model::{
    DocBuilder, DocumentView, ElementType as T, Error, Number, OwnedValue, RawDoc, RawValue, Result, Val,
    text,
};

pub(super) const ROWS: &[Operator] = &[
    own("$map", read_map, map, "an expression for every element"),
    own("$filter", read_filter, filter, "the elements that meet a condition"),
    own("$reduce", read_reduce, reduce, "one value from all elements"),
    named(
        "$zip",
        &[("inputs", true), ("useLongestLength", false), ("defaults", false)],
        NamedCodes { not_a_document: 34460, unknown: 34464, missing: 34465 },
        zip,
        "the elements of several arrays side by side",
    ),
    named(
        "$sortArray",
        &[("input", true), ("sortBy", true)],
        NamedCodes { not_a_document: 2_942_500, unknown: 2_942_501, missing: 2_942_502 },
        sort_array,
        "the elements in order",
    ),
];

/// The fields of an operator's document; `unknown` is the code for any other.
fn fields<'v, const N: usize>(
    operator: &str,
    value: RawValue<'v>,
    names: [&str; N],
    (not_a_document, unknown): (i32, i32),
) -> Result<[Option<RawValue<'v>>; N]> {
    let doc = value.as_doc().ok_or_else(|| {
        Error::location(not_a_document, format!("{operator} only supports an object as its argument"))
    })?;
    let mut found = [None; N];
    for field in doc {
        match names.iter().zip(found.iter_mut()).find(|(name, _)| **name == field.name()) {
            Some((_, slot)) => *slot = Some(field.value),
            None => {
                let message = format!("Unrecognized parameter to {operator}: {}", field.name());
                return Err(Error::location(unknown, message));
            }
        }
    }
    Ok(found)
}

fn required<'v>(operator: &str, name: &str, value: Option<RawValue<'v>>, code: i32) -> Result<RawValue<'v>> {
    value.ok_or_else(|| Error::location(code, format!("Missing '{name}' parameter to {operator}")))
}

/// The name that an element has in the body.
fn element_name(value: Option<RawValue<'_>>) -> Result<String> {
    let name = match value {
        None => "this",
        Some(value) => value.as_str().unwrap_or_default(),
    };
    check_defined_variable(name)?;
    Ok(name.to_owned())
}

fn read_map(parser: &mut ExprParser<'_>, operator: &'static Operator, value: RawValue<'_>) -> Result<Expr> {
    let [input, name, body] = fields("$map", value, ["input", "as", "in"], (16878, 16879))?;
    let input = required("$map", "input", input, 16880)?;
    let body = required("$map", "in", body, 16882)?;
    let input = parser.operand(input)?;
    let body = parser.operand_with(vec![element_name(name)?], body)?;
    Ok(Expr::Call(operator, vec![input, body]))
}

/// An array to go through, or `None` where null stands for it.
fn input<'e>(args: Args<'e>, cx: &EvalContext<'e>, code: i32) -> Result<Option<Val<'e>>> {
    let Some(items) = present(args.eval(0, cx)?) else { return Ok(None) };
    if items.as_ref().ty == T::Array {
        return Ok(Some(items));
    }
    let (name, found) = (args.name(), items.as_ref().ty.name());
    let message = match name {
        "$reduce" => {
            format!("$reduce requires that 'input' be an array, found: {}", text::value(items.as_ref()))
        }
        _ => format!("input to {name} must be an array not {found}"),
    };
    Err(Error::location(code, message))
}

fn map<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(items) = input(args, cx, 16883)? else { return null() };
    let body = args.expr(1);
    let mut out = DocBuilder::new_array();
    for element in elements(&items) {
        let values = [Some(Val::Borrowed(element))];
        let scope = cx.scope(&values);
        let value = body.eval(&cx.inside(&scope))?;
        out.push(value.as_ref().map_or(RawValue::NULL, Val::as_ref));
        check_size(out.len_bytes())?;
        cx.resources().check_interrupt()?;
    }
    array(out)
}

fn read_filter(
    parser: &mut ExprParser<'_>,
    operator: &'static Operator,
    value: RawValue<'_>,
) -> Result<Expr> {
    let [input, name, cond, limit] =
        fields("$filter", value, ["input", "as", "cond", "limit"], (28646, 28647))?;
    let input = required("$filter", "input", input, 28648)?;
    let cond = required("$filter", "cond", cond, 28650)?;
    let input = parser.operand(input)?;
    let cond = parser.operand_with(vec![element_name(name)?], cond)?;
    let limit = limit.map_or(Ok(Expr::Missing), |limit| parser.operand(limit))?;
    Ok(Expr::Call(operator, vec![input, cond, limit]))
}

fn filter<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(items) = input(args, cx, 28651)? else { return null() };
    let mut left = filter_limit(args, cx)?;
    let mut out = DocBuilder::new_array();
    for element in elements(&items) {
        if left == 0 {
            break;
        }
        let values = [Some(Val::Borrowed(element))];
        let scope = cx.scope(&values);
        if args.expr(1).is_true(&cx.inside(&scope))? {
            out.push(element);
            left -= 1;
        }
        cx.resources().check_interrupt()?;
    }
    array(out)
}

fn filter_limit<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Result<i64> {
    let Some(limit) = present(args.eval(2, cx)?) else { return Ok(i64::MAX) };
    let shown = text::value(limit.as_ref());
    let n = Number::from_value(limit.as_ref()).and_then(Number::as_i32_exact).ok_or_else(|| {
        let message = format!("$filter: limit must be represented as a 32-bit integral value: {shown}");
        Error::location(327_391, message)
    })?;
    if n < 1 {
        return Err(Error::location(327_392, format!("$filter: limit must be greater than 0: {shown}")));
    }
    Ok(n.into())
}

fn read_reduce(
    parser: &mut ExprParser<'_>,
    operator: &'static Operator,
    value: RawValue<'_>,
) -> Result<Expr> {
    if value.as_doc().is_none() {
        let message = format!("$reduce requires an object as an argument, found: {}", value.ty.name());
        return Err(Error::location(40075, message));
    }
    let [input, initial, body] = fields("$reduce", value, ["input", "initialValue", "in"], (40075, 40076))?;
    let need = |value: Option<_>, name: &str, code: i32| {
        value.ok_or_else(|| Error::location(code, format!("$reduce requires '{name}' to be specified")))
    };
    let input = parser.operand(need(input, "input", 40077)?)?;
    let initial = parser.operand(need(initial, "initialValue", 40078)?)?;
    let names = vec!["this".to_owned(), "value".to_owned()];
    let body = parser.operand_with(names, need(body, "in", 40079)?)?;
    Ok(Expr::Call(operator, vec![input, initial, body]))
}

fn reduce<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(items) = input(args, cx, 40080)? else { return null() };
    let mut value: Option<OwnedValue> = args.eval(1, cx)?.map(Val::into_owned);
    for element in elements(&items) {
        let values = [Some(Val::Borrowed(element)), value.as_ref().map(|v| Val::Borrowed(v.as_ref()))];
        let scope = cx.scope(&values);
        let next = args.expr(2).eval(&cx.inside(&scope))?.map(Val::into_owned);
        value = next;
        cx.resources().check_interrupt()?;
    }
    Ok(value.map(Val::Owned))
}

fn zip<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let inputs = args.eval(0, cx)?;
    let Some(inputs) = inputs.filter(|v| v.as_ref().ty == T::Array) else {
        return Err(Error::location(34461, "inputs must be an array of expressions"));
    };
    let longest = args.eval(1, cx)?.is_some_and(|v| v.as_ref().as_bool() == Some(true));
    let defaults = present(args.eval(2, cx)?);
    let mut columns: Vec<Vec<RawValue<'_>>> = Vec::new();
    for column in elements(&inputs) {
        if column.is_nullish() {
            return null();
        }
        let items = column.as_array().ok_or_else(|| {
            let message = format!("$zip found a non-array expression in input: {}", text::value(column));
            Error::location(34468, message)
        })?;
        columns.push(items.iter().map(|e| e.value).collect());
    }
    if columns.is_empty() {
        return Err(Error::location(34465, "$zip requires at least one input array"));
    }
    if defaults.is_some() && !longest {
        return Err(Error::location(34466, "cannot specify defaults unless useLongestLength is true"));
    }
    let defaults: Vec<RawValue<'_>> = defaults.iter().flat_map(elements).collect();
    if !defaults.is_empty() && defaults.len() != columns.len() {
        return Err(Error::location(34467, "defaults and inputs must have the same length"));
    }
    let lengths = columns.iter().map(Vec::len);
    let rows = if longest { lengths.max() } else { lengths.min() }.unwrap_or_default();
    let mut out = DocBuilder::new_array();
    for row in 0..rows {
        out.push_start_array();
        for (column, at) in columns.iter().zip(0usize..) {
            let default = defaults.get(at).copied().unwrap_or(RawValue::NULL);
            out.push(column.get(row).copied().unwrap_or(default));
        }
        out.end();
        check_size(out.len_bytes())?;
    }
    array(out)
}

fn sort_array<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(items) = present(args.eval(0, cx)?) else { return null() };
    if items.as_ref().ty != T::Array {
        let found = items.as_ref().ty.name();
        let message = format!("The input argument to $sortArray must be an array, but was of type: {found}");
        return Err(Error::location(2_942_504, message));
    }
    let order = args.eval(1, cx)?;
    let mut values: Vec<RawValue<'_>> = elements(&items).collect();
    match order.as_ref().and_then(|v| v.as_ref().as_doc()) {
        Some(spec) => sort_by_fields(&mut values, spec, cx)?,
        None => sort_by_value(&mut values, order.as_ref(), cx)?,
    }
    super::array::array_of(values.into_iter())
}

fn sort_by_value(values: &mut [RawValue<'_>], order: Option<&Val<'_>>, cx: &EvalContext<'_>) -> Result<()> {
    match order.and_then(|v| Number::from_value(v.as_ref())).and_then(Number::as_i64_exact) {
        Some(1) => values.sort_by(|a, b| compare_with(*a, *b, cx.collator())),
        Some(-1) => values.sort_by(|a, b| compare_with(*b, *a, cx.collator())),
        _ => {
            let found = type_name(order);
            let message = format!("sortBy must be 1, -1, or an object of sort keys, found: {found}");
            return Err(Error::location(2_942_503, message));
        }
    }
    Ok(())
}

/// What is no document sorts like one without the fields.
fn sort_by_fields(values: &mut Vec<RawValue<'_>>, spec: RawDoc<'_>, cx: &EvalContext<'_>) -> Result<()> {
    let spec = SortSpec::compile(spec)?.with_collation(cx.collation());
    let mut keyed: Vec<(Vec<u8>, RawValue<'_>)> = Vec::with_capacity(values.len());
    for value in values.iter() {
        let view = DocumentView::whole(value.as_doc().unwrap_or(RawDoc::EMPTY));
        let mut key = Vec::new();
        spec.key(&view, &mut key)?;
        keyed.push((key, *value));
    }
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    *values = keyed.into_iter().map(|(_, value)| value).collect();
    Ok(())
}
