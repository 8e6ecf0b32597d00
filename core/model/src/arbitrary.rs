//! Proptest strategies for BSON values of every type, biased to where mistakes hide: equal numbers of
//! different types, neighbours of doubles, strings with zeros, shared prefixes, deep nesting.

use crate::builder::DocBuilder;
use crate::decimal::{Decimal128, MAX_COEFFICIENT, MAX_EXPONENT, MIN_EXPONENT};
use crate::number::Number;
use crate::types::ElementType as T;
use crate::value::OwnedValue;
use proptest::prelude::*;

/// Any number of any type.
pub(crate) fn number() -> impl Strategy<Value = Number> {
    let whole = prop_oneof![
        prop::sample::select(vec![0i64, 1, -1, 1 << 31, -(1 << 31), 1 << 53, (1 << 53) + 1, -(1 << 53) - 1]),
        prop::sample::select(vec![
            i64::MAX,
            i64::MIN,
            i64::MAX - 1,
            i64::MIN + 1,
            i64::MAX - 511,
            100,
            12_300
        ]),
        -20..20i64,
        any::<i64>(),
    ];
    let double = prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        whole.clone().prop_map(|n| n as f64),
        (-1000..1000i32).prop_map(|n| f64::from(n) / 8.0),
        (-1000..1000i32).prop_map(|n| f64::from(n) / 10.0),
        prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN]),
        prop::sample::select(vec![f64::MIN_POSITIVE, 5e-324, -5e-324, 9.223372036854776e18]),
    ];
    let special =
        vec![Decimal128::NAN, Decimal128::INFINITY, Decimal128::NEG_INFINITY, Decimal128::ZERO.negate()];
    let decimal = prop_oneof![
        prop::sample::select(special),
        (any::<bool>(), 0..=MAX_COEFFICIENT, MIN_EXPONENT..=MAX_EXPONENT)
            .prop_map(|(n, c, e)| Decimal128::from_parts(n, c, e)),
        (any::<bool>(), 0..5000u128, -6..6i32).prop_map(|(n, c, e)| Decimal128::from_parts(n, c, e)),
        (any::<bool>(), 1..99u128, 300..312i32).prop_map(|(n, c, e)| Decimal128::from_parts(n, c, e)),
        (any::<bool>(), 1..99u128, -330..-320i32).prop_map(|(n, c, e)| Decimal128::from_parts(n, c, e)),
        double.clone().prop_map(Decimal128::from_f64_34),
        whole.clone().prop_map(Decimal128::from_i64),
        any::<[u8; 16]>().prop_map(Decimal128::from_le_bytes),
        // The whole number again, with trailing zeros.
        (whole.clone(), 0..15u32).prop_map(|(n, zeros)| {
            let coefficient = u128::from(n.unsigned_abs()) * 10u128.pow(zeros);
            Decimal128::from_parts(n < 0, coefficient, -(zeros as i32))
        }),
    ];
    prop_oneof![
        any::<i32>().prop_map(Number::Int32),
        (-20..20i32).prop_map(Number::Int32),
        whole.prop_map(Number::Int64),
        double.prop_map(Number::Double),
        decimal.prop_map(Number::Decimal),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(vec!['\0', '\u{1}', 'a', 'b', 'é', '\u{10FFFF}']), 0..5)
            .prop_map(String::from_iter),
        any::<String>(),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,3}", any::<String>().prop_map(|s| s.replace('\0', ""))]
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x7F, 0xFF]), 0..5)
}

fn binary() -> impl Strategy<Value = OwnedValue> {
    (prop::sample::select(vec![0u8, 1, 4, 5, 0x80, 0xFF]), payload()).prop_map(|(subtype, bytes)| {
        let mut doc = DocBuilder::new();
        doc.binary("", subtype, &bytes);
        OwnedValue::new(T::Binary, &doc.finish()[6..][..bytes.len() + 5])
    })
}

fn of_type(ty: T, text: &str) -> OwnedValue {
    OwnedValue::new(ty, OwnedValue::string(text).as_ref().bytes)
}

fn scalar() -> impl Strategy<Value = OwnedValue> {
    let plain = vec![T::MinKey, T::MaxKey, T::Null, T::Undefined];
    let small = prop::sample::select(vec![0u64, 1, u64::MAX, 1 << 63, 1 << 32, 0xFFFF_FFFF]);
    let eight = prop_oneof![small, any::<u64>()];
    let id = prop_oneof![any::<[u8; 12]>(), prop::sample::select(vec![[0; 12], [1; 12], [0xFF; 12]])];
    prop_oneof![
        6 => number().prop_map(Number::to_owned_value),
        4 => text().prop_map(|s| OwnedValue::string(&s)),
        1 => text().prop_map(|s| of_type(T::Symbol, &s)),
        1 => text().prop_map(|s| of_type(T::JavaScript, &s)),
        1 => prop::sample::select(plain).prop_map(|ty| OwnedValue::new(ty, &[])),
        1 => any::<bool>().prop_map(OwnedValue::from),
        1 => id.clone().prop_map(|id| OwnedValue::new(T::ObjectId, &id)),
        1 => (eight, any::<bool>()).prop_map(|(n, date)| {
            OwnedValue::new(if date { T::Date } else { T::Timestamp }, &n.to_le_bytes())
        }),
        1 => binary(),
        1 => (name(), "i?m?s?x?").prop_map(|(p, o)| OwnedValue::new(T::Regex, format!("{p}\0{o}\0").as_bytes())),
        1 => (name(), id).prop_map(|(s, id)| {
            let mut bytes = OwnedValue::string(&s).as_ref().bytes.to_vec();
            bytes.extend_from_slice(&id);
            OwnedValue::from_vec(T::DbPointer, bytes)
        }),
    ]
}

/// The document with these fields.
pub(crate) fn document_of(fields: &[(String, OwnedValue)]) -> Vec<u8> {
    let mut doc = DocBuilder::new();
    for (name, value) in fields {
        doc.append(name, value.as_ref());
    }
    doc.finish()
}

fn code_with_scope(code: &str, scope: &[u8]) -> OwnedValue {
    let text = OwnedValue::string(code);
    let len = (4 + text.as_ref().bytes.len() + scope.len()) as i32;
    let parts = [&len.to_le_bytes(), text.as_ref().bytes, scope];
    OwnedValue::from_vec(T::JavaScriptWithScope, parts.concat())
}

/// Any value of any type, nested up to five levels.
pub(crate) fn value() -> impl Strategy<Value = OwnedValue> {
    scalar().prop_recursive(5, 40, 4, |nested| {
        let fields = prop::collection::vec((name(), nested.clone()), 0..4).boxed();
        prop_oneof![
            3 => fields.clone().prop_map(|f| OwnedValue::document(document_of(&f))),
            3 => prop::collection::vec(nested, 0..4).prop_map(|items| {
                let mut array = DocBuilder::new();
                for (i, item) in items.iter().enumerate() {
                    array.append(&i.to_string(), item.as_ref());
                }
                OwnedValue::from_vec(T::Array, array.finish())
            }),
            1 => (text(), fields).prop_map(|(code, f)| code_with_scope(&code, &document_of(&f))),
        ]
    })
}

/// Any document.
pub(crate) fn document() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec((name(), value()), 0..5).prop_map(|fields| document_of(&fields))
}
