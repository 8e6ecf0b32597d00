//! What query code makes of split documents: the same as of whole ones, and it fetches only what it needs.

use crate::expression::{EvalContext, Expr};
use crate::filter::Filter;
use crate::projection::Projection;
use crate::sort::SortSpec;
use crate::stage::{DocSource, Documents, Pipeline};
use crate::update::{Outcome, Update};
use crate::{CompileContext, NoResources, Resources};
use multifora_model::cut::{CutValue, cut};
use multifora_model::extjson::{parse_document, parse_value};
use multifora_model::{DocumentView, Error, FetchValue, RawDoc, Result, WholeDocument};
use proptest::prelude::*;
use std::cell::Cell;

/// A document as it would be stored, with a count of the values that were fetched.
struct Stored {
    head: Vec<u8>,
    values: Vec<Vec<u8>>,
    fetched: Cell<u32>,
    whole: WholeDocument,
}

impl Stored {
    fn new(doc: &[u8]) -> Self {
        let (head, values) = match cut(&DocumentView::whole(raw(doc))).unwrap() {
            None => (doc.to_vec(), Vec::new()),
            Some(cut) => {
                let values = cut.values.iter().map(|value| match value {
                    CutValue::New(bytes) => bytes.to_vec(),
                    CutValue::Kept(_) => unreachable!(),
                });
                (cut.head, values.collect())
            }
        };
        Stored { head, values, fetched: Cell::new(0), whole: WholeDocument::new() }
    }

    fn view(&self) -> DocumentView<'_> {
        DocumentView::of_head(&self.head, self, &self.whole).unwrap()
    }
}

impl FetchValue for Stored {
    fn fetch(&self, number: u8) -> Result<&[u8]> {
        self.fetched.set(self.fetched.get() + 1);
        self.values.get(usize::from(number)).map(Vec::as_slice).ok_or_else(|| Error::corrupt("no value"))
    }
}

/// Split documents as a source.
struct SplitDocuments {
    documents: Vec<Stored>,
    given: usize,
}

impl SplitDocuments {
    fn fetched(&self) -> u32 {
        self.documents.iter().map(|d| d.fetched.get()).sum()
    }
}

impl DocSource for SplitDocuments {
    fn advance(&mut self, _: &dyn Resources) -> Result<bool> {
        self.given += 1;
        Ok(self.given <= self.documents.len())
    }

    fn current(&self) -> DocumentView<'_> {
        let at = self.given.checked_sub(1);
        at.and_then(|at| self.documents.get(at)).map_or(DocumentView::whole(RawDoc::EMPTY), Stored::view)
    }
}

fn raw(bytes: &[u8]) -> RawDoc<'_> {
    RawDoc::framed(bytes).unwrap()
}

/// Extended JSON in which `LARGE` is a string of 3000 bytes, and `VAST` one of 6000.
fn doc(text: &str) -> Vec<u8> {
    parse_document(&enlarge(text)).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn enlarge(text: &str) -> String {
    text.replace("LARGE", &"x".repeat(3000)).replace("VAST", &"y".repeat(6000))
}

fn context() -> CompileContext {
    CompileContext::new(1_700_000_000_123)
}

const DOC: &str = r#"{"_id": 7, "n": 1, "big": "LARGE", "tags": ["a", "b"], "in": {"x": 1, "text": "LARGE"},
    "list": [{"k": 1, "v": "LARGE"}, {"k": 2}], "big": "VAST", "s": "small"}"#;

#[test]
fn filters_fetch_what_they_compare() {
    let rows: &[(&str, bool, u32)] = &[
        (r#"{"n": 1}"#, true, 0),
        (r#"{"_id": 7, "s": {"$regex": "^sm"}, "tags": "b"}"#, true, 0),
        (r#"{"big": {"$exists": true}}"#, true, 0),
        (r#"{"big": {"$exists": false}}"#, false, 0),
        (r#"{"big": {"$type": "string"}}"#, true, 0),
        (r#"{"big": {"$type": "number"}}"#, false, 0),
        (r#"{"list": {"$type": "array"}}"#, true, 0),
        (r#"{"list": {"$type": "object"}}"#, true, 1),
        (r#"{"big": null}"#, false, 0),
        (r#"{"big": {"$gt": 5}}"#, false, 0),
        (r#"{"big": {"$gt": {"$minKey": 1}}}"#, true, 0),
        (r#"{"big": {"$ne": 5}}"#, true, 0),
        (r#"{"big": {"$size": 2}}"#, false, 0),
        (r#"{"in": {"$regex": "x"}}"#, false, 0),
        (r#"{"in": {"$mod": [2, 1]}}"#, false, 0),
        (r#"{"big.x": 1}"#, false, 0),
        (r#"{"big.x": null}"#, true, 0),
        (r#"{"big": {"$regex": "^x"}}"#, true, 1),
        (r#"{"in.x": 1}"#, true, 1),
        (r#"{"list.k": 2}"#, true, 1),
        (r#"{"$expr": {"$eq": [{"$type": "$big"}, "string"]}}"#, true, 0),
        (r#"{"$expr": {"$gt": [{"$bsonSize": "$$ROOT"}, 15000]}}"#, true, 0),
        (r#"{"$expr": {"$eq": ["$n", 1]}}"#, true, 0),
    ];
    let whole = doc(DOC);
    for (query, wanted, fetches) in rows {
        let filter = Filter::compile(raw(&doc(query)), &context()).unwrap();
        assert_eq!(
            filter.matches(&raw(&whole).into(), &NoResources),
            Ok(*wanted),
            "{query} on the whole document"
        );
        let stored = Stored::new(&whole);
        assert_eq!(filter.matches(&stored.view(), &NoResources), Ok(*wanted), "{query}");
        assert_eq!(stored.fetched.get(), *fetches, "{query}");
    }
}

#[test]
fn a_position_is_found_in_a_large_array() {
    let filter = Filter::compile(raw(&doc(r#"{"list": {"$type": "object"}}"#)), &context()).unwrap();
    let whole = doc(DOC);
    let stored = Stored::new(&whole);
    let found = filter.matches_with_position(&stored.view(), &NoResources).unwrap();
    assert_eq!(found, filter.matches_with_position(&raw(&whole).into(), &NoResources).unwrap());
    assert!(found.unwrap().position.is_some());
}

#[test]
fn sort_keys_fetch_what_they_sort_by() {
    for (sort, fetches) in
        [(r#"{"n": 1, "s": -1, "tags": 1}"#, 0), (r#"{"big.x": 1}"#, 0), (r#"{"in.x": 1}"#, 1)]
    {
        let spec = SortSpec::compile(raw(&doc(sort))).unwrap();
        let whole = doc(DOC);
        let stored = Stored::new(&whole);
        let (mut key, mut wanted) = (Vec::new(), Vec::new());
        spec.key(&stored.view(), &mut key).unwrap();
        spec.key(&raw(&whole).into(), &mut wanted).unwrap();
        assert_eq!((key, stored.fetched.get()), (wanted, fetches), "{sort}");
    }
}

#[test]
fn projections_keep_what_they_show_where_it_is() {
    let rows: &[(&str, u32)] = &[
        (r#"{"n": 1}"#, 0),
        (r#"{"big": 1}"#, 0),
        (r#"{"big": 0}"#, 0),
        (r#"{"n": 0}"#, 0),
        (r#"{"big.x": 0}"#, 0),
        (r#"{"in.text": 0}"#, 1),
        (r#"{"in.x": 1, "n": 1}"#, 1),
        (r#"{"big": {"$slice": 1}}"#, 0),
        (r#"{"list": {"$slice": 1}}"#, 1),
        (r#"{"list": {"$elemMatch": {"k": 2}}}"#, 2),
        (r#"{"m": {"$add": ["$n", 1]}, "in": 1}"#, 0),
        (r#"{"m": "$s", "big": "$n"}"#, 0),
        (r#"{}"#, 0),
    ];
    let whole = doc(DOC);
    for (spec, fetches) in rows {
        let projection = Projection::compile(raw(&doc(spec)), None, &context()).unwrap();
        let (mut head, mut wanted) = (Vec::new(), Vec::new());
        projection.apply(&raw(&whole).into(), &NoResources, &mut wanted).unwrap();
        let stored = Stored::new(&whole);
        projection.apply(&stored.view(), &NoResources, &mut head).unwrap();
        assert_eq!(stored.fetched.get(), *fetches, "{spec}");
        let shown = WholeDocument::new();
        assert_eq!(stored.view().derived(&head, &shown).unwrap().to_vec().unwrap(), wanted, "{spec}");
    }
}

#[test]
fn the_whole_document_is_put_together_once() {
    let both = parse_value(r#"[{"$mergeObjects": ["$$ROOT", {"z": 1}]}, "$$ROOT", "$$CURRENT"]"#).unwrap();
    let both = Expr::compile(both.as_ref(), &context()).unwrap();
    let stored = Stored::new(&doc(DOC));
    both.eval(&EvalContext::new(stored.view(), &NoResources)).unwrap().unwrap();
    assert_eq!(stored.fetched.get(), 4);
}

/// Runs a pipeline over whole and over split documents; gives the number of values fetched by running, then by
/// reading the results.
fn run(stages: &str, documents: &[Vec<u8>]) -> (u32, u32) {
    let compiled = Pipeline::compile(parse_value(&enlarge(stages)).unwrap().as_ref(), &context()).unwrap();
    let wanted = compiled.start(0).collect(&mut Documents::new(documents.to_vec()), &NoResources).unwrap();
    let stored = documents.iter().map(|d| Stored::new(d)).collect();
    let mut source = SplitDocuments { documents: stored, given: 0 };
    let mut run = compiled.start(0);
    let (mut found, mut by_reading) = (Vec::new(), 0);
    while run.advance(&mut source, &NoResources).unwrap() {
        let before = source.fetched();
        let view = run.current(&source);
        assert_eq!(view.len_bytes(), view.to_vec().unwrap().len());
        found.push(view.to_doc().unwrap().as_bytes().to_vec());
        by_reading += source.fetched() - before;
    }
    assert_eq!(found, wanted, "{stages}");
    (source.fetched() - by_reading, by_reading)
}

#[test]
fn stages_fetch_what_they_need() {
    let documents: Vec<Vec<u8>> =
        [1, 3, 2].iter().map(|n| doc(&DOC.replace(r#""n": 1"#, &format!(r#""n": {n}"#)))).collect();
    let rows: &[(&str, u32)] = &[
        (r#"[{"$match": {"n": 2}}, {"$group": {"_id": "$n"}}]"#, 0),
        (r#"[{"$group": {"_id": "$s", "total": {"$sum": "$n"}, "first": {"$first": "$tags"}}}]"#, 0),
        (
            r#"[{"$addFields": {"m": {"$add": ["$n", 1]}}}, {"$match": {"m": 3}}, {"$group": {"_id": "$m"}}]"#,
            0,
        ),
        (r#"[{"$unset": "big"}, {"$set": {"m.x": "$n"}}, {"$project": {"m": 1}}]"#, 0),
        (r#"[{"$set": {"big": 1, "in": "$$REMOVE"}}, {"$project": {"list": 0}}]"#, 0),
        (r#"[{"$unwind": "$tags"}, {"$group": {"_id": "$tags", "n": {"$sum": 1}}}]"#, 0),
        (
            r#"[{"$unwind": {"path": "$tags", "includeArrayIndex": "at.x"}}, {"$match": {"at.x": 1, "big": {"$type": 2}}}, {"$project": {"_id": 1}}]"#,
            0,
        ),
        (
            r#"[{"$unwind": {"path": "$nope", "preserveNullAndEmptyArrays": true}}, {"$project": {"n": 1}}]"#,
            0,
        ),
        (r#"[{"$unwind": "$big"}, {"$project": {"n": 1}}]"#, 0),
        (r#"[{"$unwind": "$list"}, {"$project": {"list.k": 1}}]"#, 3),
        (r#"[{"$set": {"in.y": "$n"}}, {"$project": {"in": 1}}]"#, 3),
        (r#"[{"$set": {"z": 1}}, {"$sort": {"n": 1}}, {"$limit": 1}, {"$project": {"n": 1}}]"#, 4),
        (r#"[{"$replaceRoot": {"newRoot": {"s": "$s", "n": "$n"}}}]"#, 0),
        (r#"[{"$bucket": {"groupBy": "$n", "boundaries": [0, 2, 9]}}]"#, 0),
        (r#"[{"$sortByCount": "$s"}]"#, 0),
        (r#"[{"$count": "n"}]"#, 0),
    ];
    for (stages, fetches) in rows {
        assert_eq!(run(stages, &documents).0, *fetches, "{stages}");
    }
    // What is given as it is stays elsewhere until it is read.
    assert_eq!(run(r#"[{"$set": {"m": 1}}, {"$unset": "in"}, {"$skip": 1}]"#, &documents).0, 0);
}

fn update(text: &str) -> Update {
    Update::compile(parse_value(&enlarge(text)).unwrap().as_ref(), None, &context()).unwrap()
}

#[test]
fn updates_fetch_and_write_what_they_touch() {
    // The update, values fetched, values that the new document keeps.
    let rows: &[(&str, u32, Option<&[u8]>)] = &[
        (r#"{"$inc": {"n": 1}}"#, 0, Some(&[0, 1, 2, 3])),
        (r#"{"$set": {"n": 1}}"#, 0, None),
        (
            r#"{"$unset": {"n": 1, "s": 1}, "$push": {"tags": "c"}, "$set": {"a": 1, "z.y": 2}}"#,
            0,
            Some(&[0, 1, 2, 3]),
        ),
        (r#"{"$set": {"in.x": 2}}"#, 1, Some(&[0, 2, 3])),
        (r#"{"$set": {"in.x": 1}}"#, 1, None),
        (r#"{"$unset": {"in.text": 1}}"#, 1, Some(&[0, 2, 3])),
        (r#"{"$unset": {"list": 1}}"#, 0, Some(&[0, 1, 3])),
        (r#"{"$set": {"big": "other"}}"#, 0, Some(&[1, 2, 3])),
        (r#"{"$set": {"big": "LARGE"}}"#, 1, None),
        (r#"{"$set": {"in": 5, "list": 6}}"#, 0, Some(&[0, 3])),
        (r#"{"$currentDate": {"in": true}}"#, 0, Some(&[0, 2, 3])),
        (r#"{"$setOnInsert": {"in": 1}, "$inc": {"n": 1}}"#, 0, Some(&[0, 1, 2, 3])),
        (r#"{"$push": {"list": {"k": 3}}}"#, 1, Some(&[0, 1, 3])),
        (r#"{"$pull": {"list": {"k": 1}}}"#, 1, Some(&[0, 1, 3])),
        (r#"{"$rename": {"in": "out"}}"#, 1, Some(&[0, 2, 3])),
        (r#"{"$rename": {"s": "t", "n": "a.b"}}"#, 0, Some(&[0, 1, 2, 3])),
        (r#"[{"$set": {"n": {"$add": ["$n", 1]}}}]"#, 0, Some(&[0, 1, 2, 3])),
        (r#"[{"$unset": ["s", "list"]}, {"$set": {"t": "$n"}}]"#, 0, Some(&[0, 1, 3])),
        (r#"[{"$set": {"n": 1}}]"#, 0, None),
        (r#"[{"$set": {"s": "$in.x"}}]"#, 1, Some(&[0, 1, 2, 3])),
        (r#"[{"$replaceWith": {"n": 5}}]"#, 0, Some(&[])),
        (r#"{"n": 5, "big": "VAST"}"#, 0, Some(&[])),
    ];
    for (text, fetches, kept) in rows {
        let whole = doc(DOC);
        let stored = Stored::new(&whole);
        let update = update(text);
        let after = update.apply(&stored.view(), None, false, &NoResources).unwrap();
        assert_eq!(stored.fetched.get(), *fetches, "{text}");
        let Outcome::Changed(head) = after else {
            assert_eq!(
                (None, update.apply(&raw(&whole).into(), None, false, &NoResources)),
                (*kept, Ok(Outcome::Unchanged)),
                "{text}"
            );
            continue;
        };
        let memory = WholeDocument::new();
        let after = stored.view().derived(&head, &memory).unwrap();
        let numbers: Vec<u8> = after.head().cuts().map(|cut| cut.number).collect();
        assert_eq!(Some(numbers.as_slice()), *kept, "{text}");
        let written = cut(&after).unwrap();
        let values = written.iter().flat_map(|w| &w.values);
        let still_kept: Vec<u8> =
            values.filter_map(|v| if let CutValue::Kept(n) = v { Some(*n) } else { None }).collect();
        assert_eq!(still_kept, numbers, "{text}");
        assert_eq!(stored.fetched.get(), *fetches, "{text}: to store it");
        let wanted = update.apply(&raw(&whole).into(), None, false, &NoResources).unwrap();
        assert_eq!(Outcome::Changed(after.to_vec().unwrap()), wanted, "{text}");
    }
}

#[test]
fn an_update_of_a_split_document_may_not_exceed_the_limit() {
    let half = "h".repeat(9 << 20);
    let stored = Stored::new(&parse_document(&format!(r#"{{"_id": 1, "a": "{half}"}}"#)).unwrap());
    let error = update(&format!(r#"{{"$set": {{"b": "{half}"}}}}"#));
    let error = error.apply(&stored.view(), None, false, &NoResources).unwrap_err();
    assert_eq!((error.code().code(), stored.fetched.get()), (17419, 0));
}

/// A value, often a large one.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        (-3i32..4).prop_map(|n| n.to_string()),
        prop::sample::select(vec![
            "null",
            "\"s\"",
            "[]",
            "[1, 2, {\"a\": 1, \"b\": [1]}]",
            "{\"a\": 1, \"b\": {\"c\": [1, 2]}}",
            "\"LARGE\"",
            "\"VAST\"",
            "[1, \"LARGE\", 2, {\"a\": 1, \"b\": [3]}]",
            "{\"a\": 1, \"b\": \"VAST\", \"c\": [1, 2]}",
        ])
        .prop_map(str::to_owned),
    ]
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::vec(("[abcd]", value()), 0..7).prop_map(|fields| {
        let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!(", \"{k}\": {v}")).collect();
        format!("{{\"_id\": 1{}}}", fields.concat())
    })
}

fn update_text() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec![
        "$set",
        "$min",
        "$max",
        "$addToSet",
        "$pull",
        "$inc",
        "$mul",
        "$push",
        "$unset",
        "$pop",
        "$currentDate",
    ]);
    let path = prop::collection::vec("[abcd]|[012]", 0..2)
        .prop_flat_map(|rest| "[abcd]".prop_map(move |first| [&[first], &*rest.clone()].concat().join(".")));
    let fields = prop::collection::btree_map(path, value(), 1..4);
    let one = (operator, fields).prop_map(|(operator, fields)| {
        let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!("\"{k}\": {v}")).collect();
        format!("\"{operator}\": {{{}}}", fields.join(", "))
    });
    let rename = prop::sample::subsequence(vec!["a", "b", "c.a", "d.a"], 2)
        .prop_map(|pair| format!(r#""$rename": {{"{}": "{}"}}"#, pair[0], pair[1]));
    let stages = prop::sample::subsequence(
        vec![
            r#"{"$set": {"a.b": 1}}"#,
            r#"{"$unset": ["b", "c.b"]}"#,
            r#"{"$set": {"d": "$a"}}"#,
            r#"{"$project": {"c": 0}}"#,
            r#"{"$replaceWith": {"$mergeObjects": ["$$ROOT", {"z": 1}]}}"#,
        ],
        1..4,
    );
    prop_oneof![
        6 => one.prop_map(|one| format!("{{{one}}}")),
        1 => rename.prop_map(|rename| format!("{{{rename}}}")),
        2 => stages.prop_map(|stages| format!("[{}]", stages.join(", "))),
        1 => document(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// An update does to a split document what it does to a whole one, errors included.
    #[test]
    fn updates_do_not_see_that_a_document_is_split(update in update_text(), before in document()) {
        let compiled = Update::compile(parse_value(&enlarge(&update)).unwrap().as_ref(), None, &context());
        let Ok(compiled) = compiled else { return Ok(()) };
        let whole = doc(&before);
        let stored = Stored::new(&whole);
        let wanted = compiled.apply(&raw(&whole).into(), None, false, &NoResources);
        let found = compiled.apply(&stored.view(), None, false, &NoResources).map(|outcome| match outcome {
            Outcome::Unchanged => Outcome::Unchanged,
            Outcome::Changed(head) => {
                Outcome::Changed(stored.view().derived(&head, &WholeDocument::new()).unwrap().to_vec().unwrap())
            }
        });
        prop_assert_eq!(found, wanted);
    }
}
