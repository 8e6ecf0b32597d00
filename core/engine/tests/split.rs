//! Documents with large values: what is fetched, what is written, and that they come back as they were.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{ConnectionInfo, Database, Interrupt, OpenOptions};
use multifora_model::limits::MAX_DOCUMENT_BYTES;
use multifora_model::{DocBuilder, RawDoc};
use std::path::Path;
use support::{Reply, Session, memory, open};

/// Values fetched, written and kept so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    fetched: i64,
    written: i64,
    kept: i64,
}

fn values(db: &Session) -> Values {
    let status = db.ok(r#"{"serverStatus": 1}"#);
    let get = |name: &str| status.i64(&format!("multifora.values.{name}")).unwrap();
    Values { fetched: get("fetched"), written: get("written"), kept: get("kept") }
}

/// What a command does with values out of line: fetched, written, kept.
#[track_caller]
fn cost(db: &Session, command: &str) -> ([i64; 3], Reply) {
    let before = values(db);
    let reply = db.ok(command);
    let after = values(db);
    ([after.fetched - before.fetched, after.written - before.written, after.kept - before.kept], reply)
}

#[track_caller]
fn costs(db: &Session, wanted: [i64; 3], command: &str) -> Reply {
    let (cost, reply) = cost(db, command);
    assert_eq!(cost, wanted, "{command}");
    reply
}

/// Extended JSON in which `BIG` is a string of 16 KiB.
fn big(text: &str) -> String {
    text.replace("BIG", &"b".repeat(16 << 10))
}

/// Ten documents with 16 KiB each in `big` and in `deep.text`.
fn ten_documents(db: &Session) {
    let docs: Vec<String> = (0..10)
        .map(|n| {
            format!(
                r#"{{"_id": {n}, "n": {}, "big": "BIG", "tags": ["t{}", "u"], "deep": {{"n": {n}, "text": "BIG"}}, "s": "s{n}"}}"#,
                (n * 7) % 10,
                n % 3
            )
        })
        .collect();
    costs(db, [0, 20, 0], &big(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(", "))));
}

#[test]
fn reads_of_small_fields_fetch_nothing() {
    let db = memory();
    ten_documents(&db);
    let read = |command: &str| costs(&db, [0, 0, 0], command);
    let n = |command: &str| read(command).i64("n").unwrap();
    assert_eq!(n(r#"{"count": "c", "query": {"n": {"$gte": 5}, "tags": "u", "s": {"$regex": "^s"}}}"#), 5);
    assert_eq!(n(r#"{"count": "c", "query": {"big": {"$exists": true}, "deep": {"$type": "object"}}}"#), 10);
    assert_eq!(n(r#"{"count": "c", "query": {"big": {"$ne": 5}, "nope": null}}"#), 10);
    read(r#"{"find": "c", "sort": {"n": 1, "tags": -1}, "projection": {"n": 1, "s": 1}}"#);
    read(r#"{"find": "c", "sort": {"n": 1}, "limit": 3, "projection": {"big": 0, "deep": 0}}"#);
    read(
        r#"{"find": "c", "projection": {"m": {"$add": ["$n", 1]}, "type": {"$type": "$big"}, "size": {"$bsonSize": "$$ROOT"}}}"#,
    );
    read(r#"{"distinct": "c", "key": "tags", "query": {"n": {"$lt": 9}}}"#);
    read(
        r#"{"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"n": {"$gt": 2}}}, {"$set": {"m": 1}}, {"$unwind": "$tags"},
        {"$group": {"_id": "$tags", "n": {"$sum": "$n"}, "m": {"$max": "$m"}}}, {"$sort": {"_id": 1}}]}"#,
    );
    read(
        r#"{"aggregate": "c", "cursor": {}, "pipeline": [{"$sort": {"n": -1}}, {"$limit": 2}, {"$project": {"s": 1}}]}"#,
    );
    read(
        r#"{"createIndexes": "c", "indexes": [{"key": {"n": 1, "tags": 1}, "name": "n"},
        {"key": {"s": 1}, "name": "s", "unique": true, "partialFilterExpression": {"n": {"$gt": 3}}}]}"#,
    );
    read(r#"{"find": "c", "filter": {"n": {"$gt": 3}, "tags": "u"}, "hint": "n", "projection": {"_id": 1}}"#);
    read(r#"{"collStats": "c"}"#);
    assert_eq!(n(r#"{"delete": "c", "deletes": [{"q": {"n": {"$lt": 3}}, "limit": 0}]}"#), 3);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
}

#[test]
fn reads_fetch_what_they_need_and_once() {
    let db = memory();
    ten_documents(&db);
    costs(&db, [10, 0, 0], r#"{"count": "c", "query": {"deep.n": {"$gt": 4}}}"#);
    costs(&db, [1, 0, 0], r#"{"find": "c", "filter": {"_id": 3}, "projection": {"deep.n": 1}}"#);
    costs(&db, [1, 0, 0], r#"{"find": "c", "filter": {"_id": 3}, "projection": {"big": 1}}"#);
    costs(&db, [2, 0, 0], r#"{"find": "c", "filter": {"_id": 3}}"#);
    // What the filter fetched is given without being fetched again.
    costs(&db, [20, 0, 0], r#"{"find": "c", "filter": {"deep.text": {"$regex": "^b"}}}"#);
    costs(
        &db,
        [2, 0, 0],
        r#"{"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"_id": 1}},
        {"$project": {"a": "$$ROOT", "b": "$$ROOT", "c": "$deep.n"}}]}"#,
    );
    // Documents beyond the batch are not fetched before they are asked for.
    let reply = costs(&db, [4, 0, 0], r#"{"find": "c", "batchSize": 2}"#);
    let id = reply.i64("cursor.id").unwrap();
    costs(
        &db,
        [6, 0, 0],
        &format!(r#"{{"getMore": {{"$numberLong": "{id}"}}, "collection": "c", "batchSize": 3}}"#),
    );
}

#[test]
fn updates_write_the_values_they_touch() {
    let db = memory();
    ten_documents(&db);
    costs(
        &db,
        [0, 0, 0],
        r#"{"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}, {"key": {"s": 1}, "name": "s"}]}"#,
    );
    let update = |wanted: [i64; 3], u: &str| {
        let command = format!(r#"{{"update": "c", "updates": [{{"q": {{"_id": 4}}, "u": {u}}}]}}"#);
        assert_eq!(costs(&db, wanted, &big(&command)).i64("nModified"), Some(1), "{u}");
    };
    update([0, 0, 2], r#"{"$inc": {"n": 100}, "$push": {"tags": "v"}, "$set": {"new.field": 1}}"#);
    update([0, 0, 2], r#"[{"$set": {"n": {"$add": ["$n", 1]}}}, {"$unset": "new"}]"#);
    update([1, 1, 1], r#"{"$set": {"deep.n": 400}}"#);
    update([0, 1, 2], r#"{"$set": {"more": "BIG"}}"#);
    update([0, 1, 2], r#"{"$set": {"more": ["BIG", 1]}}"#);
    update([0, 0, 2], r#"{"$unset": {"more": 1}}"#);
    update([1, 0, 1], r#"{"$unset": {"deep.text": 1}}"#);
    update([0, 1, 1], r#"{"$set": {"deep.text": "BIG"}}"#);
    update([1, 1, 1], r#"{"$rename": {"deep": "moved"}}"#);
    let command = r#"{"update": "c", "updates": [{"q": {}, "u": {"$set": {"seen": true}}, "multi": true}]}"#;
    assert_eq!(costs(&db, [0, 0, 20], command).i64("nModified"), Some(10));
    // Nothing changes, so nothing is written; the value has to be looked at only if it could be the same.
    let same = r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"big": "BIG"}}}]}"#;
    assert_eq!(costs(&db, [1, 0, 0], &big(same)).i64("nModified"), Some(0));
    let reply = costs(
        &db,
        [0, 0, 2],
        r#"{"findAndModify": "c", "query": {"_id": 5}, "update": {"$inc": {"n": 1}}, "new": true, "fields": {"n": 1}}"#,
    );
    assert_eq!(reply.i64("value.n"), Some(6));
    costs(
        &db,
        [2, 0, 2],
        r#"{"findAndModify": "c", "query": {"_id": 5}, "update": {"$inc": {"n": 1}}, "new": true}"#,
    );
    let found = db.find(r#"{"find": "c", "filter": {"_id": 4}}"#);
    let wanted = big(
        r#"{"_id":4,"n":109,"big":"BIG","tags":["t1","u","v"],"s":"s4","moved":{"n":400,"text":"BIG"},"seen":true}"#,
    );
    assert_eq!(found, [wanted]);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
}

#[test]
fn index_keys_of_large_values_follow_them() {
    let db = memory();
    ten_documents(&db);
    costs(&db, [10, 0, 0], r#"{"createIndexes": "c", "indexes": [{"key": {"deep.n": 1}, "name": "deep"}]}"#);
    let n = |filter: &str| {
        db.find(&format!(
            r#"{{"find": "c", "filter": {filter}, "hint": "deep", "projection": {{"_id": 1}}}}"#
        ))
        .len()
    };
    assert_eq!(n(r#"{"deep.n": {"$gte": 7}}"#), 3);
    costs(&db, [0, 0, 2], r#"{"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"n": 1}}}]}"#);
    costs(&db, [1, 1, 1], r#"{"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"deep.n": 0}}}]}"#);
    assert_eq!((n(r#"{"deep.n": {"$gte": 7}}"#), n(r#"{"deep.n": 0}"#)), (2, 2));
    // The keys that go are in the value.
    costs(&db, [1, 0, 1], r#"{"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$unset": {"deep": 1}}}]}"#);
    costs(&db, [1, 0, 0], r#"{"delete": "c", "deletes": [{"q": {"_id": 8}, "limit": 1}]}"#);
    assert_eq!(n(r#"{"deep.n": {"$gte": 7}}"#), 1);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
}

/// The reply's document in the collection, bytes and all.
fn stored(db: &Session, id: i32) -> Vec<u8> {
    let reply = db.ok(&format!(r#"{{"find": "c", "filter": {{"_id": {id}}}}}"#));
    let batch = reply.get("cursor.firstBatch").unwrap();
    let first = batch.as_ref().as_array().unwrap().iter().next().unwrap();
    first.value.as_doc().unwrap().as_bytes().to_vec()
}

fn insert(db: &Session, doc: &[u8]) {
    let mut command = DocBuilder::new();
    command.str("insert", "c").start_array("documents").push(RawDoc::framed(doc).unwrap().as_value()).end();
    let reply = Reply(db.connection.command_bytes("d", &command.finish()));
    assert_eq!(reply.i64("n"), Some(1), "{}", reply.text());
}

#[test]
fn documents_come_back_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.mfdb");
    let db = open(&path);
    let mut docs: Vec<Vec<u8>> = Vec::new();
    let mut add = |written: i64, fill: &mut dyn FnMut(&mut DocBuilder)| {
        let mut doc = DocBuilder::new();
        doc.i32("_id", i32::try_from(docs.len()).unwrap());
        fill(&mut doc);
        docs.push(doc.finish());
        let before = values(&db);
        insert(&db, docs.last().unwrap());
        assert_eq!(values(&db).written - before.written, written, "document {}", docs.len() - 1);
    };
    // A binary value's payload is five bytes longer than its data.
    add(1, &mut |doc| {
        doc.binary("a", 0, &[7; 2047 - 5]).binary("b", 0, &[8; 2048 - 5]);
    });
    add(3, &mut |doc| {
        // Names that repeat, as drivers that build documents by hand make them.
        doc.str("a", &"x".repeat(3000))
            .i32("a", 1)
            .str("a", &"y".repeat(4000))
            .i32("b", 2)
            .str("a", &"x".repeat(3000));
    });
    add(16, &mut |doc| {
        for n in 0..20 {
            doc.binary(&format!("f{n}"), 0, &vec![n; 2100 + usize::from(n) * 37 % 20]);
        }
    });
    add(1, &mut |doc| {
        doc.binary("a", 0, &vec![3; MAX_DOCUMENT_BYTES - 5 - 9 - 8]);
    });
    add(16, &mut |doc| {
        for n in 0..7900_u32 {
            doc.binary("n", 0, &n.to_le_bytes().repeat(523));
        }
    });
    add(0, &mut |doc| {
        for n in 0..8000_u32 {
            doc.binary("n", 0, &n.to_le_bytes().repeat(500));
        }
    });
    assert_eq!(
        (docs[3].len(), docs.iter().all(|doc| doc.len() <= MAX_DOCUMENT_BYTES)),
        (MAX_DOCUMENT_BYTES, true)
    );
    for (id, doc) in docs.iter().enumerate() {
        assert!(stored(&db, id as i32) == *doc, "document {id}");
    }
    db.database.close().unwrap();
    drop(db);
    let db = open(&path);
    for (id, doc) in docs.iter().enumerate() {
        assert!(stored(&db, id as i32) == *doc, "document {id}, from the file");
    }
    // A duplicate name: the update changes the first, and the others are kept.
    costs(
        &db,
        [0, 0, 2],
        r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 5, "b": 3}}}]}"#,
    );
    let mut wanted = DocBuilder::new();
    wanted
        .i32("_id", 1)
        .i32("a", 5)
        .i32("a", 1)
        .str("a", &"y".repeat(4000))
        .i32("b", 3)
        .str("a", &"x".repeat(3000));
    assert!(stored(&db, 1) == wanted.finish());
    // One that was not among the sixteen largest takes the place of one that goes.
    costs(&db, [0, 1, 15], r#"{"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$unset": {"f5": 1}}}]}"#);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
}

/// Changes the bytes where they first stand in a file: in the value's block. The log, which has them too, is behind it.
fn damage(path: &Path, wanted: &[u8]) {
    let mut file = std::fs::read(path).unwrap();
    let at = file.windows(wanted.len()).position(|window| window == wanted).unwrap();
    file[at] ^= 0x20;
    std::fs::write(path, &file).unwrap();
}

#[test]
fn a_damaged_value_fails_the_queries_that_need_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.mfdb");
    let open = |path: &Path| {
        let options = OpenOptions::default().ttl_sweep_secs(0).compress(false);
        let database = Database::open(path, &options).unwrap();
        let connection = database.connect(ConnectionInfo::in_process("rust"));
        Session { database, connection }
    };
    let (a, b) = ("first".repeat(800), "other".repeat(800));
    {
        let db = open(&path);
        db.ok(&format!(
            r#"{{"insert": "c", "documents": [{{"_id": 1, "n": 1, "a": "{a}", "b": "{b}"}}, {{"_id": 2, "n": 2, "a": "small"}}]}}"#
        ));
        assert!(db.run_on("admin", r#"{"fsync": 1}"#).is_ok());
        db.database.close().unwrap();
    }
    damage(&path, &b.as_bytes()[..100]);
    let db = open(&path);
    for needs_it in [
        r#"{"find": "c"}"#,
        r#"{"find": "c", "projection": {"b": 1}}"#,
        r#"{"count": "c", "query": {"b": {"$regex": "x"}}}"#,
        r#"{"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$b"}}]}"#,
        r#"{"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"n": 5}}}"#,
        r#"{"findAndModify": "c", "query": {"_id": 1}, "remove": true}"#,
        r#"{"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"}]}"#,
    ] {
        let error = db.fails(needs_it, 301).str("errmsg").unwrap();
        assert!(
            error.contains("field 'b' of the document with _id: 1 cannot be read: "),
            "{needs_it}: {error}"
        );
    }
    assert_eq!(db.ok(r#"{"count": "c", "query": {"n": 1, "a": {"$regex": "^first"}}}"#).i64("n"), Some(1));
    assert_eq!(db.find(r#"{"find": "c", "sort": {"n": -1}, "projection": {"n": 1}}"#).len(), 2);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"_id": 2}}"#), [r#"{"_id":2,"n":2,"a":"small"}"#]);
    db.ok(r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]}"#);
    let report = db.database.check(&Interrupt::new()).unwrap();
    let told = |p: &String| p.contains("field 'b' of the document with _id: 1 cannot be read");
    assert!(report.problems.iter().any(told), "{:?}", report.problems);
    // What is damaged can be replaced.
    db.ok(r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"b": "new"}}}]}"#);
    let wanted = format!(r#"{{"_id":1,"n":2,"a":"{a}","b":"new"}}"#);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"_id": 1}}"#), [wanted]);
}
