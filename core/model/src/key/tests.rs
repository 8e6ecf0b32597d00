//! Keys against the comparison order.

use super::*;
use crate::arbitrary::{document, number, value};
use crate::compare::{compare, equal};
use crate::value::OwnedValue;
use proptest::prelude::*;
use std::cmp::Ordering;

const BOTH: [KeyDirection; 2] = [KeyDirection::Ascending, KeyDirection::Descending];

fn key(value: &OwnedValue, direction: KeyDirection) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value.as_ref(), direction, &mut out);
    out
}

fn check_pair(a: &OwnedValue, b: &OwnedValue) -> Result<(), TestCaseError> {
    let order = compare(a.as_ref(), b.as_ref());
    prop_assert_eq!(order.reverse(), compare(b.as_ref(), a.as_ref()));
    prop_assert_eq!(order.is_eq(), equal(a.as_ref(), b.as_ref()));
    for direction in BOTH {
        let (left, right) = (key(a, direction), key(b, direction));
        let expected = if direction == KeyDirection::Ascending { order } else { order.reverse() };
        prop_assert_eq!(left.cmp(&right), expected, "{:02x?} {:02x?}", left, right);
        prop_assert!(order.is_eq() || !(left.starts_with(&right) || right.starts_with(&left)));
        prop_assert_eq!(part_len(&left, direction), Some(left.len()));
    }
    if order.is_eq() {
        prop_assert_eq!(canonical_hash(a.as_ref()), canonical_hash(b.as_ref()));
    }
    prop_assert_eq!(ValueKey::new(a.as_ref()).cmp(&ValueKey::new(b.as_ref())), order);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn keys_order_as_values_do(a in value(), b in value()) {
        check_pair(&a, &b)?;
        check_pair(&a, &a)?;
    }

    #[test]
    fn number_keys_order_as_numbers_do(a in number(), b in number()) {
        check_pair(&a.to_owned_value(), &b.to_owned_value())?;
    }

    #[test]
    fn order_is_transitive(values in prop::collection::vec(value(), 3)) {
        let [a, b, c] = [&values[0], &values[1], &values[2]].map(OwnedValue::as_ref);
        if compare(a, b) != Ordering::Greater && compare(b, c) != Ordering::Greater {
            prop_assert_ne!(compare(a, c), Ordering::Greater);
        }
    }

    #[test]
    fn compound_keys_are_concatenations(
        a in (value(), value()), b in (value(), value()), first in 0..2usize, second in 0..2usize
    ) {
        let directions = [BOTH[first], BOTH[second]];
        let join = |pair: &(OwnedValue, OwnedValue)| {
            [key(&pair.0, directions[0]), key(&pair.1, directions[1])].concat()
        };
        let turn = |order: Ordering, direction| {
            if direction == KeyDirection::Ascending { order } else { order.reverse() }
        };
        let expected = turn(compare(a.0.as_ref(), b.0.as_ref()), directions[0])
            .then(turn(compare(a.1.as_ref(), b.1.as_ref()), directions[1]));
        prop_assert_eq!(join(&a).cmp(&join(&b)), expected);
    }

    #[test]
    fn brackets_hold_their_class_and_nothing_else(a in value(), b in value()) {
        let (lower, upper) = type_bracket_bounds(b.ty);
        let inside = canonical_class(a.ty) == canonical_class(b.ty);
        let ascending = key(&a, KeyDirection::Ascending);
        prop_assert_eq!(lower <= ascending && ascending < upper, inside);
        let (lower, upper) = descending_bounds(&lower, &upper);
        let descending = key(&a, KeyDirection::Descending);
        prop_assert_eq!(lower <= descending && upper.is_none_or(|u| descending < u), inside);
    }

    #[test]
    fn prefix_bounds_hold_exactly_the_prefixed(text in "[ab\0é]{0,5}", prefix in "[ab\0é]{0,3}") {
        let value = OwnedValue::string(&text);
        let inside = text.starts_with(&prefix);
        let (lower, upper) = string_prefix_bounds(&prefix);
        let ascending = key(&value, KeyDirection::Ascending);
        prop_assert_eq!(lower <= ascending && ascending < upper, inside);
        let (lower, upper) = descending_bounds(&lower, &upper);
        let descending = key(&value, KeyDirection::Descending);
        prop_assert_eq!(lower <= descending && upper.is_none_or(|u| descending < u), inside);
    }

    #[test]
    fn bounds_turn_with_the_direction(v in value(), low in value(), high in value()) {
        let (lower, upper) = (key(&low, KeyDirection::Ascending), key(&high, KeyDirection::Ascending));
        let ascending = key(&v, KeyDirection::Ascending);
        let inside = lower <= ascending && ascending < upper;
        let (lower, upper) = descending_bounds(&lower, &upper);
        let descending = key(&v, KeyDirection::Descending);
        prop_assert_eq!(lower <= descending && upper.is_none_or(|u| descending < u), inside);
    }

    #[test]
    fn min_and_max_key_enclose_everything(v in value()) {
        let key = key(&v, KeyDirection::Ascending);
        prop_assert!(min_key() <= key && key <= max_key());
    }

    #[test]
    fn damaged_keys_do_no_harm(doc in document(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = doc.clone();
        let at = cut.index(bytes.len());
        bytes[at] = byte;
        for ty in [T::Document, T::Array, T::JavaScriptWithScope, T::DbPointer, T::Regex, T::String, T::Decimal128] {
            for bytes in [&bytes[..], &bytes[..at]] {
                let value = OwnedValue::new(ty, bytes);
                let _ = (key(&value, KeyDirection::Ascending), compare(value.as_ref(), value.as_ref()));
            }
        }
    }
}

#[test]
fn equal_numbers_of_all_types_are_one_key() {
    let one = [
        Number::Int32(1),
        Number::Int64(1),
        Number::Double(1.0),
        Number::Decimal(Decimal128::ONE),
        Number::Decimal("1.000".parse().unwrap()),
    ];
    for number in one {
        let encoded = key(&number.to_owned_value(), KeyDirection::Ascending);
        assert_eq!(encoded, [40, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn a_mebibyte_is_a_key() {
    let text = OwnedValue::string(&"é\0".repeat(1 << 19));
    let encoded = key(&text, KeyDirection::Descending);
    assert_eq!(part_len(&encoded, KeyDirection::Descending), Some(encoded.len()));
}

#[test]
fn nesting_beyond_the_limit_stays_consistent() {
    let nested = |leaf: OwnedValue| {
        (0..400).fold(leaf, |inner, _| {
            let mut array = crate::builder::DocBuilder::new();
            array.append("0", inner.as_ref());
            OwnedValue::from_vec(T::Array, array.finish())
        })
    };
    let (a, b) = (nested(1.into()), nested(OwnedValue::string("x")));
    check_pair(&a, &b).unwrap();
    check_pair(&a, &a).unwrap();
}

#[test]
fn successors() {
    assert_eq!(prefix_successor(&[1, 2]), Some(vec![1, 3]));
    assert_eq!(prefix_successor(&[1, 0xFF, 0xFF]), Some(vec![2]));
    assert_eq!(prefix_successor(&[0xFF]), None);
    assert_eq!(prefix_successor(&[]), None);
}
