//! A child of fork has its parent's file open, and must not disturb it: it writes nothing, unlocks nothing, waits for
//! no thread.

use crate::*;

/// What the child does with what it inherited; a number other than 0 says what went wrong.
fn act_as_child(store: Store, snapshot: Snapshot, builder: TableBuilder, mut begun: Transaction) -> i32 {
    let is_refused = |result: Result<()>| matches!(result, Err(Error::Misuse { .. } | Error::Closed));
    if snapshot.count(T).ok() != Some(200) {
        return 1;
    }
    if begun.put(T, b"child", b"v").is_err() || !is_refused(begun.commit().map(drop)) {
        return 2;
    }
    let large = vec![7; 1 << 20];
    let mut tx = store.begin();
    let values = [NewValue::New(&large)];
    if tx.put(T, b"large", NewRecord { head: b"h", values: &values }).is_err()
        || !is_refused(tx.commit().map(drop))
    {
        return 3;
    }
    if !is_refused(store.checkpoint()) || !is_refused(store.sync()) {
        return 4;
    }
    if !is_refused(store.build_table().map(drop)) || !is_refused(builder.finish().map(drop)) {
        return 5;
    }
    if store.clone().close().is_err() {
        return 6;
    }
    drop((snapshot, store));
    0
}

#[test]
fn a_child_of_fork_leaves_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forked");
    let store = open(&path, &Options::default()).unwrap();
    let put = |number: u64| {
        let mut tx = store.begin();
        let value = bytes_of(number, 4000);
        let values = [NewValue::New(&value)];
        tx.put(T, &number.to_be_bytes(), NewRecord { head: b"head", values: &values }).unwrap();
        store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    };
    (0..200).for_each(put);
    let mut builder = store.build_table().unwrap();
    (0..500u64).for_each(|number| builder.push(&number.to_be_bytes(), &[1; 500]).unwrap());
    let (inherited, snapshot, begun) = (store.clone(), store.snapshot(), store.begin());
    // Until the store's own thread has nothing to do: nobody holds a lock when the child is made.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let before = std::fs::read(&path).unwrap();
    // SAFETY: the child runs this program's own code only, allocates through an allocator that survives fork, and ends
    // by `_exit` without unwinding into the test runner.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let acted = std::panic::AssertUnwindSafe(move || act_as_child(inherited, snapshot, builder, begun));
        let code = std::panic::catch_unwind(acted).unwrap_or(99);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(code) };
    }
    assert!(child > 0);
    assert_eq!(wait_for(child), Some(0), "what the child did wrong: see act_as_child");
    // Not a byte was written, nobody else gets in, and the parent goes on.
    assert!(std::fs::read(&path).unwrap() == before, "the child wrote into the file");
    assert!(
        matches!(open(&path, &Options::default()), Err(Error::Locked { .. })),
        "the child unlocked the file"
    );
    drop((inherited, snapshot, begun));
    let built = builder.finish().unwrap();
    let mut tx = store.begin();
    let table = tx.attach(built).unwrap();
    store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    (200..300).for_each(put);
    store.checkpoint().unwrap();
    assert!(store.verify().unwrap().is_clean());
    store.close().unwrap();
    drop(store);
    let store = open(&path, &Options::default()).unwrap();
    assert_eq!(store.snapshot().count(T).unwrap(), 300);
    assert_eq!(store.snapshot().count(table).unwrap(), 500);
    assert!(store.verify().unwrap().is_clean());
}

/// The child's exit code; none when it did not end by itself within a minute.
fn wait_for(child: i32) -> Option<i32> {
    for _ in 0..6000 {
        let mut status = 0;
        // SAFETY: waits for a child of this process, and writes to a local variable.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // SAFETY: ends a child of this process.
    unsafe { libc::kill(child, libc::SIGKILL) };
    None
}
