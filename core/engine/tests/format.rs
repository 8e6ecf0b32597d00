//! Files of every version of the format, kept in `tests/format`: each opens, is sound, and holds what was written.
//!
//! `WRITE_FORMAT_FILES=1` writes those of the present version anew; that is for a new version only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::Interrupt;
use std::path::{Path, PathBuf};
use support::{Session, open};

/// Version of the format that this build writes.
const VERSION: u32 = 1;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/format")
}

/// What every file holds: small and large documents and an index.
fn fill(db: &Session) {
    let docs: Vec<String> = (0..300)
        .map(|n| {
            let large =
                if n % 100 == 0 { format!(r#", "large": "{}""#, "x".repeat(5000)) } else { String::new() };
            format!(r#"{{"_id": {n}, "k": {}, "t": ["a", {{"b": {n}}}]{large}}}"#, n % 7)
        })
        .collect();
    db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"k": 1, "_id": -1}, "name": "k"}]}"#);
}

/// And commits that stand in the log only, unless the file was closed.
fn change(db: &Session) {
    db.ok(r#"{"update": "c", "updates": [{"q": {"k": 3}, "u": {"$set": {"seen": true}}, "multi": true}]}"#);
    db.ok(r#"{"delete": "c", "deletes": [{"q": {"_id": {"$gte": 290}}, "limit": 0}]}"#);
}

fn check(db: &Session, what: &str) {
    let count = |filter: &str| {
        let reply = db.ok(&format!(r#"{{"count": "c", "query": {filter}}}"#));
        reply.i64("n").unwrap()
    };
    assert_eq!(count("{}"), 290, "{what}");
    assert_eq!((count(r#"{"k": 3}"#), count(r#"{"seen": true}"#)), (41, 41), "{what}");
    let large = db.find(r#"{"find": "c", "filter": {"large": {"$exists": true}}, "sort": {"_id": 1}}"#);
    assert_eq!(large.len(), 3, "{what}");
    assert!(large.iter().all(|text| text.contains(&"x".repeat(5000))), "{what}");
    let checked = db.database.check(&Interrupt::new()).unwrap();
    assert!(checked.is_clean(), "{what}: {:?}", checked.problems);
}

/// Writes the files of this version: one that was closed, and one as a killed process leaves it.
fn write_files() {
    for (state, closes) in [("closed", true), ("killed", false)] {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file.mfdb");
        let db = open(&path);
        fill(&db);
        db.database.close().unwrap();
        drop(db);
        let db = open(&path);
        change(&db);
        if closes {
            db.database.close().unwrap();
        }
        std::fs::create_dir_all(folder()).unwrap();
        std::fs::copy(&path, folder().join(format!("v{VERSION}-{state}.mfdb"))).unwrap();
    }
}

#[test]
fn files_of_every_version_open() {
    if std::env::var_os("WRITE_FORMAT_FILES").is_some() {
        write_files();
    }
    let mut versions = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "mfdb") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let scratch = tempfile::tempdir().unwrap();
        let copy = scratch.path().join(&name);
        std::fs::copy(&path, &copy).unwrap();
        let db = open(&copy);
        check(&db, &name);
        // It can be written to, and is sound afterwards.
        db.ok(r#"{"insert": "other", "documents": [{"_id": 1}]}"#);
        db.database.close().unwrap();
        drop(db);
        check(&open(&copy), &name);
        versions.push(name);
    }
    for version in 1..=VERSION {
        for state in ["closed", "killed"] {
            let name = format!("v{version}-{state}.mfdb");
            assert!(versions.contains(&name), "{name} is missing");
        }
    }
}
