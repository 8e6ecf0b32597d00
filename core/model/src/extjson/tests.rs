//! Every type and its edge values, from bytes to text and back.

use super::*;
use crate::arbitrary::document;
use crate::raw::RawDoc;
use crate::validate;
use proptest::prelude::*;

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A document in bytes, its canonical text, and its relaxed text where that differs.
const ROWS: &[(&str, &str, &str)] = &[
    ("05000000 00", "{}", ""),
    ("10000000 01 6400 000000000000F03F 00", r#"{"d":{"$numberDouble":"1.0"}}"#, r#"{"d":1.0}"#),
    ("10000000 01 6400 0000000000000080 00", r#"{"d":{"$numberDouble":"-0.0"}}"#, r#"{"d":-0.0}"#),
    (
        "10000000 01 6400 81E97DF41022B143 00",
        r#"{"d":{"$numberDouble":"1.2345678901234568E+18"}}"#,
        r#"{"d":1.2345678901234568E+18}"#,
    ),
    ("10000000 01 6400 000000000000F87F 00", r#"{"d":{"$numberDouble":"NaN"}}"#, ""),
    ("10000000 01 6400 000000000000F07F 00", r#"{"d":{"$numberDouble":"Infinity"}}"#, ""),
    ("10000000 01 6400 000000000000F0FF 00", r#"{"d":{"$numberDouble":"-Infinity"}}"#, ""),
    ("0D000000 02 6100 01000000 00 00", r#"{"a":""}"#, ""),
    ("12000000 02 6100 06000000 E98680C3A9 00 00", r#"{"a":"醀é"}"#, ""),
    ("13000000 02 6100 07000000 610062 220A5C 00 00", r#"{"a":"a\u0000b\"\n\\"}"#, ""),
    ("0D000000 03 6100 05000000 00 00", r#"{"a":{}}"#, ""),
    ("14000000 04 6100 0C000000 10 3000 0A000000 00 00", r#"{"a":[{"$numberInt":"10"}]}"#, r#"{"a":[10]}"#),
    ("0D000000 05 7800 00000000 00 00", r#"{"x":{"$binary":{"base64":"","subType":"00"}}}"#, ""),
    ("0F000000 05 7800 02000000 80 FFFF 00", r#"{"x":{"$binary":{"base64":"//8=","subType":"80"}}}"#, ""),
    (
        "13000000 05 7800 06000000 02 02000000 FFFF 00",
        r#"{"x":{"$binary":{"base64":"//8=","subType":"02"}}}"#,
        "",
    ),
    ("08000000 06 6100 00", r#"{"a":{"$undefined":true}}"#, ""),
    ("14000000 07 6100 56E1FC72E0C917E9C4714161 00", r#"{"a":{"$oid":"56e1fc72e0c917e9c4714161"}}"#, ""),
    ("09000000 08 6200 01 00", r#"{"b":true}"#, ""),
    ("09000000 08 6200 00 00", r#"{"b":false}"#, ""),
    (
        "10000000 09 6100 C5D8D6CC3B010000 00",
        r#"{"a":{"$date":{"$numberLong":"1356351330501"}}}"#,
        r#"{"a":{"$date":"2012-12-24T12:15:30.501Z"}}"#,
    ),
    (
        "10000000 09 6100 0000000000000000 00",
        r#"{"a":{"$date":{"$numberLong":"0"}}}"#,
        r#"{"a":{"$date":"1970-01-01T00:00:00Z"}}"#,
    ),
    ("10000000 09 6100 C33CE7B9BDFFFFFF 00", r#"{"a":{"$date":{"$numberLong":"-284643869501"}}}"#, ""),
    ("10000000 09 6100 00DC1FD277E60000 00", r#"{"a":{"$date":{"$numberLong":"253402300800000"}}}"#, ""),
    ("08000000 0A 6100 00", r#"{"a":null}"#, ""),
    (
        "0F000000 0B 6100 61626300 696D00 00",
        r#"{"a":{"$regularExpression":{"pattern":"abc","options":"im"}}}"#,
        "",
    ),
    (
        "1A000000 0C 6100 02000000 6200 56E1FC72E0C917E9C4714161 00",
        r#"{"a":{"$dbPointer":{"$ref":"b","$id":{"$oid":"56e1fc72e0c917e9c4714161"}}}}"#,
        "",
    ),
    ("0E000000 0D 6100 02000000 6200 00", r#"{"a":{"$code":"b"}}"#, ""),
    ("0E000000 0E 6100 02000000 6200 00", r#"{"a":{"$symbol":"b"}}"#, ""),
    (
        "1E000000 0F 6100 16000000 02000000 6200 0C000000 10 7800 01000000 00 00",
        r#"{"a":{"$code":"b","$scope":{"x":{"$numberInt":"1"}}}}"#,
        r#"{"a":{"$code":"b","$scope":{"x":1}}}"#,
    ),
    ("0C000000 10 6900 00000080 00", r#"{"i":{"$numberInt":"-2147483648"}}"#, r#"{"i":-2147483648}"#),
    ("10000000 11 6100 15CD5B07 00000080 00", r#"{"a":{"$timestamp":{"t":2147483648,"i":123456789}}}"#, ""),
    (
        "10000000 12 6100 0000000000000080 00",
        r#"{"a":{"$numberLong":"-9223372036854775808"}}"#,
        r#"{"a":-9223372036854775808}"#,
    ),
    ("18000000 13 6400 D0070000000000000000000000003A30 00", r#"{"d":{"$numberDecimal":"2.000"}}"#, ""),
    (
        "18000000 13 6400 FFFFFFFF638E8D37C087ADBE09EDFF5F 00",
        r#"{"d":{"$numberDecimal":"9.999999999999999999999999999999999E+6144"}}"#,
        "",
    ),
    ("08000000 FF 6100 00", r#"{"a":{"$minKey":1}}"#, ""),
    ("08000000 7F 6100 00", r#"{"a":{"$maxKey":1}}"#, ""),
    // Operators and names that only look special.
    ("0F000000 10 246B657900 2A000000 00", r#"{"$key":{"$numberInt":"42"}}"#, r#"{"$key":42}"#),
    ("13000000 02 2472656765780002000000 6100 00", r#"{"$regex":"a"}"#, ""),
    ("1A000000 02 2462696E61727900 08000000 6162636465666700 00", r#"{"$binary":"abcdefg"}"#, ""),
    // Duplicate and empty names stay.
    ("0F000000 0A 00 08 6100 01 08 6100 00 00", r#"{"":null,"a":true,"a":false}"#, ""),
];

#[test]
fn every_type_goes_both_ways() {
    for (bytes, canonical, relaxed) in ROWS {
        let bytes = hex(bytes);
        let doc = validate::document(&bytes, 1 << 20, 100).unwrap_or_else(|e| panic!("{canonical}: {e}"));
        assert_eq!(to_text(doc, Mode::Canonical), *canonical);
        assert_eq!(parse_document(canonical).unwrap(), bytes, "{canonical}");
        let relaxed = if relaxed.is_empty() { canonical } else { relaxed };
        assert_eq!(to_text(doc, Mode::Relaxed), *relaxed);
        parse_document(relaxed).unwrap();
    }
}

#[test]
fn other_spellings_are_taken() {
    for (text, canonical) in [
        (r#"{"x":{"$binary":"//8=","$type":"00"}}"#, r#"{"x":{"$binary":{"base64":"//8=","subType":"00"}}}"#),
        (r#"{"x":{"$type":"0","$binary":"//8="}}"#, r#"{"x":{"$binary":{"base64":"//8=","subType":"00"}}}"#),
        (
            r#"{"x":{"$uuid":"73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}}"#,
            r#"{"x":{"$binary":{"base64":"c//SZESzTGmQ6OfR38A11A==","subType":"04"}}}"#,
        ),
        (r#"{"a":{"$date":12}}"#, r#"{"a":{"$date":{"$numberLong":"12"}}}"#),
        (r#"{"a":{"$date":"1970-01-01T01:00:00.012+01:00"}}"#, r#"{"a":{"$date":{"$numberLong":"12"}}}"#),
        (r#"{"a":{"$scope":{},"$code":"b"}}"#, r#"{"a":{"$code":"b","$scope":{}}}"#),
        (
            r#"{"a":{"$regularExpression":{"options":"mi","pattern":"a"}}}"#,
            r#"{"a":{"$regularExpression":{"pattern":"a","options":"im"}}}"#,
        ),
        (r#"{"a":2147483648}"#, r#"{"a":{"$numberLong":"2147483648"}}"#),
        (r#"{"a":-1}"#, r#"{"a":{"$numberInt":"-1"}}"#),
        (r#"{"a":1e3}"#, r#"{"a":{"$numberDouble":"1000.0"}}"#),
        (r#"{"a":18446744073709551615}"#, r#"{"a":{"$numberDouble":"1.8446744073709552E+19"}}"#),
        (r#"{"a":"😀"}"#, r#"{"a":"😀"}"#),
        (r#"{"a":{"$numberDecimal":"+1E3"}}"#, r#"{"a":{"$numberDecimal":"1E+3"}}"#),
        (r#"{"a":{"b":1,"$oid":"x"}}"#, r#"{"a":{"b":{"$numberInt":"1"},"$oid":"x"}}"#),
        (r#"{"a":{"$ref":"c","$id":1}}"#, r#"{"a":{"$ref":"c","$id":{"$numberInt":"1"}}}"#),
    ] {
        let bytes = parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(to_text(RawDoc::framed(&bytes).unwrap(), Mode::Canonical), canonical);
    }
}

#[test]
fn malformed_text_is_refused() {
    for text in [
        "",
        "1",
        "[]",
        "{",
        "{} {}",
        r#"{"a":}"#,
        r#"{"a":{"$oid":42}}"#,
        r#"{"a":{"$oid":"56e1fc72e0c917e9c471416"}}"#,
        r#"{"a":{"$oid":"56e1fc72e0c917e9c4714161","x":1}}"#,
        r#"{"a":{"$numberInt":42}}"#,
        r#"{"a":{"$numberInt":"2147483648"}}"#,
        r#"{"a":{"$numberLong":42}}"#,
        r#"{"a":{"$numberDouble":42}}"#,
        r#"{"a":{"$numberDecimal":"1.2.3"}}"#,
        r#"{"a":{"$numberDecimal":"10000000000000000000000000000000001E9"}}"#,
        r#"{"a":{"$binary":0,"$type":"00"}}"#,
        r#"{"a":{"$binary":"","$type":0}}"#,
        r#"{"a":{"$binary":{"base64":"?","subType":"00"}}}"#,
        r#"{"a":{"$code":42}}"#,
        r#"{"a":{"$code":"","$scope":42}}"#,
        r#"{"a":{"$timestamp":42}}"#,
        r#"{"a":{"$timestamp":{"t":"1","i":42}}}"#,
        r#"{"a":{"$timestamp":{"t":4294967296,"i":42}}}"#,
        r#"{"a":{"$date":"yesterday"}}"#,
        r#"{"a":{"$minKey":true}}"#,
        r#"{"a":{"$maxKey":0}}"#,
        r#"{"a":{"$undefined":false}}"#,
        r#"{"a":{"$uuid":"73ffd26444b34c6990e8e7d1dfc035d4"}}"#,
        r#"{"a":{"$regularExpression":{"pattern":"a\u0000","options":""}}}"#,
        r#"{"a\u0000b":1}"#,
        r#"{"a":"\ud800"}"#,
    ] {
        assert!(parse_document(text).is_err(), "{text}");
    }
    assert!(parse_document(&"{\"a\":".repeat(100_000)).is_err());
}

#[test]
fn lines_are_read_one_by_one() {
    let docs: Vec<_> = parse_documents("{\"a\":1}\n{\"a\":2} {}\n").map(Result::unwrap).collect();
    assert_eq!(docs.len(), 3);
    assert!(parse_documents("{} nonsense").any(|d| d.is_err()));
}

/// Number types whose text does not say all that their bytes do.
fn has_unfaithful_bytes(text: &str) -> bool {
    text.contains("NaN") || text.contains("$numberDecimal")
}

proptest! {
    #[test]
    fn canonical_text_gives_the_same_bytes(doc in document()) {
        let raw = validate::document(&doc, 1 << 24, 100).unwrap();
        let text = to_text(raw, Mode::Canonical);
        let again = parse_document(&text);
        // A field named like a wrapper makes text that means something else.
        if !has_unfaithful_bytes(&text) && !doc.contains(&b'$') {
            prop_assert_eq!(again.unwrap(), raw.as_bytes().to_vec());
        }
        serde_json::from_str::<serde::de::IgnoredAny>(&text).unwrap();
        serde_json::from_str::<serde::de::IgnoredAny>(&to_text(raw, Mode::Relaxed)).unwrap();
    }
}
