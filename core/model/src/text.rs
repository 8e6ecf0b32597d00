//! Values as MongoDB writes them into messages: `{ a: 1, b: "x" }`.
//!
//! Tools parse some of these texts (`E11000 … dup key: { a: 1 }`), so they follow the server's form
//! to the letter: unquoted names, shell constructors, long strings cut.

use crate::decimal::Decimal128;
use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType as T;
use std::fmt::Write;

/// Strings longer than this are cut.
const LONGEST_WHOLE_STRING_BYTES: usize = 159;
/// How much of a string or of binary data is left when it is cut.
const CUT_STRING_BYTES: usize = 70;
/// Binary data with more hexadecimal digits than this is cut.
const LONGEST_WHOLE_HEX_DIGITS: usize = 80;
/// A text that has grown to this gets no further fields: a document of 16 MiB is no message.
const LONGEST_TEXT_BYTES: usize = 64 * 1024;
/// Nesting below this is written as dots.
const MAX_DEPTH: usize = 150;

/// The document as text.
pub fn document(doc: RawDoc<'_>) -> String {
    let mut out = String::new();
    write_fields(&mut out, doc, true, 0);
    out
}

/// The value as text.
pub fn value(value: RawValue<'_>) -> String {
    let mut out = String::new();
    write_value(&mut out, value, 0);
    out
}

fn write_fields(out: &mut String, doc: RawDoc<'_>, named: bool, depth: usize) {
    let (open, close) = if named { ('{', '}') } else { ('[', ']') };
    out.push(open);
    if depth > MAX_DEPTH {
        out.push_str("...");
    } else if !doc.is_empty() {
        for (i, field) in doc.iter().enumerate() {
            out.push_str(if i == 0 { " " } else { ", " });
            if out.len() > LONGEST_TEXT_BYTES {
                out.push_str("...");
                break;
            }
            if named {
                out.push_str(field.name());
                out.push_str(": ");
            }
            write_value(out, field.value, depth + 1);
        }
        out.push(' ');
    }
    out.push(close);
}

fn write_value(out: &mut String, value: RawValue<'_>, depth: usize) {
    // Writing to a string cannot fail.
    let _ = match value.ty {
        T::Document => {
            write_fields(out, value.as_doc().unwrap_or(RawDoc::EMPTY), true, depth);
            Ok(())
        }
        T::Array => {
            write_fields(out, value.as_array().unwrap_or(RawDoc::EMPTY), false, depth);
            Ok(())
        }
        T::String | T::Symbol => write_quoted(out, value.as_str().unwrap_or_default()),
        T::JavaScript => write!(out, "{}", cut(value.as_str().unwrap_or_default())),
        T::JavaScriptWithScope => match value.as_code_with_scope() {
            Some((code, scope)) => write!(out, "CodeWScope( {code}, {})", document(scope)),
            None => Ok(()),
        },
        T::Binary => write_binary(out, value),
        T::ObjectId => {
            let _ = out.write_str("ObjectId('");
            write_hex(out, value.bytes);
            out.write_str("')")
        }
        T::DbPointer => {
            let (ns, id) = value.as_db_pointer().unwrap_or_default();
            let _ = write!(out, "DBRef('{ns}',");
            write_hex(out, id);
            out.write_char(')')
        }
        T::Regex => {
            let (pattern, options) = value.as_regex().unwrap_or_default();
            write!(out, "/{pattern}/{options}")
        }
        _ => write_scalar(out, value),
    };
}

fn write_scalar(out: &mut String, value: RawValue<'_>) -> std::fmt::Result {
    match value.ty {
        T::Double => write_double(out, value.as_f64().unwrap_or_default()),
        T::Int32 => write!(out, "{}", value.as_i32().unwrap_or_default()),
        T::Int64 => write!(out, "{}", value.as_i64().unwrap_or_default()),
        T::Decimal128 => match value.as_decimal_bytes() {
            Some(bytes) => write!(out, "{}", Decimal128::from_le_bytes(bytes)),
            None => Ok(()),
        },
        T::Bool => write!(out, "{}", value.as_bool().unwrap_or_default()),
        T::Date => write!(out, "new Date({})", value.as_date_ms().unwrap_or_default()),
        T::Timestamp => {
            let raw = value.as_timestamp().unwrap_or_default();
            write!(out, "Timestamp({}, {})", raw >> 32, raw & u64::from(u32::MAX))
        }
        T::MinKey => out.write_str("MinKey"),
        T::MaxKey => out.write_str("MaxKey"),
        T::Undefined => out.write_str("undefined"),
        _ => out.write_str("null"),
    }
}

fn write_double(out: &mut String, number: f64) -> std::fmt::Result {
    if number.is_nan() {
        return out.write_str("nan.0");
    }
    if number.is_infinite() {
        return out.write_str(if number > 0.0 { "inf.0" } else { "-inf.0" });
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-5..1e16).contains(&magnitude) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return write!(out, "{digits}e{sign}{exponent:0>2}");
    }
    if number.fract() == 0.0 { write!(out, "{number:.1}") } else { write!(out, "{number}") }
}

fn write_quoted(out: &mut String, text: &str) -> std::fmt::Result {
    let kept = cut(text);
    let dots = if kept.len() < text.len() { "..." } else { "" };
    write!(out, "\"{kept}{dots}\"")
}

fn cut(text: &str) -> &str {
    if text.len() <= LONGEST_WHOLE_STRING_BYTES {
        return text;
    }
    let mut end = CUT_STRING_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn write_binary(out: &mut String, value: RawValue<'_>) -> std::fmt::Result {
    let (subtype, bytes) = value.as_binary().unwrap_or_default();
    if subtype == 4 && bytes.len() == 16 {
        out.write_str("UUID(\"")?;
        for (i, byte) in bytes.iter().enumerate() {
            let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(out, "{dash}{byte:02x}")?;
        }
        return out.write_str("\")");
    }
    write!(out, "BinData({subtype}, ")?;
    if bytes.len() * 2 > LONGEST_WHOLE_HEX_DIGITS {
        write_hex_upper(out, bytes.get(..CUT_STRING_BYTES / 2).unwrap_or_default());
        out.write_str("...)")
    } else {
        write_hex_upper(out, bytes);
        out.write_char(')')
    }
}

fn write_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

fn write_hex_upper(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocBuilder;

    #[test]
    fn documents_read_as_in_the_server_log() {
        let mut doc = DocBuilder::new();
        doc.i32("a", 1).str("b", "x").f64("c", 1.0).f64("d", 0.25).bool("e", true).null("f");
        doc.object_id("g", &[0xab; 12]).date_ms("h", -5).timestamp("i", (7 << 32) | 3);
        doc.start_doc("j").end().start_array("k").push(RawValue::NULL).end();
        doc.i64("l", 1 << 40).binary("m", 0, &[1, 0xff]).f64("n", 1e300);
        let bytes = doc.finish();
        let text = document(RawDoc::framed(&bytes).unwrap());
        assert_eq!(
            text,
            "{ a: 1, b: \"x\", c: 1.0, d: 0.25, e: true, f: null, \
             g: ObjectId('abababababababababababab'), h: new Date(-5), i: Timestamp(7, 3), j: {}, k: [ null ], \
             l: 1099511627776, m: BinData(0, 01FF), n: 1e+300 }"
        );
        assert_eq!(document(RawDoc::EMPTY), "{}");
    }

    #[test]
    fn long_strings_are_cut_at_a_character() {
        let long = crate::OwnedValue::string(&"ü".repeat(200));
        let text = value(long.as_ref());
        assert!(text.starts_with("\"üüü") && text.ends_with("ü...\""));
        assert_eq!(text.chars().filter(|c| *c == 'ü').count(), 35);
    }
}
