//! Rows of schema, documents that are valid and that are not; errors with code and text.

use super::*;
use crate::filter::Filter;
use crate::{CompileContext, NoResources};
use multifora_model::extjson;

fn bytes(text: &str) -> Vec<u8> {
    extjson::parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn compile(schema: &str) -> Result<Filter> {
    let raw = bytes(&format!(r#"{{"$jsonSchema":{schema}}}"#));
    Filter::compile(RawDoc::framed(&raw).unwrap(), &CompileContext::new(0))
}

fn is_valid(schema: &str, doc: &str) -> bool {
    let raw = bytes(doc);
    let view = DocumentView::whole(RawDoc::framed(&raw).unwrap());
    let filter = compile(schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
    filter.matches(&view, &NoResources).unwrap()
}

/// One row: the schema, documents that are valid, documents that are not.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

fn check(rows: &[Row]) {
    for (schema, yes, no) in rows {
        for doc in *yes {
            assert!(is_valid(schema, doc), "{doc} must be valid under {schema}");
        }
        for doc in *no {
            assert!(!is_valid(schema, doc), "{doc} must not be valid under {schema}");
        }
    }
}

/// Rows about the property `a`.
fn check_a(rows: &[Row]) {
    for (schema, yes, no) in rows {
        let schema = format!(r#"{{"properties":{{"a":{schema}}}}}"#);
        assert!(is_valid(&schema, "{}"), "a missing property is valid under {schema}");
        for value in *yes {
            let doc = format!(r#"{{"a":{value}}}"#);
            assert!(is_valid(&schema, &doc), "{doc} must be valid under {schema}");
        }
        for value in *no {
            let doc = format!(r#"{{"a":{value}}}"#);
            assert!(!is_valid(&schema, &doc), "{doc} must not be valid under {schema}");
        }
    }
}

const DECIMAL: &str = r#"{"$numberDecimal":"2.0"}"#;

#[test]
fn types_do_not_look_into_arrays() {
    check_a(&[
        (r#"{"type":"number"}"#, &["1", "1.5", DECIMAL], &["[1]", r#""1""#, "null", "true"]),
        (r#"{"bsonType":"int"}"#, &["1"], &["1.5", "[1]", r#"{"$numberLong":"1"}"#]),
        (r#"{"bsonType":["string","array"]}"#, &["[]", r#""""#], &["1", "{}"]),
        (r#"{"type":"boolean"}"#, &["true"], &["1", r#""true""#]),
        (r#"{"bsonType":"number"}"#, &["1", DECIMAL], &[r#""1""#]),
        (r#"{"type":["null","object"]}"#, &["null", "{}"], &["[]"]),
    ]);
    check(&[
        ("{}", &["{}", r#"{"a":1}"#], &[]),
        (r#"{"type":"object"}"#, &["{}"], &[]),
        (r#"{"bsonType":["object","string"]}"#, &["{}"], &[]),
        (r#"{"type":"string"}"#, &[], &["{}", r#"{"a":"x"}"#]),
    ]);
}

#[test]
fn scalars() {
    check_a(&[
        (r#"{"maximum":2}"#, &["2", "1", DECIMAL, r#""x""#, "[3]"], &["3", "2.5"]),
        (r#"{"maximum":2,"exclusiveMaximum":true}"#, &["1"], &["2", DECIMAL]),
        (r#"{"minimum":2,"exclusiveMinimum":false}"#, &["2", "null"], &["1", r#"{"$numberDouble":"NaN"}"#]),
        (r#"{"type":"string","minimum":5}"#, &[r#""x""#], &["6", "4"]),
        (r#"{"multipleOf":0.1}"#, &["0.3", "1", r#""x""#], &["0.35", r#"{"$numberDouble":"Infinity"}"#]),
        (r#"{"multipleOf":3}"#, &["9", "0", "-3", r#"{"$numberDecimal":"6"}"#], &["10", "3.5"]),
        (r#"{"minLength":2}"#, &[r#""ab""#, r#""äö""#, "1"], &[r#""a""#, r#""ä""#]),
        (r#"{"maxLength":2.0}"#, &[r#""äö""#, "[1,2,3]"], &[r#""abc""#]),
        (r#"{"pattern":"^a"}"#, &[r#""abc""#, "1", r#"["b"]"#], &[r#""ba""#]),
    ]);
    // At the top there are only documents, so that keywords about other types demand nothing.
    check(&[(r#"{"minimum":5,"minLength":3,"pattern":"x","minItems":3,"uniqueItems":true}"#, &["{}"], &[])]);
}

#[test]
fn arrays() {
    check_a(&[
        (r#"{"minItems":1,"maxItems":2}"#, &["[1]", "[1,2]", "1", "{}"], &["[]", "[1,2,3]"]),
        (
            r#"{"uniqueItems":true}"#,
            &["[1,2]", r#"[1,"1"]"#, "[[1,2],[2,1]]"],
            &[
                "[1,1.0]",
                r#"[{"a":1,"b":2},{"b":2,"a":1}]"#,
                r#"[3,{"a":[{"x":1,"y":2}]},{"a":[{"y":2,"x":1}]}]"#,
            ],
        ),
        (r#"{"uniqueItems":false}"#, &["[1,1]"], &[]),
        (r#"{"items":{"type":"number"}}"#, &["[]", "[1,2]", r#""x""#], &[r#"[1,"x"]"#]),
        (r#"{"items":[{"type":"number"},{"type":"string"}]}"#, &["[1]", r#"[1,"x",null]"#, "[]"], &["[1,2]"]),
        (r#"{"items":[{}],"additionalItems":false}"#, &["[]", "[1]"], &["[1,2]"]),
        (r#"{"items":[{}],"additionalItems":{"type":"null"}}"#, &["[1]", "[1,null]"], &["[1,null,2]"]),
        // Without a list of schemas nothing is additional.
        (r#"{"additionalItems":false}"#, &["[1,2]"], &[]),
        (r#"{"items":{},"additionalItems":false}"#, &["[1,2]"], &[]),
    ]);
}

#[test]
fn documents() {
    check(&[
        (r#"{"required":["a","b"]}"#, &[r#"{"a":null,"b":1}"#], &[r#"{"a":1}"#, "{}"]),
        (r#"{"required":["a.b"]}"#, &[r#"{"a":{"b":1}}"#], &[r#"{"a":1}"#, r#"{"a.b":1}"#]),
        (
            r#"{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}"#,
            &[r#"{"a":3}"#],
            &[r#"{"a":{"b":1}}"#],
        ),
        (
            r#"{"properties":{"a":{"required":["b"]}}}"#,
            &["{}", r#"{"a":1}"#, r#"{"a":{"b":1}}"#],
            &[r#"{"a":{}}"#],
        ),
        (
            r#"{"minProperties":2,"maxProperties":2}"#,
            &[r#"{"_id":1,"a":1}"#],
            &["{}", r#"{"a":1,"b":1,"c":1}"#],
        ),
        (
            r#"{"properties":{"_id":{},"a":{}},"additionalProperties":false}"#,
            &[r#"{"_id":1}"#],
            &[r#"{"b":1}"#],
        ),
        (
            r#"{"properties":{"a":{}},"additionalProperties":{"type":"number"}}"#,
            &[r#"{"a":"x","b":1}"#],
            &[r#"{"b":"x"}"#],
        ),
        (
            r#"{"patternProperties":{"^s":{"type":"string"}},"additionalProperties":false}"#,
            &[r#"{"s":"x","st":"y"}"#, "{}"],
            &[r#"{"s":1}"#, r#"{"s":"x","t":1}"#],
        ),
        (r#"{"patternProperties":{"^s":{"type":"string"}}}"#, &[r#"{"t":1}"#], &[r#"{"s":1}"#]),
        (
            r#"{"dependencies":{"a":["b","c"]}}"#,
            &["{}", r#"{"b":1}"#, r#"{"a":1,"b":1,"c":1}"#],
            &[r#"{"a":1,"b":1}"#],
        ),
        (
            r#"{"dependencies":{"title":"t","a":{"required":["b"]}}}"#,
            &["{}", r#"{"a":1,"b":1}"#],
            &[r#"{"a":1}"#],
        ),
        (r#"{"properties":{"x":{"dependencies":{"a":["b"]}}}}"#, &[r#"{"x":1}"#], &[r#"{"x":{"a":1}}"#]),
    ]);
}

#[test]
fn combinations() {
    check_a(&[
        (r#"{"allOf":[{"minimum":1},{"maximum":3}]}"#, &["2", r#""x""#], &["0", "4"]),
        (r#"{"anyOf":[{"type":"string"},{"maximum":3}]}"#, &["2", r#""x""#, "null"], &["4"]),
        (r#"{"oneOf":[{"minimum":1},{"maximum":3}]}"#, &["0", "4"], &["2", r#""x""#]),
        (r#"{"not":{"type":"number"}}"#, &[r#""x""#], &["1"]),
        (
            r#"{"enum":[1,"x",null,{"b":1,"c":2},[1]]}"#,
            &["1.0", r#""x""#, "null", r#"{"c":2,"b":1}"#, "[1]"],
            &["2", "[1,1]", r#"{"b":1}"#, "true", r#"["x"]"#],
        ),
    ]);
    check(&[
        (r#"{"enum":[{"a":1,"b":2}]}"#, &[r#"{"b":2,"a":1}"#], &[r#"{"a":1}"#]),
        (r#"{"enum":[1,2]}"#, &[], &["{}"]),
        (r#"{"anyOf":[{"type":"string"},{"required":["a"]}]}"#, &[r#"{"a":1}"#], &["{}"]),
    ]);
}

#[test]
fn errors() {
    let failed = 9;
    let mistyped = 14;
    let rows: &[(&str, i32, &str)] = &[
        (r#"{"foo":1}"#, failed, "Unknown $jsonSchema keyword: foo"),
        (r#"{"type":"object","type":"object"}"#, failed, "Duplicate $jsonSchema keyword: type"),
        (r#"{"$ref":"x"}"#, failed, "$jsonSchema keyword '$ref' is not currently supported"),
        (r#"{"type":"integer"}"#, failed, "$jsonSchema type 'integer' is not currently supported."),
        (r#"{"type":"int"}"#, 2, "Unknown type name alias: int"),
        (r#"{"bsonType":"boolean"}"#, 2, "Unknown type name alias: boolean"),
        (r#"{"type":[]}"#, failed, "$jsonSchema keyword 'type' must name at least one type"),
        (
            r#"{"type":3}"#,
            mistyped,
            "$jsonSchema keyword 'type' must be either a string or an array of strings",
        ),
        (r#"{"bsonType":["int","int"]}"#, failed, "$jsonSchema keyword 'bsonType' has duplicate value: int"),
        (
            r#"{"type":"object","bsonType":"object"}"#,
            failed,
            "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'",
        ),
        (r#"{"title":1}"#, mistyped, "$jsonSchema keyword 'title' must be of type string"),
        (r#"{"properties":[]}"#, mistyped, "$jsonSchema keyword 'properties' must be an object"),
        (
            r#"{"properties":{"a":1}}"#,
            mistyped,
            "Nested schema for $jsonSchema property 'a' must be an object",
        ),
        (r#"{"maximum":"0"}"#, mistyped, "$jsonSchema keyword 'maximum' must be a number"),
        (
            r#"{"exclusiveMinimum":true}"#,
            failed,
            "$jsonSchema keyword 'minimum' must be a present if exclusiveMinimum is present",
        ),
        (r#"{"minLength":-1}"#, failed, "Expected a non-negative number in: minLength: -1"),
        (r#"{"multipleOf":0}"#, failed, "$jsonSchema keyword 'multipleOf' must have a positive value"),
        (r#"{"required":[]}"#, failed, "$jsonSchema keyword 'required' cannot be an empty array"),
        (
            r#"{"required":["a","a"]}"#,
            failed,
            "$jsonSchema keyword 'required' array cannot contain duplicate values",
        ),
        (r#"{"enum":[1,1.0]}"#, failed, "$jsonSchema keyword 'enum' array cannot contain duplicate values."),
        (r#"{"anyOf":[]}"#, 2, "$jsonSchema keyword 'anyOf' must be a non-empty array"),
        (
            r#"{"anyOf":[1]}"#,
            mistyped,
            "$jsonSchema keyword 'anyOf' must be an array of objects, but found an element of type int",
        ),
        (r#"{"items":1}"#, mistyped, "$jsonSchema keyword 'items' must be an array or an object, not int"),
        (
            r#"{"dependencies":{"a":[]}}"#,
            failed,
            "property 'a' in $jsonSchema keyword 'dependencies' cannot be an empty array",
        ),
        (
            r#"{"properties":{"a":{"encrypt":{}}}}"#,
            224,
            "Encryption-related validator keywords are not allowed in this context",
        ),
    ];
    for (schema, code, text) in rows {
        let error = compile(schema).unwrap_err();
        assert_eq!((error.code().code(), error.message()), (*code, *text), "{schema}");
    }
}
