//! Processes that are killed lose nothing that they acknowledged: small commits, values that go straight to their
//! place, kept values, tables that are built, checkpoints.

use crate::*;
use std::io::{BufRead, BufReader};

fn options(round: u64) -> Options {
    let direct_from_bytes = [512 << 10, 30_000][round as usize % 2];
    let cache_bytes = [0, 1 << 20, 256 << 20][round as usize % 3];
    // Whoever reads along has all the time that he needs.
    let tuning = Tuning { direct_from_bytes, pinned_min_bytes: 1 << 40 };
    Options { cache_bytes, tuning, ..Options::default() }
}

/// What record `number` holds: its head, and its values once they are complete.
fn head_of(number: u64) -> Vec<u8> {
    // Some are so large that their commit goes outside the log.
    bytes_of(number, if number % 37 == 36 { 700_000 } else { number as usize % 3000 })
}

fn values_of(number: u64) -> Vec<Vec<u8>> {
    match number % 8 {
        1 => vec![bytes_of(number, 40_000)],
        3 => vec![bytes_of(number, 5_000), bytes_of(number + 1, 3_000)],
        5 if number % 40 == 5 => vec![bytes_of(number, 600_000)],
        _ => Vec::new(),
    }
}

/// The table that comes with a record, by the number in front of its keys.
const TABLE_EVERY: u64 = 23;
const TABLE_RECORDS: u64 = 150;

fn build(store: &Store, number: u64) -> Result<BuiltTable> {
    let mut builder = store.build_table()?;
    for record in 0..TABLE_RECORDS {
        let value = bytes_of(number + record, 3000);
        let values: &[&[u8]] = if record % 16 == 0 { &[&value] } else { &[] };
        builder.push_with_values(&record.to_be_bytes(), &bytes_of(number ^ record, 300), values)?;
    }
    builder.finish()
}

fn check_table(snapshot: &Snapshot, table: TableId, number: u64) {
    assert_eq!(snapshot.count(table).unwrap(), TABLE_RECORDS);
    for record in [0, number % TABLE_RECORDS, 144] {
        let found = snapshot.get(table, &record.to_be_bytes()).unwrap().unwrap();
        assert_eq!(found.head(), bytes_of(number ^ record, 300));
        if record % 16 == 0 {
            assert_eq!(*found.value(0).unwrap(), bytes_of(number + record, 3000));
        }
    }
}

fn write(store: &Store, number: u64) -> Result<()> {
    let mut tx = store.begin();
    let (head, values) = (head_of(number), values_of(number));
    let values: Vec<NewValue> = values.iter().map(|value| NewValue::New(value)).collect();
    tx.put(T, &number.to_be_bytes(), NewRecord { head: &head, values: &values })?;
    if number.is_multiple_of(TABLE_EVERY) {
        let table = tx.attach(build(store, number)?)?;
        tx.put(T, &[b"table".as_slice(), &number.to_be_bytes()].concat(), &table.get().to_be_bytes())?;
    }
    // The record of a while ago is written again and keeps its values.
    if let Some(earlier) = number.checked_sub(6) {
        let kept: Vec<NewValue> = (0..values_of(earlier).len() as u32).map(NewValue::Keep).collect();
        tx.put(T, &earlier.to_be_bytes(), NewRecord { head: &head_of(earlier), values: &kept })?;
    }
    store.wait_durable(tx.commit()?.sequence)
}

/// Not a test: what the next one runs in a process of its own, to be killed. Prints every number that was acknowledged.
#[test]
fn child_that_is_killed() {
    let Some(path) = child_path() else { return };
    let opened = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let store = open(&path, &options(opened / 4096)).unwrap();
    let tables = store.stats().tables - 1;
    let first = store.snapshot().count(T).unwrap() - tables;
    for number in first.. {
        write(&store, number).unwrap();
        println!("done {number}");
        if number % 31 == 30 {
            store.checkpoint().unwrap();
        }
        if number % 97 == 96 {
            // Somebody reads everything meanwhile.
            drop(store.build_table().unwrap());
            assert!(store.verify().unwrap().is_clean());
        }
    }
}

fn check(store: &Store, acknowledged: u64, is_all: bool) -> u64 {
    let snapshot = store.snapshot();
    let tables = store.stats().tables - 1;
    let count = snapshot.count(T).unwrap() - tables;
    assert!(count > acknowledged, "{count} records, {acknowledged} acknowledged");
    assert_eq!(tables, count.div_ceil(TABLE_EVERY));
    let from = if is_all { 0 } else { count.saturating_sub(150) };
    for number in from..count {
        let record = snapshot.get(T, &number.to_be_bytes()).unwrap().unwrap();
        assert_eq!(record.head(), head_of(number));
        let values = values_of(number);
        assert_eq!(record.value_count(), values.len());
        for (index, value) in values.iter().enumerate() {
            assert!(*record.value(index).unwrap() == **value, "value {index} of record {number}");
        }
        if number.is_multiple_of(TABLE_EVERY) {
            let key = [b"table".as_slice(), &number.to_be_bytes()].concat();
            let table = snapshot.get(T, &key).unwrap().unwrap();
            check_table(
                &snapshot,
                TableId::from_u64(u64::from_be_bytes(table.head().try_into().unwrap())),
                number,
            );
        }
    }
    let report = store.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    count
}

#[test]
fn killed_processes_lose_nothing_that_they_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed");
    let rounds: u64 =
        std::env::var("MULTIFORA_KILL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6);
    for round in 0..rounds {
        let mut child = start_child("killed::child_that_is_killed", &path);
        let (mut last, mut reader) = (None, None);
        let mut left = 20 + round * 37 % 120;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let Ok(line) = line else { break };
            if let Some((_, number)) = line.split_once("done ") {
                last = number.parse::<u64>().ok();
                left = left.saturating_sub(1);
                if left % 16 == 3 {
                    // Reads along in this process, which sees at least what it was told of.
                    let along = Options { read_only: true, ..options(round + 1) };
                    let reader = reader.get_or_insert_with(|| open(&path, &along).unwrap());
                    check(reader, last.unwrap(), false);
                }
                if left == 0 {
                    // Not always between two commits.
                    std::thread::sleep(std::time::Duration::from_micros(round % 16 * 400));
                    child.kill().unwrap();
                }
            }
        }
        child.wait().unwrap();
        let last = last.unwrap_or_else(|| panic!("round {round}: the child did nothing"));
        assert_eq!(left, 0, "round {round}: the child ended by itself after {last}");
        // A reader keeps nobody from writing.
        let store = open(&path, &options(round)).unwrap();
        let count = check(&store, last, round % 10 == 9 || round + 1 == rounds);
        drop(store);
        if let Some(reader) = reader {
            assert_eq!(check(&reader, last, false), count);
        }
        if count > 1500 {
            std::fs::remove_file(&path).unwrap();
        }
    }
    println!("{rounds} processes killed");
}
