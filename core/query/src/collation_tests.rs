//! Filters, expressions, stages and updates under a collation: rows in which the simple one would answer otherwise.

use crate::filter::Filter;
use crate::stage::{Documents, Pipeline};
use crate::update::{Outcome, Update};
use crate::{CompileContext, NoResources};
use multifora_model::extjson::{Mode, parse_document, parse_value, to_text};
use multifora_model::{Collation, DocumentView, RawDoc};

fn doc(text: &str) -> Vec<u8> {
    parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn raw(bytes: &[u8]) -> RawDoc<'_> {
    RawDoc::framed(bytes).unwrap()
}

fn context(collation: &str) -> CompileContext {
    CompileContext::new(0).with_collation(Collation::parse(raw(&doc(collation))).unwrap())
}

const CASELESS: &str = r#"{"locale": "en", "strength": 2}"#;
const SIMPLE: &str = r#"{"locale": "simple"}"#;

fn matches(collation: &str, query: &str, document: &str) -> bool {
    let filter = Filter::compile(raw(&doc(query)), &context(collation)).unwrap();
    let document = doc(document);
    filter.matches(&DocumentView::whole(raw(&document)), &NoResources).unwrap()
}

#[test]
fn filters() {
    for (query, document) in [
        (r#"{"a": "X"}"#, r#"{"a": "x"}"#),
        (r#"{"a": "X"}"#, r#"{"a": ["y", "x"]}"#),
        (r#"{"a": {"b": "X"}}"#, r#"{"a": {"b": "x"}}"#),
        (r#"{"a": ["X", {"b": ["Y"]}]}"#, r#"{"a": ["x", {"b": ["y"]}]}"#),
        (r#"{"a": {"$in": ["Q", "X", 1]}}"#, r#"{"a": "x"}"#),
        (r#"{"a": {"$in": [["X"]]}}"#, r#"{"a": [["x"]]}"#),
        (r#"{"a": {"$all": ["X", "Y"]}}"#, r#"{"a": ["y", "x"]}"#),
        (r#"{"a": {"$gte": "X"}}"#, r#"{"a": "x"}"#),
        (r#"{"a": {"$lt": "b"}}"#, r#"{"a": "A"}"#),
        (r#"{"a": {"$elemMatch": {"$eq": "X"}}}"#, r#"{"a": ["x"]}"#),
        (r#"{"a": {"$elemMatch": {"b": "X"}}}"#, r#"{"a": [{"b": "x"}]}"#),
        (r#"{"$expr": {"$eq": ["$a", "X"]}}"#, r#"{"a": "x"}"#),
        (r#"{"$expr": {"$eq": [{"b": "$a"}, {"b": "X"}]}}"#, r#"{"a": "x"}"#),
        (r#"{"$expr": {"$in": ["X", "$a"]}}"#, r#"{"a": ["x"]}"#),
        (r#"{"$expr": {"$eq": ["x", "X"]}}"#, "{}"),
    ] {
        assert!(matches(CASELESS, query, document), "{query} {document}");
        let simple = matches(SIMPLE, query, document);
        assert!(!simple || query.contains("$gte") || query.contains("$lt"), "{query} {document}");
    }
    for (query, document) in [
        (r#"{"a": {"$ne": "X"}}"#, r#"{"a": "x"}"#),
        (r#"{"a": {"$nin": ["X"]}}"#, r#"{"a": "x"}"#),
        (r#"{"a": {"$gt": "B"}}"#, r#"{"a": "b"}"#),
        // Patterns, schemas, field names and other types are not the collation's business.
        (r#"{"a": {"$regularExpression": {"pattern": "^X", "options": ""}}}"#, r#"{"a": "x"}"#),
        (r#"{"$jsonSchema": {"properties": {"a": {"enum": ["X"]}}}}"#, r#"{"a": "x"}"#),
        (r#"{"a": {"X": 1}}"#, r#"{"a": {"x": 1}}"#),
        (r#"{"A": 1}"#, r#"{"a": 1}"#),
        (r#"{"a": {"$code": "X"}}"#, r#"{"a": {"$code": "x"}}"#),
    ] {
        assert!(!matches(CASELESS, query, document), "{query} {document}");
    }
}

fn run(collation: &str, stages: &str, documents: &str) -> String {
    let stages = parse_value(stages).unwrap();
    let pipeline = Pipeline::compile(stages.as_ref(), &context(collation)).unwrap();
    let documents = parse_value(documents).unwrap();
    let documents = documents.as_ref().as_array().unwrap().iter().map(|d| d.value.bytes.to_vec()).collect();
    let found = pipeline.start(0).collect(&mut Documents::new(documents), &NoResources).unwrap();
    let texts: Vec<String> = found.iter().map(|d| to_text(raw(d), Mode::Relaxed)).collect();
    texts.join(" ")
}

#[track_caller]
fn value(expression: &str, wanted: &str) {
    let stages = format!(r#"[{{"$project": {{"v": {expression}}}}}]"#);
    let found = run(CASELESS, &stages, r#"[{"a": "x", "l": ["b", "X", "x", "B"]}]"#);
    assert_eq!(found, to_text(raw(&doc(&format!(r#"{{"v": {wanted}}}"#))), Mode::Relaxed), "{expression}");
}

#[test]
fn expressions() {
    value(r#"{"$cmp": ["$a", "X"]}"#, "0");
    value(r#"{"$ne": ["$a", "X"]}"#, "false");
    value(r#"{"$gt": ["$a", "W"]}"#, "true");
    value(r#"{"$indexOfArray": ["$l", "x"]}"#, "1");
    value(r#"{"$max": "$l"}"#, r#""X""#);
    value(r#"{"$min": ["$a", "X"]}"#, r#""x""#);
    value(r#"{"$minN": {"n": 2, "input": "$l"}}"#, r#"["b", "B"]"#);
    value(r#"{"$setUnion": ["$l", ["a"]]}"#, r#"["a", "b", "X"]"#);
    value(r#"{"$setIntersection": ["$l", ["B"]]}"#, r#"["b"]"#);
    value(r#"{"$setDifference": ["$l", ["B"]]}"#, r#"["X"]"#);
    value(r#"{"$setEquals": ["$l", ["x", "b"]]}"#, "true");
    value(r#"{"$setIsSubset": [["x"], "$l"]}"#, "true");
    value(r#"{"$sortArray": {"input": "$l", "sortBy": 1}}"#, r#"["b", "B", "X", "x"]"#);
    value(
        r#"{"$sortArray": {"input": [{"k": "b"}, {"k": "A"}], "sortBy": {"k": 1}}}"#,
        r#"[{"k": "A"}, {"k": "b"}]"#,
    );
    value(r#"{"$switch": {"branches": [{"case": {"$eq": ["$a", "X"]}, "then": 1}], "default": 2}}"#, "1");
    value(r#"{"$filter": {"input": "$l", "cond": {"$eq": ["$$this", "x"]}}}"#, r#"["X", "x"]"#);
    value(r#"{"$let": {"vars": {"v": "$a"}, "in": {"$eq": ["$$v", "X"]}}}"#, "true");
    // These have rules of their own.
    value(r#"{"$strcasecmp": ["a", "\u00e1"]}"#, "-1");
    value(r#"{"$indexOfBytes": ["abc", "B"]}"#, "-1");
    value(r#"{"$regexMatch": {"input": "x", "regex": "X"}}"#, "false");
}

#[test]
fn stages() {
    let letters = r#"[{"a": "b"}, {"a": "A"}, {"a": "B"}, {"a": "a"}, {"a": "\u00e1"}]"#;
    let check = |stages: &str, wanted: &str| {
        let wanted = parse_value(wanted).unwrap();
        let wanted: Vec<String> = wanted
            .as_ref()
            .as_array()
            .unwrap()
            .iter()
            .map(|d| to_text(d.value.as_doc().unwrap(), Mode::Relaxed))
            .collect();
        assert_eq!(run(CASELESS, stages, letters), wanted.join(" "), "{stages}");
    };
    check(r#"[{"$match": {"a": "B"}}]"#, r#"[{"a": "b"}, {"a": "B"}]"#);
    check(
        r#"[{"$sort": {"a": -1}}]"#,
        r#"[{"a": "b"}, {"a": "B"}, {"a": "\u00e1"}, {"a": "A"}, {"a": "a"}]"#,
    );
    check(
        r#"[{"$group": {"_id": "$a", "n": {"$sum": 1}}}]"#,
        r#"[{"_id": "b", "n": 2}, {"_id": "A", "n": 2}, {"_id": "\u00e1", "n": 1}]"#,
    );
    check(
        r#"[{"$group": {"_id": null, "s": {"$addToSet": "$a"}, "x": {"$max": "$a"}, "m": {"$min": "$a"}}}]"#,
        r#"[{"_id": null, "s": ["b", "A", "\u00e1"], "x": "b", "m": "A"}]"#,
    );
    check(
        r#"[{"$group": {"_id": null, "t": {"$topN": {"sortBy": {"a": 1}, "output": "$a", "n": 3}}}}]"#,
        r#"[{"_id": null, "t": ["A", "a", "\u00e1"]}]"#,
    );
    check(
        r#"[{"$sortByCount": "$a"}, {"$limit": 2}]"#,
        r#"[{"_id": "b", "count": 2}, {"_id": "A", "count": 2}]"#,
    );
    check(
        r#"[{"$bucket": {"groupBy": "$a", "boundaries": ["a", "B", "c"]}}]"#,
        r#"[{"_id": "a", "count": 3}, {"_id": "B", "count": 2}]"#,
    );
    check(r#"[{"$facet": {"f": [{"$match": {"a": "B"}}, {"$count": "n"}]}}]"#, r#"[{"f": [{"n": 2}]}]"#);
}

#[track_caller]
fn updated(before: &str, update: &str, filters: Option<&str>, after: &str) {
    let context = context(CASELESS);
    let update = parse_value(update).unwrap();
    let filters = filters.map(|filters| parse_value(filters).unwrap());
    let filters = filters.as_ref().and_then(|f| f.as_ref().as_array());
    let compiled = Update::compile(update.as_ref(), filters, &context).unwrap();
    let bytes = doc(before);
    let outcome = compiled.apply(&DocumentView::whole(raw(&bytes)), None, false, &NoResources).unwrap();
    let found = match outcome {
        Outcome::Unchanged => bytes,
        Outcome::Changed(bytes) => bytes,
    };
    assert_eq!(to_text(raw(&found), Mode::Relaxed), to_text(raw(&doc(after)), Mode::Relaxed), "{before}");
}

#[test]
fn updates() {
    updated(r#"{"a": "x"}"#, r#"{"$max": {"a": "X"}}"#, None, r#"{"a": "x"}"#);
    updated(r#"{"a": "B"}"#, r#"{"$min": {"a": "a"}}"#, None, r#"{"a": "a"}"#);
    updated(r#"{"a": "a"}"#, r#"{"$max": {"a": "B"}}"#, None, r#"{"a": "B"}"#);
    updated(r#"{"a": ["x"]}"#, r#"{"$addToSet": {"a": "X"}}"#, None, r#"{"a": ["x"]}"#);
    updated(
        r#"{"a": []}"#,
        r#"{"$addToSet": {"a": {"$each": ["X", "x", "y"]}}}"#,
        None,
        r#"{"a": ["X", "y"]}"#,
    );
    updated(r#"{"a": ["x", "y"]}"#, r#"{"$pull": {"a": "X"}}"#, None, r#"{"a": ["y"]}"#);
    updated(r#"{"a": [{"b": "x"}]}"#, r#"{"$pull": {"a": {"b": "X"}}}"#, None, r#"{"a": []}"#);
    updated(r#"{"a": ["x", "y"]}"#, r#"{"$pull": {"a": {"$in": ["X"]}}}"#, None, r#"{"a": ["y"]}"#);
    updated(r#"{"a": ["x", "y", "X"]}"#, r#"{"$pullAll": {"a": ["X"]}}"#, None, r#"{"a": ["y"]}"#);
    updated(
        r#"{"a": ["b", "A"]}"#,
        r#"{"$push": {"a": {"$each": ["C", "a"], "$sort": 1}}}"#,
        None,
        r#"{"a": ["A", "a", "b", "C"]}"#,
    );
    updated(
        r#"{"a": [{"k": "b"}]}"#,
        r#"{"$push": {"a": {"$each": [{"k": "A"}], "$sort": {"k": -1}}}}"#,
        None,
        r#"{"a": [{"k": "b"}, {"k": "A"}]}"#,
    );
    updated(
        r#"{"a": ["x", "y"]}"#,
        r#"{"$set": {"a.$[e]": 1}}"#,
        Some(r#"[{"e": "X"}]"#),
        r#"{"a": [1, "y"]}"#,
    );
    // A value that only looks the same is another value to a $set.
    updated(r#"{"a": "x"}"#, r#"{"$set": {"a": "X"}}"#, None, r#"{"a": "X"}"#);
    updated(r#"{"a": "x"}"#, r#"[{"$set": {"b": {"$eq": ["$a", "X"]}}}]"#, None, r#"{"a": "x", "b": true}"#);
}
