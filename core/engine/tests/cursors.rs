//! Cursors: batches, namespaces, closing, limits of time and size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::Connection;
use support::{Session, memory};

fn filled(count: usize) -> Session {
    let session = memory();
    let docs: Vec<String> = (0..count).map(|i| format!(r#"{{"_id": {i}}}"#)).collect();
    session.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    session
}

fn more(id: i64, rest: &str) -> String {
    format!(r#"{{"getMore": {{"$numberLong": "{id}"}}, "collection": "c"{rest}}}"#)
}

fn batch_len(reply: &support::Reply, field: &str) -> usize {
    let batch = reply.get(field).expect("a batch");
    batch.as_ref().as_array().expect("an array").iter().count()
}

#[test]
fn a_find_of_10_000_comes_in_batches() {
    let session = filled(10_000);
    let first = session.ok(r#"{"find": "c", "sort": {"_id": 1}}"#);
    let (id, mut seen) = (first.i64("cursor.id").unwrap(), batch_len(&first, "cursor.firstBatch"));
    assert!(id > 0 && seen == 101);
    loop {
        let reply = session.ok(&more(id, r#", "batchSize": 1000"#));
        assert_eq!(reply.i64("cursor.nextBatch.0._id"), Some(seen as i64));
        seen += batch_len(&reply, "cursor.nextBatch");
        match reply.i64("cursor.id") {
            Some(0) => break,
            same => assert_eq!(same, Some(id)),
        }
    }
    assert_eq!(seen, 10_000);
    session.fails(&more(id, ""), 43);
}

#[test]
fn a_batch_ends_at_16_mib() {
    let session = memory();
    let text = "x".repeat(5 << 20);
    for i in 0..7 {
        session.ok(&format!(r#"{{"insert": "c", "documents": [{{"_id": {i}, "t": "{text}"}}]}}"#));
    }
    let first = session.ok(r#"{"find": "c", "sort": {"_id": 1}}"#);
    assert_eq!(batch_len(&first, "cursor.firstBatch"), 3);
    let id = first.i64("cursor.id").unwrap();
    let second = session.ok(&more(id, ""));
    assert_eq!((batch_len(&second, "cursor.nextBatch"), second.i64("cursor.nextBatch.0._id")), (3, Some(3)));
    let third = session.ok(&more(id, ""));
    assert_eq!((batch_len(&third, "cursor.nextBatch"), third.i64("cursor.id")), (1, Some(0)));
}

#[test]
fn a_cursor_sees_its_snapshot() {
    let session = filled(10);
    let id = session.ok(r#"{"find": "c", "batchSize": 2}"#).i64("cursor.id").unwrap();
    session.ok(r#"{"delete": "c", "deletes": [{"q": {}, "limit": 0}]}"#);
    session.ok(r#"{"insert": "c", "documents": [{"_id": 77}]}"#);
    assert_eq!(batch_len(&session.ok(&more(id, "")), "cursor.nextBatch"), 8);
}

#[test]
fn requests_that_do_not_fit_the_cursor() {
    let session = filled(10);
    let open = || session.ok(r#"{"find": "c", "batchSize": 2}"#).i64("cursor.id").unwrap();
    let id = open();
    session.fails(&format!(r#"{{"getMore": {{"$numberLong": "{id}"}}, "collection": "other"}}"#), 13);
    session.fails(r#"{"getMore": 5, "collection": "c"}"#, 14);
    session.fails(&format!(r#"{{"getMore": {{"$numberLong": "{id}"}}}}"#), 40414);
    session.fails(&format!(r#"{{"getMore": {{"$numberLong": "{id}"}}, "collection": ""}}"#), 73);
    session.fails(&more(id, r#", "batchSize": -1"#), 51024);
    session.fails(&more(id, r#", "maxTimeMS": 1000"#), 2);
    session.fails(&more(id, r#", "surprise": 1"#), 40415);
    session.fails(&more(i64::MAX, ""), 43);
    // None of this has hurt the cursor.
    assert_eq!(batch_len(&session.ok(&more(id, "")), "cursor.nextBatch"), 8);
}

#[test]
fn kill_cursors_tells_which() {
    let session = filled(10);
    let id = session.ok(r#"{"find": "c", "batchSize": 2}"#).i64("cursor.id").unwrap();
    let kill = |coll: &str| {
        session.ok(&format!(
            r#"{{"killCursors": "{coll}", "cursors": [{{"$numberLong": "{id}"}}, {{"$numberLong": "7"}}]}}"#
        ))
    };
    assert_eq!(kill("other").i64("cursorsNotFound.0"), Some(id));
    let reply = kill("c");
    assert_eq!((reply.i64("cursorsKilled.0"), reply.i64("cursorsNotFound.0")), (Some(id), Some(7)));
    session.fails(&more(id, ""), 43);
    session.fails(r#"{"killCursors": "c", "cursors": [1]}"#, 14);
    session.fails(r#"{"killCursors": "c"}"#, 40414);
}

#[test]
fn an_empty_first_batch_opens_the_cursor() {
    let session = filled(3);
    let reply = session.ok(r#"{"find": "c", "batchSize": 0}"#);
    assert_eq!(batch_len(&reply, "cursor.firstBatch"), 0);
    let id = reply.i64("cursor.id").unwrap();
    assert_eq!(batch_len(&session.ok(&more(id, "")), "cursor.nextBatch"), 3);
    let single = session.ok(r#"{"find": "c", "batchSize": 2, "singleBatch": true}"#);
    assert_eq!(single.i64("cursor.id"), Some(0));
}

#[test]
fn a_time_limit_and_an_interrupt_stop_a_query() {
    let session = filled(20_000);
    let slow = r#"{"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": null, "all": {"$push": "$_id"}}}, {"$unwind": "$all"}, {"$match": {"all": {"$regex": "(x+x+)+y"}}}, {"$group": {"_id": "$all", "n": {"$sum": 1}}}, {"$sort": {"n": 1}}]"#;
    let timed = session.run(&format!(r#"{slow}, "maxTimeMS": 1}}"#));
    assert_eq!(timed.code(), Some(50), "{}", timed.text());
    // An interrupt that comes while nothing runs stops nothing.
    Connection::interrupt(&session.connection);
    session.ok(r#"{"count": "c"}"#);
}

#[test]
fn close_ends_what_is_open() {
    let session = filled(10);
    let id = session.ok(r#"{"find": "c", "batchSize": 2}"#).i64("cursor.id").unwrap();
    session.database.close().unwrap();
    session.database.close().unwrap();
    assert!(session.database.is_closed());
    session.fails(&more(id, ""), 91);
    session.fails(r#"{"ping": 1}"#, 91);
}
