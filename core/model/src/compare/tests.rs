//! The order of types and of values within them.

use super::*;
use crate::extjson::parse_value;
use crate::value::OwnedValue;

fn values(texts: &[&str]) -> Vec<OwnedValue> {
    texts.iter().map(|text| parse_value(text).unwrap_or_else(|e| panic!("{text}: {e}"))).collect()
}

fn assert_ascending(texts: &[&str]) {
    let values = values(texts);
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            assert_eq!(compare(a.as_ref(), b.as_ref()), i.cmp(&j), "{} {}", texts[i], texts[j]);
        }
    }
}

#[test]
fn types_in_mongodbs_order() {
    assert_ascending(&[
        r#"{"$minKey":1}"#,
        r#"{"$undefined":true}"#,
        "null",
        r#"{"$numberDouble":"NaN"}"#,
        "-5",
        "7",
        r#""""#,
        r#"{"$symbol":"a"}"#,
        "{}",
        r#"{"a":1}"#,
        "[]",
        "[1]",
        r#"{"$binary":{"base64":"","subType":"00"}}"#,
        r#"{"$oid":"000000000000000000000000"}"#,
        "false",
        "true",
        r#"{"$date":{"$numberLong":"-5"}}"#,
        r#"{"$date":{"$numberLong":"5"}}"#,
        r#"{"$timestamp":{"t":0,"i":1}}"#,
        r#"{"$timestamp":{"t":4294967295,"i":0}}"#,
        r#"{"$regularExpression":{"pattern":"a","options":""}}"#,
        r#"{"$dbPointer":{"$ref":"a","$id":{"$oid":"000000000000000000000000"}}}"#,
        r#"{"$code":""}"#,
        r#"{"$code":"","$scope":{}}"#,
        r#"{"$maxKey":1}"#,
    ]);
}

#[test]
fn documents_by_class_then_name_then_value() {
    assert_ascending(&[
        "{}",
        r#"{"b":null}"#,
        // A number in the first field comes before a string, whatever the names.
        r#"{"z":1}"#,
        r#"{"a":"x"}"#,
        r#"{"a":"x","b":1}"#,
        r#"{"a":"y"}"#,
        r#"{"b":"x"}"#,
        r#"{"a":{"c":1}}"#,
        r#"{"a":{"c":1,"d":1}}"#,
    ]);
}

#[test]
fn arrays_by_elements_whatever_their_names() {
    assert_ascending(&["[]", "[1]", "[1,1]", "[2]", r#"["a"]"#]);
    let odd = crate::extjson::tests::hex("0C000000 10 7800 01000000 00");
    let odd = RawValue { ty: T::Array, bytes: &odd };
    assert!(equal(odd, parse_value("[1]").unwrap().as_ref()));
}

#[test]
fn binaries_by_length_then_subtype_then_bytes() {
    assert_ascending(&[
        r#"{"$binary":{"base64":"","subType":"80"}}"#,
        r#"{"$binary":{"base64":"/w==","subType":"00"}}"#,
        r#"{"$binary":{"base64":"AA==","subType":"05"}}"#,
        r#"{"$binary":{"base64":"AQ==","subType":"05"}}"#,
        r#"{"$binary":{"base64":"AAA=","subType":"00"}}"#,
    ]);
}

#[test]
fn strings_and_patterns_by_bytes() {
    assert_ascending(&[r#""A""#, r#""a""#, r#""a\u0000""#, r#""a\u0001""#, r#""ab""#, r#""é""#, r#""😀""#]);
    assert_ascending(&[
        r#"{"$regularExpression":{"pattern":"a","options":""}}"#,
        r#"{"$regularExpression":{"pattern":"a","options":"i"}}"#,
        r#"{"$regularExpression":{"pattern":"aa","options":""}}"#,
    ]);
    assert_ascending(&[
        r#"{"$code":"a","$scope":{}}"#,
        r#"{"$code":"a","$scope":{"b":1}}"#,
        r#"{"$code":"b","$scope":{}}"#,
    ]);
    let pair = values(&[r#""a""#, r#"{"$symbol":"a"}"#]);
    assert!(equal(pair[0].as_ref(), pair[1].as_ref()));
}

#[test]
fn numbers_inside_documents_compare_by_value() {
    let pair = values(&[
        r#"{"a":[1,{"b":{"$numberLong":"2"}}]}"#,
        r#"{"a":[{"$numberDouble":"1"},{"b":{"$numberDecimal":"2.0"}}]}"#,
    ]);
    assert!(equal(pair[0].as_ref(), pair[1].as_ref()));
    assert_eq!(crate::canonical_hash(pair[0].as_ref()), crate::canonical_hash(pair[1].as_ref()));
}

/// Ignores ASCII case.
struct NoCase;

impl Collator for NoCase {
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&text.to_ascii_lowercase());
    }
}

#[test]
fn a_collator_reaches_strings_but_no_names_and_no_scopes() {
    let check = |a: &str, b: &str, expected: Ordering| {
        let pair = values(&[a, b]);
        let (a, b) = (pair[0].as_ref(), pair[1].as_ref());
        assert_eq!(compare_with(a, b, Some(&NoCase)), expected, "{a:?} {b:?}");
        let key = |v| crate::ValueKey::with_collator(v, Some(&NoCase));
        assert_eq!(key(a).cmp(&key(b)), expected, "{a:?} {b:?}");
    };
    check(r#""ABC""#, r#""abc""#, Ordering::Equal);
    check(r#"{"a":["ABC"]}"#, r#"{"a":["abc"]}"#, Ordering::Equal);
    check(r#"{"A":1}"#, r#"{"a":1}"#, Ordering::Less);
    check(r#"{"$code":"a","$scope":{"b":"X"}}"#, r#"{"$code":"a","$scope":{"b":"x"}}"#, Ordering::Less);
}
