//! The special objects of Extended JSON (`{"$oid": …}`), one row each.

use super::json::Json;
use crate::decimal::Decimal128;
use crate::error::{Error, Result};
use crate::object_id;
use crate::types::ElementType as T;
use crate::value::OwnedValue;
use base64::Engine;

type Members = [(String, Json)];

/// One wrapper.
struct Row {
    key: &'static str,
    /// A second key that may stand in the same object.
    beside: Option<&'static str>,
    /// Gives `None` for what the wrapper must not hold.
    read: fn(&Json, Option<&Json>) -> Option<OwnedValue>,
}

const fn row(key: &'static str, read: fn(&Json, Option<&Json>) -> Option<OwnedValue>) -> Row {
    Row { key, beside: None, read }
}

const ROWS: &[Row] = &[
    row("$oid", |v, _| object_id::from_hex(text(v)?).map(|id| OwnedValue::new(T::ObjectId, &id))),
    row("$numberInt", |v, _| text(v)?.parse::<i32>().ok().map(OwnedValue::from)),
    row("$numberLong", |v, _| long(v).map(OwnedValue::from)),
    row("$numberDouble", |v, _| text(v)?.parse::<f64>().ok().map(OwnedValue::from)),
    row("$numberDecimal", |v, _| {
        Decimal128::parse_exact(text(v)?).map(|d| OwnedValue::new(T::Decimal128, &d.to_le_bytes()))
    }),
    Row { key: "$binary", beside: Some("$type"), read: binary },
    row("$uuid", |v, _| uuid(text(v)?)),
    Row { key: "$code", beside: Some("$scope"), read: code },
    row("$symbol", |v, _| Some(text_of_type(T::Symbol, text(v)?))),
    row("$timestamp", timestamp),
    row("$regularExpression", regular_expression),
    row("$dbPointer", db_pointer),
    row("$date", date),
    row("$minKey", |v, _| matches!(v, Json::Int(1)).then(|| OwnedValue::new(T::MinKey, &[]))),
    row("$maxKey", |v, _| matches!(v, Json::Int(1)).then(|| OwnedValue::new(T::MaxKey, &[]))),
    row("$undefined", |v, _| matches!(v, Json::Bool(true)).then(|| OwnedValue::new(T::Undefined, &[]))),
];

/// The special value that an object stands for, if it stands for one.
pub(super) fn read(members: &Members) -> Result<Option<OwnedValue>> {
    // The wrapper's key comes first, or second behind the key that may stand beside it.
    let found = members.iter().take(2).find_map(|(key, main)| {
        let row = ROWS.iter().find(|row| row.key == key)?;
        Some((row, main))
    });
    let Some((row, main)) = found else { return Ok(None) };
    let others: Vec<_> = members.iter().filter(|(key, _)| key != row.key).collect();
    let fits = match others.as_slice() {
        [] if row.key == "$binary" && text(main).is_some() => return Ok(None),
        [] if members.len() == 1 => Some(None),
        [(key, beside)] if members.len() == 2 && row.beside == Some(key.as_str()) => Some(Some(beside)),
        // `{$binary: "…"}` without its type, and `{a: 1, $oid: …}`, are no attempts at a wrapper.
        _ if members.first().is_none_or(|(key, _)| !key.starts_with('$')) => return Ok(None),
        _ => None,
    };
    match fits.and_then(|beside| (row.read)(main, beside)) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::failed_to_parse(format!("invalid {} in Extended JSON", row.key))),
    }
}

fn text(json: &Json) -> Option<&str> {
    match json {
        Json::Text(text) => Some(text),
        _ => None,
    }
}

fn long(json: &Json) -> Option<i64> {
    text(json)?.parse().ok()
}

/// The members of an object that has exactly these keys, in this order of keys.
fn exactly<'j, const N: usize>(json: &'j Json, keys: [&str; N]) -> Option<[&'j Json; N]> {
    let Json::Object(members) = json else { return None };
    if members.len() != N {
        return None;
    }
    let found: Vec<&Json> =
        keys.iter().filter_map(|key| members.iter().find(|(k, _)| k == key).map(|(_, v)| v)).collect();
    found.try_into().ok()
}

fn text_of_type(ty: T, text: &str) -> OwnedValue {
    OwnedValue::new(ty, OwnedValue::string(text).as_ref().bytes)
}

fn binary_value(subtype: u8, payload: &[u8]) -> Option<OwnedValue> {
    let mut bytes = Vec::with_capacity(payload.len() + 9);
    let inner_len = if subtype == 2 { 4 } else { 0 };
    bytes.extend_from_slice(&i32::try_from(payload.len() + inner_len).ok()?.to_le_bytes());
    bytes.push(subtype);
    if subtype == 2 {
        // Subtype 2 repeats the length inside; Extended JSON shows the payload without it.
        bytes.extend_from_slice(&i32::try_from(payload.len()).ok()?.to_le_bytes());
    }
    bytes.extend_from_slice(payload);
    Some(OwnedValue::from_vec(T::Binary, bytes))
}

/// `{base64, subType}`, or the legacy form with `$type` beside.
fn binary(main: &Json, beside: Option<&Json>) -> Option<OwnedValue> {
    let (payload, subtype) = match beside {
        None => {
            let [payload, subtype] = exactly(main, ["base64", "subType"])?;
            (text(payload)?, subtype)
        }
        Some(subtype) => (text(main)?, subtype),
    };
    let subtype = text(subtype).filter(|t| matches!(t.len(), 1 | 2))?;
    let subtype = u8::from_str_radix(subtype, 16).ok()?;
    binary_value(subtype, &base64::prelude::BASE64_STANDARD.decode(payload).ok()?)
}

fn uuid(text: &str) -> Option<OwnedValue> {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    if text.len() != 36 || HYPHENS.iter().any(|at| text.as_bytes().get(*at) != Some(&b'-')) {
        return None;
    }
    let digits = text.bytes().filter(|b| *b != b'-').map(|b| char::from(b).to_digit(16).map(|n| n as u8));
    let digits: Vec<u8> = digits.collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |n, d| n << 4 | d)).collect();
    if bytes.len() == 16 { binary_value(4, &bytes) } else { None }
}

fn code(main: &Json, beside: Option<&Json>) -> Option<OwnedValue> {
    let Some(Json::Object(members)) = beside else {
        return if beside.is_none() { Some(text_of_type(T::JavaScript, text(main)?)) } else { None };
    };
    let scope = super::read::object(members).ok()?;
    let code = OwnedValue::string(text(main)?);
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(code.as_ref().bytes);
    bytes.extend_from_slice(&scope);
    let len = i32::try_from(bytes.len()).ok()?.to_le_bytes();
    bytes.get_mut(..4)?.copy_from_slice(&len);
    Some(OwnedValue::from_vec(T::JavaScriptWithScope, bytes))
}

fn timestamp(main: &Json, _: Option<&Json>) -> Option<OwnedValue> {
    let half = |json: &Json| match json {
        Json::Int(n) => u32::try_from(*n).ok(),
        _ => None,
    };
    let [seconds, increment] = exactly(main, ["t", "i"])?;
    let both = u64::from(half(seconds)?) << 32 | u64::from(half(increment)?);
    Some(OwnedValue::new(T::Timestamp, &both.to_le_bytes()))
}

fn regular_expression(main: &Json, _: Option<&Json>) -> Option<OwnedValue> {
    let [pattern, options] = exactly(main, ["pattern", "options"])?;
    let (pattern, options) = (text(pattern)?, text(options)?);
    if pattern.contains('\0') || options.contains('\0') {
        return None;
    }
    let mut options: Vec<char> = options.chars().collect();
    options.sort_unstable();
    let bytes = format!("{pattern}\0{}\0", String::from_iter(options));
    Some(OwnedValue::from_vec(T::Regex, bytes.into_bytes()))
}

fn db_pointer(main: &Json, _: Option<&Json>) -> Option<OwnedValue> {
    let [namespace, id] = exactly(main, ["$ref", "$id"])?;
    let [hex] = exactly(id, ["$oid"])?;
    let mut bytes = OwnedValue::string(text(namespace)?).as_ref().bytes.to_vec();
    bytes.extend_from_slice(&object_id::from_hex(text(hex)?)?);
    Some(OwnedValue::from_vec(T::DbPointer, bytes))
}

/// Milliseconds as `$numberLong`, RFC 3339 text, or (legacy) a plain number.
fn date(main: &Json, _: Option<&Json>) -> Option<OwnedValue> {
    let ms = match main {
        Json::Int(ms) => *ms,
        Json::Text(text) => bson::DateTime::parse_rfc3339_str(text).ok()?.timestamp_millis(),
        other => {
            let [ms] = exactly(other, ["$numberLong"])?;
            long(ms)?
        }
    };
    Some(OwnedValue::date_ms(ms))
}
