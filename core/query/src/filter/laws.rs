//! Laws that filters keep for all documents: operators defined by others, and what indexes rely on.

use super::*;
use crate::NoResources;
use multifora_model::path::{FieldPath, extract_keys};
use multifora_model::{DocBuilder, ElementType, OwnedValue, compare};
use proptest::prelude::*;

/// Few different values, so that they meet each other often.
fn scalar() -> impl Strategy<Value = OwnedValue> {
    prop_oneof![
        Just(OwnedValue::null()),
        (0..3i32).prop_map(OwnedValue::from),
        (0..3i64).prop_map(OwnedValue::from),
        prop_oneof![Just(0.5), Just(1.0), Just(f64::NAN), Just(-0.0)].prop_map(OwnedValue::from),
        any::<bool>().prop_map(OwnedValue::from),
        prop_oneof![Just("a"), Just("b"), Just("1")].prop_map(OwnedValue::string),
        Just(OwnedValue::new(ElementType::MinKey, &[])),
        Just(OwnedValue::new(ElementType::MaxKey, &[])),
    ]
}

fn array_of(items: &[OwnedValue]) -> OwnedValue {
    let mut out = DocBuilder::new_array();
    for item in items {
        out.push(item.as_ref());
    }
    OwnedValue::from_vec(ElementType::Array, out.finish())
}

fn document_of(fields: &[(&str, OwnedValue)]) -> OwnedValue {
    let mut out = DocBuilder::new();
    for (name, value) in fields {
        out.append(name, value.as_ref());
    }
    OwnedValue::document(out.finish())
}

fn value() -> impl Strategy<Value = OwnedValue> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| array_of(&items)),
            prop::collection::vec((prop_oneof![Just("a"), Just("b"), Just("0")], inner), 0..3).prop_map(
                |mut fields| {
                    fields.sort_by_key(|field| field.0);
                    fields.dedup_by_key(|field| field.0);
                    document_of(&fields)
                }
            ),
        ]
    })
}

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("a.b"), Just("a.0"), Just("a.b.a"), Just("a.0.b"), Just("b")]
}

/// `{path: {operator: operand}}`.
fn query(path: &str, operator: &str, operand: &OwnedValue) -> OwnedValue {
    document_of(&[(path, document_of(&[(operator, operand.clone())]))])
}

fn holds(query: &OwnedValue, doc: &OwnedValue) -> bool {
    let filter = Filter::compile(query.as_ref().as_doc().unwrap(), &CompileContext::new(0)).unwrap();
    let view = DocumentView::whole(doc.as_ref().as_doc().unwrap());
    filter.matches(&view, &NoResources).unwrap()
}

fn combined(operator: &str, queries: &[OwnedValue]) -> OwnedValue {
    document_of(&[(operator, array_of(queries))])
}

/// `{keyword: operand}`.
fn keyword(name: &str, operand: OwnedValue) -> OwnedValue {
    document_of(&[(name, operand)])
}

fn schema() -> impl Strategy<Value = OwnedValue> {
    let names = || array_of(&[OwnedValue::string("a")]);
    let leaf = prop_oneof![
        prop_oneof![Just("object"), Just("array"), Just("number"), Just("string")]
            .prop_map(|ty| keyword("type", OwnedValue::string(ty))),
        (0..3i32).prop_map(|n| keyword("minimum", n.into())),
        (0..3i32).prop_map(|n| keyword("maxProperties", n.into())),
        (0..3i32).prop_map(|n| keyword("minItems", n.into())),
        value().prop_map(|one| keyword("enum", array_of(&[one]))),
        Just(keyword("required", names())),
        Just(keyword("uniqueItems", true.into())),
        Just(keyword("dependencies", keyword("b", names()))),
        Just(keyword("additionalProperties", false.into())),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| keyword("properties", document_of(&[("a", a), ("b", b)]))),
            pair.clone().prop_map(|(a, b)| document_of(&[("items", array_of(&[a])), ("additionalItems", b)])),
            pair.clone().prop_map(|(a, b)| document_of(&[
                ("patternProperties", keyword("^a", a)),
                ("additionalProperties", b)
            ])),
            (pair, prop_oneof![Just("allOf"), Just("anyOf"), Just("oneOf")])
                .prop_map(|((a, b), name)| keyword(name, array_of(&[a, b]))),
            inner.clone().prop_map(|a| keyword("not", a)),
            inner.clone().prop_map(|a| keyword("items", a)),
            inner.prop_map(|a| keyword("dependencies", keyword("a", a))),
        ]
    })
}

/// No list of the account is empty: at each level something is named.
fn has_reasons(account: RawDoc<'_>) -> bool {
    const QUOTED: [&str; 4] = ["specifiedAs", "consideredValue", "duplicatedValue", "additionalItems"];
    account.iter().filter(|field| !QUOTED.contains(&field.name())).all(|field| {
        let inside = field.value.as_doc_or_array();
        inside.is_none_or(|inside| !inside.is_empty() && has_reasons(inside))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn operators_are_defined_by_each_other(
        a in value(), b in value(), path in path(), x in scalar(), y in value(),
    ) {
        let doc = document_of(&[("a", a), ("b", b)]);
        let is = |operator: &str, operand: &OwnedValue| holds(&query(path, operator, operand), &doc);
        let both = array_of(&[x.clone(), y.clone()]);
        prop_assert_eq!(is("$ne", &x), !is("$eq", &x));
        prop_assert_eq!(is("$nin", &both), !is("$in", &both));
        prop_assert_eq!(is("$in", &both), is("$eq", &x) || is("$eq", &y));
        prop_assert_eq!(is("$all", &both), is("$eq", &x) && is("$eq", &y));
        prop_assert_eq!(is("$gte", &x), is("$gt", &x) || is("$eq", &x));
        prop_assert_eq!(is("$lte", &x), is("$lt", &x) || is("$eq", &x));
        let (first, second) = (query(path, "$eq", &x), query(path, "$gt", &y));
        let either = holds(&combined("$or", &[first.clone(), second.clone()]), &doc);
        prop_assert_eq!(either, holds(&first, &doc) || holds(&second, &doc));
        prop_assert_eq!(holds(&combined("$nor", &[first, second]), &doc), !either);
    }

    #[test]
    fn plain_equality_is_eq(a in value(), path in path(), x in value()) {
        let doc = document_of(&[("a", a)]);
        let is_operators = x.as_ref().as_doc().is_some_and(|d| d.iter().next().is_some_and(|e| e.name().starts_with('$')));
        prop_assume!(!is_operators);
        prop_assert_eq!(holds(&document_of(&[(path, x.clone())]), &doc), holds(&query(path, "$eq", &x), &doc));
    }

    /// An index holds a key for every value that makes a comparison true, unless the whole array does.
    #[test]
    fn index_keys_cover_what_filters_find(a in value(), path in path(), x in scalar()) {
        let doc = document_of(&[("a", a)]);
        prop_assume!(x.ty != ElementType::Null);
        if holds(&query(path, "$eq", &x), &doc) {
            let view = DocumentView::whole(doc.as_ref().as_doc().unwrap());
            let mut found = false;
            let keys = extract_keys(&[FieldPath::parse(path)], &view, &mut |tuple| {
                found |= tuple.values.iter().any(|v| compare(*v, x.as_ref()).is_eq());
                Ok(())
            });
            // An ambiguous position is refused when the document is stored.
            prop_assert!(found || keys.is_err());
        }
    }

    #[test]
    fn schemas_combine_and_every_failure_has_its_reasons(
        a in value(), b in value(), one in schema(), other in schema(),
    ) {
        let doc = document_of(&[("a", a), ("b", b)]);
        let valid = |schema: &OwnedValue| holds(&keyword("$jsonSchema", schema.clone()), &doc);
        let both = array_of(&[one.clone(), other.clone()]);
        let (first, second) = (valid(&one), valid(&other));
        prop_assert_eq!(valid(&keyword("not", one.clone())), !first);
        prop_assert_eq!(valid(&keyword("allOf", both.clone())), first && second);
        prop_assert_eq!(valid(&keyword("anyOf", both.clone())), first || second);
        prop_assert_eq!(valid(&keyword("oneOf", both)), first != second);
        if !first {
            let rule = keyword("$jsonSchema", one);
            let account = explain_failure(
                rule.as_ref().as_doc().unwrap(),
                &CompileContext::new(0),
                doc.as_ref().as_doc().unwrap(),
                &NoResources,
            );
            let details = RawDoc::framed(&account).unwrap().get("details").and_then(RawValue::as_doc);
            prop_assert!(details.is_some_and(has_reasons), "{account:?}");
        }
    }

    #[test]
    fn hostile_queries_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut framed = Vec::new();
        framed.extend_from_slice(&(i32::try_from(bytes.len()).unwrap() + 5).to_le_bytes());
        framed.extend_from_slice(&bytes);
        framed.push(0);
        let _ = Filter::compile(RawDoc::framed(&framed).unwrap(), &CompileContext::new(0));
    }
}
