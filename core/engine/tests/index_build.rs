//! createIndexes over a collection that others write to: exact, visible, stoppable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{ConnectionInfo, Database, Interrupt, OpenOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use support::{Reply, Session, SetOnDrop, memory, open};

fn session(database: &Database) -> Session {
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    Session { database: database.clone(), connection }
}

fn clean(db: &Session) {
    let report = db.database.check(&Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Documents `from..to` with a number, an array and a field that some do not have.
fn insert(db: &Session, from: u32, to: u32) {
    for start in (from..to).step_by(1_000) {
        let doc = |i: u32| {
            let sparse = if i.is_multiple_of(3) { format!(r#", "s": {i}"#) } else { String::new() };
            format!(
                r#"{{"_id": {i}, "n": {}, "t": [{}, "x{}"]{sparse}}}"#,
                i.wrapping_mul(7919) % 10_007,
                i % 13,
                i % 7
            )
        };
        let docs: Vec<String> = (start..to.min(start + 1_000)).map(doc).collect();
        db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    }
}

#[test]
fn an_index_built_beside_many_writers_is_exact_also_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("i.mfdb");
    {
        let db = open(&path);
        insert(&db, 0, 20_000);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let _set = SetOnDrop(&done);
            for writer in 0..3u32 {
                let (database, done) = (db.database.clone(), &done);
                scope.spawn(move || {
                    let db = session(&database);
                    let mut i = 0u32;
                    while !done.load(Ordering::Relaxed) {
                        let id = i.wrapping_mul(2_654_435_761).wrapping_add(writer) % 25_000;
                        match i % 3 {
                            0 => db.ok(&format!(
                                r#"{{"update": "c", "updates": [{{"q": {{"_id": {id}}}, "u": {{"$inc": {{"n": 1}}, "$set": {{"t": [{i}]}}}}}}]}}"#
                            )),
                            1 => db.ok(&format!(r#"{{"delete": "c", "deletes": [{{"q": {{"_id": {id}}}, "limit": 1}}]}}"#)),
                            _ => db.ok(&format!(r#"{{"insert": "c", "documents": [{{"_id": "{writer}-{i}", "n": {i}, "t": 1, "s": 2}}]}}"#)),
                        };
                        i += 1;
                    }
                });
            }
            db.ok(r#"{"createIndexes": "c", "indexes": [
                    {"key": {"n": 1}, "name": "n"}, {"key": {"t": -1, "n": 1}, "name": "tn"},
                    {"key": {"s": 1}, "name": "s", "sparse": true},
                    {"key": {"n": -1}, "name": "p", "partialFilterExpression": {"n": {"$gt": 5000}}}]}"#);
            db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"_id": 1, "n": 1}, "name": "u", "unique": true}]}"#);
        });
        clean(&db);
        assert_eq!(db.ok(r#"{"listIndexes": "c"}"#).text().matches("\"name\":").count(), 6);
        // By an index and by none: the same.
        let count = |hint: &str| {
            db.ok(&format!(r#"{{"count": "c", "query": {{"n": {{"$gte": 5500}}}}, "hint": {hint}}}"#))
                .i64("n")
        };
        assert_eq!(count(r#""n""#), count(r#"{"$natural": 1}"#));
        assert_eq!(count(r#""p""#), count(r#"{"$natural": 1}"#));
    }
    let db = open(&path);
    clean(&db);
    assert_eq!(db.ok(r#"{"listIndexes": "c"}"#).text().matches("\"name\":").count(), 6);
}

/// What currentOp shows of a createIndexes that is at work.
fn building(db: &Session) -> Option<Reply> {
    let reply = db.run_on(
        "admin",
        r#"{"currentOp": 1, "command.createIndexes": {"$exists": true}, "progress": {"$exists": true}}"#,
    );
    reply.get("inprog.0").map(|_| reply)
}

#[test]
fn a_build_tells_how_far_it_is_and_can_be_killed() {
    let db = memory();
    insert(&db, 0, 60_000);
    let create = r#"{"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}, {"key": {"t": 1}, "name": "t"}]}"#;
    let reply = thread::scope(|scope| {
        let builder = scope.spawn(|| session(&db.database).run(create));
        while !builder.is_finished() {
            let Some(seen) = building(&db) else { continue };
            let message = seen.str("inprog.0.msg").unwrap();
            assert!(message.starts_with("Index Build: "), "{message}");
            let (done, total) =
                (seen.i64("inprog.0.progress.done").unwrap(), seen.i64("inprog.0.progress.total").unwrap());
            assert!(message.contains(&format!(": {done}/{total} ")), "{message}");
            let op = seen.i64("inprog.0.opid").unwrap();
            db.run_on("admin", &format!(r#"{{"killOp": 1, "op": {op}}}"#));
            break;
        }
        builder.join().unwrap()
    });
    assert_eq!(reply.code(), Some(11601), "{}", reply.text());
    assert_eq!(db.ok(r#"{"listIndexes": "c"}"#).text().matches("\"name\":").count(), 1);
    // Nothing is left in its way.
    assert_eq!(db.ok(create).i64("numIndexesAfter"), Some(3));
    assert!(building(&db).is_none());
    clean(&db);
}

#[test]
fn duplicates_and_documents_that_cannot_be_indexed_fail_the_build_and_leave_nothing() {
    let db = memory();
    insert(&db, 0, 3_000);
    let unique = r#"{"createIndexes": "c", "indexes": [{"key": {"s": 1}, "name": "s"}, {"key": {"n": 1}, "name": "n", "unique": true}]}"#;
    assert_eq!(db.ok(unique).i64("numIndexesAfter"), Some(3));
    db.ok(r#"{"dropIndexes": "c", "index": "*"}"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": "a", "n": 7919}]}"#);
    let reply = db.fails(unique, 11000);
    assert_eq!(reply.i64("keyValue.n"), Some(7919));
    assert!(
        reply
            .str("errmsg")
            .unwrap()
            .contains("E11000 duplicate key error collection: d.c index: n dup key: { n: 7919 }")
    );
    db.ok(r#"{"insert": "c", "documents": [{"_id": "b", "t": [1], "p": [2]}]}"#);
    db.fails(r#"{"createIndexes": "c", "indexes": [{"key": {"t": 1, "p": 1}, "name": "tp"}]}"#, 171);
    assert_eq!(db.ok(r#"{"listIndexes": "c"}"#).text().matches("\"name\":").count(), 1);
    db.ok(r#"{"insert": "c", "documents": [{"_id": "c", "n": 7919}]}"#);
    clean(&db);
}

#[test]
fn more_keys_than_memory_should_hold() {
    let db = Database::open(":memory:", &OpenOptions::default().ttl_sweep_secs(0)).unwrap();
    let db = session(&db);
    // 1,200 documents with 24 keys of 4 KiB each: about 112 MiB of keys, beyond what is sorted in memory.
    let long = "k".repeat(4_000);
    for start in (0..1_200u32).step_by(50) {
        let docs: Vec<String> = (start..start + 50)
            .map(|i| {
                let keys: Vec<String> = (0..24u32)
                    .map(|k| format!(r#""{}{long}""#, (i * 24 + k).wrapping_mul(7_919) % 28_800))
                    .collect();
                format!(r#"{{"_id": {i}, "k": [{}]}}"#, keys.join(","))
            })
            .collect();
        db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    }
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"k": 1}, "name": "k"}]}"#);
    clean(&db);
}
