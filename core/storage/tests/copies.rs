//! Tables that are built from the bottom up, and copies of whole stores.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

use multifora_storage::*;
use std::path::Path;

fn open(path: &Path, options: &Options) -> Store {
    Store::open(&Location::File(path.to_path_buf()), options).unwrap()
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

#[test]
fn a_built_table_is_one_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("built");
    let options = Options { cache_bytes: 1 << 20, ..Options::default() };
    for store in [open(&path, &options), Store::open(&Location::Memory, &options).unwrap()] {
        let mut builder = store.build_table().unwrap();
        for number in 0..50_000u32 {
            builder.push(&key(number * 2), &[number as u8; 40]).unwrap();
        }
        assert!(matches!(builder.push(&key(7), b""), Err(Error::Misuse { .. })), "out of order");
        let built = builder.finish().unwrap();
        assert_eq!(built.count(), 50_000);
        let mut tx = store.begin();
        let table = tx.attach(built).unwrap();
        tx.put(table, &key(1), b"odd").unwrap();
        tx.delete(table, &key(2)).unwrap();
        assert_eq!(tx.count(table).unwrap(), 50_000);
        store.wait_durable(tx.commit().unwrap().sequence).unwrap();
        let snapshot = store.snapshot();
        assert_eq!(snapshot.count_range(table, &KeyRange::between(&key(0), &key(10))).unwrap(), 5);
        assert_eq!(snapshot.get(table, &key(99_998)).unwrap().unwrap().head(), &[79; 40]);
        let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Backward).unwrap();
        scan.skip(49_998).unwrap();
        assert_eq!(scan.next().unwrap().unwrap().key, key(1));
        assert!(store.verify().unwrap().is_clean());
    }
    // Opened again: from the log, and then from a checkpoint.
    for _ in 0..2 {
        let store = open(&path, &options);
        let report = store.verify().unwrap();
        assert!(report.is_clean() && report.entries == 50_000, "{report:?}");
        let mut tx = store.begin();
        // Dropping gives everything back.
        drop(store.build_table().unwrap());
        tx.put(TableId::CATALOG, b"k", b"v").unwrap();
        tx.delete(TableId::CATALOG, b"k").unwrap();
        drop(tx);
        store.close().unwrap();
    }
    let store = open(&path, &options);
    let before = store.stats();
    let mut tx = store.begin();
    tx.drop_table(TableId::from_u64(1)).unwrap();
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    store.checkpoint().unwrap();
    assert!(store.verify().unwrap().is_clean());
    let after = store.stats();
    let used = |stats: &Stats| stats.file_bytes - stats.free_bytes - stats.log_bytes;
    assert!(used(&after) < used(&before) / 4, "{before:?} {after:?}");
}

#[test]
fn a_table_that_is_built_for_nothing_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("nothing"), &Options::default());
    let built = |values: usize| {
        let mut builder = store.build_table().unwrap();
        for number in 0..1000u32 {
            builder.push_with_values(&key(number), b"head", &vec![[7; 3000].as_slice(); values]).unwrap();
        }
        builder
    };
    drop(built(2));
    drop(built(1).finish().unwrap());
    let mut tx = store.begin();
    tx.attach(built(3).finish().unwrap()).unwrap();
    drop(tx);
    assert!(store.verify().unwrap().is_clean());
    store.checkpoint().unwrap();
    let report = store.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert!(report.used_bytes < 1 << 20, "{report:?}");
}

#[test]
fn a_backup_holds_one_moment_while_writers_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("source"), &Options::default());
    let mut tx = store.begin();
    let table = tx.create_table().unwrap();
    tx.commit().unwrap();
    let put = |round: u32| {
        let mut tx = store.begin();
        let value = vec![round as u8; 5000];
        tx.append(table, NewRecord { head: &key(round), values: &[NewValue::New(&value)] }).unwrap();
        tx.put(TableId::CATALOG, &key(round), b"").unwrap();
        tx.commit().unwrap();
    };
    (0..3000).for_each(put);
    let target = folder.path().join("target");
    std::thread::scope(|scope| {
        scope.spawn(|| (3000..4000).for_each(put));
        let mut reports = 0;
        let mut on_progress = |progress: CopyProgress| {
            reports += 1;
            assert!(progress.done <= progress.total);
            Ok(())
        };
        store.backup_to(&target, &mut on_progress).unwrap();
        assert!(reports > 2);
    });
    let copy = open(&target, &Options::default());
    let (snapshot, report) = (copy.snapshot(), copy.verify().unwrap());
    assert!(report.is_clean(), "{:?}", report.problems);
    let count = snapshot.count(table).unwrap();
    assert!((3000..=4000).contains(&count) && count == snapshot.count(TableId::CATALOG).unwrap());
    assert_eq!(snapshot.next_row(table).unwrap().get(), count + 1);
    let last = snapshot.get(table, &count.to_be_bytes()).unwrap().unwrap();
    assert_eq!(last.head(), key(count as u32 - 1));
    assert_eq!(&*last.value(0).unwrap(), vec![(count - 1) as u8; 5000]);
    // Not over something that exists, and nothing is left of one that was stopped.
    assert!(store.backup_to(&target, &mut |_| Ok(())).is_err());
    let stopped = folder.path().join("stopped");
    assert_eq!(store.backup_to(&stopped, &mut |_| Err(Error::Interrupted)), Err(Error::Interrupted));
    assert!(!stopped.exists());
}
