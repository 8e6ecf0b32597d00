//! Keys and orders, most rows from MongoDB's documented array semantics.

use super::*;
use multifora_model::extjson::parse_document;
use multifora_model::{DocumentView, RawDoc};
use proptest::prelude::*;

fn spec(text: &str) -> SortSpec {
    SortSpec::compile(RawDoc::framed(&parse_document(text).unwrap()).unwrap()).unwrap()
}

/// The documents' positions in sorted order.
fn order(sort: &str, docs: &[&str], limit: Option<u64>) -> Vec<usize> {
    let mut sorter = Sorter::new(spec(sort), limit);
    for (at, doc) in docs.iter().enumerate() {
        let bytes = parse_document(doc).unwrap();
        let view = DocumentView::whole(RawDoc::framed(&bytes).unwrap());
        sorter.add(&view, &at.to_le_bytes()).unwrap();
    }
    let sorted = sorter.finish();
    sorted.map(|record| usize::from_le_bytes(record.try_into().unwrap())).collect()
}

#[test]
fn orders() {
    let rows: &[(&str, &[&str], &[usize])] = &[
        // An array counts with its smallest element going up, with its largest going down.
        (
            r#"{"a": 1}"#,
            &[
                r#"{"a": [3, 1]}"#,
                r#"{"a": 2}"#,
                r#"{"a": []}"#,
                r#"{"a": null}"#,
                r#"{}"#,
                r#"{"a": {"$minKey": 1}}"#,
                r#"{"a": [{"v": {"$minKey": 1}}]}"#,
            ],
            &[5, 2, 3, 4, 0, 1, 6],
        ),
        (
            r#"{"a": -1}"#,
            &[r#"{"a": [3, 1]}"#, r#"{"a": 2}"#, r#"{"a": []}"#, r#"{"a": null}"#, r#"{}"#],
            &[0, 1, 3, 4, 2],
        ),
        // Arrays in arrays are array values.
        (r#"{"a": 1}"#, &[r#"{"a": [[9]]}"#, r#"{"a": [1]}"#, r#"{"a": {"k": 1}}"#], &[1, 2, 0]),
        (r#"{"x.0": -1}"#, &[r#"{"x": [[5]]}"#, r#"{"x": [3]}"#, r#"{"x": ["s"]}"#], &[0, 2, 1]),
        (
            r#"{"v.l.p": -1}"#,
            &[
                r#"{"v": [{"l": [{"p": "kilo"}, {"p": "wave"}]}]}"#,
                r#"{"v": [{"l": [{"p": "abc"}]}, {"l": [{"p": "zzz"}]}]}"#,
                r#"{"v": [{"l": {"p": "m"}}]}"#,
                r#"{}"#,
            ],
            &[1, 0, 2, 3],
        ),
        // Two fields of one array go together: the best pair counts.
        (
            r#"{"a.x": 1, "a.y": 1}"#,
            &[r#"{"a": [{"x": 1, "y": 9}, {"x": 2, "y": 1}]}"#, r#"{"a": [{"x": 1, "y": 5}]}"#],
            &[1, 0],
        ),
        (
            r#"{"a": 1, "b": -1}"#,
            &[r#"{"a": 1, "b": 1}"#, r#"{"a": 2, "b": 5}"#, r#"{"a": 1, "b": 9}"#, r#"{"b": 3}"#],
            &[3, 2, 0, 1],
        ),
        // Equal keys keep their order; numbers of all types are one class.
        (
            r#"{"a": 1}"#,
            &[
                r#"{"a": 1}"#,
                r#"{"a": {"$numberDouble": "1.0"}}"#,
                r#"{"a": {"$numberDecimal": "0.5"}}"#,
                r#"{"a": {"$numberLong": "1"}}"#,
            ],
            &[2, 0, 1, 3],
        ),
    ];
    for (sort, docs, wanted) in rows {
        assert_eq!(order(sort, docs, None), *wanted, "{sort} {docs:?}");
        for limit in 0..=docs.len() {
            let first = wanted.get(..limit).unwrap();
            assert_eq!(order(sort, docs, Some(limit as u64)), first, "{sort} {docs:?} limit {limit}");
        }
    }
}

#[test]
fn refusals() {
    let rows = [
        (r#"{}"#, 15976),
        (r#"{"a": 2}"#, 15975),
        (r#"{"a": 0}"#, 15975),
        (r#"{"a": "1"}"#, 15974),
        (r#"{"a": null}"#, 15974),
        (r#"{"a": {"$meta": "textScore"}}"#, 40218),
        (r#"{"a": {"$meta": "nope"}}"#, 31138),
        (r#"{"a": {"x": 1}}"#, 17312),
        (r#"{"": 1}"#, 40352),
        (r#"{"a.": 1}"#, 40353),
        (r#"{"a..b": 1}"#, 15998),
        (r#"{"$a": 1}"#, 16410),
    ];
    for (sort, code) in rows {
        let bytes = parse_document(sort).unwrap();
        let error = SortSpec::compile(RawDoc::framed(&bytes).unwrap()).unwrap_err();
        assert_eq!(error.code().code(), code, "{sort}: {error}");
    }
    let many: Vec<String> = (0..33).map(|n| format!("\"f{n}\": 1")).collect();
    let bytes = parse_document(&format!("{{{}}}", many.join(", "))).unwrap();
    assert_eq!(SortSpec::compile(RawDoc::framed(&bytes).unwrap()).unwrap_err().code().code(), 13103);
}

#[test]
fn documents_without_one_key() {
    for (sort, doc, code) in [
        (r#"{"a": 1, "b": 1}"#, r#"{"a": [1], "b": [2]}"#, 2),
        (r#"{"x.0": 1}"#, r#"{"x": [{"0": 5}]}"#, 16746),
    ] {
        let bytes = parse_document(doc).unwrap();
        let view = DocumentView::whole(RawDoc::framed(&bytes).unwrap());
        let error = spec(sort).key(&view, &mut Vec::new()).unwrap_err();
        assert_eq!(error.code().code(), code, "{sort} {doc}");
    }
}

#[test]
fn a_large_sort_is_refused() {
    let mut sorter = Sorter::new(spec(r#"{"a": 1}"#), None);
    let bytes = parse_document(r#"{"a": 1}"#).unwrap();
    let view = DocumentView::whole(RawDoc::framed(&bytes).unwrap());
    let record = vec![0; 1 << 20];
    let refused = (0..101).find_map(|_| sorter.add(&view, &record).err());
    assert_eq!(refused.unwrap().code().code(), 292);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The first `n` of a sort are the first `n` whether a heap finds them or all are sorted, and equal keys
    /// keep their order.
    #[test]
    fn limits_agree_with_full_sorts(values in prop::collection::vec((0i32..5, -2i32..3), 0..60), n in 0u64..70) {
        let docs: Vec<String> = values.iter().map(|(a, b)| format!(r#"{{"a": [{a}, {b}], "b": {b}}}"#)).collect();
        let docs: Vec<&str> = docs.iter().map(String::as_str).collect();
        let all = order(r#"{"a": -1, "b": 1}"#, &docs, None);
        let first = order(r#"{"a": -1, "b": 1}"#, &docs, Some(n));
        let cut = all.len().min(usize::try_from(n).unwrap());
        prop_assert_eq!(&first, &all[..cut]);
        let mut by_hand: Vec<usize> = (0..docs.len()).collect();
        by_hand.sort_by_key(|at| (-values[*at].0.max(values[*at].1), values[*at].1));
        prop_assert_eq!(all, by_hand);
    }
}
