//! A write that is sent twice applies once, also after reopening; sessions come and go.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{ConnectionInfo, Database, OpenOptions};
use std::sync::Arc;
use support::{Session, memory, open};

const LSID: &str = r#""lsid": {"id": {"$uuid": "01020304-0506-0708-090a-0b0c0d0e0f10"}}"#;

fn retryable(command: &str, txn_number: i64) -> String {
    let open = command.strip_suffix('}').expect("a document");
    format!(r#"{open}, {LSID}, "txnNumber": {{"$numberLong": "{txn_number}"}}}}"#)
}

fn inc(txn_number: i64) -> String {
    retryable(
        r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}, "upsert": true}]}"#,
        txn_number,
    )
}

#[test]
fn an_inc_sent_twice_applies_once() {
    let session = memory();
    for _ in 0..3 {
        let reply = session.ok(&inc(1));
        assert_eq!(reply.i64("n"), Some(1));
        assert_eq!(reply.i64("upserted.0._id"), Some(1));
    }
    assert_eq!(session.docs("c"), [r#"{"_id":1,"n":1}"#]);
    assert_eq!(session.ok(&inc(2)).i64("nModified"), Some(1));
    assert_eq!(session.docs("c"), [r#"{"_id":1,"n":2}"#]);
    session.fails(&inc(1), 225);
}

#[test]
fn what_was_done_is_known_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.mfdb");
    let session = open(&path);
    session
        .ok(&retryable(r#"{"insert": "c", "documents": [{"_id": 1, "n": 5}, {"_id": 2}, {"_id": 3}]}"#, 7));
    session.database.close().unwrap();
    let session = open(&path);
    let again = retryable(r#"{"insert": "c", "documents": [{"_id": 1, "n": 5}, {"_id": 2}, {"_id": 3}]}"#, 7);
    let reply = session.ok(&again);
    assert_eq!((reply.i64("n"), session.docs("c").len()), (Some(3), 3));
    session.fails(&inc(6), 225);
    session.ok(&inc(8));
    session.fails(&again, 225);
    assert_eq!(session.docs("c")[0], r#"{"_id":1,"n":6}"#);
    session.database.close().unwrap();
}

#[test]
fn find_and_modify_gives_its_first_reply_again() {
    let session = memory();
    session.ok(r#"{"insert": "c", "documents": [{"_id": 1, "n": 1}]}"#);
    let command = retryable(
        r#"{"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true}"#,
        1,
    );
    let replies: Vec<_> = (0..2).map(|_| session.ok(&command).i64("value.n")).collect();
    assert_eq!(replies, [Some(2), Some(2)]);
    let remove = retryable(r#"{"findAndModify": "c", "query": {"_id": 1}, "remove": true}"#, 2);
    let replies: Vec<_> = (0..2).map(|_| session.ok(&remove).i64("value.n")).collect();
    assert_eq!(replies, [Some(2), Some(2)]);
}

#[test]
fn statements_that_failed_are_tried_again() {
    let session = memory();
    session.ok(r#"{"insert": "c", "documents": [{"_id": 2}]}"#);
    let command = retryable(
        r#"{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}], "ordered": false}"#,
        1,
    );
    let reply = session.run(&command);
    assert_eq!((reply.i64("n"), reply.i64("writeErrors.0.index")), (Some(2), Some(1)));
    session.ok(r#"{"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]}"#);
    assert_eq!(session.ok(&command).i64("n"), Some(3));
    assert_eq!(session.docs("c").len(), 3);
}

#[test]
fn concurrent_retries_of_one_write_apply_once() {
    let database = Database::open(":memory:", &OpenOptions::default()).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let database = database.clone();
            std::thread::spawn(move || {
                let connection = database.connect(ConnectionInfo::in_process("rust"));
                let session = Session { database, connection };
                for txn_number in 0..50 {
                    // Another thread may be at a later number already: then this retry is refused.
                    let reply = session.run(&inc(txn_number));
                    assert!(reply.is_ok() || reply.code() == Some(225), "{}", reply.text());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let session = Session { connection: database.connect(ConnectionInfo::in_process("rust")), database };
    assert_eq!(session.docs("c"), [r#"{"_id":1,"n":50}"#]);
}

#[test]
fn generic_arguments_of_writes_are_checked() {
    let session = memory();
    let insert = |more: &str| format!(r#"{{"insert": "c", "documents": [{{}}], {more}}}"#);
    session.fails(&insert(r#""txnNumber": {"$numberLong": "1"}"#), 72);
    session.fails(&insert(&format!(r#"{LSID}, "txnNumber": {{"$numberLong": "-1"}}"#)), 72);
    session.fails(&insert(&format!(r#"{LSID}, "txnNumber": 1"#)), 14);
    session.fails(&insert(r#""lsid": {"id": 5}"#), 14);
    session.fails(&insert(r#""lsid": {}"#), 40414);
    session.fails(&retryable(r#"{"find": "c"}"#, 1), 50768);
    let start = format!(
        r#"{LSID}, "txnNumber": {{"$numberLong": "1"}}, "autocommit": false, "startTransaction": true"#
    );
    session.fails(&insert(&start), 20);
    assert_eq!(session.docs("c").len(), 0);
}

#[test]
fn ending_a_session_closes_its_cursors() {
    let session = memory();
    session.ok(r#"{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]}"#);
    let id = session.ok(&format!(r#"{{"find": "c", "batchSize": 1, {LSID}}}"#)).i64("cursor.id").unwrap();
    let more = |lsid: &str| {
        format!(r#"{{"getMore": {{"$numberLong": "{id}"}}, "collection": "c", "batchSize": 1{lsid}}}"#)
    };
    session.fails(&more(""), 50737);
    session.ok(&more(&format!(", {LSID}")));
    session.ok(r#"{"endSessions": [{"id": {"$uuid": "01020304-0506-0708-090a-0b0c0d0e0f10"}}]}"#);
    session.fails(&more(&format!(", {LSID}")), 43);
}

#[test]
fn many_connections_share_a_database() {
    let database = Arc::new(Database::open(":memory:", &OpenOptions::default()).unwrap());
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let database = Arc::clone(&database);
            std::thread::spawn(move || {
                let connection = database.connect(ConnectionInfo::in_process("rust"));
                let session = Session { database: (*database).clone(), connection };
                for i in 0..100 {
                    session.ok(&format!(r#"{{"insert": "c", "documents": [{{"_id": {}}}]}}"#, n * 1000 + i));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let session = Session {
        connection: database.connect(ConnectionInfo::in_process("rust")),
        database: (*database).clone(),
    };
    assert_eq!(session.docs("c").len(), 400);
}
