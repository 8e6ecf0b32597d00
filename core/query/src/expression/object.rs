//! Documents as values: merging, taking apart, putting together, fields by computed names.

use super::parse::ExprParser;
use super::registry::{Args, MANY, NamedCodes, Operator, list, named, own};
use super::value::{array, document, elements, null, present, type_name};
use super::{EvalContext, Evaluated, Expr};
use crate::accumulator::MergeObjects;
use multifora_model::{DocBuilder, ElementType as T, Error, OwnedValue, RawValue, Result, Val, text};

const ONE: (usize, usize) = (1, 1);

pub(super) const ROWS: &[Operator] = &[
    list("$mergeObjects", (0, MANY), merge, "the documents in one, later fields winning"),
    list("$objectToArray", ONE, to_array, "the fields as an array of k and v"),
    list("$arrayToObject", ONE, from_array, "a document from an array of fields"),
    own("$getField", read_get_field, get_field, "a field by its literal name"),
    named(
        "$setField",
        &[("field", true), ("input", true), ("value", true)],
        SET_FIELD,
        set_field,
        "a document with a field set by its literal name",
    ),
    named(
        "$unsetField",
        &[("field", true), ("input", true)],
        SET_FIELD,
        set_field,
        "a document without a field, by its literal name",
    ),
];

const SET_FIELD: NamedCodes =
    NamedCodes { not_a_document: 4_161_100, unknown: 4_161_101, missing: 4_161_109 };

fn merge<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut merged = MergeObjects::default();
    for arg in args.iter() {
        let Some(value) = present(arg.eval(cx)?) else { continue };
        // One array as the only argument stands for its elements.
        match (value.as_ref().as_array(), args.len()) {
            (Some(_), 1) => {
                for element in elements(&value) {
                    merged.take(element)?;
                }
            }
            _ => merged.take(value.as_ref())?,
        }
    }
    Ok(Some(Val::Owned(merged.document())))
}

fn to_array<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let doc = value.as_ref().as_doc().ok_or_else(|| {
        let found = value.as_ref().ty.name();
        Error::location(40390, format!("$objectToArray requires a document input, found: {found}"))
    })?;
    let mut out = DocBuilder::new_array();
    for field in doc {
        out.push_start_doc();
        out.append("k", OwnedValue::string(field.name()).as_ref());
        out.append("v", field.value).end();
    }
    array(out)
}

fn from_array<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    if value.as_ref().ty != T::Array {
        let found = value.as_ref().ty.name();
        return Err(Error::location(
            40386,
            format!("$arrayToObject requires an array input, found: {found}"),
        ));
    }
    let mut merged = MergeObjects::default();
    let mut pairs = None;
    for element in elements(&value) {
        let is_pair = element.ty == T::Array;
        if *pairs.get_or_insert(is_pair) != is_pair {
            let (code, wanted) = if is_pair { (40391, "object") } else { (40396, "array") };
            let found = element.ty.name();
            let message = format!(
                "$arrayToObject requires a consistent input format. Expected {wanted}. Found {found}"
            );
            return Err(Error::location(code, message));
        }
        let (name, value) = if is_pair { pair(element)? } else { key_and_value(element)? };
        let Some(text) = name.as_str().filter(|_| name.ty == T::String) else {
            let code = if is_pair { 40394 } else { 40395 };
            let found = name.ty.name();
            let message = format!(
                "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: {found}"
            );
            return Err(Error::location(code, message));
        };
        if text.contains('\0') {
            let code = if is_pair { 4_940_400 } else { 4_940_401 };
            return Err(Error::location(code, "Key field cannot contain an embedded null byte"));
        }
        merged.set(text.as_bytes(), value);
    }
    Ok(Some(Val::Owned(merged.document())))
}

fn pair(element: RawValue<'_>) -> Result<(RawValue<'_>, RawValue<'_>)> {
    let mut items = element.as_array().into_iter().flatten().map(|e| e.value);
    match (items.next(), items.next(), items.next()) {
        (Some(name), Some(value), None) => Ok((name, value)),
        _ => {
            let len = element.as_array().into_iter().flatten().count();
            let message =
                format!("$arrayToObject requires an array of size 2 arrays,found array of size: {len}");
            Err(Error::location(40397, message))
        }
    }
}

fn key_and_value(element: RawValue<'_>) -> Result<(RawValue<'_>, RawValue<'_>)> {
    let Some(doc) = element.as_doc() else {
        let message = format!("Unrecognised input type format for $arrayToObject: {}", element.ty.name());
        return Err(Error::location(40398, message));
    };
    let len = doc.iter().count();
    if len != 2 {
        let message = format!(
            "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:{len}"
        );
        return Err(Error::location(40392, message));
    }
    match (doc.get("k"), doc.get("v")) {
        (Some(name), Some(value)) => Ok((name, value)),
        _ => {
            let message =
                "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: ";
            Err(Error::location(40393, format!("{message}{}", text::document(doc))))
        }
    }
}

/// `{field, input}`, or a name alone for a field of the document.
fn read_get_field(
    parser: &mut ExprParser<'_>,
    operator: &'static Operator,
    value: RawValue<'_>,
) -> Result<Expr> {
    let short = match value.as_doc() {
        None => true,
        Some(doc) => doc.iter().next().is_some_and(|first| first.name_bytes().starts_with(b"$")),
    };
    if short {
        let field = parser.operand(value)?;
        check_field(operator.name, &field)?;
        return Ok(Expr::Call(operator, vec![field, parser.current()]));
    }
    let (mut name, mut input) = (None, None);
    for field in value.as_doc().into_iter().flatten() {
        match field.name() {
            "field" => name = Some(parser.operand(field.value)?),
            "input" => input = Some(parser.operand(field.value)?),
            unknown => {
                return Err(Error::location(
                    3_041_701,
                    format!("$getField found an unknown argument: {unknown}"),
                ));
            }
        }
    }
    let need = |what: Option<Expr>, name: &str, code: i32| {
        what.ok_or_else(|| Error::location(code, format!("$getField requires '{name}' to be specified")))
    };
    let name = need(name, "field", 3_041_702)?;
    let input = need(input, "input", 3_041_703)?;
    check_field(operator.name, &name)?;
    Ok(Expr::Call(operator, vec![name, input]))
}

/// A field's name has to be a string that does not look like a path of a document.
fn check_field(operator: &str, field: &Expr) -> Result<()> {
    match field {
        Expr::Path(path) => {
            let message = format!(
                "A field path reference which is not allowed in this context. Did you mean {{$literal: '${path}'}}?"
            );
            Err(Error::location(5_654_600, message))
        }
        Expr::Const(value) if value.ty != T::String => {
            let found = value.ty.name();
            let message = format!("{operator} requires 'field' to evaluate to type String, but got {found}");
            Err(Error::location(5_654_602, message))
        }
        _ => Ok(()),
    }
}

/// The computed name of a field.
fn field_name<'e>(args: Args<'e>, cx: &EvalContext<'e>, code: i32) -> Result<String> {
    let name = args.eval(0, cx)?;
    let text = name.as_ref().filter(|v| v.as_ref().ty == T::String).and_then(|v| v.as_ref().as_str());
    text.map(str::to_owned).ok_or_else(|| {
        let found = type_name(name.as_ref());
        let message = format!("{} requires 'field' to evaluate to type String, but got {found}", args.name());
        Error::location(code, message)
    })
}

fn get_field<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let name = field_name(args, cx, 3_041_704)?;
    match args.eval(1, cx)? {
        None => Ok(None),
        Some(input) if input.as_ref().is_nullish() => null(),
        Some(Val::Borrowed(input)) => Ok(input.as_doc().and_then(|doc| doc.get(&name)).map(Val::Borrowed)),
        Some(Val::Owned(input)) => {
            let found = input.as_ref().as_doc().and_then(|doc| doc.get(&name)).map(OwnedValue::from);
            Ok(found.map(Val::Owned))
        }
    }
}

/// `$setField`, and with no third argument `$unsetField`.
fn set_field<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    check_field(args.name(), args.expr(0))?;
    let name = field_name(args, cx, 4_161_107)?;
    let value = args.eval(2, cx)?;
    let Some(input) = present(args.eval(1, cx)?) else { return null() };
    let doc = input.as_ref().as_doc().ok_or_else(|| {
        let found = input.as_ref().ty.name();
        Error::location(
            4_161_105,
            format!("{} requires 'input' to evaluate to type Object, but got {found}", args.name()),
        )
    })?;
    let mut out = DocBuilder::new();
    let mut met = false;
    for field in doc {
        if field.name() != name {
            out.append_bytes_name(field.name_bytes(), field.value);
            continue;
        }
        if let (Some(value), false) = (&value, met) {
            out.append(&name, value.as_ref());
        }
        met = true;
    }
    if let (Some(value), false) = (&value, met) {
        out.append(&name, value.as_ref());
    }
    document(out)
}
