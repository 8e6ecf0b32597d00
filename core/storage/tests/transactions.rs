//! Transactions over a store in memory: what they see, what they give, when they conflict.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

use multifora_storage::*;
use std::ops::Bound;

const T: TableId = TableId::CATALOG;

fn memory() -> Store {
    Store::open(&Location::Memory, &Options::default()).unwrap()
}

fn keys(read: &dyn Read, table: TableId, direction: Direction) -> Vec<Vec<u8>> {
    let mut scan = read.scan(table, KeyRange::all(), direction).unwrap();
    let mut keys = Vec::new();
    while let Some(entry) = scan.next().unwrap() {
        keys.push(entry.key.to_vec());
    }
    keys
}

#[test]
fn a_transaction_sees_its_own_writes_and_nobody_else_does() {
    let store = memory();
    let mut first = store.begin();
    first.put(T, b"a", b"1").unwrap();
    first.put(T, b"b", b"2").unwrap();
    let committed = first.commit().unwrap();
    assert_eq!(committed.sequence.get(), 1);

    let before = store.snapshot();
    let mut tx = store.begin();
    assert!(tx.delete(T, b"a").unwrap());
    assert!(!tx.delete(T, b"a").unwrap());
    tx.put(T, b"c", b"3").unwrap();
    assert_eq!(keys(&tx, T, Direction::Backward), [b"c", b"b"]);
    tx.put(T, b"bb", b"4").unwrap();
    assert_eq!(keys(&tx, T, Direction::Forward), [b"b".as_slice(), b"bb", b"c"]);
    assert_eq!(tx.count(T).unwrap(), 3);
    let range = KeyRange { lower: Bound::Excluded(b"b".to_vec()), upper: Bound::Unbounded };
    assert_eq!(tx.count_range(T, &range).unwrap(), 2);
    assert_eq!(tx.get(T, b"c").unwrap().unwrap().version(), Sequence::UNCOMMITTED);
    assert_eq!(keys(&store.snapshot(), T, Direction::Forward), [b"a", b"b"]);
    let committed = tx.commit().unwrap();
    assert_eq!(keys(&store.snapshot(), T, Direction::Forward), [b"b".as_slice(), b"bb", b"c"]);
    assert_eq!(store.snapshot().get(T, b"c").unwrap().unwrap().version(), committed.sequence);
    assert_eq!(keys(&before, T, Direction::Forward), [b"a", b"b"]);
}

#[test]
fn the_first_committer_of_a_key_wins() {
    let store = memory();
    let write = |value: &[u8]| {
        let mut tx = store.begin();
        tx.put(T, b"k", value).unwrap();
        tx
    };
    // Both insert, both replace, one replaces what the other deletes, in either order.
    let (a, b) = (write(b"1"), write(b"2"));
    a.commit().unwrap();
    assert_eq!(b.commit().unwrap_err(), Error::Conflict);
    let (a, b) = (write(b"3"), write(b"4"));
    b.commit().unwrap();
    assert_eq!(a.commit().unwrap_err(), Error::Conflict);
    let (mut a, b) = (store.begin(), write(b"5"));
    a.delete(T, b"k").unwrap();
    a.commit().unwrap();
    assert_eq!(b.commit().unwrap_err(), Error::Conflict);
    write(b"6").commit().unwrap();
    let (mut a, b) = (store.begin(), write(b"7"));
    a.delete(T, b"k").unwrap();
    b.commit().unwrap();
    assert_eq!(a.commit().unwrap_err(), Error::Conflict);
    assert_eq!(store.snapshot().get(T, b"k").unwrap().unwrap().head(), b"7");
    // Another key is nobody's business, and a conflict leaves nothing behind.
    let (a, mut b) = (write(b"8"), write(b"9"));
    b.put(T, b"other", b"x").unwrap();
    a.commit().unwrap();
    assert_eq!(b.commit().unwrap_err(), Error::Conflict);
    assert!(store.snapshot().get(T, b"other").unwrap().is_none());
}

#[test]
fn guards_conflict_when_their_key_changed() {
    let store = memory();
    let mut guarding = store.begin();
    guarding.guard(T, b"meta").unwrap();
    guarding.put(T, b"mine", b"x").unwrap();
    let mut tx = store.begin();
    tx.put(T, b"meta", b"1").unwrap();
    tx.commit().unwrap();
    assert_eq!(guarding.commit().unwrap_err(), Error::Conflict);
    let mut guarding = store.begin();
    guarding.guard(T, b"meta").unwrap();
    guarding.put(T, b"mine", b"x").unwrap();
    guarding.commit().unwrap();
}

#[test]
fn rows_are_numbered_in_commit_order() {
    let store = memory();
    let mut setup = store.begin();
    let rows = setup.create_table().unwrap();
    let plain = setup.create_table().unwrap();
    let unique = setup.create_table().unwrap();
    setup.commit().unwrap();

    let insert = |name: &[u8]| {
        let mut tx = store.begin();
        let row = tx.append(rows, name).unwrap();
        assert!(row.is_provisional());
        tx.put_entry(plain, b"k", row, EntryKind::Plain).unwrap();
        tx.put_entry(unique, name, row, EntryKind::Unique).unwrap();
        (tx, row)
    };
    let (a, _) = insert(b"a");
    let (b, row) = insert(b"b");
    assert_eq!(b.get(rows, &row.to_key()).unwrap().unwrap().head(), b"b");
    let b = b.commit().unwrap();
    let a = a.commit().unwrap();
    assert_eq!((b.rows[0].get(), a.rows[0].get()), (1, 2));
    let now = store.snapshot();
    assert_eq!(now.get(rows, &a.rows[0].to_key()).unwrap().unwrap().head(), b"a");
    assert_eq!(now.get(unique, b"a").unwrap().unwrap().head(), a.rows[0].to_key());
    assert_eq!(
        keys(&now, plain, Direction::Forward),
        [[b"k".as_slice(), &b.rows[0].to_key()].concat(), [b"k".as_slice(), &a.rows[0].to_key()].concat()]
    );

    // A unique key collides inside a transaction, against the store, and between two transactions.
    let mut tx = store.begin();
    let row = tx.append(rows, b"again").unwrap();
    assert_eq!(
        tx.put_entry(unique, b"a", row, EntryKind::Unique).unwrap_err(),
        Error::DuplicateKey { row: a.rows[0] }
    );
    tx.put_entry(unique, b"new", row, EntryKind::Unique).unwrap();
    let second = tx.append(rows, b"second").unwrap();
    assert_eq!(
        tx.put_entry(unique, b"new", second, EntryKind::Unique).unwrap_err(),
        Error::DuplicateKey { row }
    );
    let (c, _) = insert(b"new");
    c.commit().unwrap();
    assert_eq!(tx.commit().unwrap_err(), Error::Conflict);

    // An appended row can be written again and deleted before it is committed; its number stays used.
    let mut tx = store.begin();
    let gone = tx.append(rows, b"gone").unwrap();
    let kept = tx.append(rows, b"kept").unwrap();
    tx.put(rows, &kept.to_key(), b"kept and changed").unwrap();
    tx.delete(rows, &gone.to_key()).unwrap();
    let done = tx.commit().unwrap();
    assert_eq!(done.rows[1].get(), done.rows[0].get() + 1);
    let now = store.snapshot();
    assert!(now.get(rows, &done.rows[0].to_key()).unwrap().is_none());
    assert_eq!(now.get(rows, &done.rows[1].to_key()).unwrap().unwrap().head(), b"kept and changed");

    let mut tx = store.begin();
    assert!(!tx.delete_entry(unique, b"a", b.rows[0], EntryKind::Unique).unwrap());
    assert!(tx.delete_entry(unique, b"a", a.rows[0], EntryKind::Unique).unwrap());
    assert!(tx.delete_entry(plain, b"k", a.rows[0], EntryKind::Plain).unwrap());
    tx.commit().unwrap();
    assert!(store.snapshot().get(unique, b"a").unwrap().is_none());
}

#[test]
fn values_are_kept_by_number() {
    let store = memory();
    let big = vec![7u8; 5000];
    let mut tx = store.begin();
    tx.put(T, b"k", NewRecord { head: b"h1", values: &[NewValue::New(&big), NewValue::New(b"two")] })
        .unwrap();
    tx.commit().unwrap();
    let old = store.snapshot();
    let mut tx = store.begin();
    tx.put(
        T,
        b"k",
        NewRecord { head: b"h2", values: &[NewValue::Keep(1), NewValue::New(b"three"), NewValue::Keep(0)] },
    )
    .unwrap();
    tx.put(T, b"k", NewRecord { head: b"h3", values: &[NewValue::Keep(2), NewValue::Keep(1)] }).unwrap();
    let too_many = NewRecord { head: b"", values: &[NewValue::Keep(2)] };
    assert!(matches!(tx.put(T, b"k", too_many), Err(Error::Misuse { .. })));
    tx.commit().unwrap();
    let now = store.snapshot().get(T, b"k").unwrap().unwrap();
    assert_eq!((now.head(), now.value_count()), (b"h3".as_slice(), 2));
    assert_eq!(&now.value(0).unwrap()[..], &big[..]);
    assert_eq!(&now.value(1).unwrap()[..], b"three");
    assert!(now.value(2).is_err());
    assert_eq!(&old.get(T, b"k").unwrap().unwrap().value(1).unwrap()[..], b"two");
}

#[test]
fn tables_come_and_go_with_their_transaction() {
    let store = memory();
    let mut tx = store.begin();
    let table = tx.create_table().unwrap();
    tx.put(table, b"k", b"v").unwrap();
    assert_eq!(tx.count(table).unwrap(), 1);
    drop(tx);
    assert_eq!(store.snapshot().count(table).unwrap_err(), Error::NoTable { table: table.get() });

    let mut tx = store.begin();
    let table = tx.create_table().unwrap();
    tx.put(table, b"k", b"v").unwrap();
    tx.commit().unwrap();
    let before = store.snapshot();
    let mut writing = store.begin();
    writing.put(table, b"k2", b"v").unwrap();
    let mut tx = store.begin();
    tx.drop_table(table).unwrap();
    assert!(
        tx.get(table, b"k").is_err() && tx.put(table, b"k", b"v").is_err() && tx.drop_table(table).is_err()
    );
    let next = tx.create_table().unwrap();
    assert!(next > table);
    tx.drop_table(next).unwrap();
    tx.commit().unwrap();
    assert_eq!(writing.commit().unwrap_err(), Error::Conflict);
    assert!(store.snapshot().count(table).is_err());
    assert_eq!(before.get(table, b"k").unwrap().unwrap().head(), b"v");
    assert!(store.begin().drop_table(T).is_err());
}

#[test]
fn exclusive_transactions_do_not_lose() {
    let store = memory();
    let mut tx = store.begin();
    tx.put(T, b"n", &0u64.to_le_bytes()).unwrap();
    tx.commit().unwrap();
    let read =
        |tx: &Transaction| u64::from_le_bytes(tx.get(T, b"n").unwrap().unwrap().head().try_into().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for _ in 0..200 {
                    loop {
                        let mut tx =
                            if thread == 0 { store.begin_exclusive().unwrap() } else { store.begin() };
                        let next = read(&tx) + 1;
                        tx.put(T, b"n", &next.to_le_bytes()).unwrap();
                        match tx.commit() {
                            Ok(_) => break,
                            Err(error) => assert!(error == Error::Conflict && thread != 0),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(read(&store.begin()), 800);
}

#[test]
fn limits_are_errors() {
    let store = memory();
    let mut tx = store.begin();
    let key = vec![0; MAX_KEY_BYTES + 1];
    assert!(matches!(tx.put(T, &key, b""), Err(Error::TooLarge { what: "a key", .. })));
    assert!(tx.is_empty());
    store.close().unwrap();
    let mut tx = store.begin();
    tx.put(T, b"k", b"").unwrap();
    assert_eq!(tx.commit().unwrap_err(), Error::Closed);
}
