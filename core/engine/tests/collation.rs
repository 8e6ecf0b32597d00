//! Collations of collections, indexes and commands: what is kept, shown, inherited and refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_model::extjson;
use support::{Session, memory, open};

const CASELESS: &str = r#""collation": {"locale": "en", "strength": 2}"#;
const COMPLETE: &str = r#"{"locale":"en","caseLevel":false,"caseFirst":"off","strength":2,"numericOrdering":false,"alternate":"non-ignorable","maxVariable":"punct","normalization":false,"backwards":false,"version":"57.1"}"#;

fn caseless_collection() -> Session {
    let db = memory();
    db.ok(&format!(r#"{{"create": "c", {CASELESS}}}"#));
    db
}

fn indexes(db: &Session) -> Vec<String> {
    db.find(r#"{"listIndexes": "c"}"#)
}

#[test]
fn a_collection_shows_its_collation_and_its_indexes_inherit_it() {
    let db = caseless_collection();
    let shown = db.find(r#"{"listCollections": 1}"#);
    assert!(shown[0].contains(&format!(r#""options":{{"collation":{COMPLETE}}}"#)), "{shown:?}");
    assert!(shown[0].contains(&format!(r#""name":"_id_","collation":{COMPLETE}"#)), "{shown:?}");
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"},
        {"key": {"a": 1}, "name": "simple", "collation": {"locale": "simple"}},
        {"key": {"a": 1}, "name": "fr", "collation": {"locale": "fr_CA"}}]}"#);
    let listed = indexes(&db);
    assert_eq!(listed[1], format!(r#"{{"v":2,"key":{{"a":1}},"name":"a","collation":{COMPLETE}}}"#));
    assert_eq!(listed[2], r#"{"v":2,"key":{"a":1},"name":"simple"}"#);
    assert!(
        listed[3].contains(r#""locale":"fr_CA""#) && listed[3].contains(r#""backwards":true"#),
        "{listed:?}"
    );
    // The same keys under the same collation, said or inherited, are the same index.
    let again =
        format!(r#"{{"createIndexes": "c", "indexes": [{{"key": {{"a": 1}}, "name": "a", {CASELESS}}}]}}"#);
    assert_eq!(db.ok(&again).str("note").as_deref(), Some("all indexes already exist"));
    db.fails(&again.replace(r#""name": "a""#, r#""name": "b""#), 85);
    db.fails(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "collation": {"locale": "de"}}]}"#, 86);
    db.fails(r#"{"find": "c", "hint": {"a": 1}}"#, 27);
    db.ok(r#"{"find": "c", "hint": "fr"}"#);
    db.ok(r#"{"dropIndexes": "c", "index": "simple"}"#);
    db.fails(r#"{"dropIndexes": "c", "index": {"a": 1}}"#, 181);
}

#[test]
fn creating_again_compares_collations() {
    let db = caseless_collection();
    db.ok(&format!(r#"{{"create": "c", {CASELESS}}}"#));
    db.ok(r#"{"create": "c", "collation": {"locale": "en", "strength": 2, "caseLevel": false}}"#);
    db.fails(r#"{"create": "c"}"#, 48);
    db.fails(r#"{"create": "c", "collation": {"locale": "en"}}"#, 48);
    db.ok(r#"{"create": "s", "collation": {"locale": "simple"}}"#);
    db.ok(r#"{"create": "s"}"#);
    let options = db.find(r#"{"listCollections": 1, "filter": {"name": "s"}}"#);
    assert!(options[0].contains(r#""options":{}"#), "{options:?}");
}

#[test]
fn documents_that_ask_for_too_much_are_refused() {
    let db = memory();
    for (collation, code) in [
        ("{}", 40414),
        (r#"{"locale": "xx"}"#, 2),
        (r#"{"locale": "en", "strength": 9}"#, 51024),
        (r#"{"locale": "en", "nope": 1}"#, 40415),
        (r#"{"locale": "en", "caseLevel": "x"}"#, 14),
        (r#"{"locale": "simple", "strength": 1}"#, 9),
        (r#""en""#, 14),
    ] {
        db.fails(&format!(r#"{{"create": "x", "collation": {collation}}}"#), code);
        if collation == "{}" {
            // Elsewhere it says nothing.
            db.ok(r#"{"find": "x", "collation": {}}"#);
            continue;
        }
        for command in ["find", "count", "aggregate", "distinct", "findAndModify"] {
            let rest = match command {
                "aggregate" => r#""pipeline": [], "cursor": {}"#,
                "distinct" => r#""key": "a""#,
                "findAndModify" => r#""remove": true"#,
                _ => r#""maxTimeMS": 0"#,
            };
            db.fails(&format!(r#"{{"{command}": "x", {rest}, "collation": {collation}}}"#), code);
        }
        if collation.starts_with('{') {
            db.write_fails(&format!(r#"{{"update": "x", "updates": [{{"q": {{}}, "u": {{"$set": {{"a": 1}}}}, "collation": {collation}}}]}}"#), code);
            db.write_fails(
                &format!(
                    r#"{{"delete": "x", "deletes": [{{"q": {{}}, "limit": 0, "collation": {collation}}}]}}"#
                ),
                code,
            );
        }
        db.fails(&format!(r#"{{"createIndexes": "x", "indexes": [{{"key": {{"a": 1}}, "name": "a", "collation": {collation}}}]}}"#), code);
    }
    let index = |spec: &str| format!(r#"{{"createIndexes": "x", "indexes": [{{{spec}}}]}}"#);
    db.fails(&index(r#""key": {"a": 1}, "name": "a", "collation": {}"#), 2);
    db.fails(&index(r#""key": {"a": 1}, "name": "a", "v": 1, "collation": {"locale": "en"}"#), 67);
    db.fails(&index(r#""key": {"_id": 1}, "name": "_id_", "collation": {"locale": "en"}"#), 2);
    db.ok(&index(r#""key": {"_id": 1}, "name": "_id_", "collation": {"locale": "simple"}"#));
    db.fails(
        r#"{"create": "y", "idIndex": {"key": {"_id": 1}, "name": "_id_", "collation": {"locale": "en"}}}"#,
        2,
    );
}

#[test]
fn unique_indexes_refuse_what_is_equal_under_their_collation() {
    let db = caseless_collection();
    db.ok(r#"{"insert": "c", "documents": [{"_id": "x", "a": {"b": ["K"]}}]}"#);
    let reply = db.write_fails(r#"{"insert": "c", "documents": [{"_id": "X"}]}"#, 11000);
    assert_eq!(
        extjson::to_text(
            reply.get("writeErrors.0.collation").unwrap().as_ref().as_doc().unwrap(),
            extjson::Mode::Relaxed
        ),
        COMPLETE
    );
    assert!(reply.str("writeErrors.0.keyValue._id").unwrap().starts_with("0x"), "{}", reply.text());
    let message = reply.str("writeErrors.0.errmsg").unwrap();
    assert!(
        message.contains(r#"index: _id_ collation: { locale: "en""#)
            && message.contains("dup key: { _id: \"0x"),
        "{message}"
    );
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]}"#);
    let reply = db.write_fails(r#"{"insert": "c", "documents": [{"_id": 2, "a": {"b": ["k"]}}]}"#, 11000);
    assert!(reply.str("writeErrors.0.keyValue.a.b.0").unwrap().starts_with("0x"), "{}", reply.text());
    db.ok(r#"{"insert": "c", "documents": [{"_id": 2, "a": {"B": ["k"]}}, {"_id": 3, "a": 1}]}"#);
    let reply = db.write_fails(r#"{"insert": "c", "documents": [{"_id": 4, "a": 1.0}]}"#, 11000);
    assert_eq!(reply.get("writeErrors.0.keyValue.a").and_then(|v| v.as_ref().as_f64()), Some(1.0));
    // An index over what is there already.
    db.ok(r#"{"create": "d"}"#);
    db.ok(r#"{"insert": "d", "documents": [{"a": "é"}, {"a": "e"}]}"#);
    let unique = |strength: u8| {
        format!(
            r#"{{"createIndexes": "d", "indexes": [{{"key": {{"a": 1}}, "name": "s{strength}", "unique": true, "collation": {{"locale": "fr", "strength": {strength}}}}}]}}"#
        )
    };
    db.fails(&unique(1), 11000);
    db.ok(&unique(2));
    db.write_fails(r#"{"update": "d", "updates": [{"q": {"a": "e"}, "u": {"$set": {"a": "É"}}}]}"#, 11000);
}

#[test]
fn every_command_inherits_the_collation_of_its_collection() {
    let db = caseless_collection();
    db.ok(r#"{"insert": "c", "documents": [{"_id": "a", "s": "X"}, {"_id": "B", "s": "x"}, {"_id": "c", "s": "y"}]}"#);
    let simple = r#""collation": {"locale": "simple"}"#;
    assert_eq!(db.ok(r#"{"count": "c", "query": {"s": "X"}}"#).i64("n"), Some(2));
    assert_eq!(db.ok(&format!(r#"{{"count": "c", "query": {{"s": "X"}}, {simple}}}"#)).i64("n"), Some(1));
    assert_eq!(
        db.find(r#"{"find": "c", "filter": {"_id": "b"}, "projection": {"s": 1}}"#),
        [r#"{"_id":"B","s":"x"}"#]
    );
    assert_eq!(db.find(&format!(r#"{{"find": "c", "filter": {{"_id": "b"}}, {simple}}}"#)).len(), 0);
    assert_eq!(db.find(&format!(r#"{{"find": "c", "filter": {{"_id": "B"}}, {simple}}}"#)).len(), 1);
    let ids = |rest: &str| {
        db.find(&format!(r#"{{"find": "c", "projection": {{"_id": 1}}, "sort": {{"_id": 1}}{rest}}}"#))
            .join("")
    };
    assert_eq!(ids(""), r#"{"_id":"a"}{"_id":"B"}{"_id":"c"}"#);
    assert_eq!(ids(&format!(", {simple}")), r#"{"_id":"B"}{"_id":"a"}{"_id":"c"}"#);
    assert_eq!(db.ok(r#"{"distinct": "c", "key": "s"}"#).text(), r#"{"values":["X","y"],"ok":1.0}"#);
    assert_eq!(
        db.find(
            r#"{"aggregate": "c", "pipeline": [{"$group": {"_id": "$s", "n": {"$sum": 1}}}], "cursor": {}}"#
        ),
        [r#"{"_id":"X","n":2}"#, r#"{"_id":"y","n":1}"#]
    );
    assert_eq!(
        db.find(r#"{"find": "c", "filter": {"$expr": {"$eq": ["$s", "$$v"]}}, "let": {"v": "Y"}}"#).len(),
        1
    );
    assert_eq!(
        db.find(r#"{"find": "c", "filter": {"$expr": "$$v"}, "let": {"v": {"$eq": ["y", "Y"]}}}"#).len(),
        3
    );
    let update =
        db.ok(r#"{"update": "c", "updates": [{"q": {"s": "X"}, "u": {"$set": {"n": 1}}, "multi": true}]}"#);
    assert_eq!(update.i64("nModified"), Some(2));
    let found = db.ok(r#"{"findAndModify": "c", "query": {"_id": "A"}, "update": {"$max": {"s": "x"}, "$set": {"n": 2}}, "new": true}"#);
    assert_eq!(
        found.text(),
        r#"{"lastErrorObject":{"n":1,"updatedExisting":true},"value":{"_id":"a","s":"X","n":2},"ok":1.0}"#
    );
    let bulk = db.run_on("admin", r#"{"bulkWrite": 1, "nsInfo": [{"ns": "d.c"}, {"ns": "d.other"}], "ops": [
        {"update": 0, "filter": {"s": "Y"}, "updateMods": {"$set": {"n": 3}}},
        {"update": 0, "filter": {"s": "Y"}, "updateMods": {"$set": {"n": 4}}, "collation": {"locale": "simple"}},
        {"insert": 1, "document": {"_id": 1, "s": "y"}},
        {"delete": 1, "filter": {"s": "Y"}}]}"#);
    assert_eq!((bulk.i64("nMatched"), bulk.i64("nDeleted")), (Some(1), Some(0)), "{}", bulk.text());
    assert_eq!(db.ok(r#"{"delete": "c", "deletes": [{"q": {"s": "x"}, "limit": 0}]}"#).i64("n"), Some(2));
    // An upsert takes the collation to search by, and inserts what it was given.
    let upsert = |id: &str| {
        format!(
            r#"{{"update": "c", "updates": [{{"q": {{"_id": "{id}"}}, "u": {{"$set": {{"n": 5}}}}, "upsert": true}}]}}"#
        )
    };
    assert_eq!(db.ok(&upsert("C")).i64("nModified"), Some(1));
    assert_eq!(db.ok(&upsert("New")).str("upserted.0._id").as_deref(), Some("New"));
    assert_eq!(db.ok(&upsert("NEW")).i64("n"), Some(1));
    assert_eq!(db.ok(r#"{"count": "c"}"#).i64("n"), Some(2));
}

#[test]
fn validators_and_partial_indexes_compare_as_the_collection_does() {
    let db = memory();
    db.ok(&format!(r#"{{"create": "c", "validator": {{"s": {{"$in": ["OK", "FINE"]}}}}, {CASELESS}}}"#));
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "s": "ok"}, {"_id": 2, "s": "Fine"}]}"#);
    db.write_fails(r#"{"insert": "c", "documents": [{"s": "no"}]}"#, 121);
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"s": 1}, "name": "s", "partialFilterExpression": {"s": {"$gt": "G"}}}]}"#);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"s": {"$gte": "H"}}}"#), [r#"{"_id":1,"s":"ok"}"#]);
    let explained =
        db.ok(r#"{"explain": {"find": "c", "filter": {"s": {"$gte": "H"}}}, "verbosity": "queryPlanner"}"#);
    assert_eq!(
        explained.str("queryPlanner.winningPlan.inputStage.indexName").as_deref(),
        Some("s"),
        "{}",
        explained.text()
    );
}

#[test]
fn an_index_serves_strings_under_its_own_collation_only() {
    let db = memory();
    db.ok(
        r#"{"insert": "c", "documents": [{"_id": 1, "a": "x"}, {"_id": 2, "a": "X"}, {"_id": 3, "a": 5}]}"#,
    );
    db.ok(&format!(
        r#"{{"createIndexes": "c", "indexes": [{{"key": {{"a": 1}}, "name": "a", {CASELESS}}}]}}"#
    ));
    let uses_index = |rest: &str| {
        let explained =
            db.ok(&format!(r#"{{"explain": {{"find": "c", {rest}}}, "verbosity": "executionStats"}}"#));
        let used = explained.text().contains(r#""indexName":"a""#);
        (used, explained.i64("executionStats.nReturned").unwrap())
    };
    assert_eq!(uses_index(&format!(r#""filter": {{"a": "X"}}, {CASELESS}"#)), (true, 2));
    assert_eq!(uses_index(r#""filter": {"a": "X"}"#), (false, 1));
    assert_eq!(
        uses_index(r#""filter": {"a": "X"}, "collation": {"locale": "en", "strength": 1}"#),
        (false, 2)
    );
    assert_eq!(uses_index(r#""filter": {"a": {"b": 1}}"#), (false, 0));
    // Without strings it serves everybody.
    assert_eq!(uses_index(r#""filter": {"a": 5}"#), (true, 1));
    assert_eq!(uses_index(r#""filter": {"a": {"$gt": 1}}"#), (true, 1));
    assert_eq!(uses_index(r#""filter": {"a": {"$regex": "^X"}}"#), (true, 1));
    // The order of strings is its own, too.
    assert_eq!(uses_index(&format!(r#""sort": {{"a": 1}}, {CASELESS}"#)), (true, 3));
    assert_eq!(uses_index(r#""sort": {"a": 1}"#), (false, 3));
    // Hinted, it gives what the query asks for all the same.
    assert_eq!(uses_index(r#""filter": {"a": "X"}, "hint": "a""#), (true, 1));
    db.fails(r#"{"find": "c", "min": {"a": "X"}, "hint": "a"}"#, 51174);
    assert_eq!(
        db.find(&format!(
            r#"{{"find": "c", "min": {{"a": "X"}}, "max": {{"a": "Y"}}, "hint": "a", {CASELESS}}}"#
        ))
        .len(),
        2
    );
    let explained = db.ok(&format!(r#"{{"explain": {{"find": "c", "filter": {{"a": "X"}}, {CASELESS}}}}}"#));
    let scan = "queryPlanner.winningPlan.inputStage";
    assert!(
        explained.str(&format!("{scan}.indexBounds.a.0")).unwrap().starts_with("[CollationKey(0x"),
        "{}",
        explained.text()
    );
    assert_eq!(explained.i64(&format!("{scan}.collation.strength")), Some(2));
}

#[test]
fn collations_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mfdb");
    {
        let db = open(&path);
        db.ok(&format!(r#"{{"create": "c", {CASELESS}}}"#));
        db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]}"#);
        db.ok(r#"{"insert": "c", "documents": [{"_id": "k", "a": "v"}]}"#);
    }
    let db = open(&path);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"_id": "K", "a": "V"}}"#).len(), 1);
    db.write_fails(r#"{"insert": "c", "documents": [{"a": "V"}]}"#, 11000);
    assert!(indexes(&db).iter().all(|index| index.contains(COMPLETE)));
    // Hiding an index, and a new name for the collection, keep it.
    db.ok(r#"{"collMod": "c", "index": {"name": "a", "hidden": true}}"#);
    db.ok(r#"{"collMod": "c", "validator": {"a": {"$exists": true}}}"#);
    db.run_on("admin", r#"{"renameCollection": "d.c", "to": "d.n"}"#);
    assert!(db.find(r#"{"listIndexes": "n"}"#).iter().all(|index| index.contains(COMPLETE)));
    assert_eq!(db.find(r#"{"find": "n", "filter": {"a": "V"}}"#).len(), 1);
}
