//! Many threads at once on a disk that makes them wait: the group commit, and what checkpoints give back under readers.
//!
//! Not a model checker: the engine locks through parking_lot, and loom and shuttle see only primitives of their own, so
//! all of the engine would have to be written over a second set of locks for them. Instead the disk under the real code
//! yields or sleeps at every call by a seeded plan, which moves the points at which threads meet, and every thread
//! checks what it is promised.

use crate::watched::WatchedDisk;
use crate::world::options;
use multifora_storage::sim::{Keep, Random, SimDisk, Tear};
use multifora_storage::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const T: TableId = TableId::CATALOG;

/// A disk that yields, or sleeps a little, before and after calls.
fn slow_disk(seed: u64) -> Arc<WatchedDisk> {
    let random = Mutex::new(Random::new(seed));
    WatchedDisk::new(SimDisk::new(seed), move |_| {
        let (choice, micros) = {
            let mut random = random.lock().unwrap();
            (random.below(4), random.below(200))
        };
        match choice {
            0 => std::thread::sleep(Duration::from_micros(micros)),
            1 | 2 => std::thread::yield_now(),
            _ => {}
        }
    })
}

/// What thread `thread` writes in its round `round`: one record, of which everything follows from the round.
fn write(store: &Store, thread: u64, round: u64) -> Result<Sequence> {
    let head = vec![round as u8; 40 + round as usize % 200];
    let value = vec![round as u8 ^ 0x5a; 3000];
    let mut tx = store.begin();
    let values = [NewValue::New(&value)];
    let record = NewRecord { head: &head, values: if round.is_multiple_of(3) { &values } else { &[] } };
    tx.put(T, &thread.to_be_bytes(), record)?;
    tx.put(T, &[thread.to_be_bytes(), round.to_be_bytes()].concat(), &head)?;
    Ok(tx.commit()?.sequence)
}

/// The round that a snapshot shows of a thread: both records of a commit, or neither.
fn round_of(snapshot: &Snapshot, thread: u64, rounds: u64) -> Result<Option<u64>> {
    let Some(record) = snapshot.get(T, &thread.to_be_bytes())? else { return Ok(None) };
    let from = thread.to_be_bytes();
    let to = (thread + 1).to_be_bytes();
    // The record itself stands in front of its rounds.
    let count = snapshot.count_range(T, &KeyRange::between(&from, &to))? - 1;
    assert!(count >= 1 && count <= rounds);
    let round = count - 1;
    assert_eq!(record.head(), vec![round as u8; 40 + round as usize % 200], "half of a commit");
    if round.is_multiple_of(3) {
        assert_eq!(*record.value(0)?, vec![round as u8 ^ 0x5a; 3000]);
    }
    Ok(Some(round))
}

fn many_threads(seed: u64, threads: u64, rounds: u64) {
    let slow = slow_disk(seed);
    let tuning = Tuning {
        direct_from_bytes: if seed.is_multiple_of(2) { 1000 } else { 512 << 10 },
        pinned_min_bytes: if seed.is_multiple_of(3) { 64 << 10 } else { 64 << 20 },
    };
    let background = seed.is_multiple_of(2);
    let store =
        Store::open_on(slow.clone(), &Options { cache_bytes: 0, tuning, background, ..options() }).unwrap();
    let acknowledged: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (store, acknowledged, is_over, slow) = (&store, &acknowledged, &is_over, &slow);
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..rounds {
                        let sequence = write(store, thread, round).unwrap();
                        store.wait_durable(sequence).unwrap();
                        assert!(store.stats().durable_sequence >= sequence.get());
                        acknowledged[thread as usize].store(round + 1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        // Checkpoints give back what was replaced while readers read.
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                store.checkpoint().unwrap();
            }
        });
        scope.spawn(|| {
            let mut held: Vec<(Snapshot, Vec<Option<u64>>)> = Vec::new();
            while !is_over.load(Ordering::SeqCst) {
                let snapshot = store.snapshot();
                let look = |snapshot: &Snapshot| {
                    (0..threads).map(|thread| round_of(snapshot, thread, rounds)).collect::<Result<Vec<_>>>()
                };
                match look(&snapshot) {
                    Ok(seen) => held.push((snapshot, seen)),
                    Err(error) => assert_eq!(error, Error::SnapshotTooOld),
                }
                held.retain(|(snapshot, seen)| match look(snapshot) {
                    Ok(again) => {
                        assert_eq!(&again, seen, "a snapshot changed");
                        true
                    }
                    Err(error) => {
                        assert_eq!(error, Error::SnapshotTooOld);
                        false
                    }
                });
                if held.len() > 4 {
                    held.remove(0);
                }
            }
        });
        // The power fails now and then, on a copy of the disk: what was acknowledged before is there.
        scope.spawn(|| {
            let mut crash = 0;
            while !is_over.load(Ordering::SeqCst) {
                let before: Vec<u64> =
                    acknowledged.iter().map(|rounds| rounds.load(Ordering::SeqCst)).collect();
                let left = slow.disk.crash(Keep::Subset, Tear::Sectors512, seed + crash);
                crash += 1;
                crate::count_crash_point();
                let found = Store::open_on(left, &options()).unwrap();
                let snapshot = found.snapshot();
                for (thread, before) in (0..).zip(before) {
                    let there = round_of(&snapshot, thread, rounds).unwrap().map_or(0, |round| round + 1);
                    assert!(there >= before, "thread {thread}: {there} rounds, {before} acknowledged");
                }
                let report = found.verify().unwrap();
                assert!(report.is_clean(), "{:?}", report.problems);
                std::thread::sleep(Duration::from_millis(5));
            }
            crate::report_crash_points("threads");
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
    });
    let report = store.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    store.close().unwrap();
    drop(store);
    let store = Store::open_on(slow.disk.clone(), &options()).unwrap();
    assert_eq!(store.snapshot().count(T).unwrap(), threads * (rounds + 1));
    assert!(store.verify().unwrap().is_clean());
}

#[test]
fn threads_that_commit_read_and_take_checkpoints() {
    for seed in 0..crate::seeds(4) {
        many_threads(seed, 2 + seed % 7, 40);
    }
}
