//! Many connections at once: no update is lost, no document is met twice, nothing is half there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{ConnectionInfo, Interrupt};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use support::{Session, memory};

const THREADS: i64 = 8;

/// Runs `work` on several threads, each with a connection of its own.
fn in_parallel(db: &Session, work: impl Fn(&Session, i64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (database, work) = (db.database.clone(), &work);
            scope.spawn(move || {
                let connection = database.connect(ConnectionInfo::in_process("rust"));
                work(&Session { database, connection }, thread);
            });
        }
    });
}

fn clean(db: &Session) {
    let report = db.database.check(&Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn increments_of_one_document_are_never_lost() {
    let db = memory();
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]}"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "n": 0, "k": "x"}]}"#);
    in_parallel(&db, |session, thread| {
        for i in 0..100 {
            // By _id, by a scan, and as findAndModify with a sort.
            let command = match (i + thread) % 3 {
                0 => r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]}"#,
                1 => {
                    r#"{"update": "c", "updates": [{"q": {"k": "x"}, "u": {"$inc": {"n": 1}}, "multi": true}]}"#
                }
                _ => {
                    r#"{"findAndModify": "c", "query": {"k": "x"}, "sort": {"n": 1}, "update": {"$inc": {"n": 1}}}"#
                }
            };
            session.ok(command);
        }
    });
    assert_eq!(db.docs("c"), [format!(r#"{{"_id":1,"n":{},"k":"x"}}"#, THREADS * 100)]);
    clean(&db);
}

#[test]
fn upserts_of_one_id_end_as_one_document() {
    let db = memory();
    in_parallel(&db, |session, thread| {
        for id in 0..30 {
            session.ok(&format!(
                r#"{{"update": "c", "updates": [{{"q": {{"_id": {id}}}, "u": {{"$inc": {{"n": 1}}, "$set": {{"t{thread}": true}}}}, "upsert": true}}]}}"#
            ));
        }
    });
    let docs = db.docs("c");
    assert_eq!(docs.len(), 30);
    for doc in docs {
        assert!(doc.contains(&format!("\"n\":{THREADS}")), "{doc}");
        assert!((0..THREADS).all(|t| doc.contains(&format!("\"t{t}\":true"))), "{doc}");
    }
    clean(&db);
}

#[test]
fn a_multi_update_meets_each_document_once_though_its_key_moves() {
    let db = memory();
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]}"#);
    let docs: Vec<String> = (0..3000).map(|i| format!(r#"{{"_id": {i}, "n": {i}}}"#)).collect();
    db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    let reply = db.ok(
        r#"{"update": "c", "updates": [{"q": {"n": {"$gte": 0}}, "u": {"$inc": {"n": 10, "met": 1}}, "multi": true}]}"#,
    );
    assert_eq!((reply.i64("n"), reply.i64("nModified")), (Some(3000), Some(3000)));
    assert!(db.docs("c").iter().all(|doc| doc.contains("\"met\":1")));
    clean(&db);
}

#[test]
fn a_unique_key_has_one_owner() {
    let db = memory();
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"u": 1}, "name": "u", "unique": true}]}"#);
    let stored = AtomicI64::new(0);
    in_parallel(&db, |session, thread| {
        for u in 0..50 {
            let reply = session.run(&format!(
                r#"{{"insert": "c", "documents": [{{"_id": {}, "u": {u}}}]}}"#,
                thread * 1000 + u
            ));
            stored.fetch_add(reply.i64("n").unwrap(), Ordering::Relaxed);
            assert!(reply.is_ok());
            assert!(matches!(reply.i64("writeErrors.0.code"), None | Some(11000)), "{}", reply.text());
        }
    });
    assert_eq!(stored.load(Ordering::Relaxed), 50);
    assert_eq!(db.docs("c").len(), 50);
    clean(&db);
}

#[test]
fn inserts_drops_and_index_builds_never_miss_each_other() {
    let db = memory();
    let done = AtomicBool::new(false);
    in_parallel(&db, |session, thread| match thread {
        0 => {
            let _stop = support::SetOnDrop(&done);
            for round in 0..120 {
                match round % 4 {
                    0 => drop(session.ok(r#"{"drop": "c"}"#)),
                    2 => drop(session.run(r#"{"dropIndexes": "c", "index": "a"}"#)),
                    _ => drop(session.ok(
                        r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}, {"key": {"b": 1, "a": -1}, "name": "b"}]}"#,
                    )),
                }
                clean(session);
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
        _ => {
            let mut i = thread;
            while !done.load(Ordering::Relaxed) {
                // Enough documents in one transaction for others to come between its begin and its commit.
                let docs: Vec<String> = (0..60)
                    .map(|_| {
                        i += THREADS;
                        format!(r#"{{"_id": {i}, "a": {i}, "b": [1, {i}]}}"#)
                    })
                    .collect();
                session.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
                let old = i - THREADS * 90;
                session.ok(&format!(
                    r#"{{"delete": "c", "deletes": [{{"q": {{"a": {{"$lt": {old}}}}}, "limit": 0}}]}}"#
                ));
            }
        }
    });
    clean(&db);
}

#[test]
fn one_collection_comes_of_many_creations() {
    let db = memory();
    in_parallel(&db, |session, thread| {
        session.ok(&format!(r#"{{"insert": "c", "documents": [{{"_id": {thread}}}]}}"#));
        session.ok(r#"{"create": "e"}"#);
    });
    assert_eq!(db.docs("c").len() as i64, THREADS);
    assert_eq!(db.find(r#"{"listCollections": 1, "nameOnly": true}"#).len(), 2);
}

#[test]
fn work_that_is_interrupted_says_so() {
    let db = memory();
    let docs: Vec<String> = (0..5000).map(|i| format!(r#"{{"_id": {i}, "n": {i}}}"#)).collect();
    db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    let slow = r#"{"update": "c", "updates": [{"q": {"n": {"$gte": 0}}, "u": {"$inc": {"n": 1}}, "multi": true}], "maxTimeMS": 1}"#;
    let reply = db.run(slow);
    assert!(reply.is_ok() || reply.code() == Some(50), "{}", reply.text());
    clean(&db);
}
