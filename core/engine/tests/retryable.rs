//! Writes that are sent twice apply once, also after the file was opened again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Session, open};

const LSID: &str = r#""lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}}"#;

fn increment(db: &Session, txn: i64) -> support::Reply {
    db.ok(&format!(
        r#"{{"update": "c", "updates": [{{"q": {{"_id": 1}}, "u": {{"$inc": {{"n": 1}}}}, "upsert": true}}], {LSID}, "txnNumber": {{"$numberLong": "{txn}"}}}}"#
    ))
}

#[test]
fn each_statement_applies_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.mfdb");
    {
        let db = open(&path);
        assert_eq!(increment(&db, 1).i64("upserted.0._id"), Some(1));
        let again = increment(&db, 1);
        assert_eq!((again.i64("n"), again.i64("upserted.0._id")), (Some(1), Some(1)));
        assert_eq!(again.i64("retriedStmtIds.0"), Some(0));
        increment(&db, 2);
        assert_eq!(db.docs("c"), [r#"{"_id":1,"n":2}"#]);
        db.database.close().unwrap();
    }
    let db = open(&path);
    let again = increment(&db, 2);
    assert_eq!((again.i64("n"), again.i64("nModified")), (Some(1), Some(1)));
    assert_eq!(db.docs("c"), [r#"{"_id":1,"n":2}"#]);
    increment(&db, 3);
    assert_eq!(db.docs("c"), [r#"{"_id":1,"n":3}"#]);
    db.fails(
        &format!(r#"{{"delete": "c", "deletes": [{{"q": {{}}, "limit": 1}}], {LSID}, "txnNumber": {{"$numberLong": "2"}}}}"#),
        225,
    );
}

#[test]
fn inserts_deletes_and_find_and_modify_too() {
    let db = support::memory();
    let twice = |command: &str, txn: i64| {
        let command =
            command.replace("RETRY", &format!(r#"{LSID}, "txnNumber": {{"$numberLong": "{txn}"}}"#));
        let first = db.ok(&command);
        let second = db.ok(&command);
        (first, second)
    };
    let (first, second) = twice(
        r#"{"insert": "c", "documents": [{"_id": 1, "n": 1}, {"_id": 2, "n": 2}, {"_id": 3}], RETRY}"#,
        1,
    );
    assert_eq!((first.i64("n"), second.i64("n")), (Some(3), Some(3)));
    assert_eq!(second.i64("retriedStmtIds.2"), Some(2));
    let (first, second) = twice(r#"{"delete": "c", "deletes": [{"q": {}, "limit": 1}], RETRY}"#, 2);
    assert_eq!((first.i64("n"), second.i64("n")), (Some(1), Some(1)));
    assert_eq!(db.docs("c").len(), 2);
    let (first, second) = twice(
        r#"{"findAndModify": "c", "query": {"_id": 2}, "update": {"$inc": {"n": 1}}, "new": true, RETRY}"#,
        3,
    );
    assert_eq!((first.i64("value.n"), second.i64("value.n")), (Some(3), Some(3)));
    let (first, second) = twice(r#"{"findAndModify": "c", "query": {"_id": 2}, "remove": true, RETRY}"#, 4);
    assert_eq!((first.i64("value.n"), second.i64("value.n")), (Some(3), Some(3)));
    db.write_fails(
        &format!(
            r#"{{"update": "c", "updates": [{{"q": {{}}, "u": {{"$set": {{"a": 1}}}}, "multi": true}}], {LSID}, "txnNumber": {{"$numberLong": "9"}}}}"#
        ),
        72,
    );
}
