//! Walking and finding.

use super::*;
use crate::arbitrary::document;
use proptest::prelude::*;

#[test]
fn zeros_are_found_at_every_place() {
    for len in 0..40 {
        let mut bytes = vec![0xFFu8; len];
        assert_eq!(find_zero(&bytes), None);
        for at in (0..len).rev() {
            bytes[at] = 0;
            assert_eq!(find_zero(&bytes), Some(at));
            // Bytes that the trick could take for zero: 0x01 behind a borrow, 0x80.
            for other in [0x01, 0x80, 0x81, 0x7F] {
                let mut noisy = vec![other; len];
                noisy[at] = 0;
                assert_eq!(find_zero(&noisy), Some(at));
            }
        }
    }
}

#[test]
fn the_first_of_two_equal_names_is_found() {
    let mut doc = crate::builder::DocBuilder::new();
    doc.i32("ab", 1).i32("a", 2).i32("a", 3);
    let bytes = doc.finish();
    let doc = RawDoc::framed(&bytes).unwrap();
    assert_eq!(doc.get("a").and_then(RawValue::as_i32), Some(2));
    assert_eq!(doc.get(""), None);
}

proptest! {
    #[test]
    fn the_walk_agrees_with_the_bson_crate(bytes in document()) {
        let ours: Vec<_> = RawDoc::framed(&bytes).unwrap().iter().map(|e| (e.name(), e.value.ty as u8)).collect();
        let theirs = bson::RawDocument::from_bytes(&bytes).unwrap();
        let theirs: Vec<_> = theirs.iter().map(|e| e.map(|(k, v)| (k.as_str(), v.element_type() as u8)).unwrap()).collect();
        prop_assert_eq!(ours, theirs);
    }
}
