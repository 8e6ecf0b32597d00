use super::*;
use crate::error::ErrorCode;
use crate::{extjson, key};
use proptest::prelude::*;

fn parse(spec: &str) -> Result<Option<Arc<Collation>>> {
    let bytes = extjson::parse_document(spec).unwrap();
    Collation::parse(RawDoc::framed(&bytes).unwrap())
}

#[track_caller]
fn collation(spec: &str) -> Arc<Collation> {
    parse(spec).unwrap().unwrap()
}

fn key_of(collation: &Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text, &mut key);
    key
}

/// The texts, which must be given in order: `=` before one says that it equals the one before it.
#[track_caller]
fn ordered(spec: &str, texts: &[&str]) {
    let collation = collation(spec);
    let plain: Vec<&str> = texts.iter().map(|t| t.strip_prefix('=').unwrap_or(t)).collect();
    for (at, pair) in plain.windows(2).enumerate() {
        let wanted = if texts[at + 1].starts_with('=') { Ordering::Equal } else { Ordering::Less };
        let (a, b) = (pair[0].as_bytes(), pair[1].as_bytes());
        assert_eq!(collation.compare(a, b), wanted, "{spec}: {:?} and {:?}", pair[0], pair[1]);
        assert_eq!(key_of(&collation, a).cmp(&key_of(&collation, b)), wanted, "{spec}: keys of {pair:?}");
    }
}

#[test]
fn strength() {
    ordered(r#"{"locale": "en", "strength": 1}"#, &["abc", "=ABC", "=\u{e1}bc", "abd"]);
    ordered(r#"{"locale": "en", "strength": 2}"#, &["abc", "=ABC", "\u{e1}bc", "abd"]);
    ordered(r#"{"locale": "en"}"#, &["abc", "ABC", "\u{e1}bc", "abd"]);
    ordered(r#"{"locale": "en", "strength": 3, "alternate": "shifted"}"#, &["ab", "=a-b", "=a b", "ac"]);
    ordered(r#"{"locale": "en", "strength": 4, "alternate": "shifted"}"#, &["a b", "a-b", "ab", "ac"]);
    // Canonically equivalent text is one at every strength; full-width and other variants are not.
    ordered(r#"{"locale": "en", "strength": 5}"#, &["\u{e1}", "=a\u{301}"]);
    ordered(r#"{"locale": "en", "strength": 3}"#, &["a\u{1}", "=a", "=a\u{200b}"]);
    ordered(r#"{"locale": "en", "strength": 5}"#, &["a", "a\u{1}"]);
}

#[test]
fn case() {
    ordered(r#"{"locale": "en", "strength": 1, "caseLevel": true}"#, &["a", "=\u{e1}", "A", "=\u{c1}", "b"]);
    ordered(r#"{"locale": "en", "strength": 2, "caseLevel": true}"#, &["a", "A", "\u{e1}", "b"]);
    ordered(r#"{"locale": "en", "caseFirst": "upper"}"#, &["AB", "Ab", "aB", "ab", "b"]);
    ordered(r#"{"locale": "en", "caseFirst": "lower"}"#, &["ab", "aB", "Ab", "AB", "b"]);
    // In Danish, AA is a form of \u{c5}.
    ordered(r#"{"locale": "da"}"#, &["A", "a", "Z", "z", "\u{c6}", "\u{e6}", "\u{d8}", "\u{c5}", "AA"]);
}

#[test]
fn numbers() {
    let spec = r#"{"locale": "en", "numericOrdering": true}"#;
    ordered(spec, &["a1", "a2", "a10", "a100", "b1"]);
    ordered(spec, &["1", "2", "10"]);
    ordered(spec, &["7", "=007", "8"]);
    // A point, a sign and an exponent are no part of a number.
    ordered(spec, &["-2", "-10", "1.2", "1.10", "1.20"]);
    ordered(r#"{"locale": "en"}"#, &["1", "10", "2"]);
    ordered(spec, &["9", "18446744073709551616", "18446744073709551617"]);
}

#[test]
fn punctuation() {
    ordered(r#"{"locale": "en"}"#, &["a b", "a-b", "ab"]);
    let spaces = r#"{"locale": "en", "alternate": "shifted", "maxVariable": "space"}"#;
    ordered(spaces, &["a-b", "a b", "=ab"]);
    ordered(r#"{"locale": "en", "maxVariable": "space"}"#, &["a b", "a-b", "ab"]);
    // Symbols are neither.
    ordered(r#"{"locale": "en", "alternate": "shifted"}"#, &["a$b", "ab"]);
}

#[test]
fn accents_from_the_end() {
    let forwards = ["cote", "cot\u{e9}", "c\u{f4}te", "c\u{f4}t\u{e9}"];
    let backwards = ["cote", "c\u{f4}te", "cot\u{e9}", "c\u{f4}t\u{e9}"];
    ordered(r#"{"locale": "fr"}"#, &forwards);
    ordered(r#"{"locale": "fr", "backwards": true}"#, &backwards);
    ordered(r#"{"locale": "fr_CA"}"#, &backwards);
    ordered(r#"{"locale": "fr_CA", "backwards": false}"#, &forwards);
    // A locale with rules of its own keeps them.
    ordered(
        r#"{"locale": "sv", "backwards": true}"#,
        &["c\u{f2}te", "cot\u{e9}", "z", "\u{e5}", "\u{e4}", "\u{f6}"],
    );
}

#[test]
fn locales_have_their_order() {
    ordered(r#"{"locale": "de"}"#, &["Ad", "\u{c4}d", "Af"]);
    ordered(r#"{"locale": "de@collation=phonebook"}"#, &["Ae", "\u{c4}", "Af"]);
    ordered(r#"{"locale": "de_AT@collation=phonebook"}"#, &["az", "\u{e4}", "b"]);
    for locale in ["nb", "nn"] {
        ordered(&format!(r#"{{"locale": "{locale}"}}"#), &["z", "\u{e6}", "\u{f8}", "\u{e5}"]);
    }
    ordered(r#"{"locale": "es"}"#, &["n", "\u{f1}", "o"]);
    ordered(r#"{"locale": "es@collation=traditional"}"#, &["cz", "ch", "d"]);
    ordered(r#"{"locale": "en_US_POSIX"}"#, &["A", "B", "a", "b"]);
    ordered(r#"{"locale": "en_US"}"#, &["a", "A", "b", "B"]);
    ordered(r#"{"locale": "hr"}"#, &["l", "lz", "lj", "m"]);
    ordered(r#"{"locale": "sr_Latn"}"#, &["c", "\u{10d}", "d"]);
    ordered(r#"{"locale": "zh"}"#, &["\u{963f}", "\u{535a}"]);
    ordered(r#"{"locale": "zh_Hant"}"#, &["\u{4e00}", "\u{4e8c}"]);
    ordered(r#"{"locale": "tr"}"#, &["\u{131}", "i", "j"]);
    ordered(r#"{"locale": "lt", "strength": 1}"#, &["i", "=y", "j"]);
}

#[test]
fn the_complete_document() {
    let check = |spec: &str, complete: &str| {
        let wanted = extjson::parse_document(complete).unwrap();
        let found = collation(spec);
        assert_eq!(
            found.document().as_bytes(),
            wanted.as_slice(),
            "{spec}: {}",
            crate::text::document(found.document())
        );
        // It means itself.
        assert_eq!(*Collation::parse(found.document()).unwrap().unwrap(), *found);
    };
    check(
        r#"{"locale": "en"}"#,
        r#"{"locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 3, "numericOrdering": false,
            "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false,
            "version": "57.1"}"#,
    );
    check(
        r#"{"locale": "fr_CA", "strength": 2.0, "normalization": true, "version": "57.1"}"#,
        r#"{"locale": "fr_CA", "caseLevel": false, "caseFirst": "off", "strength": 2, "numericOrdering": false,
            "alternate": "non-ignorable", "maxVariable": "punct", "normalization": true, "backwards": true,
            "version": "57.1"}"#,
    );
    let own = |locale: &str| collation(&format!(r#"{{"locale": "{locale}"}}"#)).spec().clone();
    assert_eq!(own("da").case_first, CaseFirst::Upper);
    assert_eq!(own("mt").case_first, CaseFirst::Upper);
    assert!(own("th").shifted);
    assert!(parse(r#"{"locale": "simple"}"#).unwrap().is_none());
}

#[test]
fn every_listed_locale_can_be_had() {
    for name in locales::names() {
        match parse(&format!(r#"{{"locale": "{name}"}}"#)) {
            Ok(found) => assert_eq!(found.unwrap().spec().locale, name),
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::CommandNotSupported, "{name}: {error:?}");
                assert!(name.contains('@'), "{name}");
            }
        }
    }
}

#[test]
fn what_is_refused() {
    for (spec, code) in [
        ("{}", 40414),
        (r#"{"strength": 2}"#, 40414),
        (r#"{"locale": 1}"#, 14),
        (r#"{"locale": null}"#, 14),
        (r#"{"locale": ""}"#, 2),
        (r#"{"locale": "en\u0000"}"#, 2),
        (r#"{"locale": "tlh"}"#, 2),
        (r#"{"locale": "en-US"}"#, 2),
        (r#"{"locale": "en_US@collation=phonebook"}"#, 2),
        (r#"{"locale": "en", "locale": "en"}"#, 40413),
        (r#"{"locale": "en", "other": 1}"#, 40415),
        (r#"{"locale": "simple", "strength": 1}"#, 9),
        (r#"{"locale": "en", "strength": "1"}"#, 14),
        (r#"{"locale": "en", "strength": 0}"#, 9),
        (r#"{"locale": "en", "strength": 6}"#, 51024),
        (r#"{"locale": "en", "strength": -1}"#, 51024),
        (r#"{"locale": "en", "caseLevel": 1}"#, 14),
        (r#"{"locale": "en", "caseFirst": "first"}"#, 2),
        (r#"{"locale": "en", "caseFirst": 1}"#, 14),
        (r#"{"locale": "en", "numericOrdering": "yes"}"#, 14),
        (r#"{"locale": "en", "alternate": "ignorable"}"#, 2),
        (r#"{"locale": "en", "maxVariable": "symbol"}"#, 2),
        (r#"{"locale": "en", "normalization": 1}"#, 14),
        (r#"{"locale": "en", "backwards": "no"}"#, 14),
        (r#"{"locale": "en", "backwards": null}"#, 14),
        (r#"{"locale": "en", "backwards": true, "strength": 1}"#, 2),
        (r#"{"locale": "fr_CA", "strength": 1}"#, 2),
        (r#"{"locale": "en", "caseFirst": "upper", "strength": 2}"#, 2),
        (r#"{"locale": "da", "strength": 1}"#, 2),
        (r#"{"locale": "en", "version": "58"}"#, 161),
        (r#"{"locale": "en", "version": 57}"#, 14),
    ] {
        assert_eq!(parse(spec).unwrap_err().code().code(), code, "{spec}");
    }
    assert!(
        collation(r#"{"locale": "en", "caseFirst": "upper", "strength": 1, "caseLevel": true}"#)
            .spec()
            .case_level
    );
}

const SPECS: &[&str] = &[
    r#"{"locale": "en"}"#,
    r#"{"locale": "en", "strength": 1}"#,
    r#"{"locale": "en", "strength": 2}"#,
    r#"{"locale": "en", "strength": 1, "caseLevel": true}"#,
    r#"{"locale": "en", "strength": 2, "caseLevel": true, "caseFirst": "upper"}"#,
    r#"{"locale": "en", "caseFirst": "upper"}"#,
    r#"{"locale": "en", "caseFirst": "lower", "caseLevel": true}"#,
    r#"{"locale": "en", "strength": 4, "alternate": "shifted"}"#,
    r#"{"locale": "en", "strength": 2, "alternate": "shifted"}"#,
    r#"{"locale": "en", "alternate": "shifted", "maxVariable": "space"}"#,
    r#"{"locale": "en", "strength": 5}"#,
    r#"{"locale": "en", "strength": 5, "alternate": "shifted"}"#,
    r#"{"locale": "en", "numericOrdering": true}"#,
    r#"{"locale": "en", "numericOrdering": true, "strength": 1}"#,
    r#"{"locale": "fr", "backwards": true}"#,
    r#"{"locale": "fr_CA"}"#,
    r#"{"locale": "sv", "backwards": true, "strength": 2}"#,
    r#"{"locale": "da"}"#,
    r#"{"locale": "th"}"#,
    r#"{"locale": "ru"}"#,
];

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => "[abAB\u{e1}\u{f4}\u{e9}\u{301}\u{308}019 .$\\-]{0,6}".prop_map(String::into_bytes),
        2 => "\\PC{0,5}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..5),
    ]
}

proptest! {
    #[test]
    fn keys_order_as_texts_do(spec in prop::sample::select(SPECS), a in texts(), b in texts()) {
        let collation = collation(spec);
        let order = collation.compare(&a, &b);
        prop_assert_eq!(key_of(&collation, &a).cmp(&key_of(&collation, &b)), order, "{}", spec);
        prop_assert_eq!(collation.compare(&b, &a), order.reverse());
    }

    #[test]
    fn values_order_as_their_keys_do(
        spec in prop::sample::select(SPECS),
        a in crate::arbitrary::value(),
        b in crate::arbitrary::value(),
    ) {
        let collation = collation(spec);
        let order = crate::compare::compare_with(a.as_ref(), b.as_ref(), Some(&*collation));
        let key = |value: crate::RawValue<'_>| key::ValueKey::with_collator(value, Some(&*collation));
        prop_assert_eq!(key(a.as_ref()).cmp(&key(b.as_ref())), order);
    }
}
