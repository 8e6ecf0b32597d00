//! createIndexes, listIndexes, dropIndexes, and what unique, sparse, partial and multikey indexes do to writes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Session, memory};

fn index_names(db: &Session) -> Vec<String> {
    let names = db.find(r#"{"listIndexes": "c"}"#);
    names
        .iter()
        .map(|spec| spec.split("\"name\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
        .collect()
}

fn index(db: &Session, key: &str, options: &str) {
    db.ok(&format!(r#"{{"createIndexes": "c", "indexes": [{{"key": {key}, "name": "i" {options}}}]}}"#));
}

fn clean(db: &Session) {
    let report = db.database.check(&multifora_engine::Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn creating_is_idempotent_and_says_what_it_did() {
    let db = memory();
    let reply = db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}"#);
    assert_eq!((reply.i64("numIndexesBefore"), reply.i64("numIndexesAfter")), (Some(1), Some(2)));
    assert!(reply.text().contains("\"createdCollectionAutomatically\":true"));
    let reply = db.ok(
        r#"{"createIndexes": "c", "commitQuorum": "majority", "comment": "x", "indexes": [{"key": {"a": 1}, "name": "a_1"}, {"key": {"_id": 1}, "name": "_id_"}]}"#,
    );
    assert_eq!(reply.str("note").as_deref(), Some("all indexes already exist"));
    let reply = db.ok(
        r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}, {"key": {"b": -1, "c": 1}, "name": "b"}, {"key": {"d": 1}, "name": "d", "unique": true}]}"#,
    );
    assert_eq!((reply.i64("numIndexesBefore"), reply.i64("numIndexesAfter")), (Some(2), Some(4)));
    assert_eq!(index_names(&db), ["_id_", "a_1", "b", "d"]);
    assert_eq!(db.find(r#"{"listIndexes": "c"}"#)[3], r#"{"v":2,"key":{"d":1},"name":"d","unique":true}"#);
    db.fails(r#"{"listIndexes": "nothing"}"#, 26);
}

#[test]
fn specifications_are_checked() {
    let db = memory();
    let cases = [
        (r#"{"key": {}, "name": "n"}"#, 67),
        (r#"{"key": {"a": 0}, "name": "n"}"#, 67),
        (r#"{"key": {"a": {}}, "name": "n"}"#, 67),
        (r#"{"key": {"a": true}, "name": "n"}"#, 67),
        (r#"{"key": {"a": "fancy"}, "name": "n"}"#, 67),
        (r#"{"key": {"a": "hashed"}, "name": "n"}"#, 67),
        (r#"{"key": {"$**": 1}, "name": "n"}"#, 67),
        (r#"{"key": {"": 1}, "name": "n"}"#, 67),
        (r#"{"key": {"a..b": 1}, "name": "n"}"#, 67),
        (r#"{"key": {"a.": 1}, "name": "n"}"#, 67),
        (r#"{"key": {"$a": 1}, "name": "n"}"#, 67),
        (r#"{"key": {"a": 1}, "name": ""}"#, 67),
        (r#"{"key": {"a": 1}, "name": "*"}"#, 2),
        (r#"{"key": {"a": 1}}"#, 9),
        (r#"{"name": "n"}"#, 9),
        (r#"{"key": 1, "name": "n"}"#, 14),
        (r#"{"key": {"a": 1}, "name": 1}"#, 14),
        (r#"{"key": {"a": 1}, "name": "n", "bogus": 1}"#, 197),
        (r#"{"key": {"a": 1}, "name": "n", "unique": "x"}"#, 14),
        (r#"{"key": {"a": 1}, "name": "n", "v": 0}"#, 67),
        (r#"{"key": {"a": 1}, "name": "n", "v": 3}"#, 67),
        (r#"{"key": {"a": 1}, "name": "n", "expireAfterSeconds": -1}"#, 67),
        (r#"{"key": {"a": 1}, "name": "n", "expireAfterSeconds": "1"}"#, 14),
        (r#"{"key": {"a": 1}, "name": "n", "expireAfterSeconds": 2147483648}"#, 67),
        (r#"{"key": {"a": 1, "b": 1}, "name": "n", "expireAfterSeconds": 1}"#, 67),
        (r#"{"key": {"_id": 1}, "name": "n", "expireAfterSeconds": 1}"#, 197),
        (r#"{"key": {"_id": 1}, "name": "n", "unique": true}"#, 197),
        (r#"{"key": {"_id": -1}, "name": "n"}"#, 2),
        (r#"{"key": {"a": 1}, "name": "_id_"}"#, 2),
        (r#"{"key": {"a": 1}, "name": "n", "partialFilterExpression": 1}"#, 14),
        (r#"{"key": {"a": 1}, "name": "n", "partialFilterExpression": {"a": 1}, "sparse": true}"#, 67),
        (r#"{"key": {"a": 1}, "name": "n", "partialFilterExpression": {"a": {"$ne": 1}}}"#, 67),
    ];
    for (spec, code) in cases {
        db.fails(&format!(r#"{{"createIndexes": "c", "indexes": [{spec}]}}"#), code);
    }
    db.fails(r#"{"createIndexes": "c", "indexes": []}"#, 2);
    db.fails(r#"{"createIndexes": "c", "indexes": [1]}"#, 14);
    db.fails(r#"{"createIndexes": "c"}"#, 40414);
    let wide: Vec<String> = (0..33).map(|i| format!(r#""f{i}": 1"#)).collect();
    db.fails(
        &format!(r#"{{"createIndexes": "c", "indexes": [{{"key": {{{}}}, "name": "n"}}]}}"#, wide.join(",")),
        13103,
    );
    assert_eq!(db.docs("c").len(), 0);
    db.fails(r#"{"listIndexes": "c"}"#, 26);
}

#[test]
fn conflicts_have_their_own_codes() {
    let db = memory();
    index(&db, r#"{"a": 1}"#, "");
    let create = |spec: &str| format!(r#"{{"createIndexes": "c", "indexes": [{spec}]}}"#);
    db.fails(&create(r#"{"key": {"b": 1}, "name": "i"}"#), 86);
    db.fails(&create(r#"{"key": {"a": 1}, "name": "i", "unique": true}"#), 86);
    db.fails(&create(r#"{"key": {"a": 1}, "name": "j"}"#), 85);
    db.fails(&create(r#"{"key": {"a": 1}, "name": "i", "expireAfterSeconds": 5}"#), 85);
    db.fails(&create(r#"{"key": {"b": 1}, "name": "k"}, {"key": {"c": 1}, "name": "k"}"#), 86);
    db.ok(&create(r#"{"key": {"e": 1}, "name": "e", "expireAfterSeconds": 5}"#));
    db.fails(&create(r#"{"key": {"e": 1}, "name": "e", "expireAfterSeconds": 6}"#), 85);
    db.ok(&create(r#"{"key": {"e": 1.0}, "name": "e", "expireAfterSeconds": 5.0}"#));
    db.ok(&create(r#"{"key": {"a": 1}, "name": "i", "unique": false}"#));
    db.ok(&create(r#"{"key": {"a": 1}, "name": "u", "unique": true}"#));
    assert_eq!(index_names(&db), ["_id_", "i", "e", "u"]);
}

#[test]
fn at_most_64_indexes() {
    let db = memory();
    for i in 0..63 {
        db.ok(&format!(r#"{{"createIndexes": "c", "indexes": [{{"key": {{"f{i}": 1}}, "name": "f{i}"}}]}}"#));
    }
    db.fails(r#"{"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "z"}]}"#, 67);
}

#[test]
fn dropping() {
    let db = memory();
    db.ok(
        r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}, {"key": {"b": 1}, "name": "b"}, {"key": {"c": 1}, "name": "c"}, {"key": {"d": 1}, "name": "d"}]}"#,
    );
    db.ok(r#"{"insert": "c", "documents": [{"a": 1}]}"#);
    db.fails(r#"{"dropIndexes": "c", "index": "_id_"}"#, 72);
    db.fails(r#"{"dropIndexes": "c", "index": {"_id": 1}}"#, 72);
    db.fails(r#"{"dropIndexes": "c", "index": "nope"}"#, 27);
    db.fails(r#"{"dropIndexes": "c", "index": {"zz": 1}}"#, 27);
    db.fails(r#"{"dropIndexes": "c", "index": ["a", "nope"]}"#, 27);
    db.fails(r#"{"dropIndexes": "c", "index": 1}"#, 14);
    db.fails(r#"{"dropIndexes": "absent", "index": "*"}"#, 26);
    assert_eq!(db.ok(r#"{"dropIndexes": "c", "index": ["a", "b"]}"#).i64("nIndexesWas"), Some(5));
    db.ok(r#"{"deleteIndexes": "c", "index": {"c": 1}}"#);
    assert_eq!(index_names(&db), ["_id_", "d"]);
    assert_eq!(db.ok(r#"{"dropIndexes": "c", "index": "*"}"#).i64("nIndexesWas"), Some(2));
    assert_eq!(index_names(&db), ["_id_"]);
    clean(&db);
}

#[test]
fn unique_counts_missing_as_null_and_a_documents_own_duplicates_once() {
    let db = memory();
    index(&db, r#"{"l.k": 1}"#, r#", "unique": true"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "l": [{"k": 1}, {"k": 1}]}]}"#);
    db.write_fails(r#"{"insert": "c", "documents": [{"_id": 2, "l": [{"k": 9}, {"k": 1}]}]}"#, 11000);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 3, "l": [{"k": 9}]}, {"_id": 4, "l": []}]}"#);
    let reply = db.write_fails(r#"{"insert": "c", "documents": [{"_id": 5}]}"#, 11000);
    assert!(reply.str("writeErrors.0.errmsg").unwrap().ends_with("index: i dup key: { l.k: null }"));
    clean(&db);
}

#[test]
fn a_duplicate_in_a_later_index_leaves_no_trace_in_the_earlier_ones() {
    let db = memory();
    db.ok(
        r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}, {"key": {"b": 1}, "name": "b"}, {"key": {"t": 1}, "name": "t", "unique": true}]}"#,
    );
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": 1, "t": "x"}, {"_id": 2, "a": 2, "t": "y"}]}"#);
    let reply = db.run(
        r#"{"insert": "c", "ordered": false, "documents": [{"_id": 3, "a": 3, "t": "x"}, {"_id": 4, "a": 3, "t": "z"}, {"_id": 3, "a": 5, "t": "w"}]}"#,
    );
    assert_eq!((reply.i64("n"), reply.i64("writeErrors.0.index")), (Some(2), Some(0)));
    db.write_fails(
        r#"{"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": 9, "t": "x"}}}]}"#,
        11000,
    );
    db.ok(r#"{"insert": "c", "documents": [{"_id": 9, "a": 9, "t": "q"}]}"#);
    db.ok(r#"{"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"t": "c"}}}]}"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 10, "a": 10, "t": "y"}]}"#);
    db.write_fails(
        r#"{"update": "c", "updates": [{"q": {}, "u": {"$set": {"t": "same"}}, "multi": true}]}"#,
        11000,
    );
    clean(&db);
}

#[test]
fn sparse_and_partial_unique_indexes_leave_documents_out() {
    let db = memory();
    index(&db, r#"{"s": 1}"#, r#", "unique": true, "sparse": true"#);
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3, "s": null}]}"#);
    db.write_fails(r#"{"insert": "c", "documents": [{"_id": 4, "s": null}]}"#, 11000);
    db.ok(
        r#"{"createIndexes": "c", "indexes": [{"key": {"p": 1}, "name": "p", "unique": true, "partialFilterExpression": {"on": true}}]}"#,
    );
    db.ok(r#"{"insert": "c", "documents": [{"_id": 5, "p": 1, "on": true}, {"_id": 6, "p": 1}]}"#);
    db.write_fails(r#"{"update": "c", "updates": [{"q": {"_id": 6}, "u": {"$set": {"on": true}}}]}"#, 11000);
    db.ok(r#"{"update": "c", "updates": [{"q": {"_id": 5}, "u": {"$unset": {"on": 1}}}, {"q": {"_id": 6}, "u": {"$set": {"on": true}}}]}"#);
    clean(&db);
}

#[test]
fn parallel_arrays_are_refused() {
    let db = memory();
    index(&db, r#"{"a": 1, "b": 1}"#, "");
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": [1], "b": 2}, {"_id": 3, "a": 1, "b": [2]}]}"#);
    db.write_fails(r#"{"insert": "c", "documents": [{"_id": 2, "a": [1], "b": [2]}]}"#, 171);
    db.write_fails(r#"{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"b": [3]}}}]}"#, 171);
    db.ok(r#"{"insert": "o", "documents": [{"a": [1], "b": [1]}]}"#);
    db.fails(r#"{"createIndexes": "o", "indexes": [{"key": {"a": 1, "b": 1}, "name": "n"}]}"#, 171);
    clean(&db);
}

#[test]
fn a_build_over_duplicates_leaves_nothing_behind() {
    for count in [2, 2500] {
        let db = memory();
        let docs: Vec<String> =
            (0..count).map(|i| format!(r#"{{"_id": {i}, "a": {}}}"#, i.min(count - 2))).collect();
        db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
        let reply = db.fails(
            r#"{"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b"}, {"key": {"a": 1}, "name": "a", "unique": true}]}"#,
            11000,
        );
        assert!(reply.text().contains("E11000 duplicate key error collection: d.c index: a dup key: { a:"));
        assert_eq!(index_names(&db), ["_id_"]);
        db.ok(&format!(r#"{{"delete": "c", "deletes": [{{"q": {{"_id": {}}}, "limit": 1}}]}}"#, count - 1));
        index(&db, r#"{"a": 1}"#, r#", "unique": true"#);
        assert_eq!(index_names(&db), ["_id_", "i"]);
        clean(&db);
    }
}

#[test]
fn a_build_keeps_up_with_writers() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let db = memory();
    let docs: Vec<String> = (0..6000).map(|i| format!(r#"{{"_id": {i}, "a": {i}}}"#)).collect();
    db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3u32 {
            let (database, done) = (db.database.clone(), &done);
            scope.spawn(move || {
                let connection = database.connect(multifora_engine::ConnectionInfo::in_process("rust"));
                let session = Session { database, connection };
                let mut i = thread * 7919;
                while !done.load(Ordering::Relaxed) {
                    i = i.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let id = i % 6000;
                    match i / 6000 % 4 {
                        0 => session.ok(&format!(r#"{{"delete": "c", "deletes": [{{"q": {{"_id": {id}}}, "limit": 1}}]}}"#)),
                        1 => session.ok(&format!(
                            r#"{{"update": "c", "updates": [{{"q": {{"_id": {id}}}, "u": {{"$set": {{"a": [{i}, 2]}}}}, "upsert": true}}]}}"#
                        )),
                        _ => session.ok(&format!(
                            r#"{{"update": "c", "updates": [{{"q": {{"_id": {id}}}, "u": {{"$inc": {{"n": 1}}, "$set": {{"a": {i}}}}}}}]}}"#
                        )),
                    };
                }
            });
        }
        let _stop = support::SetOnDrop(&done);
        for round in 0..4 {
            db.ok(&format!(
                r#"{{"createIndexes": "c", "indexes": [{{"key": {{"a": 1, "n": -1}}, "name": "r{round}"}}]}}"#
            ));
            clean(&db);
            db.ok(r#"{"dropIndexes": "c", "index": "*"}"#);
        }
        db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": -1}, "name": "last"}]}"#);
    });
    clean(&db);
    assert_eq!(index_names(&db), ["_id_", "last"]);
}
