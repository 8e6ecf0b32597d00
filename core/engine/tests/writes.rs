//! insert, update, delete through the command interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::memory;

#[test]
fn insert_and_find_again() {
    let db = memory();
    let reply = db.ok(r#"{"insert": "c", "documents": [{"a": 1, "_id": 7}, {"_id": "x"}]}"#);
    assert_eq!(reply.i64("n"), Some(2));
    assert_eq!(db.docs("c"), [r#"{"_id":7,"a":1}"#, r#"{"_id":"x"}"#]);
}

#[test]
fn duplicates_are_reported_by_index() {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1}]}"#);
    let reply = db.run(r#"{"insert": "c", "documents": [{"_id": 2}, {"_id": 1}, {"_id": 3}]}"#);
    assert_eq!(reply.i64("n"), Some(1));
    assert_eq!(reply.i64("writeErrors.0.index"), Some(1));
    assert_eq!(
        reply.str("writeErrors.0.errmsg").as_deref(),
        Some("E11000 duplicate key error collection: d.c index: _id_ dup key: { _id: 1 }")
    );
    assert_eq!(reply.i64("writeErrors.0.keyPattern._id"), Some(1));
    assert_eq!(reply.i64("writeErrors.0.keyValue._id"), Some(1));
    let reply = db.run(
        r#"{"insert": "c", "ordered": false, "documents": [{"_id": 1}, {"_id": 4}, {"_id": 2}, {"_id": 4}, {"_id": 5}]}"#,
    );
    assert_eq!(reply.i64("n"), Some(2));
    assert_eq!(reply.i64("writeErrors.1.index"), Some(2));
    assert_eq!(reply.i64("writeErrors.2.index"), Some(3));
    assert_eq!(db.docs("c").len(), 4);
}

#[test]
fn batches_have_limits() {
    let db = memory();
    for command in [
        r#"{"insert": "c", "documents": []}"#,
        r#"{"update": "c", "updates": []}"#,
        r#"{"delete": "c", "deletes": []}"#,
    ] {
        db.fails(command, 16);
    }
    db.fails(r#"{"insert": "c"}"#, 40414);
    db.fails(r#"{"insert": "c", "documents": [{}], "bogus": 1}"#, 40415);
    db.fails(r#"{"delete": "c", "deletes": [{"q": {}, "limit": 2}]}"#, 9);
    db.fails(r#"{"delete": "c", "deletes": [{"q": {}}]}"#, 40414);
    db.fails(r#"{"insert": "", "documents": [{}]}"#, 73);
    db.fails(r#"{"insert": "system.foo", "documents": [{}]}"#, 73);
}

#[test]
fn update_one_many_and_upsert() {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}, {"_id": 3, "a": 2}]}"#);
    let reply = db.ok(
        r#"{"update": "c", "updates": [{"q": {"a": 1}, "u": {"$set": {"b": 1}}}, {"q": {"a": 1}, "u": {"$inc": {"a": 5}}, "multi": true},
            {"q": {"_id": 9}, "u": {"$set": {"z": 1}}, "upsert": true}, {"q": {"_id": 3}, "u": {"$set": {"a": 2}}}]}"#,
    );
    assert_eq!((reply.i64("n"), reply.i64("nModified")), (Some(5), Some(3)));
    assert_eq!((reply.i64("upserted.0.index"), reply.i64("upserted.0._id")), (Some(2), Some(9)));
    let docs = db.docs("c");
    assert_eq!(
        docs,
        [r#"{"_id":1,"a":6,"b":1}"#, r#"{"_id":2,"a":6}"#, r#"{"_id":3,"a":2}"#, r#"{"_id":9,"z":1}"#]
    );
}

#[test]
fn a_failing_multi_update_keeps_what_it_did() {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "n": 1}, {"_id": 2, "n": "x"}, {"_id": 3, "n": 1}]}"#);
    db.write_fails(r#"{"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": true}]}"#, 14);
    assert_eq!(db.docs("c"), [r#"{"_id":1,"n":2}"#, r#"{"_id":2,"n":"x"}"#, r#"{"_id":3,"n":1}"#]);
}

#[test]
fn delete_one_and_all() {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "g": 1}, {"_id": 2, "g": 1}, {"_id": 3, "g": 1}, {"_id": 4}]}"#);
    assert_eq!(db.ok(r#"{"delete": "c", "deletes": [{"q": {"g": 1}, "limit": 1}]}"#).i64("n"), Some(1));
    assert_eq!(
        db.ok(r#"{"delete": "c", "deletes": [{"q": {"g": 1}, "limit": 0}, {"q": {"g": 1}, "limit": 0}]}"#)
            .i64("n"),
        Some(2)
    );
    assert_eq!(db.docs("c"), [r#"{"_id":4}"#]);
    assert_eq!(db.ok(r#"{"delete": "none", "deletes": [{"q": {}, "limit": 0}]}"#).i64("n"), Some(0));
}

#[test]
fn large_batches_are_committed_in_chunks() {
    let db = memory();
    let docs: Vec<String> = (0..2500).map(|i| format!(r#"{{"_id": {i}, "g": {}}}"#, i % 2)).collect();
    let reply = db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    assert_eq!(reply.i64("n"), Some(2500));
    let reply =
        db.ok(r#"{"update": "c", "updates": [{"q": {"g": 1}, "u": {"$set": {"g": 2}}, "multi": true}]}"#);
    assert_eq!((reply.i64("n"), reply.i64("nModified")), (Some(1250), Some(1250)));
    assert_eq!(db.ok(r#"{"delete": "c", "deletes": [{"q": {"g": 0}, "limit": 0}]}"#).i64("n"), Some(1250));
    assert_eq!(db.docs("c").len(), 1250);
}
