//! Rows of query, documents and which of them match; errors with code and text.

use super::*;
use crate::NoResources;
use multifora_model::extjson;

fn bytes(text: &str) -> Vec<u8> {
    extjson::parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn compile(query: &str) -> Result<Filter> {
    let raw = bytes(query);
    Filter::compile(RawDoc::framed(&raw).unwrap(), &CompileContext::new(0))
}

fn matches(query: &str, doc: &str) -> bool {
    let raw = bytes(doc);
    let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
    let filter = compile(query).unwrap_or_else(|e| panic!("{query}: {e}"));
    let matched = filter.matches(&view, &NoResources).unwrap();
    assert_eq!(filter.matches_with_position(&view, &NoResources).unwrap().is_some(), matched);
    matched
}

/// One row: the query, documents that match, documents that do not.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

fn check(rows: &[Row]) {
    for (query, yes, no) in rows {
        for doc in *yes {
            assert!(matches(query, doc), "{query} must match {doc}");
        }
        for doc in *no {
            assert!(!matches(query, doc), "{query} must not match {doc}");
        }
    }
}

#[test]
fn equality() {
    check(&[
        ("{}", &["{}", r#"{"a":1}"#], &[]),
        (
            r#"{"a":1}"#,
            &[r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":[2,1]}"#, r#"{"a":{"$numberDecimal":"1.00"}}"#],
            &["{}", r#"{"a":"1"}"#, r#"{"a":true}"#, r#"{"a":[[1]]}"#],
        ),
        (
            r#"{"a":null}"#,
            &["{}", r#"{"a":null}"#, r#"{"a":[null]}"#],
            &[r#"{"a":[]}"#, r#"{"a":{"$undefined":true}}"#, r#"{"a":0}"#],
        ),
        (
            r#"{"a":[1,2]}"#,
            &[r#"{"a":[1,2]}"#, r#"{"a":[[1,2],3]}"#],
            &[r#"{"a":[2,1]}"#, r#"{"a":[1,2,3]}"#],
        ),
        (r#"{"a":{"b":1}}"#, &[r#"{"a":{"b":1}}"#, r#"{"a":[{"b":1}]}"#], &[r#"{"a":{"b":1,"c":2}}"#]),
        (
            r#"{"a.b":1}"#,
            &[r#"{"a":{"b":1}}"#, r#"{"a":[{"b":2},{"b":[1]}]}"#],
            &[r#"{"a.b":1}"#, r#"{"a":[[{"b":1}]]}"#],
        ),
        (
            r#"{"a.b":null}"#,
            &["{}", r#"{"a":5}"#, r#"{"a":[{}]}"#, r#"{"a":{}}"#],
            &[r#"{"a":[]}"#, r#"{"a":[5]}"#],
        ),
        (
            r#"{"a.0":1}"#,
            &[r#"{"a":[1]}"#, r#"{"a":{"0":1}}"#, r#"{"a":[{"0":1}]}"#],
            &[r#"{"a":[0,1]}"#, r#"{"a":[[1]]}"#],
        ),
        (
            r#"{"a":{"$ref":"c","$id":1}}"#,
            &[r#"{"a":{"$ref":"c","$id":1}}"#],
            &[r#"{"a":{"$ref":"c","$id":2}}"#],
        ),
        (r#"{"a":{"$eq":{"$gt":1}}}"#, &[r#"{"a":{"$gt":1}}"#], &[r#"{"a":2}"#]),
        (
            r#"{"a":{"$numberDouble":"NaN"}}"#,
            &[r#"{"a":{"$numberDouble":"NaN"}}"#, r#"{"a":{"$numberDecimal":"NaN"}}"#],
            &[r#"{"a":1}"#],
        ),
    ]);
}

#[test]
fn ranges_stay_in_their_type() {
    check(&[
        (
            r#"{"a":{"$gt":1}}"#,
            &[r#"{"a":2}"#, r#"{"a":[0,5]}"#],
            &[r#"{"a":1}"#, r#"{"a":"z"}"#, r#"{"a":null}"#, "{}"],
        ),
        (r#"{"a":{"$lt":5}}"#, &[r#"{"a":4.5}"#], &[r#"{"a":{"$numberDouble":"NaN"}}"#, r#"{"a":null}"#]),
        (r#"{"a":{"$gte":{"$numberDouble":"NaN"}}}"#, &[r#"{"a":{"$numberDouble":"NaN"}}"#], &[r#"{"a":1}"#]),
        (
            r#"{"a":{"$gt":{"$numberDouble":"NaN"}}}"#,
            &[],
            &[r#"{"a":1}"#, r#"{"a":{"$numberDouble":"NaN"}}"#],
        ),
        (r#"{"a":{"$lte":null}}"#, &["{}", r#"{"a":null}"#], &[r#"{"a":1}"#, r#"{"a":[]}"#]),
        (r#"{"a":{"$lt":null}}"#, &[], &["{}", r#"{"a":null}"#]),
        (
            r#"{"a":{"$gt":[1,2]}}"#,
            &[r#"{"a":[1,"x"]}"#, r#"{"a":[2]}"#, r#"{"a":[[3]]}"#],
            &[r#"{"a":[1]}"#, r#"{"a":5}"#],
        ),
        (
            r#"{"a":{"$gt":{"$minKey":1}}}"#,
            &[r#"{"a":1}"#, "{}", r#"{"a":null}"#],
            &[r#"{"a":{"$minKey":1}}"#],
        ),
        (r#"{"a":{"$lt":{"$maxKey":1}}}"#, &[r#"{"a":"x"}"#, "{}"], &[r#"{"a":{"$maxKey":1}}"#]),
        (r#"{"a":{"$gte":{"$maxKey":1}}}"#, &[r#"{"a":{"$maxKey":1}}"#], &[r#"{"a":1}"#]),
        (r#"{"a":{"$gt":1,"$lt":3}}"#, &[r#"{"a":2}"#, r#"{"a":[0,5]}"#], &[r#"{"a":3}"#]),
    ]);
}

#[test]
fn negations() {
    check(&[
        (r#"{"a":{"$ne":1}}"#, &["{}", r#"{"a":[2]}"#], &[r#"{"a":[1,2]}"#]),
        (r#"{"a":{"$ne":null}}"#, &[r#"{"a":1}"#, r#"{"a":[]}"#], &["{}", r#"{"a":[1,null]}"#]),
        (r#"{"a":{"$not":{"$gt":5}}}"#, &["{}", r#"{"a":"x"}"#, r#"{"a":[1]}"#], &[r#"{"a":[1,9]}"#]),
        (r#"{"a":{"$not":{"$regex":"^x"}}}"#, &[r#"{"a":"y"}"#, r#"{"a":1}"#], &[r#"{"a":"x1"}"#]),
        (
            r#"{"a":{"$not":{"$regularExpression":{"pattern":"^x","options":""}}}}"#,
            &[r#"{"a":"y"}"#],
            &[r#"{"a":"xx"}"#],
        ),
        (r#"{"$nor":[{"a":1},{"b":1}]}"#, &["{}", r#"{"a":2}"#], &[r#"{"a":1}"#, r#"{"b":1}"#]),
        (r#"{"a":{"$nin":[1,null]}}"#, &[r#"{"a":2}"#], &["{}", r#"{"a":[3,1]}"#]),
        (r#"{"a":{"$exists":false}}"#, &["{}"], &[r#"{"a":null}"#, r#"{"a":[]}"#]),
    ]);
}

#[test]
fn sets_and_arrays() {
    check(&[
        (r#"{"a":{"$in":[1,"x"]}}"#, &[r#"{"a":1.0}"#, r#"{"a":["x"]}"#], &[r#"{"a":2}"#, "{}"]),
        (r#"{"a":{"$in":[]}}"#, &[], &["{}", r#"{"a":1}"#]),
        (r#"{"a":{"$nin":[]}}"#, &["{}", r#"{"a":1}"#], &[]),
        (r#"{"a":{"$in":[null]}}"#, &["{}", r#"{"a":[null]}"#], &[r#"{"a":[[null]]}"#]),
        (
            r#"{"a":{"$in":[{"$regularExpression":{"pattern":"^A","options":"i"}},5]}}"#,
            &[r#"{"a":"abc"}"#, r#"{"a":5}"#],
            &[r#"{"a":"bc"}"#],
        ),
        (r#"{"a":{"$in":[[1,2]]}}"#, &[r#"{"a":[1,2]}"#, r#"{"a":[[1,2]]}"#], &[r#"{"a":1}"#]),
        (r#"{"a":{"$all":["x","y"]}}"#, &[r#"{"a":["y","z","x"]}"#], &[r#"{"a":["x"]}"#, r#"{"a":"x"}"#]),
        (r#"{"a":{"$all":["x"]}}"#, &[r#"{"a":"x"}"#], &[]),
        (r#"{"a":{"$all":[]}}"#, &[], &["{}", r#"{"a":[]}"#]),
        (
            r#"{"a":{"$all":[{"$elemMatch":{"x":1,"y":1}},{"$elemMatch":{"x":2}}]}}"#,
            &[r#"{"a":[{"x":1,"y":1},{"x":2}]}"#],
            &[r#"{"a":[{"x":1},{"x":2,"y":1}]}"#],
        ),
        (r#"{"a":{"$size":2}}"#, &[r#"{"a":[1,2]}"#], &[r#"{"a":[1]}"#, r#"{"a":[[1,2]]}"#, r#"{"a":2}"#]),
        (
            r#"{"a":{"$elemMatch":{"x":1,"y":2}}}"#,
            &[r#"{"a":[{"x":1,"y":2}]}"#],
            &[r#"{"a":[{"x":1},{"y":2}]}"#, r#"{"a":{"x":1,"y":2}}"#],
        ),
        (
            r#"{"a":{"$elemMatch":{"$gte":1,"$lt":3}}}"#,
            &[r#"{"a":[5,2]}"#],
            &[r#"{"a":[0,5]}"#, r#"{"a":2}"#],
        ),
        (r#"{"a":{"$elemMatch":{"$elemMatch":{"$gt":3}}}}"#, &[r#"{"a":[[1],[4]]}"#], &[r#"{"a":[4]}"#]),
        (r#"{"a":{"$elemMatch":{"0":1}}}"#, &[r#"{"a":[[1,2]]}"#, r#"{"a":[{"0":1}]}"#], &[r#"{"a":[1]}"#]),
        (
            r#"{"a":{"$elemMatch":{"$or":[{"x":1},{"y":1}]}}}"#,
            &[r#"{"a":[{"y":1}]}"#],
            &[r#"{"a":[{"z":1}]}"#],
        ),
        (r#"{"a":{"$elemMatch":{"$not":{"$gt":1}}}}"#, &[r#"{"a":[2,1]}"#], &[r#"{"a":[2]}"#, r#"{"a":[]}"#]),
        (r#"{"a.b":{"$elemMatch":{"$eq":1}}}"#, &[r#"{"a":[{"b":[1]}]}"#], &[r#"{"a":[{"b":1}]}"#]),
    ]);
}

#[test]
fn types_bits_and_remainders() {
    check(&[
        (r#"{"a":{"$type":"number"}}"#, &[r#"{"a":1}"#, r#"{"a":["x",1.5]}"#], &[r#"{"a":"1"}"#, "{}"]),
        (r#"{"a":{"$type":["string",8]}}"#, &[r#"{"a":"x"}"#, r#"{"a":true}"#], &[r#"{"a":1}"#]),
        (r#"{"a":{"$type":"array"}}"#, &[r#"{"a":[]}"#, r#"{"a":[[1]]}"#], &[r#"{"a":1}"#]),
        (r#"{"a":{"$type":-1}}"#, &[r#"{"a":{"$minKey":1}}"#], &[r#"{"a":{"$maxKey":1}}"#]),
        (r#"{"a":{"$type":127}}"#, &[r#"{"a":{"$maxKey":1}}"#], &[r#"{"a":1}"#]),
        (
            r#"{"a":{"$mod":[4,1]}}"#,
            &[r#"{"a":5}"#, r#"{"a":5.9}"#, r#"{"a":[2,1]}"#],
            &[r#"{"a":4}"#, r#"{"a":"5"}"#, r#"{"a":{"$numberDouble":"NaN"}}"#],
        ),
        (r#"{"a":{"$mod":[-4,-1]}}"#, &[r#"{"a":-5}"#], &[r#"{"a":5}"#]),
        (
            r#"{"a":{"$bitsAllSet":5}}"#,
            &[r#"{"a":7}"#, r#"{"a":-1}"#],
            &[r#"{"a":4}"#, r#"{"a":5.5}"#, r#"{"a":"x"}"#],
        ),
        (r#"{"a":{"$bitsAllSet":[0,200]}}"#, &[r#"{"a":-1}"#], &[r#"{"a":1}"#]),
        (r#"{"a":{"$bitsAnyClear":[1,3]}}"#, &[r#"{"a":2}"#], &[r#"{"a":10}"#]),
        (
            r#"{"a":{"$bitsAllClear":{"$binary":{"base64":"AQ==","subType":"00"}}}}"#,
            &[r#"{"a":2}"#, r#"{"a":{"$binary":{"base64":"","subType":"00"}}}"#],
            &[r#"{"a":1}"#],
        ),
        (
            r#"{"a":{"$bitsAnySet":[8]}}"#,
            &[r#"{"a":{"$binary":{"base64":"AAE=","subType":"00"}}}"#],
            &[r#"{"a":{"$binary":{"base64":"AA==","subType":"00"}}}"#],
        ),
    ]);
}

#[test]
fn patterns_and_expressions() {
    check(&[
        (
            r#"{"a":{"$regex":"^ab","$options":"i"}}"#,
            &[r#"{"a":"ABc"}"#, r#"{"a":["x","ab"]}"#],
            &[r#"{"a":"cab"}"#, r#"{"a":1}"#],
        ),
        (r#"{"a":{"$options":"i","$regex":"^ab"}}"#, &[r#"{"a":"ABc"}"#], &[]),
        (
            r#"{"a":{"$regularExpression":{"pattern":"^x","options":"mi"}}}"#,
            &[r#"{"a":{"$regularExpression":{"pattern":"^x","options":"im"}}}"#, r#"{"a":"X"}"#],
            &[r#"{"a":{"$regularExpression":{"pattern":"^x","options":""}}}"#],
        ),
        (r#"{"a":{"$regex":"x","$gt":"y"}}"#, &[r#"{"a":"yx"}"#], &[r#"{"a":"ax"}"#]),
        (r#"{"$expr":{"$gt":["$a","$b"]}}"#, &[r#"{"a":2,"b":1}"#, r#"{"a":1}"#], &[r#"{"a":1,"b":1}"#]),
        (
            r#"{"$and":[{"a":1},{"$or":[{"b":1},{"c":1}]}],"$comment":"x"}"#,
            &[r#"{"a":1,"c":1}"#],
            &[r#"{"a":1}"#],
        ),
        (r#"{"$alwaysTrue":1}"#, &["{}"], &[]),
        (r#"{"$alwaysFalse":1}"#, &[], &["{}"]),
        (r#"{"$sampleRate":1.0}"#, &["{}"], &[]),
        (r#"{"$sampleRate":0}"#, &[], &["{}"]),
    ]);
}

#[test]
fn positions() {
    let rows = [
        (r#"{"a":2}"#, r#"{"a":[1,2]}"#, Some(1)),
        (r#"{"a":[1,2]}"#, r#"{"a":[1,2]}"#, None),
        (r#"{"a.b":{"$gt":1}}"#, r#"{"a":[{"b":1},{"b":[0,0,5]}]}"#, Some(1)),
        (r#"{"a.1":2}"#, r#"{"a":[1,2]}"#, None),
        (r#"{"a":{"$elemMatch":{"x":2}}}"#, r#"{"a":[{"x":1},{"x":2}]}"#, Some(1)),
        (r#"{"a":1,"b":2}"#, r#"{"a":[1],"b":[0,0,2]}"#, Some(2)),
        (r#"{"$or":[{"b":9},{"a":3}]}"#, r#"{"a":[1,2,3],"b":[1]}"#, Some(2)),
        (r#"{"a":{"$ne":9}}"#, r#"{"a":[1]}"#, None),
    ];
    for (query, doc, wanted) in rows {
        let raw = bytes(doc);
        let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
        let found = compile(query).unwrap().matches_with_position(&view, &NoResources).unwrap();
        assert_eq!(found, Some(Matched { position: wanted }), "{query} {doc}");
    }
}

#[test]
fn refusals() {
    let rows = [
        (r#"{"a":{"$foo":1}}"#, 2, "unknown operator: $foo"),
        (r#"{"a":{"$gt":1,"b":2}}"#, 2, "unknown operator: b"),
        (
            r#"{"$foo":1}"#,
            2,
            "unknown top level operator: $foo. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.",
        ),
        (r#"{"$and":[]}"#, 2, "$and/$or/$nor must be a nonempty array"),
        (r#"{"$or":{}}"#, 2, "$or must be an array"),
        (r#"{"$nor":[1]}"#, 2, "$or/$and/$nor entries need to be full objects"),
        (r#"{"a":{"$in":1}}"#, 2, "$in needs an array"),
        (r#"{"a":{"$nin":1}}"#, 2, "$nin needs an array"),
        (r#"{"a":{"$in":[{"$gt":1}]}}"#, 2, "cannot nest $ under $in"),
        (r#"{"a":{"$all":1}}"#, 2, "$all needs an array"),
        (r#"{"a":{"$all":[{"$gt":1}]}}"#, 2, "no $ expressions in $all"),
        (r#"{"a":{"$all":[{"$elemMatch":{"x":1}},5]}}"#, 2, "$all/$elemMatch has to be consistent"),
        (r#"{"a":{"$elemMatch":1}}"#, 2, "$elemMatch needs an Object"),
        (r#"{"a":{"$not":1}}"#, 2, "$not needs a regex or a document"),
        (r#"{"a":{"$not":{}}}"#, 2, "$not cannot be empty"),
        (
            r#"{"a":{"$gt":{"$regularExpression":{"pattern":"x","options":""}}}}"#,
            2,
            "Can't have RegEx as arg to predicate over field 'a'.",
        ),
        (
            r#"{"a":{"$ne":{"$regularExpression":{"pattern":"x","options":""}}}}"#,
            2,
            "Can't have regex as arg to $ne.",
        ),
        (r#"{"a":{"$undefined":true}}"#, 2, "cannot compare to undefined"),
        (r#"{"a":{"$size":-1}}"#, 2, "Failed to parse $size. Expected a non-negative number in: $size: -1"),
        (r#"{"a":{"$size":1.5}}"#, 2, "Failed to parse $size. Expected an integer: $size: 1.5"),
        (r#"{"a":{"$size":"1"}}"#, 2, "Failed to parse $size. Expected a number in: $size: \"1\""),
        (r#"{"a":{"$mod":[0,1]}}"#, 2, "divisor cannot be 0"),
        (r#"{"a":{"$mod":[1]}}"#, 2, "malformed mod, not enough elements"),
        (r#"{"a":{"$mod":[1,2,3]}}"#, 2, "malformed mod, too many elements"),
        (r#"{"a":{"$type":"nope"}}"#, 2, "Unknown type name alias: nope"),
        (r#"{"a":{"$type":77}}"#, 2, "Invalid numerical type code: 77"),
        (r#"{"a":{"$type":[]}}"#, 9, "$type must match at least one type"),
        (r#"{"a":{"$regex":5}}"#, 2, "$regex has to be a string"),
        (r#"{"a":{"$options":"i"}}"#, 2, "$options needs a $regex"),
        (
            r#"{"a":{"$elemMatch":{"$expr":true}}}"#,
            224,
            "$expr can only be applied to the top-level document",
        ),
        (r#"{"$alwaysTrue":2}"#, 9, "$alwaysTrue must be an integer value of 1"),
        (r#"{"$expr":{"$nope":1}}"#, 168, "Unrecognized expression '$nope'"),
        (r#"{"$where":"true"}"#, 115, "$where is not supported: there is no JavaScript engine; use $expr"),
    ];
    for (query, code, text) in rows {
        let error = compile(query).expect_err(query);
        assert_eq!((error.code().code(), error.message()), (code, text), "{query}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| {
        let mut query = multifora_model::DocBuilder::new();
        for _ in 0..depth {
            query.start_array("$and").push_start_doc();
        }
        query.i32("a", 1);
        let raw = query.finish();
        Filter::compile(RawDoc::framed(&raw).unwrap(), &CompileContext::new(0)).map(|_| ())
    };
    assert_eq!(nested(100), Ok(()));
    let error = nested(101).unwrap_err();
    assert_eq!((error.code().code(), error.message()), (2, "exceeded maximum query tree depth of 100"));
}

#[test]
fn a_planner_can_read_the_tree() {
    let filter = compile(r#"{"a":{"$gt":1},"b":{"$in":[3,1,1.0]}}"#).unwrap();
    let FilterNode::And(nodes) = filter.root() else { panic!("no conjunction") };
    let FilterNode::Field(FieldTest { path, test: Test::Compare(c) }) = &nodes[0] else {
        panic!("no comparison")
    };
    assert_eq!((path.as_str(), c.op), ("a", CompareOp::Gt));
    let FilterNode::Field(FieldTest { test: Test::In(set), .. }) = &nodes[1] else { panic!("no set") };
    assert_eq!(set.values().len(), 2);
}
