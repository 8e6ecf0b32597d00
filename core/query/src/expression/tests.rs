//! Rows of expression, document and value; errors with their codes.

use super::*;
use crate::NoResources;
use multifora_model::{RawDoc, extjson};

fn bytes(text: &str) -> Vec<u8> {
    extjson::parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The value as relaxed-looking canonical text, or the code of the error.
fn value_of(expression: &str, doc: &str) -> std::result::Result<String, i32> {
    let spec = bytes(&format!("{{\"e\":{expression}}}"));
    let raw = bytes(doc);
    let value = RawDoc::framed(&spec).unwrap().get("e").unwrap();
    let expr = Expr::compile(value, &CompileContext::new(77)).map_err(|e| e.code().code())?;
    let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
    let cx = EvalContext::new(view, &NoResources);
    let value = expr.eval(&cx).map_err(|e| e.code().code())?;
    Ok(value.map_or_else(
        || "missing".to_owned(),
        |v| {
            let mut out = String::new();
            extjson::write_value(v.as_ref(), extjson::Mode::Canonical, &mut out);
            out
        },
    ))
}

fn canonical(value: &str) -> String {
    if value == "missing" {
        return value.to_owned();
    }
    let raw = bytes(&format!("{{\"v\":{value}}}"));
    let mut out = String::new();
    extjson::write_value(RawDoc::framed(&raw).unwrap().get("v").unwrap(), extjson::Mode::Canonical, &mut out);
    out
}

const DOC: &str = r#"{"_id":1,"a":3,"b":[1,2,3],"s":"héllo","n":null,"o":{"x":1,"y":[{"z":1},{"z":2}]},"d":{"$date":"2020-05-05T10:20:30.123Z"},"D":{"$numberDecimal":"1.50"},"l":{"$numberLong":"5"}}"#;

fn check(rows: &[(&str, &str)]) {
    for (expression, wanted) in rows {
        assert_eq!(value_of(expression, DOC), Ok(canonical(wanted)), "{expression}");
    }
}

#[test]
fn paths_and_variables() {
    check(&[
        (r#""$a""#, "3"),
        (r#""$o.x""#, "1"),
        (r#""$o.y.z""#, "[1,2]"),
        (r#""$nope""#, "missing"),
        (r#""$b.0""#, "[]"),
        (r#""$$ROOT.a""#, "3"),
        (r#""$$CURRENT.a""#, "3"),
        (r#""$$REMOVE""#, "missing"),
        (r#""$$NOW""#, r#"{"$date":{"$numberLong":"77"}}"#),
        (r#"{"$literal":"$a"}"#, r#""$a""#),
        (r#"{"x":"$a","y":"$nope","z":{"k":"$n"}}"#, r#"{"x":3,"z":{"k":null}}"#),
        (r#"["$a","$nope"]"#, "[3,null]"),
        (r#"{"$let":{"vars":{"x":"$a","y":2},"in":{"$add":["$$x","$$y"]}}}"#, "5"),
        (r#"{"$let":{"vars":{"x":1},"in":{"$let":{"vars":{"y":"$$x"},"in":["$$x","$$y"]}}}}"#, "[1,1]"),
        (r#"{"$let":{"vars":{"CURRENT":"$o"},"in":"$x"}}"#, "1"),
    ]);
}

#[test]
fn arithmetic_keeps_types() {
    check(&[
        (r#"{"$add":["$a",1]}"#, "4"),
        (r#"{"$add":["$a","$l"]}"#, r#"{"$numberLong":"8"}"#),
        (r#"{"$add":["$a",1.5]}"#, "4.5"),
        (r#"{"$add":["$a","$D"]}"#, r#"{"$numberDecimal":"4.50"}"#),
        (r#"{"$add":["$a","$n"]}"#, "null"),
        (r#"{"$add":["$d",1000]}"#, r#"{"$date":"2020-05-05T10:20:31.123Z"}"#),
        (r#"{"$add":[2147483647,1]}"#, r#"{"$numberLong":"2147483648"}"#),
        (r#"{"$subtract":["$d","$d"]}"#, r#"{"$numberLong":"0"}"#),
        (r#"{"$subtract":[5,"$a"]}"#, "2"),
        (r#"{"$multiply":[]}"#, "1"),
        (r#"{"$divide":[5,2]}"#, "2.5"),
        (r#"{"$mod":[-7,3]}"#, "-1"),
        (r#"{"$abs":-3}"#, "3"),
        (r#"{"$floor":-1.5}"#, r#"{"$numberDouble":"-2.0"}"#),
        (r#"{"$round":2.5}"#, r#"{"$numberDouble":"2.0"}"#),
        (r#"{"$round":[1234,-2]}"#, "1200"),
        (r#"{"$trunc":[1.29,1]}"#, "1.2"),
        (r#"{"$pow":[2,10]}"#, "1024"),
        (r#"{"$sqrt":16}"#, r#"{"$numberDouble":"4.0"}"#),
        (r#"{"$bitXor":[5,1]}"#, "4"),
        (r#"{"$sin":0}"#, r#"{"$numberDouble":"0.0"}"#),
        (r#"{"$atan2":[0,{"$numberDecimal":"1"}]}"#, r#"{"$numberDecimal":"0"}"#),
        (r#"{"$tsSecond":{"$timestamp":{"t":7,"i":3}}}"#, r#"{"$numberLong":"7"}"#),
        (r#"{"$sum":"$b"}"#, "6"),
        (r#"{"$avg":[1,2]}"#, "1.5"),
        (r#"{"$max":["$b","$a"]}"#, "[1,2,3]"),
    ]);
}

#[test]
fn conditions_and_order() {
    check(&[
        (r#"{"$eq":["$nope",null]}"#, "false"),
        (r#"{"$lt":["$nope",null]}"#, "true"),
        (r#"{"$cmp":["a",5]}"#, "1"),
        (r#"{"$and":[1,"x",[]]}"#, "true"),
        (r#"{"$or":[0,null,"$nope"]}"#, "false"),
        (r#"{"$not":[[]]}"#, "false"),
        (r#"{"$cond":["$nope",1,2]}"#, "2"),
        (r#"{"$cond":{"if":true,"then":"$nope","else":1}}"#, "missing"),
        (r#"{"$ifNull":["$n","$nope",4]}"#, "4"),
        (r#"{"$switch":{"branches":[{"case":false,"then":1},{"case":"$a","then":2}],"default":3}}"#, "2"),
    ]);
}

#[test]
fn arrays_and_sets() {
    check(&[
        (r#"{"$size":"$b"}"#, "3"),
        (r#"{"$arrayElemAt":["$b",-1]}"#, "3"),
        (r#"{"$arrayElemAt":["$b",9]}"#, "missing"),
        (r#"{"$first":"$b"}"#, "1"),
        (r#"{"$slice":["$b",1,1]}"#, "[2]"),
        (r#"{"$slice":["$b",-2]}"#, "[2,3]"),
        (r#"{"$slice":["$b",-9,2]}"#, "[1,2]"),
        (r#"{"$concatArrays":["$b",[4]]}"#, "[1,2,3,4]"),
        (r#"{"$in":[2.0,"$b"]}"#, "true"),
        (r#"{"$indexOfArray":["$b",3,0,2]}"#, "-1"),
        (r#"{"$range":[5,0,-2]}"#, "[5,3,1]"),
        (r#"{"$map":{"input":"$b","as":"x","in":{"$multiply":["$$x",2]}}}"#, "[2,4,6]"),
        (r#"{"$filter":{"input":"$b","cond":{"$gt":["$$this",1]},"limit":1}}"#, "[2]"),
        (
            r#"{"$reduce":{"input":"$b","initialValue":"","in":{"$concat":["$$value",{"$toString":"$$this"}]}}}"#,
            r#""123""#,
        ),
        (
            r#"{"$zip":{"inputs":["$b",["x"]],"useLongestLength":true,"defaults":[0,"-"]}}"#,
            r#"[[1,"x"],[2,"-"],[3,"-"]]"#,
        ),
        (r#"{"$sortArray":{"input":[3,"a",1],"sortBy":-1}}"#, r#"["a",3,1]"#),
        (r#"{"$sortArray":{"input":"$o.y","sortBy":{"z":-1}}}"#, r#"[{"z":2},{"z":1}]"#),
        (r#"{"$setUnion":[[2,1],[1.0,3]]}"#, "[1,2,3]"),
        (r#"{"$setDifference":[[3,1,3],[1]]}"#, "[3]"),
        (r#"{"$setIsSubset":[[],[1]]}"#, "true"),
        (r#"{"$maxN":{"n":2,"input":"$b"}}"#, "[3,2]"),
        (r#"{"$map":{"input":"$n","in":1}}"#, "null"),
    ]);
}

#[test]
fn strings_and_conversions() {
    check(&[
        (r#"{"$concat":["a","$s"]}"#, r#""ahéllo""#),
        (r#"{"$concat":["a","$n"]}"#, "null"),
        (r#"{"$strLenBytes":"$s"}"#, "6"),
        (r#"{"$strLenCP":"$s"}"#, "5"),
        (r#"{"$substrCP":["$s",1,2]}"#, r#""él""#),
        (r#"{"$substrBytes":["hello",1,-1]}"#, r#""ello""#),
        (r#"{"$toUpper":"$s"}"#, r#""HéLLO""#),
        (r#"{"$toLower":"$n"}"#, r#""""#),
        (r#"{"$split":["a-b-","-"]}"#, r#"["a","b",""]"#),
        (r#"{"$indexOfCP":["$s","l"]}"#, "2"),
        (r#"{"$indexOfBytes":["$s","l"]}"#, "3"),
        (r#"{"$trim":{"input":"  x "}}"#, r#""x""#),
        (r#"{"$ltrim":{"input":"xxyx","chars":"x"}}"#, r#""yx""#),
        (r#"{"$replaceAll":{"input":"aXbX","find":"X","replacement":"-"}}"#, r#""a-b-""#),
        (r#"{"$regexFind":{"input":"$s","regex":"l(l)"}}"#, r#"{"match":"ll","idx":2,"captures":["l"]}"#),
        (
            r#"{"$regexFindAll":{"input":"ab","regex":"[ab]"}}"#,
            r#"[{"match":"a","idx":0,"captures":[]},{"match":"b","idx":1,"captures":[]}]"#,
        ),
        (r#"{"$type":"$nope"}"#, r#""missing""#),
        (r#"{"$toInt":"12"}"#, "12"),
        (r#"{"$toInt":1.9}"#, "1"),
        (r#"{"$toLong":"$d"}"#, r#"{"$numberLong":"1588674030123"}"#),
        (r#"{"$toString":1.5}"#, r#""1.5""#),
        (r#"{"$toString":{"$numberDouble":"1.0"}}"#, r#""1""#),
        (r#"{"$toString":"$d"}"#, r#""2020-05-05T10:20:30.123Z""#),
        (r#"{"$toBool":"false"}"#, "true"),
        (r#"{"$toDate":"2020-05-05"}"#, r#"{"$date":"2020-05-05T00:00:00Z"}"#),
        (r#"{"$convert":{"input":"x","to":"int","onError":"bad"}}"#, r#""bad""#),
        (r#"{"$convert":{"input":null,"to":"int","onNull":7}}"#, "7"),
        (r#"{"$objectToArray":"$o"}"#, r#"[{"k":"x","v":1},{"k":"y","v":[{"z":1},{"z":2}]}]"#),
        (r#"{"$arrayToObject":[[["a",1],["b",2],["a",3]]]}"#, r#"{"a":3,"b":2}"#),
        (r#"{"$mergeObjects":["$o",{"x":5},null]}"#, r#"{"x":5,"y":[{"z":1},{"z":2}]}"#),
        (r#"{"$getField":"a"}"#, "3"),
        (r#"{"$setField":{"field":"x","input":"$o","value":"$$REMOVE"}}"#, r#"{"y":[{"z":1},{"z":2}]}"#),
        (r#"{"$unsetField":{"field":"y","input":"$o"}}"#, r#"{"x":1}"#),
    ]);
}

#[test]
fn dates() {
    check(&[
        (r#"{"$year":"$d"}"#, "2020"),
        (r#"{"$dayOfWeek":"$d"}"#, "3"),
        (r#"{"$isoWeek":"$d"}"#, "19"),
        (r#"{"$hour":{"date":"$d","timezone":"+02:30"}}"#, "12"),
        (r#"{"$month":"$n"}"#, "null"),
        (r#"{"$dateToString":{"date":"$d"}}"#, r#""2020-05-05T10:20:30.123Z""#),
        (
            r#"{"$dateToString":{"date":"$d","format":"%d/%m/%Y %b %j %%","timezone":"-11:00"}}"#,
            r#""04/05/2020 May 125 %""#,
        ),
        (
            r#"{"$dateToParts":{"date":"$d"}}"#,
            r#"{"year":2020,"month":5,"day":5,"hour":10,"minute":20,"second":30,"millisecond":123}"#,
        ),
        (r#"{"$dateFromParts":{"year":2020,"month":14,"day":1}}"#, r#"{"$date":"2021-02-01T00:00:00Z"}"#),
        (
            r#"{"$dateFromParts":{"isoWeekYear":2020,"isoWeek":19,"isoDayOfWeek":2}}"#,
            r#"{"$date":"2020-05-05T00:00:00Z"}"#,
        ),
        (
            r#"{"$dateFromString":{"dateString":"2020-05-05T10:00:00+02:00"}}"#,
            r#"{"$date":"2020-05-05T08:00:00Z"}"#,
        ),
        (
            r#"{"$dateAdd":{"startDate":{"$date":"2020-01-31T00:00:00Z"},"unit":"month","amount":1}}"#,
            r#"{"$date":"2020-02-29T00:00:00Z"}"#,
        ),
        (
            r#"{"$dateSubtract":{"startDate":"$d","unit":"week","amount":1}}"#,
            r#"{"$date":"2020-04-28T10:20:30.123Z"}"#,
        ),
        (
            r#"{"$dateDiff":{"startDate":{"$date":"2019-12-31T23:00:00Z"},"endDate":"$d","unit":"year"}}"#,
            r#"{"$numberLong":"1"}"#,
        ),
        (
            r#"{"$dateTrunc":{"date":"$d","unit":"week","startOfWeek":"mon"}}"#,
            r#"{"$date":"2020-05-04T00:00:00Z"}"#,
        ),
        (r#"{"$dateTrunc":{"date":"$d","unit":"hour","binSize":6}}"#, r#"{"$date":"2020-05-05T06:00:00Z"}"#),
    ]);
}

#[test]
fn refusals() {
    let rows = [
        (r#"{"$nope":1}"#, 168),
        (r#"{"a":1,"$add":[1]}"#, 16410),
        (r#"{"$add":[1],"a":1}"#, 15983),
        (r#""$$nope""#, 17276),
        (r#""$""#, 16872),
        (r#""$a.""#, 40353),
        (r#""$a..b""#, 15998),
        (r#"{"$add":["x",1]}"#, 14),
        (r#"{"$add":["$d","$d"]}"#, 16612),
        (r#"{"$subtract":[1]}"#, 16020),
        (r#"{"$subtract":["x",1]}"#, 14),
        (r#"{"$divide":[1,0]}"#, 2),
        (r#"{"$abs":"x"}"#, 28765),
        (r#"{"$size":"$a"}"#, 17124),
        (r#"{"$in":[1,"$a"]}"#, 40081),
        (r#"{"$slice":["$b",1,0]}"#, 28729),
        (r#"{"$concat":["a",1]}"#, 16702),
        (r#"{"$split":["a",""]}"#, 40087),
        (r#"{"$toInt":"1.5"}"#, 241),
        (r#"{"$toInt":3e10}"#, 241),
        (r#"{"$toDate":5}"#, 241),
        (r#"{"$switch":{"branches":[{"case":false,"then":1}]}}"#, 40066),
        (r#"{"$switch":{"branches":[]}}"#, 40068),
        (r#"{"$let":{"vars":{"X":1},"in":1}}"#, 9),
        (r#"{"$map":{"input":1,"in":1}}"#, 16883),
        (r#"{"$map":{"in":1}}"#, 16880),
        (r#"{"$range":[0,2147483647]}"#, 146),
        (r#"{"$mergeObjects":[1]}"#, 40400),
        (r#"{"$ifNull":[1]}"#, 1_257_300),
        (r#"{"a.b":1}"#, 16412),
        (r#"{"$acos":2}"#, 50989),
        (
            r#"{"$reduce":{"input":{"$range":[0,60]},"initialValue":"ab","in":{"$concat":["$$value","$$value"]}}}"#,
            10334,
        ),
    ];
    for (expression, code) in rows {
        assert_eq!(value_of(expression, DOC), Err(code), "{expression}");
    }
}

#[test]
fn constants_are_folded() {
    let spec = bytes(r#"{"e":{"$add":[1,{"$multiply":[2,3]}]}}"#);
    let value = RawDoc::framed(&spec).unwrap().get("e").unwrap();
    let expr = Expr::compile(value, &CompileContext::new(0)).unwrap();
    assert_eq!(expr.as_const().and_then(RawValue::as_i32), Some(7));
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = operators().map(|row| row.name).collect();
    names.sort_unstable();
    let before = names.len();
    names.dedup();
    assert_eq!(names.len(), before);
}
