//! Hostile bytes.

use super::*;
use crate::arbitrary::document as any_document;
use crate::extjson::tests::hex;
use proptest::prelude::*;

fn check(bytes: &[u8]) -> Result<RawDoc<'_>> {
    document(bytes, 1 << 20, 100)
}

fn code(bytes: &[u8]) -> ErrorCode {
    check(bytes).expect_err("accepted").code()
}

#[test]
fn broken_documents_are_refused() {
    for (what, bytes) in [
        ("nothing", ""),
        ("cut length", "050000"),
        ("length 1", "01000000 00"),
        ("length 4", "04000000 00"),
        ("negative length", "FFFFFFFF 00"),
        ("no terminator", "05000000"),
        ("wrong terminator", "05000000 01"),
        ("other wrong terminator", "05000000 FF"),
        ("zero length", "00000000 0000000000"),
        ("length beyond the bytes", "12000000 02 666F6F00 04000000 626172"),
        ("bytes beyond the length", "12000000 02 666F6F00 04000000 62617200 00 DEADBEEF"),
        ("cut in a name", "12000000 02 666F"),
        ("name without terminator", "09000000 10 61616161"),
        ("unknown type", "07000000 00 00 00"),
        ("unknown type 0x80", "07000000 80 00 00"),
        ("unknown type 0x14", "08000000 14 6100 00"),
        ("terminator too early", "06000000 00 00"),
        ("cut double", "0B000000 01 6400 0000F03F 00"),
        ("cut int32", "09000000 10 6100 05 00"),
        ("bool 2", "09000000 08 6200 02 00"),
        ("bool 0xFF", "09000000 08 6200 FF 00"),
        ("string of length 0", "0C000000 02 6100 00000000 00"),
        ("string of length -1", "0C000000 02 6100 FFFFFFFF 00"),
        ("string longer than the document", "10000000 02 6100 05000000 62006200 00"),
        ("string without terminator", "0E000000 02 6100 02000000 62FF 00"),
        ("string not UTF-8", "0E000000 02 6100 02000000 E900 00"),
        ("surrogate", "10000000 02 6100 04000000 EDA080 00 00"),
        ("overlong", "0F000000 02 6100 03000000 C080 00 00"),
        ("name not UTF-8", "08000000 0A E900 00"),
        ("regex pattern not UTF-8", "0C000000 0B 6100 E900 00 00 00"),
        ("regex without options", "0A000000 0B 6100 6100"),
        ("document longer than its parent", "18000000 03 666F6F00 0F000000 10 62617200 FFFFFF7F 0000"),
        ("document shorter than its fields", "15000000 03 666F6F00 0A000000 08 62617200 01 00 00"),
        ("nested length 4", "0C000000 03 6100 04000000 00"),
        ("array of length 4", "0C000000 04 6100 04000000 00"),
        ("binary longer than the document", "1D000000 05 7800 FF000000 05 FFFF00000000000000000000 00"),
        ("binary of negative length", "0D000000 05 7800 FFFFFFFF 00 00"),
        ("subtype 2 too long inside", "13000000 05 7800 06000000 02 03000000 FFFF 00"),
        ("subtype 2 too short inside", "13000000 05 7800 06000000 02 01000000 FFFF 00"),
        ("subtype 2 without inner length", "0F000000 05 7800 02000000 02 FFFF 00"),
        ("subtype 2 negative inside", "13000000 05 7800 06000000 02 FFFFFFFF FFFF 00"),
        ("pointer with a negative length", "1A000000 0C 6100 FFFFFFFF 6200 56E1FC72E0C917E9C4714161 00"),
        ("pointer of length 0", "1A000000 0C 6100 00000000 6200 56E1FC72E0C917E9C4714161 00"),
        ("pointer without id", "16000000 0C 6100 03000000 616200 56E1FC72E0C91700"),
        ("pointer not UTF-8", "1A000000 0C 6100 02000000 E900 56E1FC72E0C917E9C4714161 00"),
        (
            "code with scope, length 0",
            "28000000 0F 6100 00000000 04000000 61626364 00 130000001078000100000010790001000000 00 00",
        ),
        ("code with scope, too long", "16000000 0F 6100 0F000000 01000000 00 05000000 00 00"),
        ("code with scope, too short", "16000000 0F 6100 0D000000 01000000 00 05000000 00 00"),
        ("code with scope, scope too long", "16000000 0F 6100 0E000000 01000000 00 06000000 00 00"),
        ("code with scope, code too long", "16000000 0F 6100 0E000000 0A000000 00 05000000 00 00"),
        ("code with scope, bad scope", "1C000000 0F 6100 15000000 0A000000 000C0000000000 05000000 00 00"),
    ] {
        assert_eq!(code(&hex(bytes)), ErrorCode::InvalidBSON, "{what}");
    }
}

#[test]
fn odd_but_sound_documents_pass() {
    for bytes in [
        "05000000 00",
        // Empty and duplicate names, array keys out of order, zeros inside a string.
        "09000000 0A 00 0A 00 00",
        "14000000 04 6100 0C000000 10 7800 0A000000 00 00",
        "10000000 02 6100 04000000 610062 00 00",
        "0F000000 0B 6100 61626300 696D00 00",
        "16000000 0F 6100 0E000000 01000000 00 05000000 00 00",
    ] {
        check(&hex(bytes)).unwrap_or_else(|e| panic!("{bytes}: {e}"));
    }
}

fn nested(levels: usize) -> Vec<u8> {
    (1..levels).fold(hex("0500000000"), |inner, _| {
        let mut outer = ((inner.len() + 8) as i32).to_le_bytes().to_vec();
        outer.extend_from_slice(&[3, b'a', 0]);
        outer.extend_from_slice(&inner);
        outer.push(0);
        outer
    })
}

#[test]
fn nesting_has_a_limit() {
    assert!(check(&nested(100)).is_ok());
    assert_eq!(code(&nested(101)), ErrorCode::Overflow);
    assert_eq!(code(&nested(10_000)), ErrorCode::Overflow);
    assert!(document(&nested(MAX_DEPTH), 1 << 20, usize::MAX).is_ok());
    assert_eq!(
        document(&nested(MAX_DEPTH + 1), 1 << 20, usize::MAX).unwrap_err().code(),
        ErrorCode::Overflow
    );
    assert_eq!(document(&nested(1), 1 << 20, 0).unwrap_err().code(), ErrorCode::Overflow);
}

#[test]
fn size_has_a_limit() {
    let doc = nested(3);
    assert!(document(&doc, doc.len(), 100).is_ok());
    assert_eq!(document(&doc, doc.len() - 1, 100).unwrap_err().code(), ErrorCode::BSONObjectTooLarge);
    // A length of 2^31 - 1 in five bytes is too large before it is anything else.
    assert_eq!(code(&[0xFF, 0xFF, 0xFF, 0x7F, 0]), ErrorCode::BSONObjectTooLarge);
}

/// Walks everything through the accessors, as query code does.
fn walk(doc: RawDoc<'_>, depth: usize) -> usize {
    let inside = |e: crate::raw::Element<'_>| {
        let v = e.value;
        let _ = (
            e.name(),
            v.as_str(),
            v.as_regex(),
            v.as_db_pointer(),
            v.as_binary(),
            v.as_i32(),
            format!("{v:?}"),
        );
        let nested = v.as_doc_or_array().or(v.as_code_with_scope().map(|c| c.1));
        1 + nested.map_or(0, |n| if depth < 50 { walk(n, depth + 1) } else { 0 })
    };
    doc.iter().map(inside).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_we_build_is_valid(doc in any_document()) {
        prop_assert!(check(&doc).is_ok());
        let raw = check(&doc).unwrap();
        // What follows the last element is exactly the terminator.
        let walked: usize = raw.iter().map(|e| e.name_bytes().len() + 2 + e.value.bytes.len()).sum();
        prop_assert_eq!(walked + 5, doc.len());
        walk(raw, 0);
    }

    #[test]
    fn damaged_bytes_never_panic(
        doc in any_document(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = doc;
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // Checked or not: walking ends and touches nothing outside.
        if let Ok(doc) = check(&bytes) {
            walk(doc, 0);
        }
        if let Some(doc) = RawDoc::framed(&bytes) {
            walk(doc, 0);
        }
    }

    #[test]
    fn every_prefix_is_refused(doc in any_document()) {
        for len in 0..doc.len() {
            prop_assert!(check(&doc[..len]).is_err());
        }
    }

    #[test]
    fn the_verdict_is_the_bson_crates(doc in any_document(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = doc;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        // Whatever passes here, the official reader can read to the end.
        if check(&bytes).is_ok() {
            let raw = bson::RawDocument::from_bytes(&bytes).unwrap();
            for element in raw {
                prop_assert!(element.is_ok(), "{:?}", element);
            }
        }
    }
}
