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

fn is_conflict<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Conflict { .. }))
}

#[test]
fn the_first_writer_of_a_key_has_it() {
    let store = memory();
    let put = |tx: &mut Transaction, value: &[u8]| tx.put(T, b"k", value);
    // Both insert: the second is told at its write, and cannot commit any more.
    let (mut a, mut b) = (store.begin(), store.begin());
    put(&mut a, b"1").unwrap();
    put(&mut a, b"1, again").unwrap();
    assert!(b.conflict().is_none() && is_conflict(put(&mut b, b"2")) && b.conflict().is_some());
    b.put(T, b"other", b"x").unwrap();
    a.commit().unwrap();
    assert!(is_conflict(b.commit()));
    // The first is done, but the second has not seen it.
    let (mut a, mut b) = (store.begin(), store.begin());
    put(&mut b, b"4").unwrap();
    b.commit().unwrap();
    assert!(is_conflict(a.delete(T, b"k")) && is_conflict(a.commit()));
    // One replaces what the other deletes.
    let (mut a, mut b) = (store.begin(), store.begin());
    assert!(a.delete(T, b"k").unwrap());
    assert!(is_conflict(put(&mut b, b"5")));
    drop(a);
    // Whoever gives up leaves the key to others, and nothing else behind.
    assert!(is_conflict(b.commit()));
    let mut c = store.begin();
    put(&mut c, b"6").unwrap();
    c.commit().unwrap();
    assert_eq!(store.snapshot().get(T, b"k").unwrap().unwrap().head(), b"6");
    assert!(store.snapshot().get(T, b"other").unwrap().is_none());
}

/// Of a transaction that writes very many keys the last ones are found out at the commit.
#[test]
fn keys_beyond_the_intents_conflict_at_the_commit() {
    let store = memory();
    let (mut large, mut small) = (store.begin(), store.begin());
    for number in 0..5000u64 {
        large.put(T, &number.to_be_bytes(), b"large").unwrap();
    }
    small.put(T, &4999u64.to_be_bytes(), b"small").unwrap();
    small.commit().unwrap();
    assert!(is_conflict(large.commit()));
    assert_eq!(store.snapshot().count(T).unwrap(), 1);
}

#[test]
fn unique_entries_conflict_before_they_are_there() {
    let store = memory();
    let mut setup = store.begin();
    let (rows, unique) = (setup.create_table().unwrap(), setup.create_table().unwrap());
    setup.commit().unwrap();
    let enter = |tx: &mut Transaction| {
        let row = tx.append(rows, b"doc")?;
        tx.put_entry(unique, b"name", row, EntryKind::Unique)
    };
    let (mut a, mut b) = (store.begin(), store.begin());
    enter(&mut a).unwrap();
    assert!(is_conflict(enter(&mut b)));
    a.commit().unwrap();
    assert!(matches!(enter(&mut store.begin()), Err(Error::DuplicateKey { .. })));
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
    assert!(is_conflict(guarding.commit()));
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
    tx.put_entry(unique, b"own", row, EntryKind::Unique).unwrap();
    let second = tx.append(rows, b"second").unwrap();
    assert_eq!(
        tx.put_entry(unique, b"own", second, EntryKind::Unique).unwrap_err(),
        Error::DuplicateKey { row }
    );
    let (c, _) = insert(b"new");
    assert!(is_conflict(tx.put_entry(unique, b"new", second, EntryKind::Unique)));
    c.commit().unwrap();
    assert!(is_conflict(tx.commit()));

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
    assert!(is_conflict(writing.commit()));
    assert!(store.snapshot().count(table).is_err());
    assert_eq!(before.get(table, b"k").unwrap().unwrap().head(), b"v");
    assert!(store.begin().drop_table(T).is_err());
}

#[test]
fn who_waits_for_a_key_does_not_lose_it_again() {
    let store = memory();
    let mut tx = store.begin();
    tx.put(T, b"n", &0u64.to_le_bytes()).unwrap();
    tx.commit().unwrap();
    let read =
        |tx: &Transaction| u64::from_le_bytes(tx.get(T, b"n").unwrap().unwrap().head().try_into().unwrap());
    let add = |mut tx: Transaction| {
        let next = read(&tx) + 1;
        tx.put(T, b"n", &next.to_le_bytes())?;
        tx.commit()
    };
    std::thread::scope(|scope| {
        for thread in 0..5 {
            let store = store.clone();
            scope.spawn(move || {
                for _ in 0..200 {
                    if thread == 0 {
                        add(store.begin_exclusive().unwrap()).unwrap();
                        continue;
                    }
                    let Err(Error::Conflict { on }) = add(store.begin()) else { continue };
                    let mut keys = ContendedKeys::default();
                    keys.add(on);
                    // Only somebody who takes no intents can still be faster.
                    while add(store.begin_holding(&keys, &mut || false).unwrap()).is_err() {}
                }
            });
        }
    });
    assert_eq!(read(&store.begin()), 1000);
    // Who waits can be stopped, and leaves the key free.
    let mut holder = store.begin();
    holder.put(T, b"n", b"x").unwrap();
    let mut keys = ContendedKeys::default();
    let mut other = store.begin();
    let Err(Error::Conflict { on }) = other.put(T, b"n", b"y") else { panic!("no conflict") };
    keys.add(on);
    let stopped = store.begin_holding(&keys, &mut || true);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    drop(holder);
    store.begin_holding(&keys, &mut || true).unwrap();
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
