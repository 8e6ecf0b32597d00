//! Rows of specification, document and result.

use super::*;
use crate::NoResources;
use multifora_model::extjson::{Mode, parse_document, to_text};
use proptest::prelude::*;

fn raw(bytes: &[u8]) -> RawDoc<'_> {
    RawDoc::framed(bytes).unwrap()
}

fn show(bytes: &[u8]) -> String {
    multifora_model::validate::document(bytes, usize::MAX, 255).unwrap();
    to_text(raw(bytes), Mode::Canonical)
}

fn context() -> CompileContext {
    CompileContext::new(0)
}

fn find(spec: &str, query: &str) -> Result<Projection> {
    let (spec, query) = (parse_document(spec).unwrap(), parse_document(query).unwrap());
    let filter = Filter::compile(raw(&query), &context()).unwrap();
    Projection::compile(raw(&spec), Some(&filter), &context())
}

fn stage(spec: &str) -> Result<Projection> {
    Projection::compile_stage(raw(&parse_document(spec).unwrap()), &context())
}

fn apply(projection: &Projection, doc: &str) -> Result<String> {
    let doc = parse_document(doc).unwrap();
    let mut out = vec![7];
    projection.apply(&DocumentView::whole(raw(&doc)), &NoResources, &mut out)?;
    Ok(show(&out[1..]))
}

fn check(projection: Result<Projection>, doc: &str, wanted: &str, what: &str) {
    match projection.and_then(|p| apply(&p, doc)) {
        Ok(shown) => assert_eq!(shown, show(&parse_document(wanted).unwrap()), "{what}"),
        Err(error) => assert_eq!(error.code().code().to_string(), wanted, "{what}: {error}"),
    }
}

#[test]
fn fields_and_paths() {
    let doc =
        r#"{"_id": 1, "a": {"b": 1, "c": 2}, "l": [{"b": 1, "x": 0}, 5, [{"b": 2, "y": 1}, 6]], "s": "t"}"#;
    let rows = [
        (r#"{"s": 1}"#, r#"{"_id": 1, "s": "t"}"#),
        (r#"{"s": true, "_id": 0}"#, r#"{"s": "t"}"#),
        (r#"{"_id": 1}"#, r#"{"_id": 1}"#),
        (r#"{"s": 1, "a.b": 1}"#, r#"{"_id": 1, "a": {"b": 1}, "s": "t"}"#),
        (r#"{"a": {"b": 1}}"#, r#"{"_id": 1, "a": {"b": 1}}"#),
        (r#"{"s.x": 1, "nope": 1}"#, r#"{"_id": 1}"#),
        (r#"{"l.b": 1}"#, r#"{"_id": 1, "l": [{"b": 1}, [{"b": 2}]]}"#),
        (r#"{"l.b": 0, "s": 0}"#, r#"{"_id": 1, "a": {"b": 1, "c": 2}, "l": [{"x": 0}, 5, [{"y": 1}, 6]]}"#),
        (r#"{"_id": 0, "a": 0, "l": {"$numberDouble": "0.0"}}"#, r#"{"s": "t"}"#),
        (r#"{"_id": 1, "a": 0, "l": 0}"#, r#"{"_id": 1, "s": "t"}"#),
        (r#"{"a.b": 0, "l": 0, "s.x": 0}"#, r#"{"_id": 1, "a": {"c": 2}, "s": "t"}"#),
    ];
    for (spec, wanted) in rows {
        check(find(spec, "{}"), doc, wanted, spec);
        check(stage(spec), doc, wanted, spec);
    }
    check(find("{}", "{}"), r#"{"_id": 1, "a": 2}"#, r#"{"_id": 1, "a": 2}"#, "identity");
    assert!(find("{}", "{}").unwrap().is_identity());
    check(Projection::excluding(&["a.b", "l", "s"]), doc, r#"{"_id": 1, "a": {"c": 2}}"#, "excluding");
}

#[test]
fn computed_fields() {
    let doc = r#"{"_id": 1, "a": 4, "b": ["x", "y"], "o": {"p": 1}, "l": [{"p": 1, "q": 2}, 3]}"#;
    let rows = [
        (
            r#"{"s": {"$add": ["$a", 1]}, "f": {"$arrayElemAt": ["$b", 1]}}"#,
            r#"{"_id": 1, "s": 5, "f": "y"}"#,
        ),
        (r#"{"t": "$a", "b": 1}"#, r#"{"_id": 1, "b": ["x", "y"], "t": 4}"#),
        (r#"{"a": {"$literal": 9}, "o": 1}"#, r#"{"_id": 1, "o": {"p": 1}, "a": 9}"#),
        (r#"{"_id": 0, "t": "text", "n": null, "m": "$nope"}"#, r#"{"t": "text", "n": null}"#),
        (r#"{"o.z": "$a", "o.p": 1}"#, r#"{"_id": 1, "o": {"p": 1, "z": 4}}"#),
        (
            r#"{"n.z": "$a", "l.p": 1, "l.r": "$a"}"#,
            r#"{"_id": 1, "l": [{"p": 1, "r": 4}, {"r": 4}], "n": {"z": 4}}"#,
        ),
        (r#"{"a.z": "$o.p"}"#, r#"{"_id": 1, "a": {"z": 1}}"#),
        (r#"{"_id": "$a"}"#, r#"{"_id": 4}"#),
        (r#"{"_id": "$a", "o": 1}"#, r#"{"o": {"p": 1}, "_id": 4}"#),
        (r#"{"o": {"z": "$a", "p": 7}}"#, r#"{"_id": 1, "o": {"p": 1, "z": 4}}"#),
        (r#"{"n": {"$literal": 0}, "m": []}"#, r#"{"_id": 1, "n": 0, "m": []}"#),
    ];
    for (spec, wanted) in rows {
        check(find(spec, "{}"), doc, wanted, spec);
        check(stage(spec), doc, wanted, spec);
    }
}

#[test]
fn slices() {
    let rows = [
        (r#"{"a": {"$slice": 2}}"#, r#"{"_id": 1, "a": [1, 2], "u": 9}"#),
        (r#"{"a": {"$slice": -2}}"#, r#"{"_id": 1, "a": [2, 3], "u": 9}"#),
        (r#"{"a": {"$slice": 0}}"#, r#"{"_id": 1, "a": [], "u": 9}"#),
        (r#"{"a": {"$slice": -9}}"#, r#"{"_id": 1, "a": [1, 2, 3], "u": 9}"#),
        (r#"{"a": {"$slice": [1, 1]}}"#, r#"{"_id": 1, "a": [2], "u": 9}"#),
        (r#"{"a": {"$slice": [-2, 1]}}"#, r#"{"_id": 1, "a": [2], "u": 9}"#),
        (r#"{"a": {"$slice": [-9, 2]}}"#, r#"{"_id": 1, "a": [1, 2], "u": 9}"#),
        (r#"{"a": {"$slice": [5, 2]}}"#, r#"{"_id": 1, "a": [], "u": 9}"#),
        (r#"{"a": {"$slice": 1}, "u": 0}"#, r#"{"_id": 1, "a": [1]}"#),
        (r#"{"a": {"$slice": 1}, "_id": 1, "u": 1}"#, r#"{"_id": 1, "a": [1], "u": 9}"#),
        (r#"{"a": {"$slice": 1}, "_id": 1}"#, r#"{"_id": 1, "a": [1]}"#),
        (r#"{"a": {"$slice": 1}, "_id": 0}"#, r#"{"a": [1], "u": 9}"#),
        (r#"{"u": {"$slice": 1}}"#, r#"{"_id": 1, "a": [1, 2, 3], "u": 9}"#),
        (r#"{"n": {"$slice": ["$a", 1]}}"#, r#"{"_id": 1, "n": [1]}"#),
    ];
    for (spec, wanted) in rows {
        check(find(spec, "{}"), r#"{"_id": 1, "a": [1, 2, 3], "u": 9}"#, wanted, spec);
    }
    let nested = r#"{"a": {"b": [1, 2], "c": 1}, "d": [{"b": [3, 4]}, 5]}"#;
    check(
        find(r#"{"a.b": {"$slice": 1}, "d.b": {"$slice": -1}}"#, "{}"),
        nested,
        r#"{"a": {"b": [1], "c": 1}, "d": [{"b": [4]}, 5]}"#,
        "nested",
    );
    check(
        find(r#"{"a.b": {"$slice": 1}, "d": 1}"#, "{}"),
        nested,
        r#"{"a": {"b": [1]}, "d": [{"b": [3, 4]}, 5]}"#,
        "nested",
    );
}

#[test]
fn elem_match_and_positional() {
    let doc = r#"{"_id": 1, "z": 0, "m": [{"n": 1, "x": 5}, {"n": 2, "x": 6}, {"n": 2, "x": 7}], "k": [31, 64, 77], "o": {"l": [1, 2]}, "d": [{"b": [1, 2]}, {"b": [3, 4]}]}"#;
    let rows = [
        (r#"{"m": {"$elemMatch": {"n": {"$gt": 1}}}}"#, "{}", r#"{"_id": 1, "m": [{"n": 2, "x": 6}]}"#),
        (r#"{"m": {"$elemMatch": {"n": 9}}}"#, "{}", r#"{"_id": 1}"#),
        (r#"{"z": {"$elemMatch": {"n": 9}}}"#, "{}", r#"{"_id": 1}"#),
        (
            r#"{"m": {"$elemMatch": {"n": 1}}, "k": {"$elemMatch": {"$gt": 50}}, "z": 1}"#,
            "{}",
            r#"{"_id": 1, "z": 0, "m": [{"n": 1, "x": 5}], "k": [64]}"#,
        ),
        (r#"{"k.$": 1}"#, r#"{"k": {"$gt": 60}}"#, r#"{"_id": 1, "k": [64]}"#),
        (
            r#"{"m.$": 1, "z": 1}"#,
            r#"{"m": {"$elemMatch": {"n": 2, "x": 7}}}"#,
            r#"{"_id": 1, "z": 0, "m": [{"n": 2, "x": 7}]}"#,
        ),
        (r#"{"m.x.$": 1, "_id": 0}"#, r#"{"m.n": 2}"#, r#"{"m": [{"x": 6}]}"#),
        (r#"{"o.l.$": 1, "_id": 0}"#, r#"{"o.l": 2}"#, r#"{"o": {"l": [2]}}"#),
        (r#"{"d.b.$": 1, "_id": 0}"#, r#"{"d.b": 3}"#, r#"{"d": [{"b": [3, 4]}]}"#),
        (r#"{"d.$": 1, "_id": 0}"#, r#"{"d.b": 3}"#, r#"{"d": [{"b": [3, 4]}]}"#),
        (r#"{"d": {"$elemMatch": {"b": 1}}, "_id": 0}"#, "{}", r#"{"d": [{"b": [1, 2]}]}"#),
        (r#"{"z.$": 1}"#, r#"{"k": 31}"#, r#"{"_id": 1, "z": 0}"#),
        (r#"{"k.$": 1}"#, r#"{"z": 0}"#, "51246"),
        (r#"{"o.l.$": 1}"#, r#"{"k": 77}"#, "51247"),
    ];
    for (spec, query, wanted) in rows {
        check(find(spec, query), doc, wanted, spec);
    }
}

#[test]
fn refusals() {
    let both = [
        (r#"{"a": 1, "c": 0}"#, "31254"),
        (r#"{"a": 0, "c": 1}"#, "31253"),
        (r#"{"a": 0, "c": "$x"}"#, "31310"),
        (r#"{"a": 0, "c": null}"#, "31310"),
        (r#"{"a": 0, "c": {"$literal": 1}}"#, "31252"),
        (r#"{"a": 0, "o": {"p": 1, "z": "$b"}}"#, "31253"),
        (r#"{"a": {"$nope": 1}}"#, "31325"),
        (r#"{"a": {"$add": [1, 1], "b": 1}}"#, "16410"),
        (r#"{"n": {"q": {}}}"#, "51270"),
        (r#"{"c": "$x", "a": 0}"#, "31254"),
        (r#"{"a": 1, "a.b": 1}"#, "31249"),
        (r#"{"a.b": 1, "a": 1}"#, "31250"),
        (r#"{"a.b": 1, "a": {"b": 1}}"#, "31250"),
        (r#"{"_id": 1, "_id.x": 1}"#, "31249"),
        (r#"{"_id.x": 1, "_id": 1}"#, "31250"),
        (r#"{"a": {}}"#, "51270"),
        (r#"{"": 1}"#, "40352"),
        (r#"{"a.": 1}"#, "40353"),
        (r#"{"a..b": 1}"#, "15998"),
        (r#"{"$a": 1}"#, "16410"),
        (r#"{"a": {"$meta": "textScore"}}"#, "40218"),
    ];
    for (spec, code) in both {
        check(find(spec, "{}"), "{}", code, spec);
        check(stage(spec), "{}", code, spec);
    }
    let only_find = [
        (r#"{"a.$": 1, "b.$": 1}"#, "31276"),
        (r#"{"a.$": 1, "b": {"$elemMatch": {"c": 1}}}"#, "31255"),
        (r#"{"b": {"$elemMatch": {"c": 1}}, "a.$": 1}"#, "31256"),
        (r#"{"a.$": {"$add": [1, 1]}}"#, "31271"),
        (r#"{"a.$": "x"}"#, "31308"),
        (r#"{"a.$": 0}"#, "31395"),
        (r#"{"b": 0, "a.$": 1}"#, "31253"),
        (r#"{"a.$.b": 1}"#, "31394"),
        (r#"{"a": {"$elemMatch": 1}}"#, "31274"),
        (r#"{"a.b": {"$elemMatch": {"c": 1}}}"#, "31275"),
        (r#"{"a": {"$slice": "x"}}"#, "28667"),
        (r#"{"a": {"$slice": [1]}}"#, "28667"),
    ];
    for (spec, code) in only_find {
        check(find(spec, "{}"), "{}", code, spec);
    }
    check(stage("{}"), "{}", "51272", "empty $project");
    check(stage(r#"{"a.$": 1}"#), "{}", "31324", "positional in $project");
    check(stage(r#"{"a": {"$elemMatch": {"b": 1}}}"#), "{}", "168", "$elemMatch in $project");
}

#[test]
fn needed_paths() {
    let rows: [(&str, Option<&[&str]>); 5] = [
        (r#"{"a": 1, "b.c": 1}"#, Some(&["_id", "a", "b.c"])),
        (r#"{"a": 1, "_id": 0}"#, Some(&["a"])),
        (r#"{"a": 0}"#, None),
        (r#"{"a": "$b"}"#, None),
        (r#"{"a": 1, "b": {"$slice": 1}}"#, None),
    ];
    for (spec, wanted) in rows {
        let paths = find(spec, "{}").unwrap().needed_paths();
        let wanted = wanted.map(|paths| paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
        assert_eq!(paths, wanted, "{spec}");
    }
}

fn json(depth: u32) -> BoxedStrategy<String> {
    let leaf =
        prop_oneof![(0i32..3).prop_map(|n| n.to_string()), Just("null".to_owned()), Just("\"s\"".to_owned())];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(", "))),
            document_of(inner),
        ]
    })
    .boxed()
}

fn document_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::btree_map("[abc]", value, 0..4).prop_map(|fields| {
        let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!("\"{k}\": {v}")).collect();
        format!("{{{}}}", fields.join(", "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Results are documents; projecting twice is projecting once; and what an inclusion keeps of a path is gone
    /// after the exclusion of the same path.
    #[test]
    fn inclusion_and_exclusion_are_opposites(doc in document_of(json(3)), path in "[abc]([.][abc]){0,2}") {
        let include = find(&format!(r#"{{"_id": 0, "{path}": 1}}"#), "{}").unwrap();
        let exclude = find(&format!(r#"{{"{path}": 0}}"#), "{}").unwrap();
        let (kept, rest) = (apply(&include, &doc).unwrap(), apply(&exclude, &doc).unwrap());
        prop_assert_eq!(&apply(&include, &kept).unwrap(), &kept);
        prop_assert_eq!(&apply(&exclude, &rest).unwrap(), &rest);
        let has_leaf = |text: &str| {
            let bytes = parse_document(text).unwrap();
            let parts: Vec<&str> = path.split('.').collect();
            holds(raw(&bytes), &parts)
        };
        prop_assert_eq!(has_leaf(&kept), has_leaf(&doc));
        prop_assert!(!has_leaf(&rest));
    }
}

/// Is there anything at the path, arrays on the way being looked into at every depth?
fn holds(doc: RawDoc<'_>, path: &[&str]) -> bool {
    fn below(value: multifora_model::RawValue<'_>, path: &[&str]) -> bool {
        match (value.as_doc(), value.as_array()) {
            (Some(doc), _) => holds(doc, path),
            (_, Some(array)) => array.iter().any(|element| below(element.value, path)),
            _ => false,
        }
    }
    match path {
        [] => true,
        [last] => doc.get(last).is_some(),
        [first, rest @ ..] => doc.get(first).is_some_and(|value| below(value, rest)),
    }
}
