//! BSON bytes to Extended JSON text.

use crate::decimal::Decimal128;
use crate::object_id;
use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType as T;
use base64::Engine;
use std::fmt::Write;

/// Which of the two forms of Extended JSON is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every type is spelled out; reading it back gives the same bytes.
    Canonical,
    /// Numbers and dates as people write them, where no information but the number type is lost.
    Relaxed,
}

/// The last millisecond of the year 9999; relaxed dates end there.
const LAST_ISO_MS: i64 = 253_402_300_799_999;

/// The text of a document.
pub fn to_text(doc: RawDoc<'_>, mode: Mode) -> String {
    let mut out = String::with_capacity(doc.as_bytes().len() * 2);
    write_document(doc, mode, &mut out);
    out
}

/// Appends the text of a document.
pub fn write_document(doc: RawDoc<'_>, mode: Mode, out: &mut String) {
    out.push('{');
    for (i, element) in doc.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        quoted(&String::from_utf8_lossy(element.name_bytes()), out);
        out.push(':');
        write_value(element.value, mode, out);
    }
    out.push('}');
}

/// Appends the text of a value.
pub fn write_value(value: RawValue<'_>, mode: Mode, out: &mut String) {
    match value.ty {
        T::Document => write_document(value.as_doc().unwrap_or(RawDoc::EMPTY), mode, out),
        T::Array => array(value.as_array().unwrap_or(RawDoc::EMPTY), mode, out),
        T::String => quoted(value.as_str().unwrap_or_default(), out),
        T::Null => out.push_str("null"),
        T::Bool => out.push_str(if value.as_bool() == Some(true) { "true" } else { "false" }),
        T::Int32 | T::Int64 | T::Double => number(value, mode, out),
        T::Date => date(value.as_date_ms().unwrap_or_default(), mode, out),
        T::JavaScriptWithScope => code_with_scope(value, mode, out),
        _ => special(value, out),
    }
}

fn array(array: RawDoc<'_>, mode: Mode, out: &mut String) {
    out.push('[');
    for (i, element) in array.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_value(element.value, mode, out);
    }
    out.push(']');
}

/// Appends formatted text; writing into a string cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{
        let _ = write!($out, $($arg)*);
    }};
}

fn number(value: RawValue<'_>, mode: Mode, out: &mut String) {
    let (wrapper, text, plain) = match value.ty {
        T::Int32 => ("$numberInt", value.as_i32().unwrap_or_default().to_string(), true),
        T::Int64 => ("$numberLong", value.as_i64().unwrap_or_default().to_string(), true),
        _ => {
            let d = value.as_f64().unwrap_or_default();
            ("$numberDouble", double_text(d), d.is_finite())
        }
    };
    if plain && mode == Mode::Relaxed {
        out.push_str(&text);
    } else {
        put!(out, "{{\"{wrapper}\":\"{text}\"}}");
    }
}

/// The shortest digits that read back as the same double, always with a point or an exponent.
fn double_text(d: f64) -> String {
    if d.is_nan() {
        return "NaN".to_owned();
    }
    if d.is_infinite() {
        return if d < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    let text = format!("{d:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if exponent.starts_with('-') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}E+{exponent}"),
        None => text,
    }
}

fn date(ms: i64, mode: Mode, out: &mut String) {
    let iso = (mode == Mode::Relaxed && (0..=LAST_ISO_MS).contains(&ms))
        .then(|| bson::DateTime::from_millis(ms).try_to_rfc3339_string().ok())
        .flatten();
    match iso {
        Some(text) => put!(out, "{{\"$date\":\"{text}\"}}"),
        None => put!(out, "{{\"$date\":{{\"$numberLong\":\"{ms}\"}}}}"),
    }
}

fn code_with_scope(value: RawValue<'_>, mode: Mode, out: &mut String) {
    let (code, scope) = value.as_code_with_scope().unwrap_or(("", RawDoc::EMPTY));
    out.push_str("{\"$code\":");
    quoted(code, out);
    out.push_str(",\"$scope\":");
    write_document(scope, mode, out);
    out.push('}');
}

/// The types that both modes write alike.
fn special(value: RawValue<'_>, out: &mut String) {
    match value.ty {
        T::ObjectId => {
            put!(out, "{{\"$oid\":\"{}\"}}", object_id::to_hex(value.as_object_id().unwrap_or(&[0; 12])));
        }
        T::Decimal128 => {
            let decimal = Decimal128::from_le_bytes(value.as_decimal_bytes().unwrap_or_default());
            put!(out, "{{\"$numberDecimal\":\"{decimal}\"}}");
        }
        T::Timestamp => {
            let both = value.as_timestamp().unwrap_or_default();
            put!(out, "{{\"$timestamp\":{{\"t\":{},\"i\":{}}}}}", both >> 32, both & 0xFFFF_FFFF);
        }
        T::Binary => binary(value, out),
        T::JavaScript => wrapped_text("$code", value.as_str().unwrap_or_default(), out),
        T::Symbol => wrapped_text("$symbol", value.as_str().unwrap_or_default(), out),
        T::Regex => {
            let (pattern, options) = value.as_regex().unwrap_or_default();
            out.push_str("{\"$regularExpression\":{\"pattern\":");
            quoted(pattern, out);
            out.push_str(",\"options\":");
            quoted(options, out);
            out.push_str("}}");
        }
        T::DbPointer => {
            let (namespace, id) = value.as_db_pointer().unwrap_or_default();
            out.push_str("{\"$dbPointer\":{\"$ref\":");
            quoted(namespace, out);
            let id = id.first_chunk().unwrap_or(&[0; 12]);
            put!(out, ",\"$id\":{{\"$oid\":\"{}\"}}}}}}", object_id::to_hex(id));
        }
        T::MinKey => out.push_str("{\"$minKey\":1}"),
        T::MaxKey => out.push_str("{\"$maxKey\":1}"),
        // Undefined; every other type was written before.
        _ => out.push_str("{\"$undefined\":true}"),
    }
}

fn wrapped_text(wrapper: &str, text: &str, out: &mut String) {
    put!(out, "{{\"{wrapper}\":");
    quoted(text, out);
    out.push('}');
}

fn binary(value: RawValue<'_>, out: &mut String) {
    let (subtype, payload) = value.as_binary().unwrap_or_default();
    // Subtype 2 repeats its length inside; Extended JSON leaves that out.
    let payload = if subtype == 2 { payload.get(4..).unwrap_or_default() } else { payload };
    out.push_str("{\"$binary\":{\"base64\":\"");
    base64::prelude::BASE64_STANDARD.encode_string(payload, out);
    put!(out, "\",\"subType\":\"{subtype:02x}\"}}}}");
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = special.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(control) => put!(out, "\\u{:04x}", u32::from(control)),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}
