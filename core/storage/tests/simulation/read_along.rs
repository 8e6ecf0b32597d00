//! A reader whose file changes under it: at each of its reads in turn, a writer in another process goes on for a while.

use crate::model::compare;
use crate::watched::{Kind, Moment, WatchedDisk};
use crate::world::{Habits, World, options};
use multifora_storage::sim::{Random, SimDisk};
use multifora_storage::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What the writer does at that moment: enough for new log regions, and now and then a checkpoint.
const STEPS: u64 = 12;

/// Opens a reader and lets it look at the file; the writer goes on before read number `at`. False when there was none.
fn writer_goes_on_before(seed: u64, at: u64) -> bool {
    let disk = SimDisk::new(seed);
    let habits = Habits { cache_bytes: 0, ..Habits::of(seed, [1000, 60_000][seed as usize % 2]) };
    let mut world = World::new(seed, habits);
    let store = world.open(&disk).unwrap();
    for _ in 0..Random::new(seed).below(30) {
        world.step(&store).unwrap();
    }
    let acknowledged = world.acknowledged;
    let world = Arc::new(Mutex::new(world));
    let (reads, writing) = (Arc::new(AtomicU64::new(0)), (store.clone(), Arc::clone(&world)));
    let counted = Arc::clone(&reads);
    let watched = WatchedDisk::new(disk, move |moment| {
        if moment == Moment::Before(Kind::Read) && counted.fetch_add(1, Ordering::Relaxed) == at {
            let mut world = writing.1.lock().unwrap();
            (0..STEPS).for_each(|_| world.step(&writing.0).unwrap());
        }
    });
    let reading = Options { read_only: true, cache_bytes: 0, ..options() };
    let reader = Store::open_on(watched, &reading).unwrap();
    let opened = reader.stats().last_sequence;
    assert!(opened >= acknowledged, "seed {seed}, read {at}: opened at {opened} of {acknowledged}");
    let snapshot = reader.snapshot();
    let has_gone_on = reads.load(Ordering::Relaxed) > at;
    let model = {
        let world = world.lock().unwrap();
        Arc::clone(&world.states[snapshot.sequence().get() as usize])
    };
    match compare(&snapshot, &model) {
        Err(other) if !habits.has_limit() => panic!("seed {seed}, read {at}: {other}"),
        _ => {}
    }
    let report = reader.verify().unwrap();
    assert!(report.is_clean(), "seed {seed}, read {at}: {:?}", report.problems);
    let (newest, _) = world.lock().unwrap().seen_by(&reader);
    assert!(newest.sequence() >= snapshot.sequence());
    world.lock().unwrap().let_go();
    has_gone_on
}

#[test]
fn a_writer_goes_on_at_every_read_of_a_reader() {
    let mut moments = 0;
    for seed in 0..crate::seeds(20) {
        moments += (0..).take_while(|at| writer_goes_on_before(seed, *at)).count();
    }
    println!("{moments} moments");
}
