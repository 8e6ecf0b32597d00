//! Updates written as pipelines, and that they agree with operators where both can say it.

use super::*;
use proptest::prelude::*;

#[test]
fn pipelines() {
    table(&[
        (
            r#"{"_id": 1, "a": 2, "b": 3}"#,
            r#"[{"$set": {"a": "$b", "b": "$a"}}, {"$set": {"s": {"$add": ["$a", "$b"]}}}]"#,
            r#"{"_id": 1, "a": 3, "b": 2, "s": 5}"#,
        ),
        (r#"{"_id": 1, "a": {"b": 1, "c": 2}}"#, r#"[{"$unset": "a.b"}]"#, r#"{"_id": 1, "a": {"c": 2}}"#),
        (r#"{"_id": 1, "a": 2, "b": 3}"#, r#"[{"$project": {"b": 1, "_id": 0}}]"#, r#"{"_id": 1, "b": 3}"#),
        (r#"{"_id": 1, "a": {"x": 1}}"#, r#"[{"$replaceWith": "$a"}]"#, r#"{"_id": 1, "x": 1}"#),
        (
            r#"{"_id": 1, "a": {"x": 1, "_id": 1}}"#,
            r#"[{"$replaceRoot": {"newRoot": "$a"}}]"#,
            r#"{"_id": 1, "x": 1}"#,
        ),
        (r#"{"_id": 1, "a": 1}"#, r#"[{"$set": {"a": 1}}]"#, "unchanged"),
        (r#"{"_id": 1, "a": 1}"#, r#"[]"#, "unchanged"),
        (r#"{"_id": 1, "a": 1}"#, r#"[{"$set": {"_id": 2}}]"#, "66"),
        (r#"{"_id": 1}"#, r#"[{"$match": {"a": 1}}]"#, "72"),
        (r#"{"_id": 1}"#, r#"[{"$group": {"_id": null}}]"#, "72"),
        (r#"{"_id": 1}"#, r#"[{"$lookup": {}}]"#, "72"),
        (r#"{"_id": 1}"#, r#"[{"$nope": {}}]"#, "40324"),
        (r#"{"_id": 1}"#, r#"[5]"#, "14"),
    ]);
    assert!(compile(r#"[{"$set": {"a": 1}}]"#, Some(r#"[{"x": 1}]"#)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// `$set` of constants through documents says the same as the stage `$set`.
    #[test]
    fn operators_and_pipelines_agree(
        a in -2i32..3, b in -2i32..3, path in prop_oneof!["[a-e]", "[a-e][.][a-e]", "d[.]e[.][a-c]"], n in -2i32..3,
    ) {
        let before = doc(&format!(r#"{{"_id": 1, "a": {a}, "d": {{"a": {b}, "e": {{"c": 1}}}}}}"#));
        let by_operator = compile(&format!(r#"{{"$set": {{"{path}": {n}}}}}"#), None).unwrap();
        let by_pipeline = compile(&format!(r#"[{{"$set": {{"{path}": {{"$literal": {n}}}}}}}]"#), None).unwrap();
        // Where a scalar is in the way the two differ by definition: an error, and a new document.
        if let Ok(outcome) = by_operator.apply(&raw(&before).into(), None, false, &NoResources) {
            prop_assert_eq!(outcome, by_pipeline.apply(&raw(&before).into(), None, false, &NoResources).unwrap());
        }
    }
}
