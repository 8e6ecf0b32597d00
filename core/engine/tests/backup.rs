//! Backups while writers run, and compaction.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{Error, ErrorCode, Interrupt, OpenOptions, compact};
use support::{memory, open};

fn insert(db: &support::Session, from: usize, to: usize) {
    let docs: Vec<String> = (from..to)
        .map(|n| format!(r#"{{"_id": {n}, "a": {}, "text": "{}"}}"#, n % 10, "x".repeat(3000)))
        .collect();
    db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(",")));
}

#[test]
fn a_backup_is_one_moment_and_a_whole_database() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder.path().join("a.mfdb"));
    db.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]}"#);
    insert(&db, 0, 2000);
    let copy = folder.path().join("copy.mfdb");
    let (mut seen, mut before) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..20).for_each(|n| insert(&db, 2000 + n * 10, 2010 + n * 10)));
        let mut on_progress = |progress: multifora_engine::CopyProgress| {
            assert!(progress.done >= before && progress.done <= progress.total);
            before = progress.done;
            // The backup is one of the things that run.
            let running = db.run_on("admin", r#"{"currentOp": 1}"#).text();
            seen.push(running.contains(r#""backup""#));
            Ok(())
        };
        db.connection.backup_to(&copy, &mut on_progress).unwrap();
    });
    assert!(seen.len() > 2 && seen.iter().all(|shown| *shown));
    let copied = open(&copy);
    assert!(copied.database.check(&Interrupt::new()).unwrap().is_clean());
    let documents = copied.ok(r#"{"count": "c"}"#).i64("n").unwrap();
    assert!((2000..=2200).contains(&documents) && documents % 10 == 0, "{documents}");
    assert_eq!(copied.find(r#"{"listIndexes": "c"}"#), db.find(r#"{"listIndexes": "c"}"#));
    insert(&copied, 5000, 5001);
    let again = db.database.backup_to(&copy, &mut |_| Ok(())).unwrap_err();
    assert!(again.message().contains("copy.mfdb"), "{again}");
}

#[test]
fn what_stops_a_backup_and_what_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let db = memory();
    insert(&db, 0, 3000);
    let copy = folder.path().join("copy.mfdb");
    let given = Error::bad_value("the caller's own");
    let stopped = db.connection.backup_to(&copy, &mut |_| Err(given.clone())).unwrap_err();
    assert_eq!(stopped.message(), "the caller's own");
    let stopped = db.connection.backup_to(&copy, &mut |_| {
        db.connection.interrupt();
        Ok(())
    });
    assert_eq!(stopped.unwrap_err().code(), ErrorCode::Interrupted);
    assert!(!copy.exists());
    let nowhere = db.connection.backup_to(folder.path().join("no/where"), &mut |_| Ok(())).unwrap_err();
    assert!(nowhere.message().contains("where"), "{nowhere}");
    // What is in memory only goes into a file as well.
    db.connection.backup_to(&copy, &mut |_| Ok(())).unwrap();
    assert_eq!(open(&copy).docs("c").len(), 3000);
    db.database.close().unwrap();
    let closed = db.connection.backup_to(folder.path().join("late"), &mut |_| Ok(())).unwrap_err();
    assert_eq!(closed.code(), ErrorCode::ShutdownInProgress);
}

#[test]
fn compaction_keeps_everything_but_free_space() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mfdb");
    let db = open(&path);
    insert(&db, 0, 4000);
    db.ok(r#"{"delete": "c", "deletes": [{"q": {"a": {"$gt": 0}}, "limit": 0}]}"#);
    let docs = db.docs("c");
    let open_elsewhere = compact(&path, &OpenOptions::default(), &Interrupt::new(), &mut |_| Ok(()));
    assert_eq!(open_elsewhere.unwrap_err().code(), ErrorCode::DBPathInUse);
    db.database.close().unwrap();
    drop(db);
    let done = compact(&path, &OpenOptions::default(), &Interrupt::new(), &mut |_| Ok(())).unwrap();
    assert!(
        done.after_bytes <= done.before_bytes && done.after_bytes == std::fs::metadata(&path).unwrap().len()
    );
    let db = open(&path);
    assert_eq!(db.docs("c"), docs);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
