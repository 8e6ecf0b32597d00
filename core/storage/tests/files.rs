//! Stores in real files: locks, errors of opening, threads.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

use multifora_storage::*;
use std::path::Path;

const T: TableId = TableId::CATALOG;

fn open(path: &Path) -> Result<Store> {
    Store::open(&Location::File(path.to_path_buf()), &Options::default())
}

fn open_read_only(path: &Path) -> Result<Store> {
    Store::open(&Location::File(path.to_path_buf()), &Options { read_only: true, ..Options::default() })
}

fn put(store: &Store, key: &[u8], head: &[u8]) {
    let mut tx = store.begin();
    tx.put(T, key, head).unwrap();
    store.wait_durable(tx.commit().unwrap().sequence).unwrap();
}

#[test]
fn one_file_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mfdb");
    let store = open(&path).unwrap();
    assert!(store.stats().file_bytes < 1 << 20, "an empty database is under 1 MiB");
    put(&store, b"k", b"v");
    let names = || {
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["a.mfdb"]);
    // Locked for other writers, by name, also inside the process.
    let Err(error) = open(&path) else { panic!("opened twice") };
    assert!(error.to_string().contains(&format!("is locked by pid {}", std::process::id())), "{error}");
    // Readers read beside it, and see every commit.
    let along = open_read_only(&path).unwrap();
    let before = along.snapshot();
    put(&store, b"k2", b"v");
    assert_eq!((before.count(T).unwrap(), along.snapshot().count(T).unwrap()), (1, 2));
    store.checkpoint().unwrap();
    put(&store, b"k3", b"v");
    assert_eq!(along.snapshot().count(T).unwrap(), 3);
    let Err(error) = compact(&path, &Options::default(), &mut |_| Ok(())) else { panic!("compacted") };
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop((before, along));
    store.close().unwrap();
    assert_eq!(store.begin().commit().unwrap_err(), Error::Closed);
    let store = open(&path).unwrap();
    assert_eq!(store.snapshot().count(T).unwrap(), 3);
    assert!(store.verify().unwrap().is_clean());
    drop(store);
    // Reading changes nothing, and keeps nobody from writing but from putting another file in its place.
    let before = std::fs::read(&path).unwrap();
    let (a, b) = (open_read_only(&path).unwrap(), open_read_only(&path).unwrap());
    let Err(error) = compact(&path, &Options::default(), &mut |_| Ok(())) else { panic!("compacted") };
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert_eq!(a.snapshot().get(T, b"k2").unwrap().unwrap().head(), b"v");
    let mut tx = b.begin();
    tx.put(T, b"k", b"v").unwrap();
    assert_eq!(tx.commit().unwrap_err(), Error::ReadOnly);
    assert!(a.verify().unwrap().is_clean());
    assert!(std::fs::read(&path).unwrap() == before);
    let store = open(&path).unwrap();
    put(&store, b"k4", b"v");
    assert_eq!(a.snapshot().count(T).unwrap(), 4);
    store.close().unwrap();
    assert_eq!((a.snapshot().count(T).unwrap(), b.snapshot().count(T).unwrap()), (4, 4));
    drop((a, b, store));
    assert_eq!(names(), ["a.mfdb"]);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let text = |result: Result<Store>| result.err().map(|error| error.to_string()).unwrap_or_default();
    let path = folder.path().join("missing");
    let no_create = Options { create: false, ..Options::default() };
    assert!(text(Store::open(&Location::File(path.clone()), &no_create)).contains("cannot open"));
    assert!(text(open_read_only(&path)).contains("missing"));
    assert!(!path.exists());
    assert!(text(open(folder.path())).contains("cannot open"));
    let path = folder.path().join("random");
    std::fs::write(&path, [b"random bytes".as_slice(); 5000].concat()).unwrap();
    assert!(text(open(&path)).contains("not a MultiforaDB file"));
    let path = folder.path().join("empty");
    std::fs::write(&path, b"").unwrap();
    assert_eq!(open_read_only(&path).unwrap().snapshot().count(T).unwrap(), 0);
    put(&open(&path).unwrap(), b"k", b"v");
    assert_eq!(open(&path).unwrap().snapshot().count(T).unwrap(), 1);
}

#[test]
fn many_threads_share_syncs_while_checkpoints_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads");
    let store = open(&path).unwrap();
    let mut tx = store.begin();
    let table = tx.create_table().unwrap();
    tx.commit().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let store = store.clone();
            scope.spawn(move || {
                for number in 0..120u64 {
                    let mut tx = store.begin();
                    tx.append(table, &vec![thread as u8; 2000]).unwrap();
                    tx.put(T, &(thread * 1000 + number).to_be_bytes(), b"").unwrap();
                    let committed = tx.commit().unwrap();
                    store.wait_durable(committed.sequence).unwrap();
                    if thread == 0 && number % 20 == 19 {
                        store.checkpoint().unwrap();
                    }
                    // A reader sees both writes of every commit or neither.
                    let now = store.snapshot();
                    assert_eq!(now.count(T).unwrap(), now.count(table).unwrap());
                }
            });
        }
    });
    assert_eq!(store.stats().durable_sequence, 8 * 120 + 1);
    assert!(store.verify().unwrap().is_clean());
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!(store.snapshot().count(table).unwrap(), 960);
    assert_eq!(store.snapshot().next_row(table).unwrap().get(), 961);
}

#[test]
fn relaxed_commits_reach_the_disk_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("relaxed");
    let options = Options { durability: Durability::Relaxed { every_ms: 5 }, ..Options::default() };
    let store = Store::open(&Location::File(path), &options).unwrap();
    for number in 0..100u64 {
        put(&store, &number.to_be_bytes(), b"v");
    }
    let start = std::time::Instant::now();
    while store.stats().durable_sequence < 100 {
        assert!(start.elapsed().as_secs() < 20);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(store.stats().log_syncs < 100);
}
