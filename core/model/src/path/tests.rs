//! Rows of what each way of reading a path sees, most of them from MongoDB's own path tests.

use super::*;
use bson::{Bson, bson, doc};

fn bytes(doc: &bson::Document) -> Vec<u8> {
    let mut out = Vec::new();
    doc.to_writer(&mut out).unwrap();
    out
}

fn show(value: Option<RawValue<'_>>) -> String {
    value.map_or_else(|| "missing".into(), |v| format!("{v:?}"))
}

fn walked(doc: &bson::Document, path: &str, leaf: LeafArrays) -> Vec<(String, Option<u32>)> {
    let raw = bytes(doc);
    let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
    let mut met = Vec::new();
    let stopped = FieldPath::parse(path)
        .walk(&view, leaf, &mut |m| {
            met.push((show(m.value), m.array_position));
            Ok(false)
        })
        .unwrap();
    assert!(!stopped);
    met
}

#[test]
fn a_filter_sees_elements_then_the_array() {
    type Row = (bson::Document, &'static str, Vec<(&'static str, Option<u32>)>);
    let rows: Vec<Row> = vec![
        (doc! {"a": 5}, "a", vec![("int(5)", None)]),
        (doc! {"a": 5}, "b", vec![("missing", None)]),
        (doc! {"a": 5}, "a.b", vec![("missing", None)]),
        (doc! {"a": {"b": 5}}, "a.b", vec![("int(5)", None)]),
        (doc! {"a": [5]}, "a", vec![("int(5)", Some(0)), ("[int(5)]", None)]),
        (doc! {"a": []}, "a", vec![("[]", None)]),
        (doc! {"a": []}, "a.b", vec![]),
        (doc! {"a": [5]}, "a.b", vec![]),
        (doc! {"a": [{}]}, "a.b", vec![("missing", Some(0))]),
        (
            doc! {"a": [{"b": 5}, 3, {}, {"b": [9, 11]}, {"b": 7}]},
            "a.b",
            vec![
                ("int(5)", Some(0)),
                ("missing", Some(2)),
                ("int(9)", Some(3)),
                ("int(11)", Some(3)),
                ("[int(9), int(11)]", Some(3)),
                ("int(7)", Some(4)),
            ],
        ),
        (doc! {"a": [5, 7, 3]}, "a.1", vec![("int(7)", None)]),
        (doc! {"a": [5, [2, 4], 3]}, "a.1", vec![("[int(2), int(4)]", None)]),
        (doc! {"a": [5, {"1": 4}, 3]}, "a.1", vec![("int(4)", Some(1)), ("{\"1\": int(4)}", None)]),
        (doc! {"a": [5, {"b": 4}, 3]}, "a.1.b", vec![("missing", Some(1)), ("int(4)", None)]),
        (doc! {"a": [5, [{"b": 4}], 3]}, "a.1.b", vec![("int(4)", Some(0))]),
        (doc! {"a": [[1, 2], [3, 4]]}, "a.0.1", vec![("int(2)", None)]),
        (doc! {"a": [[{"b": 1}]]}, "a.b", vec![]),
    ];
    for (doc, path, wanted) in rows {
        let wanted: Vec<_> = wanted.into_iter().map(|(v, at)| (v.to_owned(), at)).collect();
        assert_eq!(walked(&doc, path, LeafArrays::Traverse), wanted, "{doc} {path}");
    }
}

#[test]
fn whole_arrays_at_the_leaf() {
    assert_eq!(walked(&doc! {"a": [5]}, "a", LeafArrays::Whole), vec![("[int(5)]".to_owned(), None)]);
    let met = walked(&doc! {"a": [{"b": [1]}, {"b": 2}]}, "a.b", LeafArrays::Whole);
    assert_eq!(met, vec![("[int(1)]".to_owned(), Some(0)), ("int(2)".to_owned(), Some(1))]);
}

#[test]
fn a_walk_ends_when_the_visitor_says_so() {
    let raw = bytes(&doc! {"a": [1, 2, 3]});
    let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
    let mut count = 0;
    let path = FieldPath::parse("a");
    let stopped = path.walk(&view, LeafArrays::Traverse, &mut |_| {
        count += 1;
        Ok(count == 2)
    });
    assert!(stopped.unwrap());
    assert_eq!(count, 2);
}

#[test]
fn an_expression_maps_over_arrays() {
    let rows: Vec<(bson::Document, &str, Option<Bson>)> = vec![
        (doc! {"a": {"b": 1}}, "a.b", Some(bson!(1))),
        (doc! {"a": [{"b": 1}, 5, {}, {"b": 2}]}, "a.b", Some(bson!([1, 2]))),
        (doc! {"a": [[{"b": 1}]]}, "a.b", Some(bson!([]))),
        (doc! {"a": [{"b": [{"c": 1}]}, {"b": {"c": 2}}]}, "a.b.c", Some(bson!([[1], 2]))),
        (doc! {"a": [1, 2]}, "a.0", Some(bson!([]))),
        (doc! {"a": 1}, "a.b", None),
        (doc! {}, "a", None),
    ];
    for (doc, path, wanted) in rows {
        let raw = bytes(&doc);
        let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
        let found = FieldPath::parse(path).lookup(&view).unwrap();
        let wanted = wanted.map(|v| {
            let raw = bytes(&doc! {"v": v});
            format!("{:?}", RawDoc::framed(&raw).unwrap().get("v").unwrap())
        });
        assert_eq!(found.map(|v| format!("{:?}", v.as_ref())), wanted, "{doc} {path}");
    }
}

fn keys(doc: &bson::Document, paths: &[&str]) -> Result<(Vec<String>, u32)> {
    let raw = bytes(doc);
    let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
    let paths: Vec<_> = paths.iter().map(|p| FieldPath::parse(p)).collect();
    let mut out = Vec::new();
    let seen = extract_keys(&paths, &view, &mut |t| {
        out.push(format!("{:?}{}", t.values, if t.all_missing { " missing" } else { "" }));
        Ok(())
    })?;
    Ok((out, seen.array_paths))
}

#[test]
fn an_index_sees_one_key_per_element() {
    let rows: Vec<(bson::Document, &[&str], &[&str], u32)> = vec![
        (doc! {"a": 5}, &["a"], &["[int(5)]"], 0),
        (doc! {}, &["a"], &["[null([])] missing"], 0),
        (doc! {"a": []}, &["a"], &["[undefined([])]"], 1),
        (doc! {"a": []}, &["a.b"], &["[null([])] missing"], 1),
        (doc! {"a": [5]}, &["a.b"], &["[null([])] missing"], 1),
        (doc! {"a": [1, 2]}, &["a"], &["[int(1)]", "[int(2)]"], 1),
        (doc! {"a": [[1, 2], 3]}, &["a"], &["[[int(1), int(2)]]", "[int(3)]"], 1),
        (doc! {"a": [{"b": [1, 2]}, {"b": 3}]}, &["a.b"], &["[int(1)]", "[int(2)]", "[int(3)]"], 1),
        (doc! {"a": [7, 8]}, &["a.1"], &["[int(8)]", "[int(8)]"], 1),
        (doc! {"a": [[7, 8]]}, &["a.0"], &["[[int(7), int(8)]]"], 1),
        (
            doc! {"a": [{"b": 1, "c": 2}, {"b": 3}]},
            &["a.b", "a.c"],
            &["[int(1), int(2)]", "[int(3), null([])]"],
            3,
        ),
        (doc! {"a": [1, 2], "b": 5}, &["a", "b"], &["[int(1), int(5)]", "[int(2), int(5)]"], 1),
    ];
    for (doc, paths, wanted, arrays) in rows {
        let (found, seen) = keys(&doc, paths).unwrap();
        assert_eq!(found, wanted, "{doc} {paths:?}");
        assert_eq!(seen, arrays, "{doc} {paths:?}");
    }
}

#[test]
fn parallel_arrays_are_refused() {
    let error = keys(&doc! {"a": [1], "b": [2]}, &["a", "b"]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CannotIndexParallelArrays);
    assert_eq!(error.message(), "cannot index parallel arrays [b] [a]");
    let error = keys(&doc! {"a": [{"0": 1}]}, &["a.0"]).unwrap_err();
    assert_eq!(error.code().code(), 16746);
}

#[test]
fn positions_are_canonical_numbers() {
    let index = |text: &str| FieldPath::parse(text).parts()[0].index();
    assert_eq!(index("0"), Some(0));
    assert_eq!(index("17"), Some(17));
    assert_eq!(index("017"), None);
    assert_eq!(index("-1"), None);
    assert_eq!(index(""), None);
    assert_eq!(index("99999999999"), None);
}
