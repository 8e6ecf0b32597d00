//! Rows of rule, document and the account of its failure.

use super::*;
use crate::NoResources;
use multifora_model::extjson::{self, Mode, to_text};

fn bytes(text: &str) -> Vec<u8> {
    extjson::parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn account(rule: &str, doc: &str) -> String {
    let (rule, doc) = (bytes(rule), bytes(doc));
    let (rule, doc) = (RawDoc::framed(&rule).unwrap(), RawDoc::framed(&doc).unwrap());
    let names = CompileContext::new(0);
    let filter = Filter::compile(rule, &names).unwrap();
    assert!(
        !filter.matches(&DocumentView::whole(doc), &NoResources).is_ok_and(|holds| holds),
        "{rule:?} holds"
    );
    let account = explain_failure(rule, &names, doc, &NoResources);
    to_text(RawDoc::framed(&account).unwrap(), Mode::Relaxed)
}

/// Rows of rule, document and expected `details`; `@` in it stands for the rule.
fn check(rows: &[(&str, &str, &str)]) {
    for (rule, doc, details) in rows {
        let details = details.replace('@', rule);
        let expected = format!(r#"{{"failingDocumentId":null,"details":{details}}}"#);
        let expected = to_text(RawDoc::framed(&bytes(&expected)).unwrap(), Mode::Relaxed);
        assert_eq!(account(rule, doc), expected, "{rule} {doc}");
    }
}

#[test]
fn operators_on_a_path() {
    check(&[
        (
            r#"{"a":2}"#,
            r#"{"a":1}"#,
            r#"{"operatorName":"$eq","specifiedAs":@,"reason":"comparison failed","consideredValue":1}"#,
        ),
        (
            r#"{"a":{"$gt":2}}"#,
            "{}",
            r#"{"operatorName":"$gt","specifiedAs":@,"reason":"field was missing"}"#,
        ),
        (
            r#"{"a.b":{"$eq":0}}"#,
            r#"{"a":[{"b":[1,2]},{"b":[3]}]}"#,
            r#"{"operatorName":"$eq","specifiedAs":@,"reason":"comparison failed","consideredValues":[1,2,3]}"#,
        ),
        (
            r#"{"a":{"$ne":2}}"#,
            r#"{"a":2}"#,
            r#"{"operatorName":"$ne","specifiedAs":@,"reason":"comparison succeeded","consideredValue":2}"#,
        ),
        (
            r#"{"a":{"$in":[1]}}"#,
            r#"{"a":[]}"#,
            r#"{"operatorName":"$in","specifiedAs":@,"reason":"no matching value found in array","consideredValues":[]}"#,
        ),
        (
            r#"{"a":{"$exists":false}}"#,
            r#"{"a":1}"#,
            r#"{"operatorName":"$exists","specifiedAs":@,"reason":"path does exist"}"#,
        ),
        (
            r#"{"a":{"$type":"double"}}"#,
            r#"{"a":["x","y"]}"#,
            r#"{"operatorName":"$type","specifiedAs":@,"reason":"type did not match","consideredValues":["x","y"],"consideredType":"string"}"#,
        ),
        (
            r#"{"a":{"$mod":[2,1]}}"#,
            r#"{"a":"two"}"#,
            r#"{"operatorName":"$mod","specifiedAs":@,"reason":"type did not match","consideredType":"string",
               "expectedTypes":["decimal","double","int","long"],"consideredValue":"two"}"#,
        ),
        (
            r#"{"a":{"$size":2}}"#,
            r#"{"a":3}"#,
            r#"{"operatorName":"$size","specifiedAs":@,"reason":"type did not match","consideredType":"int","expectedType":"array","consideredValue":3}"#,
        ),
        (
            r#"{"a":{"$all":[1,2]}}"#,
            r#"{"a":[1]}"#,
            r#"{"operatorName":"$all","specifiedAs":@,"reason":"array did not contain all specified values","consideredValue":[1]}"#,
        ),
        (
            r#"{"a":{"$all":[]}}"#,
            r#"{"a":[1]}"#,
            r#"{"operatorName":"$all","specifiedAs":@,"reason":"expression always evaluates to false"}"#,
        ),
        (
            r#"{"a":{"$regex":"^S","$options":"i"}}"#,
            r#"{"a":"t"}"#,
            r#"{"operatorName":"$regex","specifiedAs":@,"reason":"regular expression did not match","consideredValue":"t"}"#,
        ),
        (
            r#"{"a":{"$lt":0}}"#,
            r#"{"a":[0,1,2,3,4,5,6,7,8,9,10]}"#,
            r#"{"operatorName":"$lt","specifiedAs":@,"reason":"comparison failed","consideredValues":[0,1,2,3,4,5,6,7,8,9],"consideredValuesTruncated":true}"#,
        ),
    ]);
}

#[test]
fn logic() {
    let lt = r#"{"operatorName":"$lt","specifiedAs":{"a":{"$lt":10}},"reason":"comparison failed","consideredValue":11}"#;
    let held = r#"{"operatorName":"$lt","specifiedAs":{"a":{"$lt":10}},"reason":"comparison succeeded","consideredValue":9}"#;
    let and = format!(r#"{{"operatorName":"$and","clausesNotSatisfied":[{{"index":1,"details":{lt}}}]}}"#);
    let or = format!(r#"{{"operatorName":"$or","clausesNotSatisfied":[{{"index":0,"details":{lt}}}]}}"#);
    let nor = format!(r#"{{"operatorName":"$nor","clausesSatisfied":[{{"index":1,"details":{held}}}]}}"#);
    let not = format!(r#"{{"operatorName":"$not","details":{held}}}"#);
    let twice = format!(r#"{{"operatorName":"$not","details":{{"operatorName":"$not","details":{lt}}}}}"#);
    check(&[
        (r#"{"$and":[{"b":2},{"a":{"$lt":10}}]}"#, r#"{"a":11,"b":2}"#, &and),
        (r#"{"a":{"$gt":0,"$lt":10}}"#, r#"{"a":11}"#, &and),
        (r#"{"b":2,"$comment":"x","a":{"$lt":10}}"#, r#"{"a":11,"b":2}"#, &and),
        (r#"{"$or":[{"a":{"$lt":10}}]}"#, r#"{"a":11}"#, &or),
        (r#"{"$nor":[{"a":{"$gt":10}},{"a":{"$lt":10}}]}"#, r#"{"a":9}"#, &nor),
        (r#"{"a":{"$not":{"$lt":10}}}"#, r#"{"a":9}"#, &not),
        (r#"{"a":{"$not":{"$not":{"$lt":10}}}}"#, r#"{"a":11}"#, &twice),
        (
            r#"{"a":{"$not":{"$lt":20,"$gt":5}}}"#,
            r#"{"a":10}"#,
            r#"{"operatorName":"$not","details":{"operatorName":"$and","clausesSatisfied":[
               {"index":0,"details":{"operatorName":"$lt","specifiedAs":{"a":{"$lt":20}},"reason":"comparison succeeded","consideredValue":10}},
               {"index":1,"details":{"operatorName":"$gt","specifiedAs":{"a":{"$gt":5}},"reason":"comparison succeeded","consideredValue":10}}]}}"#,
        ),
        (
            r#"{"$alwaysFalse":1}"#,
            "{}",
            r#"{"operatorName":"$alwaysFalse","specifiedAs":@,"reason":"expression always evaluates to false"}"#,
        ),
    ]);
}

#[test]
fn expressions() {
    check(&[
        (
            r#"{"$expr":{"$eq":["$a","$b"]}}"#,
            r#"{"a":1,"b":2}"#,
            r#"{"operatorName":"$expr","specifiedAs":@,"reason":"expression did not match","expressionResult":false}"#,
        ),
        (
            r#"{"$expr":{"$divide":["$a",0]}}"#,
            r#"{"a":1}"#,
            r#"{"operatorName":"$expr","specifiedAs":@,"reason":"failed to evaluate aggregation expression",
               "details":{"code":2,"codeName":"BadValue","errmsg":"can't $divide by zero"}}"#,
        ),
    ]);
}

/// Rows about a schema: the schema, the document, expected `schemaRulesNotSatisfied`.
fn check_schema(rows: &[(&str, &str, &str)]) {
    for (schema, doc, rules) in rows {
        let rule = format!(r#"{{"$jsonSchema":{schema}}}"#);
        check(&[(
            &rule,
            doc,
            &format!(r#"{{"operatorName":"$jsonSchema","schemaRulesNotSatisfied":[{rules}]}}"#),
        )]);
    }
}

#[test]
fn schema_keywords_about_values() {
    let minimum = r#"{"operatorName":"minimum","specifiedAs":{"minimum":1},"reason":"comparison failed","consideredValue":0}"#;
    let in_a = |details: &str| {
        format!(
            r#"{{"operatorName":"properties","propertiesNotSatisfied":[{{"propertyName":"a","details":[{details}]}}]}}"#
        )
    };
    check_schema(&[
        (r#"{"properties":{"a":{"minimum":1}}}"#, r#"{"a":0}"#, &in_a(minimum)),
        (
            r#"{"properties":{"a":{"maximum":0,"exclusiveMaximum":true}}}"#,
            r#"{"a":0}"#,
            &in_a(
                r#"{"operatorName":"maximum","specifiedAs":{"maximum":0,"exclusiveMaximum":true},"reason":"comparison failed","consideredValue":0}"#,
            ),
        ),
        (
            r#"{"properties":{"a":{"type":"string","minLength":4}}}"#,
            r#"{"a":1}"#,
            &in_a(
                r#"{"operatorName":"type","specifiedAs":{"type":"string"},"reason":"type did not match","consideredValue":1,"consideredType":"int"}"#,
            ),
        ),
        (
            r#"{"properties":{"a":{"title":"t","bsonType":"int","description":"d"}}}"#,
            r#"{"a":[1]}"#,
            r#"{"operatorName":"properties","propertiesNotSatisfied":[{"propertyName":"a","title":"t","description":"d","details":[
               {"operatorName":"bsonType","specifiedAs":{"bsonType":"int"},"reason":"type did not match","consideredValue":[1],"consideredType":"array"}]}]}"#,
        ),
        (
            r#"{"properties":{"a":{"minItems":2,"uniqueItems":true}}}"#,
            r#"{"a":[1]}"#,
            &in_a(
                r#"{"operatorName":"minItems","specifiedAs":{"minItems":2},"reason":"array did not match specified length","consideredValue":[1],"numberOfItems":1}"#,
            ),
        ),
        (
            r#"{"properties":{"a":{"uniqueItems":true}}}"#,
            r#"{"a":[1,4,3,3,4]}"#,
            &in_a(
                r#"{"operatorName":"uniqueItems","specifiedAs":{"uniqueItems":true},"reason":"found a duplicate item","consideredValue":[1,4,3,3,4],"duplicatedValue":3}"#,
            ),
        ),
        (
            r#"{"properties":{"a":{"items":{"minimum":1,"description":"d"}}}}"#,
            r#"{"a":[1,0]}"#,
            &in_a(&format!(
                r#"{{"operatorName":"items","description":"d","reason":"At least one item did not match the sub-schema","itemIndex":1,"details":[{minimum}]}}"#
            )),
        ),
        (
            r#"{"properties":{"a":{"items":[{"minimum":1}],"additionalItems":false}}}"#,
            r#"{"a":[0,"x"]}"#,
            &in_a(&format!(
                r#"{{"operatorName":"items","details":[{{"itemIndex":0,"details":[{minimum}]}}]}},
                   {{"operatorName":"additionalItems","specifiedAs":{{"additionalItems":false}},"reason":"found additional items","additionalItems":["x"]}}"#
            )),
        ),
    ]);
}

#[test]
fn schema_keywords_about_documents() {
    let is_number = r#"{"operatorName":"type","specifiedAs":{"type":"number"},"reason":"type did not match","consideredValue":"x","consideredType":"string"}"#;
    check_schema(&[
        (
            r#"{"required":["b","a"],"properties":{"a":{"minimum":1}}}"#,
            r#"{"b":1}"#,
            r#"{"operatorName":"required","specifiedAs":{"required":["b","a"]},"missingProperties":["a"]}"#,
        ),
        (
            r#"{"minProperties":10}"#,
            r#"{"a":1,"b":2}"#,
            r#"{"operatorName":"minProperties","specifiedAs":{"minProperties":10},"reason":"specified number of properties was not satisfied","numberOfProperties":2}"#,
        ),
        (
            r#"{"patternProperties":{"^s":{"type":"number"}},"additionalProperties":false}"#,
            r#"{"s":1,"st":"x","b":1}"#,
            &format!(
                r#"{{"operatorName":"additionalProperties","specifiedAs":{{"additionalProperties":false}},"additionalProperties":["b"]}},
                   {{"operatorName":"patternProperties","details":[{{"propertyName":"st","regexMatched":"^s","details":[{is_number}]}}]}}"#
            ),
        ),
        (
            r#"{"properties":{"a":{}},"additionalProperties":{"title":"t","type":"number"}}"#,
            r#"{"a":1,"b":"x"}"#,
            &format!(
                r#"{{"operatorName":"additionalProperties","title":"t","reason":"at least one additional property did not match the subschema","failingProperty":"b","details":[{is_number}]}}"#
            ),
        ),
        (
            r#"{"dependencies":{"title":"t","a":["b","c"],"d":{"properties":{"e":{"type":"number"}}}}}"#,
            r#"{"a":1,"b":1,"d":1,"e":"x"}"#,
            &format!(
                r#"{{"operatorName":"dependencies","title":"t","failingDependencies":[
                     {{"conditionalProperty":"a","missingProperties":["c"]}},
                     {{"conditionalProperty":"d","details":[
                       {{"operatorName":"properties","propertiesNotSatisfied":[{{"propertyName":"e","details":[{is_number}]}}]}}]}}]}}"#
            ),
        ),
    ]);
}

#[test]
fn schemas_combined() {
    check_schema(&[
        (r#"{"not":{}}"#, "{}", r#"{"operatorName":"not","reason":"child expression matched"}"#),
        (
            r#"{"oneOf":[{},{"required":["a"]},{}]}"#,
            "{}",
            r#"{"operatorName":"oneOf","reason":"more than one subschema matched","matchingSchemaIndexes":[0,2]}"#,
        ),
        (
            r#"{"anyOf":[{"description":"d","required":["a"]},{"type":"string"}]}"#,
            "{}",
            r#"{"operatorName":"anyOf","schemasNotSatisfied":[
               {"index":0,"description":"d","details":[{"operatorName":"required","specifiedAs":{"required":["a"]},"missingProperties":["a"]}]},
               {"index":1,"details":{"operatorName":"$jsonSchema","specifiedAs":{"$jsonSchema":{"type":"string"}},"reason":"expression always evaluates to false"}}]}"#,
        ),
        (
            r#"{"enum":[{"a":1}]}"#,
            r#"{"a":2}"#,
            r#"{"operatorName":"enum","specifiedAs":{"enum":[{"a":1}]},"reason":"value was not found in enum","consideredValue":{"a":2}}"#,
        ),
    ]);
    check(&[
        (
            r#"{"$nor":[{"$jsonSchema":{"minimum":1}}]}"#,
            "{}",
            r#"{"operatorName":"$nor","clausesSatisfied":[{"index":0,"details":{"operatorName":"$jsonSchema","reason":"schema matched"}}]}"#,
        ),
        (
            r#"{"$jsonSchema":{"type":"number"}}"#,
            "{}",
            r#"{"operatorName":"$jsonSchema","specifiedAs":@,"reason":"expression always evaluates to false"}"#,
        ),
        (
            r#"{"$jsonSchema":{"title":"T","required":["a"]}}"#,
            "{}",
            r#"{"operatorName":"$jsonSchema","title":"T","schemaRulesNotSatisfied":[
               {"operatorName":"required","specifiedAs":{"required":["a"]},"missingProperties":["a"]}]}"#,
        ),
    ]);
}

#[test]
fn what_is_too_large_or_too_deep_is_left_out() {
    let big = "x".repeat(7 << 20);
    let short = account(r#"{"a":{"$eq":1},"b":{"$eq":1}}"#, &format!(r#"{{"a":"{big}","b":"{big}"}}"#));
    assert_eq!(
        short,
        r#"{"failingDocumentId":null,"truncated":true,"details":{"operatorName":"$and","clausesNotSatisfied":[{"index":0,"details":{"operatorName":"$eq","reason":"comparison failed"}},{"index":1,"details":{"operatorName":"$eq","reason":"comparison failed"}}]}}"#
    );
    let deep = (0..63).fold(String::from(r#"{"a":1}"#), |inner, _| format!(r#"{{"$or":[{inner}]}}"#));
    assert_eq!(
        account(&deep, "{}"),
        r#"{"reason":"generated error was too deeply nested","truncated":true}"#
    );
}
