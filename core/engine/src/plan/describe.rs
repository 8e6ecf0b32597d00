//! Index bounds in words, for explain: `["[5, 10)"]`.
//!
//! Bounds are positions in encoded keys; this reads the values back out of them. Types that share an
//! encoding (the four kinds of number) look alike, and values that a key does not spell out
//! (documents, arrays) are shown by their kind: explain shows intent, nothing is computed from it.

use super::interval::{ByteRange, Intervals};
use multifora_model::ElementType as T;
use multifora_model::compare::canonical_class;
use multifora_model::key::{KeyDirection, part_len};

/// How a field's values stand in an index.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The direction.
    pub direction: KeyDirection,
    /// Strings stand there as their sort keys under a collation.
    pub collated: bool,
}

/// The intervals of one index field, in scan order.
pub fn intervals(set: &Intervals, field: Field, backwards: bool) -> Vec<String> {
    let mut lines: Vec<String> = set.ranges().iter().map(|range| interval(range, field, backwards)).collect();
    if backwards {
        lines.reverse();
    }
    lines
}

/// The interval of a field that nothing bounds.
pub fn unbounded(field: Field, backwards: bool) -> String {
    interval(&ByteRange::full(), field, backwards)
}

/// The interval of one encoded value.
pub fn point(key: &[u8], field: Field) -> String {
    interval(&ByteRange::point(key.to_vec()), field, false)
}

/// One end of an interval.
struct End {
    text: String,
    included: bool,
}

fn interval(range: &ByteRange, field: Field, backwards: bool) -> String {
    let (first, last) = (lower_end(&range.lo, field), upper_end(range.hi.as_deref(), field));
    let (first, last) = if backwards { (last, first) } else { (first, last) };
    let open = if first.included { '[' } else { '(' };
    let close = if last.included { ']' } else { ')' };
    format!("{open}{}, {}{close}", first.text, last.text)
}

fn lower_end(at: &[u8], field: Field) -> End {
    match at {
        [] => End { text: lowest(field.direction).to_owned(), included: true },
        _ => end(at, field, true),
    }
}

fn upper_end(at: Option<&[u8]>, field: Field) -> End {
    match at {
        None => End { text: lowest(opposite(field.direction)).to_owned(), included: true },
        Some(at) => end(at, field, false),
    }
}

fn opposite(direction: KeyDirection) -> KeyDirection {
    match direction {
        KeyDirection::Ascending => KeyDirection::Descending,
        KeyDirection::Descending => KeyDirection::Ascending,
    }
}

fn lowest(direction: KeyDirection) -> &'static str {
    if direction == KeyDirection::Ascending { "MinKey" } else { "MaxKey" }
}

/// Bytes that are put back at most when a value is sought in front of a position.
const MAX_DROPPED_BYTES: usize = 24;

/// A position is either "before everything that begins with a value" or the first one after that.
fn end(at: &[u8], field: Field, is_lower: bool) -> End {
    let direction = field.direction;
    let mut before = at.to_vec();
    if let Some(text) = value(&ascending(&before, direction), field.collated) {
        return End { text, included: is_lower };
    }
    if let Some(last) = before.last_mut() {
        *last = last.wrapping_sub(1);
    }
    // The end of a prefix drops its trailing FF bytes, which an inverted value may well end with.
    for _ in 0..=MAX_DROPPED_BYTES {
        if let Some(text) = value(&ascending(&before, direction), field.collated) {
            return End { text, included: !is_lower };
        }
        before.push(0xFF);
    }
    class_end(&ascending(at, direction), direction, is_lower)
}

fn ascending(bytes: &[u8], direction: KeyDirection) -> Vec<u8> {
    match direction {
        KeyDirection::Ascending => bytes.to_vec(),
        KeyDirection::Descending => bytes.iter().map(|b| !b).collect(),
    }
}

/// The beginning of a type's values, and an end that every one of them is before.
const CLASSES: [(T, &str, &str); 12] = [
    (T::MinKey, "MinKey", "MinKey"),
    (T::Undefined, "undefined", "undefined"),
    (T::Null, "null", "null"),
    (T::Double, "nan", "inf"),
    (T::String, "\"\"", "{}"),
    (T::Document, "{}", "[]"),
    (T::Array, "[]", "BinData(0, )"),
    (T::Binary, "BinData(0, )", "ObjectId('000000000000000000000000')"),
    (T::ObjectId, "ObjectId('000000000000000000000000')", "ObjectId('ffffffffffffffffffffffff')"),
    (T::Bool, "false", "true"),
    (T::Date, "new Date(-9223372036854775808)", "new Date(9223372036854775807)"),
    (T::Timestamp, "Timestamp(0, 0)", "Timestamp(4294967295, 4294967295)"),
];

/// The border of a type, or of the strings with a prefix.
fn class_end(at: &[u8], direction: KeyDirection, is_lower: bool) -> End {
    let Some((&class, rest)) = at.split_first() else {
        return End { text: String::from("MinKey"), included: true };
    };
    if class == canonical_class(T::String) && !rest.is_empty() {
        return End { text: format!("{:?}", String::from_utf8_lossy(rest)), included: is_lower };
    }
    let row = |class: u8| CLASSES.iter().find(|row| canonical_class(row.0) == class);
    let top_of = |(ty, _, last): &(T, &str, &str)| {
        // Types with a greatest value include it.
        let greatest = matches!(ty, T::Double | T::ObjectId | T::Bool | T::Date | T::Timestamp);
        End { text: (*last).to_owned(), included: greatest }
    };
    let bottom_of = |row: &(T, &str, &str), included| End { text: row.1.to_owned(), included };
    let found = match direction {
        KeyDirection::Ascending => row(class)
            .map(|row| bottom_of(row, is_lower))
            .or_else(|| row(class.wrapping_sub(1)).map(top_of).filter(|_| !is_lower)),
        // Turned around, a border is the last byte string before the type.
        KeyDirection::Descending if is_lower => row(class).map(top_of),
        KeyDirection::Descending => row(class.wrapping_add(1)).map(|row| bottom_of(row, true)),
    };
    found.unwrap_or(End { text: format!("type {class}"), included: is_lower })
}

/// The one value that these bytes are the key of.
fn value(key: &[u8], collated: bool) -> Option<String> {
    if part_len(key, KeyDirection::Ascending)? != key.len() {
        return None;
    }
    let (&class, body) = key.split_first()?;
    let is = |ty: T| canonical_class(ty) == class;
    let eight = || Some(u64::from_be_bytes(*body.first_chunk()?));
    Some(match class {
        _ if is(T::MinKey) => String::from("MinKey"),
        _ if is(T::MaxKey) => String::from("MaxKey"),
        _ if is(T::Undefined) => String::from("undefined"),
        _ if is(T::Null) => String::from("null"),
        _ if is(T::Double) => number(eight()?),
        _ if is(T::String) => {
            let text = body.strip_suffix(&[0, 0])?;
            if collated {
                return Some(format!("CollationKey(0x{})", hex(text)));
            }
            format!("{:?}", String::from_utf8_lossy(text).replace("\0\u{fffd}", "\0"))
        }
        _ if is(T::ObjectId) => format!("ObjectId('{}')", hex(body)),
        _ if is(T::Bool) => String::from(if body == [0] { "false" } else { "true" }),
        _ if is(T::Date) => format!("new Date({})", (eight()? ^ 1 << 63) as i64),
        _ if is(T::Timestamp) => format!("Timestamp({}, {})", eight()? >> 32, eight()? as u32),
        _ if is(T::Binary) => format!("BinData({}, {})", body.get(4)?, hex(body.get(5..)?)),
        _ if is(T::Document) => String::from("{ ... }"),
        _ if is(T::Array) => String::from("[ ... ]"),
        _ if is(T::Regex) => {
            let mut texts = body.split(|b| *b == 0).map(String::from_utf8_lossy);
            format!("/{}/{}", texts.next()?, texts.next()?)
        }
        _ => String::from("..."),
    })
}

/// A double from its order-preserving bits.
fn number(ordered: u64) -> String {
    let double = match ordered {
        0 => f64::NAN,
        bits if bits >> 63 == 1 => f64::from_bits(bits & !(1 << 63)),
        bits => f64::from_bits(!bits),
    };
    if double.is_nan() {
        return String::from("nan");
    }
    format!("{double}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::values::test_bounds;
    use multifora_model::OwnedValue;
    use multifora_query::filter::{CompareOp, Comparison, Test};

    fn shown(op: CompareOp, value: OwnedValue, direction: KeyDirection, backwards: bool) -> String {
        let test = Test::Compare(Comparison::new(op, value, None));
        let bounds = test_bounds(&test, direction, None).expect("bounds");
        intervals(&bounds.intervals, Field { direction, collated: false }, backwards).join(" ")
    }

    #[test]
    fn bounds_in_words() {
        use KeyDirection::{Ascending as Up, Descending as Down};
        let five = || OwnedValue::from(5);
        assert_eq!(shown(CompareOp::Eq, five(), Up, false), "[5, 5]");
        assert_eq!(shown(CompareOp::Eq, five(), Down, false), "[5, 5]");
        assert_eq!(shown(CompareOp::Gt, five(), Up, false), "(5, inf]");
        assert_eq!(shown(CompareOp::Gt, five(), Up, true), "[inf, 5)");
        assert_eq!(shown(CompareOp::Gt, five(), Down, false), "[inf, 5)");
        assert_eq!(shown(CompareOp::Lt, five(), Down, false), "(5, -inf]");
        assert_eq!(shown(CompareOp::Gte, OwnedValue::string("a"), Down, false), "({}, \"a\"]");
        assert_eq!(shown(CompareOp::Lte, five(), Up, false), "[-inf, 5]");
        assert_eq!(shown(CompareOp::Gte, OwnedValue::string("a"), Up, false), "[\"a\", {})");
        assert_eq!(shown(CompareOp::Lt, OwnedValue::string("a"), Up, false), "[\"\", \"a\")");
        assert_eq!(
            shown(CompareOp::Eq, OwnedValue::null(), Up, false),
            "[undefined, undefined] [null, null]"
        );
        let plain = |direction| Field { direction, collated: false };
        assert_eq!(unbounded(plain(Up), false), "[MinKey, MaxKey]");
        assert_eq!(unbounded(plain(Up), true), "[MaxKey, MinKey]");
        assert_eq!(unbounded(plain(Down), false), "[MaxKey, MinKey]");
    }
}
