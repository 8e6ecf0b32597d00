//! Disks that are full: while loading, while a table is built, while a checkpoint is taken, while deleting.

use crate::crash::Checked;
use crate::world::{Habits, World, options};
use multifora_storage::sim::{Random, SimDisk};
use multifora_storage::*;
use std::sync::Arc;

const T: TableId = TableId::CATALOG;

/// Fills a disk to the brim, and empties it again by deletes.
#[test]
fn a_full_disk_is_a_clean_error_and_deletes_make_room() {
    for capacity_kib in [700, 900, 1500, 2500, 3000, 5000, 9000, 20_000] {
        let disk = SimDisk::new(capacity_kib);
        disk.set_capacity(capacity_kib * 1024);
        let store = Store::open_on(disk.clone(), &options()).unwrap();
        let mut random = Random::new(capacity_kib);
        let mut stored = 0u64;
        let mut put = |store: &Store, number: u64| {
            let head: Vec<u8> = (0..2000).flat_map(|_| random.next().to_le_bytes()).collect();
            let mut tx = store.begin();
            tx.put(T, &number.to_be_bytes(), &head)?;
            store.wait_durable(tx.commit()?.sequence)
        };
        let full = loop {
            match put(&store, stored) {
                Ok(()) => stored += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::Full { .. }), "{full}");
        assert!(stored >= capacity_kib / 120, "only {stored} records of 16 KiB in {capacity_kib} KiB");
        assert_eq!(store.snapshot().count(T).unwrap(), stored);
        assert!(store.verify().unwrap().is_clean());
        // Deletes go through, one by one, and what they free can be used.
        for number in 0..stored {
            let mut tx = store.begin();
            tx.delete(T, &number.to_be_bytes()).unwrap();
            let committed = tx
                .commit()
                .unwrap_or_else(|error| panic!("delete {number} of {stored} in {capacity_kib} KiB: {error}"));
            store.wait_durable(committed.sequence).unwrap();
        }
        // The log takes room, too, which was not needed while everything stood in it.
        for number in 0..stored / 4 {
            put(&store, number)
                .unwrap_or_else(|error| panic!("put {number} of {stored} in {capacity_kib} KiB: {error}"));
        }
        drop(store);
        let store = Store::open_on(disk, &options()).unwrap();
        assert_eq!(store.snapshot().count(T).unwrap(), stored / 4);
        assert!(store.verify().unwrap().is_clean());
    }
}

fn incompressible(random: &mut Random, len: u64) -> Vec<u8> {
    (0..len / 8).flat_map(|_| random.next().to_le_bytes()).collect()
}

/// Values that go straight to their place take room, too: they must leave enough for the deletes that follow.
#[test]
fn direct_values_fill_a_disk_and_deletes_make_room() {
    for capacity_kib in [1500, 2500, 5000, 9000] {
        let tuning = Tuning { direct_from_bytes: 20_000, ..Tuning::default() };
        let options = Options { tuning, cache_bytes: 64 << 10, ..options() };
        let disk = SimDisk::new(capacity_kib);
        disk.set_capacity(capacity_kib * 1024);
        let store = Store::open_on(disk.clone(), &options).unwrap();
        let mut random = Random::new(capacity_kib);
        let mut put = |number: u64| {
            let value = incompressible(&mut random, 40_000);
            let mut tx = store.begin();
            let record = NewRecord { head: b"head", values: &[NewValue::New(&value)] };
            tx.put(T, &number.to_be_bytes(), record)?;
            store.wait_durable(tx.commit()?.sequence)
        };
        let mut stored = 0u64;
        for _ in 0..3 {
            let full = loop {
                match put(stored) {
                    Ok(()) => stored += 1,
                    Err(error) => break error,
                }
            };
            assert!(matches!(full, Error::Full { .. }), "{full}");
            assert!(stored * 40 >= capacity_kib / 4, "{stored} values of 40 KB in {capacity_kib} KiB");
            assert_eq!(store.snapshot().count(T).unwrap(), stored);
            let report = store.verify().unwrap();
            assert!(report.is_clean(), "{:?}", report.problems);
            while stored > 5 {
                stored -= 1;
                let mut tx = store.begin();
                assert!(tx.delete(T, &stored.to_be_bytes()).unwrap());
                let committed = tx.commit().unwrap_or_else(|error| {
                    panic!("delete {stored} in {capacity_kib} KiB: {error}");
                });
                store.wait_durable(committed.sequence).unwrap();
            }
            store.checkpoint().unwrap();
        }
        drop(store);
        let store = Store::open_on(disk, &options).unwrap();
        assert_eq!(store.snapshot().count(T).unwrap(), stored);
        assert!(store.verify().unwrap().is_clean());
    }
}

/// A table for which there is no room is nobody's loss, and what was written of it is free again.
#[test]
fn a_table_is_built_on_a_full_disk() {
    let disk = SimDisk::new(1);
    disk.set_capacity(4 << 20);
    let store = Store::open_on(disk.clone(), &options()).unwrap();
    let mut random = Random::new(1);
    let used = store.verify().unwrap().used_bytes;
    let mut build = |records: u64| {
        let mut builder = store.build_table()?;
        for number in 0..records {
            let head = incompressible(&mut random, 4000);
            builder.push(&number.to_be_bytes(), &head)?;
        }
        builder.finish()
    };
    for _ in 0..3 {
        match build(2000) {
            Err(Error::Full { .. }) => {}
            other => panic!("{:?}", other.map(|built| built.count())),
        }
        let report = store.verify().unwrap();
        assert!(report.is_clean() && report.used_bytes == used, "{report:?}");
    }
    let built = build(500).unwrap();
    let mut tx = store.begin();
    let table = tx.attach(built).unwrap();
    store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    store.checkpoint().unwrap();
    let mut tx = store.begin();
    tx.drop_table(table).unwrap();
    store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    store.checkpoint().unwrap();
    let built = build(500).unwrap();
    drop(built);
    assert!(store.verify().unwrap().is_clean());
}

/// A checkpoint for which there is no room costs nothing: the log has everything, and it works once there is room.
#[test]
fn a_checkpoint_on_a_full_disk() {
    let disk = SimDisk::new(1);
    let store = Store::open_on(disk.clone(), &options()).unwrap();
    let mut random = Random::new(1);
    for number in 0..600u64 {
        let mut tx = store.begin();
        tx.put(T, &number.to_be_bytes(), &incompressible(&mut random, 4000)).unwrap();
        store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    }
    // Less than the file has already: no write beyond its end works.
    disk.set_capacity(0);
    let mut refused = 0;
    for number in 600..700u64 {
        // What the checkpoint needs was set aside with the log; rewriting everything again takes more.
        match store.checkpoint() {
            Err(Error::Full { .. }) => refused += 1,
            result => result.unwrap(),
        }
        let mut tx = store.begin();
        (0..600u64).for_each(|key| {
            tx.put(T, &key.to_be_bytes(), &incompressible(&mut random, 4000 + number)).unwrap();
        });
        match tx.commit().and_then(|committed| store.wait_durable(committed.sequence)) {
            Err(Error::Full { .. }) => refused += 1,
            result => result.unwrap(),
        }
        assert_eq!(store.snapshot().count(T).unwrap(), 600);
    }
    assert!(refused > 10, "the disk was never full");
    let report = store.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    let mut tx = store.begin();
    (0..500u64).for_each(|key| assert!(tx.delete(T, &key.to_be_bytes()).unwrap()));
    store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    disk.set_capacity(u64::MAX);
    store.checkpoint().unwrap();
    drop(store);
    let store = Store::open_on(disk, &options()).unwrap();
    assert_eq!(store.snapshot().count(T).unwrap(), 100);
    assert!(store.verify().unwrap().is_clean());
}

/// Deletes everything, table by table, which has to work however full the disk is.
fn empty(world: &mut World, store: &Store) -> Checked {
    world.let_go();
    world.delete_everything(store).map_err(|error| format!("deleting: {error}"))?;
    store.checkpoint().map_err(|error| format!("a checkpoint after deleting: {error}"))?;
    world.check(store)
}

/// Says how often the disk was full.
fn life_on_a_small_disk(seed: u64, disk: &Arc<SimDisk>) -> std::result::Result<u64, String> {
    let mut world = World::new(seed, Habits { bulk: 120, ..Habits::of(seed, 20_000) });
    let mut fulls = 0;
    for _ in 0..4 {
        let store = world.open(disk).map_err(|error| format!("opening: {error}"))?;
        world.check(&store)?;
        for _ in 0..120 {
            match world.step(&store) {
                Ok(()) => {}
                Err(Error::Full { .. }) => {
                    fulls += 1;
                    let acknowledged = world.acknowledged;
                    world.check(&store)?;
                    world.acknowledged = acknowledged;
                    if fulls % 4 == 0 {
                        empty(&mut world, &store)?;
                    }
                }
                Err(other) => return Err(format!("a step on a full disk: {other}")),
            }
        }
        world.acknowledge(&store).map_err(|error| error.to_string())?;
        world.let_go();
        drop(store);
    }
    Ok(fulls)
}

#[test]
fn lives_on_small_disks() {
    let seeds = crate::seeds(6);
    let mut fulls = 0;
    for seed in 0..seeds {
        let disk = SimDisk::new(seed);
        disk.set_capacity((900 + seed % 6 * 150) << 10);
        fulls += life_on_a_small_disk(seed, &disk).map_err(|what| format!("seed {seed}: {what}")).unwrap();
    }
    assert!(fulls > 10 * seeds, "the disks were full {fulls} times");
}
