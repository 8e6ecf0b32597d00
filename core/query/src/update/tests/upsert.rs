//! Documents that upserts make.

use super::*;

fn upsert(query: &str, update: &str) -> Result<Vec<u8>> {
    let query = doc(query);
    let filter = Filter::compile(raw(&query), &context())?;
    compile(update, None)?.document_to_insert(filter.root(), &NoResources)
}

#[test]
fn seeds() {
    let set = r#"{"$set": {"z": 1}}"#;
    let rows = [
        (r#"{"a": {"$eq": 1}}"#, set, r#"{"a": 1, "z": 1}"#),
        (r#"{"b": "x", "a": 1}"#, set, r#"{"a": 1, "b": "x", "z": 1}"#),
        (r#"{"$and": [{"a": 1}, {"b": 2}]}"#, set, r#"{"a": 1, "b": 2, "z": 1}"#),
        (r#"{"$or": [{"a": 1}]}"#, set, r#"{"a": 1, "z": 1}"#),
        (r#"{"$or": [{"n": 1}, {"n": 2}]}"#, set, r#"{"z": 1}"#),
        (r#"{"v": {"$gt": 3}}"#, set, r#"{"z": 1}"#),
        (r#"{"v": {"$ne": 3}}"#, set, r#"{"z": 1}"#),
        (r#"{"v": {"$in": [1, 2]}}"#, set, r#"{"z": 1}"#),
        (r#"{"v": {"$in": [1]}}"#, set, r#"{"v": 1, "z": 1}"#),
        (r#"{"v": {"$exists": true}}"#, set, r#"{"z": 1}"#),
        (r#"{"v": {"$elemMatch": {"$eq": 1}}}"#, set, r#"{"z": 1}"#),
        (r#"{"$nor": [{"v": 1}]}"#, set, r#"{"z": 1}"#),
        (r#"{"v": {"$not": {"$eq": 1}}}"#, set, r#"{"z": 1}"#),
        (r#"{"x": {"$regularExpression": {"pattern": "abc", "options": ""}}}"#, set, r#"{"z": 1}"#),
        (
            r#"{"x": {"$eq": {"$regularExpression": {"pattern": "abc", "options": ""}}}}"#,
            set,
            r#"{"x": {"$regularExpression": {"pattern": "abc", "options": ""}}, "z": 1}"#,
        ),
        (r#"{"a.b.d": 1, "a.e": 2, "a-x": 3}"#, set, r#"{"a-x": 3, "a": {"b": {"d": 1}, "e": 2}, "z": 1}"#),
        (r#"{"t": ["a", "b"]}"#, set, r#"{"t": ["a", "b"], "z": 1}"#),
        (r#"{"t": {"$all": [["a"]]}}"#, set, r#"{"t": ["a"], "z": 1}"#),
        (r#"{"_id.x": 1, "_id.y": 2}"#, r#"{"$set": {"a": 1}}"#, r#"{"_id": {"x": 1, "y": 2}, "a": 1}"#),
        (
            r#"{"a": 1, "_id": 5}"#,
            r#"{"$setOnInsert": {"c": 1}, "$inc": {"a": 1}}"#,
            r#"{"_id": 5, "a": 2, "c": 1}"#,
        ),
        (r#"{"a": 1}"#, r#"{"$set": {"_id": 7}}"#, r#"{"_id": 7, "a": 1}"#),
        (r#"{"r": 1, "e": {"$lt": 6}}"#, r#"{"r": 1, "e": 8}"#, r#"{"r": 1, "e": 8}"#),
        (r#"{"_id": 4, "r": 1}"#, r#"{"e": 8}"#, r#"{"_id": 4, "e": 8}"#),
        (r#"{"r": 1}"#, r#"{"e": 8, "$x": 3}"#, r#"{"e": 8, "$x": 3}"#),
        (r#"{"r": 1}"#, r#"{"$set": {"a.0": 1}}"#, r#"{"r": 1, "a": {"0": 1}}"#),
        (
            r#"{"_id": 5, "k": 1}"#,
            r#"[{"$set": {"d": {"$add": ["$k", 1]}}}]"#,
            r#"{"_id": 5, "k": 1, "d": 2}"#,
        ),
        (r#"{"r": 1}"#, r#"{"e": 8, "_id": 3}"#, r#"{"_id": 3, "e": 8}"#),
    ];
    for (query, update, wanted) in rows {
        let made = upsert(query, update).unwrap_or_else(|e| panic!("{query} {update}: {e}"));
        assert_eq!(show(&made), show(&doc(wanted)), "{query} {update}");
    }
}

#[test]
fn refusals() {
    let set = r#"{"$set": {"z": 1}}"#;
    let rows = [
        (r#"{"a": 1, "$and": [{"a": 2}]}"#, set, 54),
        (r#"{"a": {"$all": [1, 2]}}"#, set, 54),
        (r#"{"a": 1, "a.b": 2}"#, set, 54),
        (r#"{"_id": 1}"#, r#"{"$set": {"_id": 2}}"#, 66),
        (r#"{"_id": {"x": 1}}"#, r#"{"$set": {"_id.y": 2}}"#, 66),
        (r#"{"_id": 1}"#, r#"{"_id": 2}"#, 66),
        (r#"{"_id.x": 1}"#, r#"{"a": 2}"#, 111),
        (r#"{"a": 1}"#, r#"{"$set": {"a.b": 1}}"#, 28),
    ];
    for (query, update, code) in rows {
        assert_eq!(upsert(query, update).unwrap_err().code().code(), code, "{query} {update}");
    }
}
