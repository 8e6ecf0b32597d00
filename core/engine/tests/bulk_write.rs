//! The bulkWrite command: what it does, what it answers, what it refuses before anything is written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Reply, Session, memory, open};

fn bulk(db: &Session, rest: &str) -> Reply {
    db.run_on(
        "admin",
        &format!(r#"{{"bulkWrite": 1, "nsInfo": [{{"ns": "d.c"}}, {{"ns": "d.e"}}], {rest}}}"#),
    )
}

fn counts(reply: &Reply) -> [i64; 6] {
    ["nErrors", "nInserted", "nMatched", "nModified", "nUpserted", "nDeleted"]
        .map(|name| reply.i64(name).unwrap_or_else(|| panic!("{name} in {}", reply.text())))
}

#[test]
fn operations_of_all_kinds_on_several_collections() {
    let db = memory();
    let reply = bulk(
        &db,
        r#""ops": [
            {"insert": 0, "document": {"_id": 1, "a": 1}},
            {"insert": 0, "document": {"_id": 2, "a": 1}},
            {"insert": 1, "document": {"_id": 9}},
            {"update": 0, "filter": {"a": 1}, "updateMods": {"$inc": {"a": {"$numberInt": "1"}}}, "multi": true},
            {"update": 0, "filter": {"_id": 1}, "updateMods": [{"$set": {"b": "$$k"}}], "constants": {"k": 5}},
            {"update": 1, "filter": {"_id": 5}, "updateMods": {"z": 1}, "upsert": true},
            {"update": 0, "filter": {"_id": 77}, "updateMods": {"$set": {"z": 1}}},
            {"delete": 0, "filter": {"_id": 2}},
            {"delete": 1, "filter": {"$expr": {"$eq": ["$_id", "$$nine"]}}, "multi": true}],
           "let": {"nine": 9}"#,
    );
    assert_eq!(counts(&reply), [0, 3, 3, 3, 1, 2], "{}", reply.text());
    assert_eq!(reply.str("cursor.ns").unwrap(), "admin.$cmd.bulkWrite");
    let items: Vec<String> = (0..9)
        .map(|at| {
            let field = |name: &str| reply.i64(&format!("cursor.firstBatch.{at}.{name}"));
            assert_eq!((field("ok"), field("idx")), (Some(1), Some(at)));
            format!("{:?} {:?} {:?}", field("n"), field("nModified"), field("upserted._id"))
        })
        .collect();
    assert_eq!(items[0], "Some(1) None None");
    assert_eq!(items[3], "Some(2) Some(2) None");
    assert_eq!(items[5], "Some(1) Some(0) Some(5)");
    assert_eq!(items[6], "Some(0) Some(0) None");
    assert_eq!(items[8], "Some(1) None None");
    assert_eq!(db.docs("c"), [r#"{"_id":1,"a":2,"b":5}"#]);
    assert_eq!(db.docs("e"), [r#"{"_id":5,"z":1}"#]);
}

#[test]
fn errors_end_an_ordered_batch_and_only_an_ordered_one() {
    let db = memory();
    db.ok(r#"{"create": "e", "validator": {"v": {"$type": "int"}}}"#);
    let ops = r#""ops": [
        {"insert": 0, "document": {"_id": 1}},
        {"insert": 0, "document": {"_id": 1}},
        {"insert": 0, "document": {"_id": 2}},
        {"update": 0, "filter": {}, "updateMods": {"$nope": 1}},
        {"insert": 1, "document": {"_id": 1, "v": "no"}},
        {"delete": 0, "filter": {"_id": 2}}]"#;
    let reply = bulk(&db, ops);
    assert_eq!(counts(&reply), [1, 1, 0, 0, 0, 0]);
    assert_eq!(reply.i64("cursor.firstBatch.1.code"), Some(11000));
    assert_eq!(reply.i64("cursor.firstBatch.1.keyValue._id"), Some(1));
    assert_eq!((reply.i64("cursor.firstBatch.1.n"), reply.get("cursor.firstBatch.2")), (Some(0), None));
    assert_eq!(db.docs("c").len(), 1);
    let reply = bulk(&db, &format!(r#"{ops}, "ordered": false, "errorsOnly": true"#));
    assert_eq!(counts(&reply), [4, 1, 0, 0, 0, 1], "{}", reply.text());
    let codes: Vec<_> = (0..5).map(|at| reply.i64(&format!("cursor.firstBatch.{at}.code"))).collect();
    assert_eq!(codes, [Some(11000), Some(11000), Some(9), Some(121), None]);
    assert_eq!(reply.i64("cursor.firstBatch.2.nModified"), Some(0));
    assert_eq!(reply.str("cursor.firstBatch.3.errInfo.details.operatorName").unwrap(), "$type");
    let reply = bulk(&db, r#""ops": [{"insert": 0, "document": {"_id": 1}}], "writeConcern": {"w": 0}"#);
    assert_eq!((counts(&reply)[0], reply.get("cursor.firstBatch.0")), (1, None));
    let reply =
        bulk(&db, r#""ops": [{"insert": 1, "document": {"_id": 7}}], "bypassDocumentValidation": true"#);
    assert_eq!(counts(&reply), [0, 1, 0, 0, 0, 0]);
}

#[test]
fn results_beyond_the_batch_size_wait_in_a_cursor() {
    let db = memory();
    let ops: Vec<String> =
        (0..5).map(|id| format!(r#"{{"insert": 0, "document": {{"_id": {id}}}}}"#)).collect();
    let reply = bulk(&db, &format!(r#""ops": [{}], "cursor": {{"batchSize": 2}}"#, ops.join(",")));
    let id = reply.i64("cursor.id").unwrap();
    assert!(id != 0 && reply.get("cursor.firstBatch.2").is_none());
    let more = db.run_on(
        "admin",
        &format!(r#"{{"getMore": {{"$numberLong": "{id}"}}, "collection": "$cmd.bulkWrite"}}"#),
    );
    assert_eq!((more.i64("cursor.id"), more.i64("cursor.nextBatch.2.idx")), (Some(0), Some(4)));
}

#[test]
fn nothing_is_written_when_an_operation_is_malformed() {
    let db = memory();
    for (bad, code, text) in [
        (r#"{"insert": 0}"#, 40414, "BSON field 'bulkWrite.ops.document' is missing but a required field"),
        (
            r#"{"delete": 0, "filter": {}, "bogus": 1}"#,
            40415,
            "BSON field 'bulkWrite.ops.bogus' is an unknown field.",
        ),
        (r#"{"document": {}, "insert": 0}"#, 40415, "BSON field 'bulkWrite.document' is an unknown field."),
        (
            r#"{"insert": 5, "document": {"_id": 2}}"#,
            2,
            "BulkWrite ops entry { insert: 5, document: { _id: 2 } } has an invalid nsInfo index.",
        ),
        (r#"{"insert": -1, "document": {}}"#, 2, "BSON field 'insert' value must be >= 0, actual value '-1'"),
        (
            r#"{"update": 0, "filter": {}, "updateMods": 5}"#,
            9,
            "Update argument must be either an object or an array",
        ),
        (r#"{"delete": 0, "filter": {}, "hint": 5}"#, 9, "Hint must be a string or an object"),
        (
            r#"{"delete": 0, "filter": {}, "multi": 1}"#,
            14,
            "BSON field 'bulkWrite.ops.multi' is the wrong type 'int', expected type 'bool'",
        ),
    ] {
        let reply = bulk(&db, &format!(r#""ops": [{{"insert": 0, "document": {{}}}}, {bad}]"#));
        assert_eq!((reply.code(), reply.str("errmsg").as_deref()), (Some(code), Some(text)), "{bad}");
    }
    assert_eq!(bulk(&db, r#""ops": []"#).code(), Some(16));
    let one = r#"{"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "nodot"}]}"#;
    let reply = db.run_on("admin", one);
    assert_eq!(reply.str("errmsg").unwrap(), "Invalid namespace specified for bulkWrite: 'nodot'");
    assert_eq!(db.run(one).code(), Some(13));
    assert!(db.docs("c").is_empty());
}

#[test]
fn a_batch_that_is_sent_twice_applies_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.mfdb");
    let command = r#""ops": [
        {"insert": 0, "document": {"_id": 1, "n": 0}},
        {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}},
        {"insert": 0, "document": {"_id": 2}},
        {"insert": 0, "document": {"_id": 3}},
        {"delete": 0, "filter": {"_id": 3}},
        {"update": 1, "filter": {"_id": 4}, "updateMods": {"$inc": {"n": 1}}, "upsert": true}],
        "lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}}, "txnNumber": {"$numberLong": "1"}"#;
    {
        let db = open(&path);
        assert_eq!(counts(&bulk(&db, command)), [0, 3, 1, 1, 1, 1]);
        db.database.close().unwrap();
    }
    let db = open(&path);
    let again = bulk(&db, command);
    assert_eq!(counts(&again), [0, 3, 1, 1, 1, 1], "{}", again.text());
    assert_eq!((again.i64("retriedStmtIds.0"), again.i64("retriedStmtIds.5")), (Some(0), Some(5)));
    assert_eq!(db.docs("c"), [r#"{"_id":1,"n":1}"#, r#"{"_id":2}"#]);
    assert_eq!(db.docs("e"), [r#"{"_id":4,"n":1}"#]);
    let multi = command.replace(r#""filter": {"_id": 3}"#, r#""filter": {}, "multi": true"#);
    assert_eq!(bulk(&db, &multi.replace(r#""1""#, r#""2""#)).code(), Some(72));
}
