//! What a file keeps: documents, indexes, options; what was dropped stays dropped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::Interrupt;
use support::open;

#[test]
fn collections_indexes_and_flags_survive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.mfdb");
    let indexes = {
        let db = open(&path);
        db.ok(r#"{"create": "v", "validator": {"a": {"$exists": true}}}"#);
        db.ok(
            r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": -1}, "name": "ab", "unique": true}, {"key": {"d": 1}, "name": "d", "expireAfterSeconds": 10, "sparse": true}]}"#,
        );
        db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": [1, 2], "b": 3}, {"_id": 2, "a": 7}]}"#);
        db.ok(r#"{"insert": "gone", "documents": [{"_id": 1}]}"#);
        db.ok(r#"{"drop": "gone"}"#);
        let indexes = db.find(r#"{"listIndexes": "c"}"#);
        db.database.close().unwrap();
        indexes
    };
    let db = open(&path);
    assert_eq!(db.find(r#"{"listIndexes": "c"}"#), indexes);
    assert_eq!(db.docs("c"), [r#"{"_id":1,"a":[1,2],"b":3}"#, r#"{"_id":2,"a":7}"#]);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"a": 2}, "projection": {"_id": 1}}"#), [r#"{"_id":1}"#]);
    assert_eq!(
        db.find(r#"{"listCollections": 1, "nameOnly": true}"#),
        [r#"{"name":"c","type":"collection"}"#, r#"{"name":"v","type":"collection"}"#]
    );
    assert_eq!(
        db.find(r#"{"listCollections": 1, "filter": {"name": "v"}}"#)[0].split(",\"info\"").next(),
        Some(
            r#"{"name":"v","type":"collection","options":{"validator":{"a":{"$exists":true}},"validationLevel":"strict","validationAction":"error"}"#
        )
    );
    db.write_fails(r#"{"insert": "v", "documents": [{"_id": 1}]}"#, 121);
    db.write_fails(r#"{"insert": "c", "documents": [{"_id": 3, "a": 2, "b": 3}]}"#, 11000);
    db.ok(r#"{"insert": "gone", "documents": [{"_id": 1}]}"#);
    let report = db.database.check(&Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn a_database_can_be_dropped_and_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.mfdb");
    {
        let db = open(&path);
        db.ok(r#"{"insert": "c", "documents": [{"_id": 1}]}"#);
        db.run_on("e", r#"{"insert": "c", "documents": [{"_id": 1}]}"#);
        assert_eq!(db.run_on("D", r#"{"insert": "c", "documents": [{"_id": 1}]}"#).code(), Some(13297));
        assert_eq!(db.ok(r#"{"dropDatabase": 1}"#).str("dropped").as_deref(), Some("d"));
        assert_eq!(db.ok(r#"{"dropDatabase": 1}"#).str("dropped"), None);
        db.database.close().unwrap();
    }
    let db = open(&path);
    assert!(db.find(r#"{"listCollections": 1}"#).is_empty());
    assert_eq!(db.run_on("D", r#"{"insert": "c", "documents": [{"_id": 1}]}"#).i64("n"), Some(1));
    assert_eq!(db.run_on("admin", r#"{"dropDatabase": 1}"#).code(), Some(20));
}

#[test]
fn create_checks_its_options() {
    let db = support::memory();
    db.ok(r#"{"create": "c"}"#);
    db.ok(r#"{"create": "c"}"#);
    db.fails(r#"{"create": "c", "capped": true, "size": 4096}"#, 48);
    db.fails(r#"{"create": "c", "validator": {"a": 1}}"#, 48);
    db.fails(r#"{"create": "c2", "bogus": 1}"#, 40415);
    db.fails(r#"{"create": "c2", "capped": true, "size": 4096}"#, 115);
    db.fails(r#"{"create": "c2", "viewOn": "c", "pipeline": []}"#, 115);
    db.fails(r#"{"create": "c2", "size": 5}"#, 72);
    db.fails(r#"{"create": "c2", "validator": {"$bogus": 1}}"#, 2);
    db.fails(r#"{"create": "c2", "validationLevel": "odd"}"#, 2);
    db.fails(r#"{"create": "system.foo"}"#, 73);
    db.fails(r#"{"create": "$a"}"#, 73);
    db.fails(&format!(r#"{{"create": "{}"}}"#, "c".repeat(254)), 73);
    assert_eq!(db.find(r#"{"listCollections": 1, "nameOnly": true}"#).len(), 1);
}

#[test]
fn validators_can_warn_only() {
    let db = support::memory();
    db.ok(r#"{"create": "w", "validator": {"a": {"$gt": 1}}, "validationAction": "warn"}"#);
    db.ok(r#"{"insert": "w", "documents": [{"_id": 1}]}"#);
    db.ok(r#"{"create": "m", "validator": {"a": {"$gt": 1}}, "validationLevel": "moderate"}"#);
    db.ok(r#"{"insert": "m", "documents": [{"_id": 1}], "bypassDocumentValidation": true}"#);
    db.ok(r#"{"insert": "m", "documents": [{"_id": 2, "a": 2}]}"#);
    db.ok(r#"{"update": "m", "updates": [{"q": {"_id": 1}, "u": {"$set": {"b": 1}}}]}"#);
    let reply =
        db.write_fails(r#"{"update": "m", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 1}}}]}"#, 121);
    assert_eq!(reply.i64("writeErrors.0.errInfo.failingDocumentId"), Some(2));
    db.fails(r#"{"findAndModify": "m", "query": {"_id": 2}, "update": {"$set": {"a": 1}}}"#, 121);
}
