//! findAndModify in all its forms.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::memory;

fn filled() -> support::Session {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "f": "x", "n": 31}, {"_id": 2, "f": "x", "n": 47}]}"#);
    db
}

#[test]
fn update_with_sort_and_fields() {
    let db = filled();
    let reply = db.ok(
        r#"{"findAndModify": "c", "query": {"f": "x"}, "update": {"$set": {"f": "y"}}, "fields": {"_id": 0}, "sort": {"n": -1}}"#,
    );
    assert!(
        reply.text().starts_with(
            r#"{"lastErrorObject":{"n":1,"updatedExisting":true},"value":{"f":"x","n":47},"ok":1"#
        )
    );
    let reply = db.ok(r#"{"findandmodify": "c", "query": {"_id": 1}, "update": {"a": 5}, "new": true}"#);
    assert!(reply.text().contains(r#""value":{"_id":1,"a":5}"#));
    assert_eq!(db.docs("c"), [r#"{"_id":1,"a":5}"#, r#"{"_id":2,"f":"y","n":47}"#]);
}

#[test]
fn remove() {
    let db = filled();
    let reply = db.ok(r#"{"findAndModify": "c", "query": {}, "remove": true, "sort": {"n": -1}, "fields": {"n": 1, "_id": 0}}"#);
    assert!(reply.text().starts_with(r#"{"lastErrorObject":{"n":1},"value":{"n":47}"#));
    let reply = db.ok(r#"{"findAndModify": "c", "query": {"f": "zz"}, "remove": true}"#);
    assert!(reply.text().starts_with(r#"{"lastErrorObject":{"n":0},"value":null"#));
    assert_eq!(db.docs("c").len(), 1);
}

#[test]
fn upsert() {
    let db = memory();
    let command = r#"{"findAndModify": "c", "query": {"_id": 5, "z": {"$gt": 3}}, "update": {"$inc": {"n": 1}}, "upsert": true, "new": NEW}"#;
    let reply = db.ok(&command.replace("NEW", "false"));
    assert!(
        reply
            .text()
            .starts_with(r#"{"lastErrorObject":{"n":1,"updatedExisting":false,"upserted":5},"value":null"#)
    );
    db.fails(&command.replace("NEW", "true"), 11000);
    let reply = db.ok(
        r#"{"findAndModify": "c", "query": {"_id": 6}, "update": {"a": 1}, "upsert": true, "new": true}"#,
    );
    assert!(reply.text().contains(r#""value":{"_id":6,"a":1}"#));
    let reply = db.ok(r#"{"findAndModify": "c", "query": {"_id": 7}, "update": {"a": 1}}"#);
    assert!(reply.text().starts_with(r#"{"lastErrorObject":{"n":0,"updatedExisting":false},"value":null"#));
}

#[test]
fn contradictions_are_refused() {
    let db = filled();
    for rest in [
        r#""remove": true, "update": {"$set": {"a": 1}}"#,
        r#""sort": {"a": 1}"#,
        r#""remove": true, "new": true"#,
        r#""remove": true, "upsert": true"#,
        r#""remove": true, "arrayFilters": []"#,
        r#""update": {"$bogus": {"s": 1}}"#,
    ] {
        db.fails(&format!(r#"{{"findAndModify": "c", "query": {{}}, {rest}}}"#), 9);
    }
    db.fails(r#"{"findAndModify": "c", "update": {"$inc": {"f": 1}}}"#, 14);
    db.fails(r#"{"findAndModify": "c", "update": {"$set": {"_id": 9}}}"#, 66);
    db.fails(r#"{"findAndModify": "c", "update": {"$set": {"a": 1}}, "bogus": 1}"#, 40415);
    db.fails(r#"{"findAndModify": "c", "update": {"$set": {"a": 1}}, "new": true, "fields": {"a.$": 1}}"#, 2);
    assert_eq!(db.docs("c"), [r#"{"_id":1,"f":"x","n":31}"#, r#"{"_id":2,"f":"x","n":47}"#]);
}
