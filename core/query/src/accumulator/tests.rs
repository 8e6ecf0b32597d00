//! Results of accumulators on lists of values.

use super::*;
use multifora_model::extjson;

fn run(name: &str, values: &str) -> String {
    let row = accumulator(name).unwrap();
    let mut running = match row.kind {
        Kind::Plain(new) | Kind::NoOperand(new) => new(None),
        Kind::Several(new) => new(2, None),
        _ => panic!("ranked"),
    };
    let list = extjson::parse_value(values).unwrap();
    for element in list.as_ref().as_array().unwrap() {
        let missing = element.value.as_str() == Some("missing");
        running.add((!missing).then_some(element.value)).unwrap();
    }
    running.result().map_or_else(
        || "missing".to_owned(),
        |v| {
            let mut out = String::new();
            extjson::write_value(v.as_ref(), extjson::Mode::Canonical, &mut out);
            out
        },
    )
}

#[test]
fn results() {
    let rows = [
        ("$sum", "[1, 2, \"x\", null]", r#"{"$numberInt":"3"}"#),
        ("$sum", "[]", r#"{"$numberInt":"0"}"#),
        ("$sum", "[2147483647, 1]", r#"{"$numberLong":"2147483648"}"#),
        ("$sum", r#"[1, {"$numberLong":"2"}]"#, r#"{"$numberLong":"3"}"#),
        (
            "$sum",
            r#"[{"$numberLong":"9223372036854775807"}, 1]"#,
            r#"{"$numberDouble":"9.223372036854776E+18"}"#,
        ),
        (
            "$sum",
            r#"[{"$numberLong":"9223372036854775807"}, 1, -1]"#,
            r#"{"$numberLong":"9223372036854775807"}"#,
        ),
        ("$sum", "[0.1, 0.2, 0.3]", r#"{"$numberDouble":"0.6"}"#),
        ("$sum", r#"[1, {"$numberDecimal":"1.50"}]"#, r#"{"$numberDecimal":"2.50"}"#),
        (
            "$sum",
            r#"[{"$numberDouble":"Infinity"}, {"$numberDouble":"-Infinity"}]"#,
            r#"{"$numberDouble":"NaN"}"#,
        ),
        ("$avg", "[1, 4, \"x\"]", r#"{"$numberDouble":"2.5"}"#),
        ("$avg", "[\"x\"]", "null"),
        ("$min", "[null, 5, \"missing\", true]", r#"{"$numberInt":"5"}"#),
        ("$max", "[null, 5, true]", "true"),
        ("$min", "[null]", "null"),
        ("$first", "[\"missing\", 1]", "missing"),
        ("$last", "[\"missing\", 1]", r#"{"$numberInt":"1"}"#),
        ("$push", "[1, \"missing\", null]", r#"[{"$numberInt":"1"},null]"#),
        ("$addToSet", "[1, 1.0, 2]", r#"[{"$numberInt":"1"},{"$numberInt":"2"}]"#),
        (
            "$mergeObjects",
            r#"[{"a":true,"b":true}, null, {"b":false,"c":null}]"#,
            r#"{"a":true,"b":false,"c":null}"#,
        ),
        ("$stdDevPop", "[1, 3]", r#"{"$numberDouble":"1.0"}"#),
        ("$stdDevSamp", "[1]", "null"),
        ("$count", "[1, 2]", r#"{"$numberInt":"2"}"#),
        ("$firstN", "[1, 2, 3]", r#"[{"$numberInt":"1"},{"$numberInt":"2"}]"#),
        ("$lastN", "[1, 2, 3]", r#"[{"$numberInt":"2"},{"$numberInt":"3"}]"#),
        ("$minN", "[3, 1, null, 2]", r#"[{"$numberInt":"1"},{"$numberInt":"2"}]"#),
        ("$maxN", "[3, 1, 2]", r#"[{"$numberInt":"3"},{"$numberInt":"2"}]"#),
    ];
    for (name, values, wanted) in rows {
        let strip = |text: &str| text.replace(' ', "");
        assert_eq!(strip(&run(name, values)), strip(wanted), "{name} {values}");
    }
}

#[test]
fn ranks() {
    let value = |n: i32| OwnedValue::from(n);
    let mut top = Rank::new(Ranking::Top, 2);
    let mut bottom = Rank::new(Ranking::Bottom, 2);
    for (key, n) in [(b"c", 3), (b"a", 1), (b"b", 2), (b"a", 9)] {
        top.add(key, Some(value(n).as_ref()));
        bottom.add(key, Some(value(n).as_ref()));
    }
    assert_eq!(format!("{:?}", top.array()), "[int(1), int(9)]");
    assert_eq!(format!("{:?}", bottom.array()), "[int(2), int(3)]");
}
