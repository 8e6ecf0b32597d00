//! Rows of pipeline, documents and result; what the engine sees of a pipeline.

use super::*;
use crate::{NoResources, Resources};
use multifora_model::{Error, ErrorCode, RawDoc, extjson};

fn bytes(text: &str) -> Vec<u8> {
    extjson::parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn compile(stages: &str) -> Result<Pipeline> {
    let spec = bytes(&format!("{{\"p\":{stages}}}"));
    Pipeline::compile(RawDoc::framed(&spec).unwrap().get("p").unwrap(), &CompileContext::new(0))
}

fn array_text(documents: &[Vec<u8>]) -> String {
    let texts: Vec<String> = documents
        .iter()
        .map(|d| extjson::to_text(RawDoc::framed(d).unwrap(), extjson::Mode::Canonical))
        .collect();
    format!("[{}]", texts.join(","))
}

fn documents(text: &str) -> Vec<Vec<u8>> {
    let raw = bytes(&format!("{{\"d\":{text}}}"));
    let array = RawDoc::framed(&raw).unwrap().get("d").unwrap().as_array().unwrap();
    array.iter().map(|e| e.value.bytes.to_vec()).collect()
}

fn run(stages: &str, input: &str) -> Result<String> {
    let mut source = Documents::new(documents(input));
    Ok(array_text(&compile(stages)?.start(0).collect(&mut source, &NoResources)?))
}

fn check(rows: &[(&str, &str, &str)]) {
    for (stages, input, wanted) in rows {
        let got = run(stages, input).unwrap_or_else(|e| panic!("{stages}: {e}"));
        assert_eq!(got, array_text(&documents(wanted)), "{stages}");
    }
}

#[test]
fn one_document_in_one_out() {
    check(&[
        (r#"[{"$match":{"a":{"$gt":1}}}]"#, r#"[{"a":1},{"a":2}]"#, r#"[{"a":2}]"#),
        (r#"[{"$sort":{"a":-1}},{"$skip":1},{"$limit":1}]"#, r#"[{"a":1},{"a":3},{"a":2}]"#, r#"[{"a":2}]"#),
        (r#"[{"$project":{"a":1,"_id":0}}]"#, r#"[{"_id":1,"a":1,"b":2}]"#, r#"[{"a":1}]"#),
        (r#"[{"$unset":["a","b.c"]}]"#, r#"[{"a":1,"b":{"c":1,"d":2}}]"#, r#"[{"b":{"d":2}}]"#),
        (r#"[{"$set":{"b":"$a","a":5,"c":"$nope"}}]"#, r#"[{"a":1}]"#, r#"[{"a":5,"b":1}]"#),
        (r#"[{"$set":{"a":"$$REMOVE"}}]"#, r#"[{"a":1,"b":2}]"#, r#"[{"b":2}]"#),
        (
            r#"[{"$addFields":{"a.x":1}}]"#,
            r#"[{"a":{"y":2}},{"a":[{"y":1},5,[{}]]},{"a":7},{}]"#,
            r#"[{"a":{"y":2,"x":1}},{"a":[{"y":1,"x":1},{"x":1},[{"x":1}]]},{"a":{"x":1}},{"a":{"x":1}}]"#,
        ),
        (
            r#"[{"$addFields":{"a":{"x":"$k","z":{"w":2}}}}]"#,
            r#"[{"k":1,"a":{"x":0}}]"#,
            r#"[{"k":1,"a":{"x":1,"z":{"w":2}}}]"#,
        ),
        (r#"[{"$replaceRoot":{"newRoot":"$a"}}]"#, r#"[{"a":{"b":1}}]"#, r#"[{"b":1}]"#),
        (r#"[{"$replaceWith":{"x":"$a"}}]"#, r#"[{"a":1}]"#, r#"[{"x":1}]"#),
    ]);
}

#[test]
fn unwinding() {
    check(&[
        (
            r#"[{"$unwind":"$a"}]"#,
            r#"[{"a":[1,2]},{"a":[]},{"a":null},{},{"a":3}]"#,
            r#"[{"a":1},{"a":2},{"a":3}]"#,
        ),
        (
            r#"[{"$unwind":{"path":"$a","preserveNullAndEmptyArrays":true,"includeArrayIndex":"i"}}]"#,
            r#"[{"a":[7]},{"a":[]},{"a":null},{"b":1},{"a":3}]"#,
            r#"[{"a":7,"i":{"$numberLong":"0"}},{"i":null},{"a":null,"i":null},{"b":1,"i":null},{"a":3,"i":null}]"#,
        ),
        (
            r#"[{"$unwind":"$o.l"}]"#,
            r#"[{"o":{"l":[1,2],"k":9}},{"o":[{"l":[1]}]}]"#,
            r#"[{"o":{"l":1,"k":9}},{"o":{"l":2,"k":9}}]"#,
        ),
    ]);
}

#[test]
fn gathering() {
    let numbers = r#"[{"k":1,"v":2},{"k":1.0,"v":3},{"k":null,"v":4},{"v":5}]"#;
    check(&[
        (
            r#"[{"$group":{"_id":"$k","s":{"$sum":"$v"}}}]"#,
            numbers,
            r#"[{"_id":1,"s":5},{"_id":null,"s":9}]"#,
        ),
        (
            r#"[{"$group":{"_id":null,"n":{"$count":{}},"f":{"$first":"$k"},"l":{"$last":"$k"}}}]"#,
            numbers,
            r#"[{"_id":null,"n":4,"f":1,"l":null}]"#,
        ),
        (
            r#"[{"$group":{"_id":null,"t":{"$top":{"sortBy":{"v":-1},"output":"$v"}},"b":{"$bottomN":{"n":2,"sortBy":{"v":1},"output":["$v"]}}}}]"#,
            numbers,
            r#"[{"_id":null,"t":5,"b":[[4],[5]]}]"#,
        ),
        (r#"[{"$group":{"_id":1,"m":{"$maxN":{"input":"$v","n":2}}}}]"#, numbers, r#"[{"_id":1,"m":[5,4]}]"#),
        (r#"[{"$group":{"_id":{"k":"$k"}}}]"#, r#"[{"k":null},{}]"#, r#"[{"_id":{"k":null}},{"_id":{}}]"#),
        (r#"[{"$group":{"_id":null,"n":{"$sum":1}}}]"#, "[]", "[]"),
        (r#"[{"$count":"n"}]"#, numbers, r#"[{"n":4}]"#),
        (r#"[{"$count":"n"}]"#, "[]", "[]"),
        (
            r#"[{"$sortByCount":"$k"}]"#,
            r#"[{"k":1},{"k":2},{"k":2}]"#,
            r#"[{"_id":2,"count":2},{"_id":1,"count":1}]"#,
        ),
        (
            r#"[{"$bucket":{"groupBy":"$v","boundaries":[0,3,5],"default":"x","output":{"n":{"$sum":1},"v":{"$push":"$v"}}}}]"#,
            numbers,
            r#"[{"_id":0,"n":1,"v":[2]},{"_id":3,"n":2,"v":[3,4]},{"_id":"x","n":1,"v":[5]}]"#,
        ),
        (
            r#"[{"$facet":{"a":[{"$count":"n"}],"b":[{"$match":{"v":9}}],"c":[{"$limit":1},{"$project":{"v":1}}]}}]"#,
            numbers,
            r#"[{"a":[{"n":4}],"b":[],"c":[{"v":2}]}]"#,
        ),
    ]);
}

#[test]
fn samples_have_their_size() {
    for size in 1..6 {
        let stages = format!(r#"[{{"$sample":{{"size":{size}}}}}]"#);
        let mut source = Documents::new(documents(r#"[{"a":1},{"a":2},{"a":3}]"#));
        let got = compile(&stages).unwrap().start(0).collect(&mut source, &NoResources).unwrap();
        assert_eq!(got.len(), size.min(3));
    }
}

#[test]
fn a_run_ends_once() {
    let pipeline = compile(r#"[{"$group":{"_id":null}},{"$limit":5}]"#).unwrap();
    let mut source = Documents::new(documents(r#"[{"a":1}]"#));
    let mut run = pipeline.start(0);
    assert!(run.advance(&mut source, &NoResources).unwrap());
    for _ in 0..3 {
        assert!(!run.advance(&mut source, &NoResources).unwrap());
        assert!(run.current(&source).as_whole().unwrap().is_empty());
    }
}

#[test]
fn the_engine_sees_the_beginning() {
    let pipeline = compile(
        r#"[{"$match":{"a":1}},{"$sort":{"b":1}},{"$match":{"c":1}},{"$skip":2},{"$skip":1},{"$limit":9},{"$limit":5},{"$skip":1},{"$match":{}}]"#,
    )
    .unwrap();
    let lead = pipeline.leading();
    assert_eq!((lead.stage_count, lead.skip, lead.limit), (8, 4, Some(4)));
    assert!(lead.sort.is_some());
    assert!(
        matches!(lead.filter.as_ref().map(Filter::root), Some(crate::filter::FilterNode::And(nodes)) if nodes.len() == 2)
    );

    let Stage::Sort { limit, .. } = &pipeline.stages()[1] else { panic!("no sort") };
    assert_eq!(*limit, None);
    let pipeline = compile(r#"[{"$sort":{"b":1}},{"$project":{"a":1}},{"$skip":2},{"$limit":3}]"#).unwrap();
    let Stage::Sort { limit, .. } = &pipeline.stages()[0] else { panic!("no sort") };
    assert_eq!(*limit, Some(5));
}

#[test]
fn counting_gives_what_grouping_gives() {
    let group = |id: &str, fields: &str| format!(r#"[{{"$group":{{"_id":{id}{fields}}}}}]"#);
    for (stages, counts) in [
        (group("1", r#","n":{"$sum":1}"#), true),
        (group("null", r#","n":{"$count":{}},"m":{"$sum":7},"long":{"$sum":{"$numberLong":"3"}}"#), true),
        (group(r#"{"a":1}"#, r#","n":{"$sum":1.0},"f":{"$sum":0.1},"s":{"$sum":"x"}"#), true),
        (group(r#""k""#, r#","big":{"$sum":2000000000},"low":{"$sum":{"$numberDouble":"-Infinity"}}"#), true),
        (group("null", ""), true),
        (group(r#""$a""#, r#","n":{"$sum":1}"#), false),
        (group("1", r#","n":{"$sum":"$a"}"#), false),
        (group("1", r#","n":{"$avg":1}"#), false),
        (group("1", r#","n":{"$sum":1},"m":{"$max":"$a"}"#), false),
        (group("1", r#","n":{"$sum":{"$numberDecimal":"0.1"}}"#), false),
    ] {
        let compiled = compile(&stages).unwrap();
        let Stage::Group(spec) = &compiled.stages()[0] else { panic!("no group") };
        let counting = spec.as_counting();
        assert_eq!(counting.is_some(), counts, "{stages}");
        let Some(counting) = counting else { continue };
        for n in [0, 1, 2, 3, 10, 1_000] {
            let documents = vec![extjson::parse_document(r#"{"a":1}"#).unwrap(); n];
            let mut source = Documents::new(documents);
            let mut run = compiled.start(0);
            let grouped = run.advance(&mut source, &NoResources).unwrap();
            let grouped = grouped.then(|| run.current(&source).to_raw().unwrap().into_owned());
            assert_eq!(counting.document(n as u64), grouped, "{n} documents: {stages}");
        }
    }
}

#[test]
fn skips_behind_a_limit_are_part_of_the_query() {
    let lead = |stages: &str| {
        let lead = compile(stages).unwrap().leading();
        (lead.skip, lead.limit, lead.stage_count)
    };
    assert_eq!(lead(r#"[{"$skip":2},{"$limit":5},{"$skip":3},{"$limit":9}]"#), (5, Some(2), 4));
    assert_eq!(lead(r#"[{"$limit":5},{"$skip":7},{"$match":{}}]"#), (7, Some(0), 2));
}

#[test]
fn refusals() {
    let rows = [
        (r#"[{"$foo":1}]"#, 40324, "Unrecognized pipeline stage name: '$foo'"),
        (r#"[{}]"#, 40323, "A pipeline stage specification object must contain exactly one field."),
        (r#"[1]"#, 14, "Each element of the 'pipeline' array must be an object"),
        (r#"[{"$match":1}]"#, 15959, "the match filter must be an expression in an object"),
        (r#"[{"$limit":0}]"#, 15958, "the limit must be positive"),
        (
            r#"[{"$skip":-1}]"#,
            5_107_200,
            "invalid argument to $skip stage: Expected a non-negative number in: $skip: -1",
        ),
        (r#"[{"$group":{"n":{"$sum":1}}}]"#, 15955, "a group specification must include an _id"),
        (r#"[{"$group":{"_id":1,"n":{"$nope":1}}}]"#, 15952, "unknown group operator '$nope'"),
        (r#"[{"$group":{"_id":1,"n":{"$sum":[1,2]}}}]"#, 40237, "The $sum accumulator is a unary operator"),
        (r#"[{"$group":{"_id":1,"a.b":{"$sum":1}}}]"#, 40235, "The field name 'a.b' cannot contain '.'"),
        (r#"[{"$unwind":"a"}]"#, 28818, "path option to $unwind stage should be prefixed with a '$': a"),
        (r#"[{"$addFields":{"a":1,"a.b":2}}]"#, 40176, ""),
        (
            r#"[{"$addFields":{}}]"#,
            40177,
            "Invalid $addFields :: caused by :: specification must have at least one field",
        ),
        (
            r#"[{"$facet":{"a":[{"$facet":{"b":[]}}]}}]"#,
            40600,
            "$facet is not allowed to be used within a $facet stage",
        ),
        (r#"[{"$sample":{"size":0}}]"#, 28747, "size argument to $sample must be a positive integer"),
        (r#"[{"$lookup":{}}]"#, 115, "$lookup is not supported in this version"),
    ];
    for (stages, code, text) in rows {
        let error = compile(stages).map(|_| ()).expect_err(stages);
        assert_eq!(error.code().code(), code, "{stages}: {error}");
        if !text.is_empty() {
            assert_eq!(error.message(), text, "{stages}");
        }
    }
}

#[test]
fn a_thousand_stages_run() {
    let stages = vec![r#"{"$addFields":{"a":{"$add":["$a",1]}}}"#; MAX_PIPELINE_STAGES];
    let got = run(&format!("[{}]", stages.join(",")), r#"[{"a":0}]"#).unwrap();
    assert_eq!(got, array_text(&documents(r#"[{"a":1000}]"#)));
    let more = vec![r#"{"$match":{}}"#; MAX_PIPELINE_STAGES + 1];
    let error = compile(&format!("[{}]", more.join(","))).map(|_| ()).unwrap_err();
    assert_eq!(error.code().code(), 7_749_501);
}

#[test]
fn interruption_reaches_every_loop() {
    struct Stopped;
    impl Resources for Stopped {
        fn check_interrupt(&self) -> Result<()> {
            Err(Error::new(ErrorCode::Interrupted, "stop"))
        }
        fn now_ms(&self) -> i64 {
            0
        }
        fn random_f64(&self) -> f64 {
            0.0
        }
    }
    for stages in [
        r#"[{"$unwind":"$a"}]"#,
        r#"[{"$match":{"a":9}}]"#,
        r#"[{"$group":{"_id":"$a"}}]"#,
        r#"[{"$sort":{"a":1}}]"#,
        r#"[{"$count":"n"}]"#,
        r#"[{"$facet":{"x":[]}}]"#,
        r#"[{"$sample":{"size":1}}]"#,
        r#"[{"$skip":5}]"#,
    ] {
        let mut source = Documents::new(documents(r#"[{"a":[1,2]}]"#));
        let error = compile(stages).unwrap().start(0).collect(&mut source, &Stopped).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Interrupted, "{stages}");
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = stage_operators().iter().map(|row| row.name).collect();
    names.sort_unstable();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before);
}
