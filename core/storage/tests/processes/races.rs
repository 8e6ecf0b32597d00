//! Several processes that want the same file: one at a time gets it, and none loses what another wrote.

use crate::*;

const TURNS: u64 = 25;
const PROCESSES: u64 = 3;

/// Not a test: opens the file again and again, and counts on in it.
#[test]
fn child_that_races() {
    let Some(path) = child_path() else { return };
    let inside = path.with_extension("inside");
    let mut turns = 0;
    let mut refused = 0;
    while turns < TURNS {
        let store = match open(&path, &Options::default()) {
            Ok(store) => store,
            Err(Error::Locked { .. }) => {
                refused += 1;
                assert!(refused < 1_000_000, "the file never gets free");
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        // Fails when another process believes that it has the file.
        drop(std::fs::OpenOptions::new().write(true).create_new(true).open(&inside).unwrap());
        let before = store.snapshot().get(T, b"counter").unwrap();
        let before = before.map_or(0, |record| u64::from_be_bytes(record.head().try_into().unwrap()));
        let mut tx = store.begin();
        tx.put(T, b"counter", &(before + 1).to_be_bytes()).unwrap();
        store.wait_durable(tx.commit().unwrap().sequence).unwrap();
        std::fs::remove_file(&inside).unwrap();
        if turns % 2 == 0 {
            store.close().unwrap();
        }
        turns += 1;
    }
    println!("refused {refused} times");
}

#[test]
fn one_process_at_a_time_has_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("raced");
    // The file does not exist yet: the first to come creates it, and nobody sees it half made.
    let children: Vec<Child> =
        (0..PROCESSES).map(|_| start_child("races::child_that_races", &path)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = open(&path, &Options::default()).unwrap();
    let counter = store.snapshot().get(T, b"counter").unwrap().unwrap();
    assert_eq!(counter.head(), (PROCESSES * TURNS).to_be_bytes());
    assert!(store.verify().unwrap().is_clean());
}
