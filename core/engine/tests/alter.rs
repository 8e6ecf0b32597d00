//! collMod and renameCollection.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::Interrupt;
use support::{memory, open};

#[test]
fn a_renamed_collection_keeps_documents_and_indexes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.mfdb");
    let rename = |rest: &str| format!(r#"{{"renameCollection": "d.c", {rest}}}"#);
    {
        let db = open(&path);
        db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]}"#);
        db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": 1}]}"#);
        db.ok(r#"{"insert": "taken", "documents": [{"_id": 5}]}"#);
        let on_admin = |command: String| db.run_on("admin", &command);
        assert_eq!(db.run(&rename(r#""to": "d.e""#)).code(), Some(13));
        assert_eq!(on_admin(rename(r#""to": "d.taken""#)).code(), Some(48));
        assert_eq!(on_admin(rename(r#""to": "d.c""#)).code(), Some(20));
        assert_eq!(on_admin(rename(r#""to": "d.$x""#)).code(), Some(73));
        assert_eq!(on_admin(rename(r#""to": "d""#)).code(), Some(73));
        assert_eq!(on_admin(r#"{"renameCollection": "d.none", "to": "d.x"}"#.to_owned()).code(), Some(26));
        assert!(on_admin(rename(r#""to": "d.taken", "dropTarget": true"#)).is_ok());
        assert!(on_admin(r#"{"renameCollection": "d.taken", "to": "other.e"}"#.to_owned()).is_ok());
        db.database.close().unwrap();
    }
    let db = open(&path);
    assert!(db.find(r#"{"listCollections": 1}"#).is_empty());
    let reply = db.run_on("other", r#"{"insert": "e", "documents": [{"_id": 2, "a": 1}, {"_id": 1}]}"#);
    assert_eq!(reply.i64("writeErrors.0.code"), Some(11000));
    assert!(reply.str("writeErrors.0.errmsg").unwrap().contains("collection: other.e index: a"));
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
}

#[test]
fn validators_are_changed() {
    let db = memory();
    db.fails(r#"{"collMod": "c", "validator": {}}"#, 26);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1}, {"_id": 2, "k": 1}]}"#);
    db.ok(r#"{"collMod": "c", "validator": {"k": {"$exists": true}}, "validationLevel": "moderate"}"#);
    db.write_fails(r#"{"insert": "c", "documents": [{"_id": 3}]}"#, 121);
    db.ok(r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"z": 1}}}]}"#);
    db.write_fails(r#"{"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$unset": {"k": 1}}}]}"#, 121);
    db.ok(r#"{"collMod": "c", "validationAction": "warn"}"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 3}]}"#);
    db.ok(r#"{"collMod": "c", "validator": {}, "validationAction": "error"}"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 4}]}"#);
    db.fails(r#"{"collMod": "c", "bogus": 1}"#, 40415);
    db.fails(r#"{"collMod": "c", "viewOn": "d"}"#, 115);
}

#[test]
fn expiry_and_visibility_of_indexes_are_changed() {
    let db = memory();
    db.ok(
        r#"{"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t", "expireAfterSeconds": 10}, {"key": {"a": 1}, "name": "a"}]}"#,
    );
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": [1, 2]}]}"#);
    let reply = db.ok(r#"{"collMod": "c", "index": {"keyPattern": {"t": 1}, "expireAfterSeconds": 20}}"#);
    assert_eq!(
        (reply.i64("expireAfterSeconds_old"), reply.i64("expireAfterSeconds_new")),
        (Some(10), Some(20))
    );
    let reply = db.ok(r#"{"collMod": "c", "index": {"name": "a", "hidden": true}}"#);
    assert!(reply.text().starts_with(r#"{"hidden_old":false,"hidden_new":true"#));
    let specs = db.find(r#"{"listIndexes": "c"}"#);
    assert_eq!(specs[1], r#"{"v":2,"key":{"t":1},"name":"t","expireAfterSeconds":20}"#);
    assert_eq!(specs[2], r#"{"v":2,"key":{"a":1},"name":"a","hidden":true}"#);
    db.fails(r#"{"find": "c", "hint": "a"}"#, 2);
    db.ok(r#"{"collMod": "c", "index": {"name": "a", "hidden": false}}"#);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"a": 2}, "hint": "a"}"#), [r#"{"_id":1,"a":[1,2]}"#]);
    db.fails(r#"{"collMod": "c", "index": {"name": "none", "hidden": true}}"#, 27);
    db.fails(r#"{"collMod": "c", "index": {"hidden": true}}"#, 72);
    db.fails(r#"{"collMod": "c", "index": {"name": "a"}}"#, 72);
    db.fails(r#"{"collMod": "c", "index": {"name": "t", "expireAfterSeconds": -1}}"#, 67);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
}
