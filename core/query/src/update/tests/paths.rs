//! Paths through arrays, positional operators, array filters, conflicts, refusals.

use super::*;

#[test]
fn paths_into_arrays_and_scalars() {
    table(&[
        (r#"{"a": [1, 2]}"#, r#"{"$set": {"a.4": 9}}"#, r#"{"a": [1, 2, null, null, 9]}"#),
        (r#"{"a": [1, 2]}"#, r#"{"$set": {"a.01": 9}}"#, r#"{"a": [1, 9]}"#),
        (r#"{"a": [1, 2]}"#, r#"{"$set": {"a.3": 8, "a.03": 9}}"#, r#"{"a": [1, 2, null, 8]}"#),
        (
            r#"{"a": [1]}"#,
            r#"{"$set": {"a.10": 1, "a.9": 2}}"#,
            r#"{"a": [1, null, null, null, null, null, null, null, null, 2, 1]}"#,
        ),
        (r#"{"a": []}"#, r#"{"$set": {"a.0.b": 1}}"#, r#"{"a": [{"b": 1}]}"#),
        (r#"{"a": []}"#, r#"{"$set": {"a.1500001": 1}}"#, "34"),
        (r#"{}"#, r#"{"$set": {"a.0": 1}}"#, r#"{"a": {"0": 1}}"#),
        (r#"{"a": 5}"#, r#"{"$set": {"a.b": 1}}"#, "28"),
        (r#"{"a": null}"#, r#"{"$inc": {"a.b.c": 1}}"#, "28"),
        (r#"{"a": [1, 2]}"#, r#"{"$set": {"a.x": 1}}"#, "28"),
        (r#"{"a": {"b": [1]}}"#, r#"{"$pull": {"a.b.x": 1}}"#, "28"),
        (r#"{"a": {"a": 1}, "b": 0}"#, r#"{"$set": {"a.a": 2, "b": 1}}"#, r#"{"a": {"a": 2}, "b": 1}"#),
    ]);
    let error = run(r#"{"_id": 1, "a": 5}"#, r#"{"$set": {"a.b": 1}}"#).unwrap_err();
    assert_eq!(error.message(), "Cannot create field 'b' in element {a: 5}");
}

#[test]
fn positional() {
    let rows = [
        (
            r#"{"id": "t", "p": [{"n": "a"}, {"n": "b"}]}"#,
            r#"{"id": "t", "p.n": "b"}"#,
            r#"{"$set": {"p.$.v": 1}}"#,
            r#"{"id": "t", "p": [{"n": "a"}, {"n": "b", "v": 1}]}"#,
        ),
        (
            r#"{"s": [3, 8, 12]}"#,
            r#"{"s": {"$gte": 8}}"#,
            r#"{"$inc": {"s.$": 100}}"#,
            r#"{"s": [3, 108, 12]}"#,
        ),
        (r#"{"s": [1, 2, 3]}"#, r#"{"s": 2}"#, r#"{"$unset": {"s.$": ""}}"#, r#"{"s": [1, null, 3]}"#),
        (
            r#"{"box": [8, 8, {"sub": [3]}]}"#,
            r#"{"box.sub": {"$exists": true}}"#,
            r#"{"$set": {"box.$.9": "n"}, "$push": {"box.2.sub": {"$each": [4]}}}"#,
            r#"{"box": [8, 8, {"sub": [3, 4], "9": "n"}]}"#,
        ),
        (r#"{"s": [1, 2]}"#, r#"{"s": 2}"#, r#"{"$set": {"s.$": 5, "s.1": 6}}"#, "40"),
        (r#"{"s": [1, 2]}"#, r#"{"s": 2}"#, r#"{"$set": {"s.$": 5, "s.0": 6}}"#, r#"{"s": [6, 5]}"#),
        (r#"{"id": "t", "p": [1]}"#, r#"{"id": "t"}"#, r#"{"$set": {"p.$": 1}}"#, "2"),
        (r#"{"p": [1]}"#, r#"{}"#, r#"{"$set": {"$.p": 1}}"#, "2"),
        (r#"{"p": [1]}"#, r#"{}"#, r#"{"$set": {"p.$.q.$": 1}}"#, "2"),
    ];
    for (before, query, update, wanted) in rows {
        check(before, query, update, None, wanted);
    }
}

#[test]
fn all_elements_and_array_filters() {
    let rows = [
        (r#"{"a": []}"#, r#"{"$set": {"a.$[]": 5}}"#, None, "unchanged"),
        (
            r#"{"a": [{"b": [{"c": 1}, {"c": 2}]}, {"b": [{"d": 1}]}]}"#,
            r#"{"$set": {"a.$[].b.$[].c": 9}}"#,
            None,
            r#"{"a": [{"b": [{"c": 9}, {"c": 9}]}, {"b": [{"d": 1, "c": 9}]}]}"#,
        ),
        (
            r#"{"a": [1, {"$numberDouble": "2.5"}]}"#,
            r#"{"$inc": {"a.$[]": 1}}"#,
            None,
            r#"{"a": [2, {"$numberDouble": "3.5"}]}"#,
        ),
        (r#"{"a": [1, 2]}"#, r#"{"$unset": {"a.$[]": 1}}"#, None, r#"{"a": [null, null]}"#),
        (r#"{"b": 5}"#, r#"{"$set": {"a.$[].x": 1}}"#, None, "2"),
        (r#"{"a": 5}"#, r#"{"$set": {"a.$[]": 1}}"#, None, "2"),
        (r#"{"a": [1]}"#, r#"{"$set": {"$[].a": 1}}"#, None, "2"),
        (
            r#"{"k": [{"s": 14}, {"s": 92}, {"t": 1}]}"#,
            r#"{"$inc": {"k.$[e].s": 1}}"#,
            Some(r#"[{"$and": [{"e.s": {"$exists": true}}, {"e.s": {"$lt": 30}}]}]"#),
            r#"{"k": [{"s": 15}, {"s": 92}, {"t": 1}]}"#,
        ),
        (
            r#"{"n": [5, 90, 100, "x"]}"#,
            r#"{"$set": {"n.$[big]": 99}}"#,
            Some(r#"[{"big": {"$gte": 90}}]"#),
            r#"{"n": [5, 99, 99, "x"]}"#,
        ),
        (
            r#"{"g": [{"t": "a", "m": [1, 5]}, {"t": "b", "m": [5]}]}"#,
            r#"{"$set": {"g.$[o].m.$[i]": 0}}"#,
            Some(r#"[{"i": 5}, {"o.t": "a"}]"#),
            r#"{"g": [{"t": "a", "m": [1, 0]}, {"t": "b", "m": [5]}]}"#,
        ),
        (
            r#"{"n": [1, 5]}"#,
            r#"{"$set": {"n.$[a]": 0}, "$inc": {"n.$[b]": 1}}"#,
            Some(r#"[{"a": 1}, {"b": 5}]"#),
            r#"{"n": [0, 6]}"#,
        ),
        (
            r#"{"n": [1, 5]}"#,
            r#"{"$set": {"n.$[a]": 0}, "$inc": {"n.$[b]": 1}}"#,
            Some(r#"[{"a": 5}, {"b": 5}]"#),
            "40",
        ),
        (
            r#"{"n": [{"x": 1}]}"#,
            r#"{"$set": {"n.$[a].p": 0, "n.$[].q": 1}}"#,
            Some(r#"[{"a.x": 1}]"#),
            r#"{"n": [{"x": 1, "p": 0, "q": 1}]}"#,
        ),
        (r#"{"k": [1]}"#, r#"{"$inc": {"k.$[x].s": 1}}"#, Some(r#"[{"x.a": 1, "y.b": 1}]"#), "9"),
        (r#"{"k": [1]}"#, r#"{"$inc": {"k.$[x].s": 1}}"#, Some(r#"[{"x.s": 1}, {"zz": 1}]"#), "9"),
        (r#"{"k": [1]}"#, r#"{"$inc": {"k.$[x]": 1}}"#, Some(r#"[{"x": 1}, {"x": 2}]"#), "9"),
        (r#"{"k": [1]}"#, r#"{"$inc": {"k.$[x]": 1}}"#, Some(r#"[{}]"#), "9"),
        (r#"{"k": [1]}"#, r#"{"$inc": {"k.$[x]": 1}}"#, None, "2"),
        (r#"{"k": [1]}"#, r#"{"$set": {"k.$[X]": 1}}"#, Some(r#"[{"X": 1}]"#), "2"),
        (r#"{"k": [1]}"#, r#"{"$set": {"k.$[x]": 1}}"#, Some(r#"[{"$expr": true}]"#), "224"),
        (r#"{"k": [1]}"#, r#"{"$set": {"k.$[x]": 1}}"#, Some(r#"[{"$where": "1"}]"#), "2"),
        (r#"{"k": [1]}"#, r#"{"$set": {"k.$[x]": 1}}"#, Some(r#"[{"$alwaysTrue": 1}]"#), "9"),
        (r#"{"k": [1]}"#, r#"{"$set": {"k.$[$i]": 1}}"#, Some(r#"[{"$i": 1}]"#), "2"),
        (
            r#"{"k": [0, 1, 3]}"#,
            r#"{"$set": {"k.$[i]": 2}}"#,
            Some(r#"[{"$or": [{"i": 0}, {"i": 3}]}]"#),
            r#"{"k": [2, 1, 2]}"#,
        ),
        (
            r#"{"k": [[0, 1], [0]]}"#,
            r#"{"$set": {"k.$[].$[j]": 2}}"#,
            Some(r#"[{"j": 0}]"#),
            r#"{"k": [[2, 1], [2]]}"#,
        ),
        (
            r#"{"k": [[0], [1]]}"#,
            r#"{"$addToSet": {"k.$[i]": 2}}"#,
            Some(r#"[{"i": 0}]"#),
            r#"{"k": [[0, 2], [1]]}"#,
        ),
        (r#"{"a": [0]}"#, r#"{"$rename": {"a": "b"}}"#, Some(r#"[{"i": 0}]"#), "9"),
    ];
    for (before, update, filters, wanted) in rows {
        check(before, "{}", update, filters, wanted);
    }
}

#[test]
fn conflicts() {
    table(&[
        (r#"{"a": {"b": 0}}"#, r#"{"$set": {"a.b": 1}, "$unset": {"a": 1}}"#, "40"),
        (r#"{}"#, r#"{"$set": {"a": {}, "a.b": 1}}"#, "40"),
        (r#"{}"#, r#"{"$set": {"a": 1}, "$inc": {"a": 1}}"#, "40"),
        (r#"{}"#, r#"{"$set": {"a.$[].b": 1, "a.0": 1}}"#, "40"),
        (r#"{}"#, r#"{"$set": {"a": 1, "ab": 2}, "$inc": {"a1": 1}}"#, r#"{"a": 1, "a1": 1, "ab": 2}"#),
    ]);
    let nested = r#"{"a": [{"x": 0, "b": [{"y": 0, "c": 0}]}, {"x": 1, "b": [{"y": 0, "c": 0}]}]}"#;
    let both = r#"{"$set": {"a.$[i].b.$[k].c": 1, "a.$[j].b.$[k].c": 2}}"#;
    let filters = |j: u32| format!(r#"[{{"i.x": 0}}, {{"j.x": {j}}}, {{"k.y": 0}}]"#);
    check(nested, "{}", both, Some(&filters(0)), "40");
    let apart = r#"{"a": [{"x": 0, "b": [{"y": 0, "c": 1}]}, {"x": 1, "b": [{"y": 0, "c": 2}]}]}"#;
    check(nested, "{}", both, Some(&filters(1)), apart);
    let fields = r#"{"$set": {"a.$[i].b.$[k].c": 1, "a.$[j].b.$[k].d": 2}}"#;
    let merged = r#"{"a": [{"x": 0, "b": [{"y": 0, "c": 1, "d": 2}]}, {"x": 1, "b": [{"y": 0, "c": 0}]}]}"#;
    check(nested, "{}", fields, Some(&filters(0)), merged);
    let error = run("{}", r#"{"$set": {"a.b": 1}, "$inc": {"a": 1}}"#).unwrap_err();
    assert_eq!(error.message(), "Updating the path 'a' would create a conflict at 'a'");
}

#[test]
fn refusals() {
    table(&[
        ("{}", r#"{"$bogus": {"a": 1}}"#, "9"),
        ("{}", r#"{"$set": 5}"#, "9"),
        ("{}", r#"{"$set": {"": 1}}"#, "56"),
        ("{}", r#"{"$set": {"a..b": 1}}"#, "56"),
        ("{}", r#"{"$set": {"a.": 1}}"#, "56"),
        ("{}", "5", "9"),
    ]);
    let error = run("{}", r#"{"$foo": {"a": 1}}"#).unwrap_err();
    let wanted = "Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update specified as an array";
    assert_eq!(error.message(), wanted);
    let long = vec!["a"; 5000].join(".");
    assert_eq!(run("{}", &format!(r#"{{"$set": {{"{long}": 1}}}}"#)).unwrap_err().code().code(), 15);
    let deep = vec!["a"; 101].join(".");
    assert_eq!(run("{}", &format!(r#"{{"$set": {{"{deep}": 1}}}}"#)).unwrap_err().code().code(), 15);
}

#[test]
fn too_large_results_are_refused() {
    let text = "x".repeat(9 * 1024 * 1024);
    let before = format!(r#"{{"_id": 1, "a": "{text}"}}"#);
    let error = run(&before, &format!(r#"{{"$set": {{"b": "{text}"}}}}"#)).unwrap_err();
    assert_eq!(error.code().code(), 17419);
}

#[test]
fn touched_fields() {
    let update = compile(r#"{"$set": {"a.b": 1}, "$rename": {"c.d": "e"}}"#, None).unwrap();
    let touched = update.touched();
    for (path, wanted) in [("a", true), ("a.x", true), ("c", true), ("e", true), ("b", false), ("ab", false)]
    {
        assert_eq!(touched.touches(path), wanted, "{path}");
    }
    assert!(compile("{}", None).unwrap().touched().touches("x"));
    assert!(compile(r#"{"$set": {"a.$.b": 1}}"#, None).unwrap().needs_position());
    assert!(compile(r#"{"$set": {"a.0.b.$": 1}}"#, None).unwrap().needs_position());
    assert!(!compile(r#"{"$set": {"a.$[]": 1}}"#, None).unwrap().needs_position());
}
