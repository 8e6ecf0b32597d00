//! An index only proposes candidates: every answer with indexes equals the answer without.
//!
//! Random documents, random indexes, random filters, sorts and collations. The same documents stand in a
//! collection without indexes and in one with them; each query is asked of both, and of the latter
//! once more with every index as a hint.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_model::{Collation, DocumentView, RawDoc};
use multifora_query::sort::SortSpec;
use proptest::prelude::*;
use std::sync::Arc;
use support::{Session, memory};

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0i32..5).prop_map(|n| n.to_string()),
        2 => prop::sample::select(vec!["1.0", "2.5", "-0.0", r#"{"$numberDouble": "NaN"}"#, r#"{"$numberDecimal": "3"}"#])
            .prop_map(String::from),
        3 => prop::sample::select(vec![r#""a""#, r#""ab""#, r#""b""#, r#""""#]).prop_map(String::from),
        2 => prop::sample::select(vec![r#""A""#, r#""aB""#, r#""á""#, r#""B""#, r#""a-b""#]).prop_map(String::from),
        2 => Just(String::from("null")),
        1 => prop::sample::select(vec![
            "true", "false", r#"{"$date": {"$numberLong": "5"}}"#, r#"{"$minKey": 1}"#, r#"{"$maxKey": 1}"#,
            r#"{"$regularExpression": {"pattern": "^a", "options": ""}}"#,
        ]).prop_map(String::from),
    ]
}

fn object(value: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    (prop::option::of(value.clone()), prop::option::of(value)).prop_map(|(a, b)| {
        let fields = [a.map(|v| format!(r#""a": {v}"#)), b.map(|v| format!(r#""b": {v}"#))];
        format!("{{{}}}", fields.into_iter().flatten().collect::<Vec<_>>().join(", "))
    })
}

fn array(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(value, 0..4).prop_map(|items| format!("[{}]", items.join(", ")))
}

fn value() -> BoxedStrategy<String> {
    let simple = scalar().boxed();
    let inner =
        prop_oneof![4 => simple.clone(), 1 => object(simple.clone()), 1 => array(simple.clone())].boxed();
    prop_oneof![
        5 => simple,
        2 => object(inner.clone()),
        3 => array(inner),
    ]
    .boxed()
}

fn document() -> impl Strategy<Value = String> {
    let nested = prop_oneof![
        object(value()),
        array(object(value())),
        array(prop_oneof![3 => object(scalar().boxed()), 1 => scalar()]),
        scalar(),
    ];
    (
        prop::option::weighted(0.8, value()),
        prop::option::weighted(0.8, value()),
        prop::option::weighted(0.7, nested),
    )
        .prop_map(|(a, b, x)| {
            let fields = [
                a.map(|v| format!(r#""a": {v}"#)),
                b.map(|v| format!(r#""b": {v}"#)),
                x.map(|v| format!(r#""x": {v}"#)),
            ];
            fields.into_iter().flatten().collect::<Vec<_>>().join(", ")
        })
}

const PATHS: &[&str] = &["a", "b", "x", "x.a", "x.b", "x.0", "x.0.a", "_id"];

fn operators() -> BoxedStrategy<String> {
    let one = prop_oneof![
        4 => ("\\$(eq|gt|gte|lt|lte|ne)", value()).prop_map(|(op, v)| format!(r#""{op}": {v}"#)),
        2 => ("\\$(in|nin)", array(value())).prop_map(|(op, v)| format!(r#""{op}": {v}"#)),
        1 => any::<bool>().prop_map(|v| format!(r#""$exists": {v}"#)),
        1 => prop::sample::select(vec!["^a", "b", "^", "^ab?"]).prop_map(|p| format!(r#""$regex": "{p}""#)),
        1 => prop::sample::select(vec!["number", "string", "array", "null", "object", "bool", "int"])
            .prop_map(|t| format!(r#""$type": "{t}""#)),
        1 => (0u32..3).prop_map(|n| format!(r#""$size": {n}"#)),
        1 => Just(String::from(r#""$mod": [2, 1]"#)),
        1 => array(value()).prop_map(|v| format!(r#""$all": {v}"#)),
    ]
    .boxed();
    let several = prop::collection::vec(one, 1..3).prop_map(|ops| {
        // An operator named twice would be a duplicate field.
        let mut seen = std::collections::HashSet::new();
        let ops: Vec<String> =
            ops.into_iter().filter(|op| seen.insert(op.split(':').next().map(str::to_owned))).collect();
        ops.join(", ")
    });
    several.boxed()
}

fn condition() -> BoxedStrategy<String> {
    let path = || prop::sample::select(PATHS);
    let inner = prop_oneof![
        operators(),
        ("a|b", operators()).prop_map(|(p, ops)| format!(r#""{p}": {{{ops}}}"#)),
        (operators(), operators()).prop_map(|(a, b)| format!(r#""a": {{{a}}}, "b": {{{b}}}"#)),
    ];
    prop_oneof![
        6 => (path(), operators()).prop_map(|(p, ops)| format!(r#""{p}": {{{ops}}}"#)),
        3 => (path(), value()).prop_map(|(p, v)| format!(r#""{p}": {v}"#)),
        2 => (path(), operators()).prop_map(|(p, ops)| format!(r#""{p}": {{"$not": {{{ops}}}}}"#)),
        4 => (path(), inner).prop_map(|(p, i)| format!(r#""{p}": {{"$elemMatch": {{{i}}}}}"#)),
    ]
    .boxed()
}

fn filter() -> BoxedStrategy<String> {
    let leaf = condition().prop_map(|c| format!("{{{c}}}")).boxed();
    leaf.prop_recursive(2, 8, 3, |inner| {
        ("\\$(and|or|nor)", prop::collection::vec(inner, 1..4))
            .prop_map(|(op, parts)| format!(r#"{{"{op}": [{}]}}"#, parts.join(", ")))
    })
    .boxed()
}

fn sort() -> impl Strategy<Value = String> {
    let field = || (prop::sample::select(PATHS), any::<bool>());
    prop::collection::vec(field(), 1..3).prop_map(|fields| {
        let mut seen = std::collections::HashSet::new();
        let fields = fields.into_iter().filter(|(path, _)| seen.insert(*path));
        let fields: Vec<String> =
            fields.map(|(p, up)| format!(r#""{p}": {}"#, if up { 1 } else { -1 })).collect();
        format!("{{{}}}", fields.join(", "))
    })
}

const KEYS: &[&str] = &[
    r#""a": 1"#,
    r#""b": -1"#,
    r#""a": 1, "b": 1"#,
    r#""a": -1, "b": 1"#,
    r#""x.a": 1, "x.b": 1"#,
    r#""x.b": -1, "a": 1"#,
    r#""x": 1"#,
    r#""x.a": -1"#,
    r#""x.0": 1"#,
    r#""b": 1, "a": -1, "x.a": 1"#,
    r#""_id": -1, "a": 1"#,
];

fn insert(db: &Session, docs: &[String]) {
    for name in ["plain", "indexed"] {
        let docs: Vec<String> = docs
            .iter()
            .enumerate()
            .map(|(id, doc)| match doc.as_str() {
                "" => format!(r#"{{"_id": {id}}}"#),
                doc => format!(r#"{{"_id": {id}, {doc}}}"#),
            })
            .collect();
        db.ok(&format!(r#"{{"insert": "{name}", "documents": [{}]}}"#, docs.join(", ")));
    }
}

/// How strings compare: for a collection, an index, a query, each on its own.
const COLLATIONS: &[&str] = &[
    "",
    r#", "collation": {"locale": "en", "strength": 2}"#,
    r#", "collation": {"locale": "en", "strength": 1}"#,
    r#", "collation": {"locale": "en", "strength": 3, "alternate": "shifted"}"#,
    r#", "collation": {"locale": "simple"}"#,
];

fn collation() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&[0, 0, 0, 1, 1, 1, 2, 3, 4]).prop_map(|at: usize| COLLATIONS[at])
}

/// Options of an index: those after the first leave documents out, so a hint would change the answer.
const OPTIONS: &[&str] = &[
    "",
    r#", "sparse": true"#,
    r#", "unique": true, "sparse": true"#,
    r#", "partialFilterExpression": {"a": {"$gt": 1}}"#,
    r#", "partialFilterExpression": {"b": {"$exists": true}, "x.a": {"$lte": 3}}"#,
    r#", "partialFilterExpression": {"a": {"$gte": "B"}}"#,
    r#", "partialFilterExpression": {"b": {"$in": ["A", "B", null]}}"#,
];

/// Builds the indexes that the documents allow (parallel arrays refuse some); gives those to hint at.
fn build(db: &Session, keys: &[(usize, usize, &str)]) -> Vec<String> {
    let mut hints = Vec::new();
    for (at, (key, options, collation)) in keys.iter().enumerate() {
        let (pattern, options) = (KEYS[*key % KEYS.len()], OPTIONS[options.saturating_sub(3)]);
        let command = format!(
            r#"{{"createIndexes": "indexed", "indexes": [{{"key": {{{pattern}}}, "name": "i{at}"{options}{collation}}}]}}"#
        );
        if db.run(&command).is_ok() && options.is_empty() {
            hints.push(format!("i{at}"));
        }
    }
    hints
}

fn ask(db: &Session, collection: &str, rest: &str) -> Option<Vec<Vec<u8>>> {
    let reply = db.run(&format!(r#"{{"find": "{collection}", "batchSize": 1000{rest}}}"#));
    if !reply.is_ok() {
        return None;
    }
    let batch = reply.get("cursor.firstBatch")?;
    Some(batch.as_ref().as_array()?.iter().map(|e| e.value.bytes.to_vec()).collect())
}

fn sorted(mut docs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    docs.sort();
    docs
}

/// `None` when some document has no place in the order (parallel arrays).
fn sort_keys(docs: &[Vec<u8>], sort: &str, collation: Option<&Arc<Collation>>) -> Option<Vec<Vec<u8>>> {
    let spec = multifora_model::extjson::parse_document(sort).unwrap();
    let spec = SortSpec::compile(RawDoc::framed(&spec).unwrap()).unwrap().with_collation(collation);
    let key = |doc: &Vec<u8>| {
        let mut key = Vec::new();
        spec.key(&DocumentView::whole(RawDoc::framed(doc).unwrap()), &mut key).ok()?;
        Some(key)
    };
    docs.iter().map(key).collect()
}

/// The collation that a query has: its own, or that of the collection.
fn in_force(query: &str, default: &str) -> Option<Arc<Collation>> {
    let asked = if query.is_empty() { default } else { query };
    let bytes = multifora_model::extjson::parse_document(&format!("{{\"x\": 1{asked}}}")).unwrap();
    let spec = RawDoc::framed(&bytes).unwrap().get("collation")?.as_doc()?;
    Collation::parse(spec).unwrap()
}

fn check_query(
    db: &Session,
    (filter, sort, limit, collation): (&str, &str, u32, &str),
    default: &str,
    hints: &[String],
) -> Result<(), TestCaseError> {
    let by_filter = format!(r#", "filter": {filter}{collation}"#);
    let collated = in_force(collation, default);
    let sort_keys = |docs: &[Vec<u8>], sort: &str| sort_keys(docs, sort, collated.as_ref());
    let Some(expected) = ask(db, "plain", &by_filter) else {
        // A filter that is refused is refused everywhere.
        prop_assert!(ask(db, "indexed", &by_filter).is_none());
        return Ok(());
    };
    let expected_set = sorted(expected.clone());
    prop_assert_eq!(sorted(ask(db, "indexed", &by_filter).unwrap()), expected_set.clone(), "{}", filter);
    for hint in hints {
        let rest = format!(r#"{by_filter}, "hint": "{hint}""#);
        let found = ask(db, "indexed", &rest);
        prop_assert_eq!(found.map(sorted), Some(expected_set.clone()), "{} through {}", filter, hint);
    }
    for name in ["plain", "indexed"] {
        let reply = db.ok(&format!(r#"{{"count": "{name}", "query": {filter}{collation}}}"#));
        prop_assert_eq!(
            reply.i64("n"),
            i64::try_from(expected.len()).ok(),
            "count of {} in {}",
            filter,
            name
        );
    }
    let by_sort = format!(r#"{by_filter}, "sort": {sort}"#);
    let Some(in_order) = ask(db, "plain", &by_sort) else { return Ok(()) };
    // A single document found by its _id is not sorted, so it need not be sortable.
    let Some(order) = sort_keys(&in_order, sort) else { return Ok(()) };
    for hint in std::iter::once(String::new()).chain(hints.iter().map(|h| format!(r#", "hint": "{h}""#))) {
        let found = ask(db, "indexed", &format!("{by_sort}{hint}")).unwrap();
        prop_assert_eq!(sorted(found.clone()), expected_set.clone(), "{} by {} {}", filter, sort, hint);
        prop_assert_eq!(sort_keys(&found, sort), Some(order.clone()), "{} by {} {}", filter, sort, hint);
        let some = ask(db, "indexed", &format!(r#"{by_sort}{hint}, "limit": {limit}"#)).unwrap();
        let first = order.len().min(if limit == 0 { usize::MAX } else { limit as usize });
        prop_assert_eq!(
            sort_keys(&some, sort),
            Some(order[..first].to_vec()),
            "{} by {} limit {} {}",
            filter,
            sort,
            limit,
            hint
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn answers_do_not_depend_on_indexes(
        docs in prop::collection::vec(document(), 1..24),
        keys in prop::collection::vec((0..KEYS.len(), 0..OPTIONS.len() + 3, collation()), 1..4),
        queries in prop::collection::vec((filter(), sort(), 0u32..6, collation()), 1..12),
        default in prop::sample::select(&COLLATIONS[..3]),
    ) {
        let db = memory();
        for name in ["plain", "indexed"] {
            db.ok(&format!(r#"{{"create": "{name}"{default}}}"#));
        }
        insert(&db, &docs);
        let hints = build(&db, &keys);
        for (filter, sort, limit, collation) in &queries {
            check_query(&db, (filter, sort, *limit, collation), default, &hints)?;
        }
    }
}
