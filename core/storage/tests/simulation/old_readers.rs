//! Readers that stay while everything is written again and again: they read exactly what was there when they began, or
//! are told that they are too old; either way the file does not grow without bound.

use crate::model::{Difference, ModelState, compare};
use crate::world::options;
use multifora_storage::sim::{Random, SimDisk};
use multifora_storage::*;
use std::sync::Arc;

const T: TableId = TableId::CATALOG;
const KEYS: u64 = 600;
const PINNED_BYTES: u64 = 1 << 20;

/// Writes every record again, and takes a checkpoint now and then.
fn rewrite(store: &Store, model: &mut ModelState, random: &mut Random) {
    for chunk in 0..KEYS / 50 {
        let mut tx = store.begin();
        for key in chunk * 50..(chunk + 1) * 50 {
            let key = key.to_be_bytes();
            let head: Vec<u8> = (0..60).flat_map(|_| random.next().to_le_bytes()).collect();
            let value: Vec<u8> = (0..300).flat_map(|_| random.next().to_le_bytes()).collect();
            let values = [NewValue::New(&value)];
            tx.put(T, &key, NewRecord { head: &head, values: &values }).unwrap();
            model.table_mut(0).records.insert(key.to_vec(), Arc::new((head, vec![value])));
        }
        store.wait_durable(tx.commit().unwrap().sequence).unwrap();
        if chunk % 4 == 3 {
            store.checkpoint().unwrap();
        }
    }
}

/// An hour of a cursor, by the number of times that the data was replaced rather than by the clock: nothing in the
/// engine looks at one here.
#[test]
fn a_cursor_that_stays_does_not_let_the_file_grow() {
    let disk = SimDisk::new(1);
    let tuning = Tuning { pinned_min_bytes: PINNED_BYTES, ..Tuning::default() };
    let store = Store::open_on(disk.clone(), &Options { cache_bytes: 0, tuning, ..options() }).unwrap();
    let mut random = Random::new(1);
    let mut model = ModelState::empty();
    for _ in 0..4 {
        rewrite(&store, &mut model, &mut random);
    }
    let without_reader = disk.image().len() as u64;
    let (mut told, mut after_two) = (0, 0);
    for round in 0..6 {
        let (snapshot, then) = (store.snapshot(), model.clone());
        let mut cursor = snapshot.scan(T, KeyRange::all(), Direction::Forward).unwrap();
        cursor.next().unwrap().unwrap();
        for times in 0..12 {
            rewrite(&store, &mut model, &mut random);
            match compare(&snapshot, &then) {
                Ok(()) => assert!(times < 2, "round {round}: nothing was ever taken from the reader"),
                Err(Difference::Failed(Error::SnapshotTooOld)) => told += 1,
                Err(other) => panic!("round {round}, written {times} times: {other}"),
            }
        }
        let end = loop {
            match cursor.next() {
                Ok(Some(_)) => {}
                other => break other.map(|entry| entry.is_some()),
            }
        };
        assert_eq!(end, Err(Error::SnapshotTooOld), "round {round}");
        let report = store.verify().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        if round == 1 {
            after_two = disk.image().len() as u64;
        }
    }
    assert!(told >= 6 * 10, "{told}");
    let with_readers = disk.image().len() as u64;
    assert!(
        with_readers < without_reader * 3 / 2 && with_readers <= after_two + after_two / 10,
        "{with_readers} bytes with readers that stay, {after_two} after two of them, {without_reader} without"
    );
    // Whoever begins now reads everything.
    compare(&store.snapshot(), &model).unwrap();
}

/// What a reader pins below the limit stays his, however long he stays.
#[test]
fn a_reader_below_the_limit_reads_on() {
    let store = Store::open_on(SimDisk::new(2), &Options { cache_bytes: 0, ..options() }).unwrap();
    let mut random = Random::new(2);
    let mut model = ModelState::empty();
    rewrite(&store, &mut model, &mut random);
    let (snapshot, then) = (store.snapshot(), model.clone());
    for _ in 0..10 {
        rewrite(&store, &mut model, &mut random);
        compare(&snapshot, &then).unwrap();
    }
    let pinned = store.verify().unwrap().used_bytes;
    drop(snapshot);
    store.checkpoint().unwrap();
    rewrite(&store, &mut model, &mut random);
    let report = store.verify().unwrap();
    assert!(report.is_clean() && report.used_bytes < pinned / 2, "{pinned} bytes, then {report:?}");
}
