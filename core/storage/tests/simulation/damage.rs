//! Damaged bytes: right data or Corrupt, never a wrong answer, never a panic.

use crate::crash::Checked;
use crate::model::{Difference, ModelState, compare_table};
use crate::world::{Habits, World, options};
use multifora_storage::sim::{Keep, Random, SimDisk, Tear};
use multifora_storage::*;
use std::sync::Arc;

const UNIT: usize = 4096;

/// A small file, and what it holds: commits in blocks, and commits in the log only unless it was closed.
fn small_file(seed: u64, is_closed: bool) -> (World, Vec<u8>) {
    let disk = SimDisk::new(seed);
    let tuning = Tuning { direct_from_bytes: 6000, ..Tuning::default() };
    let habits = Habits { largest_head: 300, keys: 12, bulk: 8, cache_bytes: 0, tuning };
    let mut world = World::new(seed, habits);
    let store = world.open(&disk).unwrap();
    for _ in 0..12 {
        world.step(&store).unwrap();
    }
    store.checkpoint().unwrap();
    for _ in 0..6 {
        world.step(&store).unwrap();
    }
    world.acknowledge(&store).unwrap();
    world.let_go();
    if is_closed {
        store.close().unwrap();
    }
    drop(store);
    (world, disk.image())
}

/// Positions to damage: all bytes of units that hold something up to their last one, and a few of the others.
fn positions(image: &[u8], every: usize) -> Vec<usize> {
    let mut positions = Vec::new();
    for (number, unit) in image.chunks(UNIT).enumerate() {
        let used = unit.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        positions.extend((0..used).step_by(every).map(|at| number * UNIT + at));
        positions.extend((used..unit.len()).step_by(1021).map(|at| number * UNIT + at));
    }
    positions
}

/// Every table gives what it holds, or the report names it, with a place in the file.
fn gives_or_names(store: &Store, report: &VerifyReport, model: &ModelState) -> Checked {
    for (&id, table) in &model.tables {
        match compare_table(&store.snapshot(), id, table) {
            Ok(()) => {}
            Err(Difference::Failed(Error::Corrupt { .. })) => {
                let in_table = |problem: &&Problem| problem.table == Some(TableId::from_u64(id));
                let named = report.problems.iter().filter(in_table).any(|problem| {
                    problem.lost != LostKeys::Nothing && problem.to_string().contains("at byte")
                });
                if !named {
                    return Err(format!("table {id} cannot be read, and the report says {report:?}"));
                }
            }
            Err(other) => return Err(format!("table {id}: {other}")),
        }
    }
    Ok(())
}

/// Opens a damaged image in both ways and compares.
fn check_damaged(world: &World, image: &[u8], what: &str) -> Checked {
    let newest = world.states.len() as u64 - 1;
    for read_only in [true, false] {
        let options = Options { read_only, ..options() };
        let store = match Store::open_on(SimDisk::from_image(image.to_vec(), 1), &options) {
            Err(Error::Corrupt { .. }) => continue,
            Err(other) => return Err(format!("{what}, read only {read_only}: {other}")),
            Ok(store) => store,
        };
        let mut expected = World::new(0, Habits::of(0, 1));
        expected.states = world.states.clone();
        let report = store.verify().map_err(|error| format!("{what}: verify: {error}"))?;
        if report.is_clean() {
            expected.acknowledged = newest;
            expected.check(&store).map_err(|found| format!("{what}, read only {read_only}: {found}"))?;
        } else {
            // It says that something is missing. What it gives must be right as far as it can be read, and whoever
            // may write has lost no commit.
            let sequence = store.stats().last_sequence;
            if !read_only && sequence != newest {
                return Err(format!("{what}: opened for writing after commit {sequence}"));
            }
            gives_or_names(&store, &report, &expected.states[sequence as usize]).map_err(|found| {
                format!("{what}, read only {read_only}, after commit {sequence}: {found}")
            })?;
        }
    }
    Ok(())
}

#[test]
fn every_byte_of_a_small_file() {
    for (seed, is_closed) in [(1, true), (2, false)] {
        let (world, image) = small_file(seed, is_closed);
        let every = if std::env::var_os("MULTIFORA_SIM_SEEDS").is_some() { 1 } else { 5 };
        for at in positions(&image, every) {
            let mut damaged = image.clone();
            damaged[at] ^= 1 << (at % 8);
            check_damaged(&world, &damaged, &format!("byte {at} of {}", image.len())).unwrap();
        }
    }
}

#[test]
fn units_lost_or_written_elsewhere() {
    let (world, image) = small_file(3, false);
    let used: Vec<usize> =
        (0..image.len() / UNIT).filter(|unit| image[unit * UNIT..][..UNIT].iter().any(|&b| b != 0)).collect();
    for &to in &used {
        for &from in used.iter().chain([&(image.len() / UNIT - 1)]) {
            let mut damaged = image.clone();
            damaged.copy_within(from * UNIT..(from + 1) * UNIT, to * UNIT);
            check_damaged(&world, &damaged, &format!("unit {from} written over unit {to}")).unwrap();
        }
    }
    for len in (0..image.len()).step_by(3 * UNIT / 2).skip(1) {
        let what = format!("cut to {len} bytes");
        // Without a superblock and without anything else it is a new file: what begins with zeros only.
        check_damaged(&world, &image[..len], &what).unwrap();
    }
}

/// Damages each frame of the log in turn: what was acknowledged and sealed must not vanish in silence.
pub fn flip_log_bytes() -> Checked {
    let (world, image) = small_file(2, false);
    for at in positions(&image, 5).into_iter().filter(|at| at / UNIT >= 8) {
        let mut damaged = image.clone();
        damaged[at] ^= 0x10;
        check_damaged(&world, &damaged, &format!("byte {at}"))?;
    }
    Ok(())
}

/// Uses the log's regions again and again, so that new frames lie over old ones, and crashes in the middle of them.
pub fn stale_frames_stay_dead() -> Checked {
    let disk = SimDisk::new(5);
    let text = |error: Error| error.to_string();
    let store = Store::open_on(disk.clone(), &options()).map_err(text)?;
    let mut random = Random::new(5);
    let mut bytes = vec![0; 60_000];
    for round in 0..500u64 {
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next().to_le_bytes()));
        let mut tx = store.begin();
        tx.put(TableId::CATALOG, b"key", &bytes).map_err(text)?;
        store.wait_durable(tx.commit().map_err(text)?.sequence).map_err(text)?;
        if round % 50 == 49 {
            store.checkpoint().map_err(text)?;
        }
        if round > 350 && round % 9 == 0 {
            let again = disk.crash(Keep::Nothing, Tear::Whole, round);
            let again =
                Store::open_on(again, &options()).map_err(|error| format!("round {round}: {error}"))?;
            let found = again.snapshot().get(TableId::CATALOG, b"key").map_err(text)?;
            if found.is_none_or(|record| record.head() != bytes) {
                return Err(format!("round {round}: another value than the last one"));
            }
        }
    }
    Ok(())
}

#[test]
fn old_frames_are_not_taken_for_new() {
    stale_frames_stay_dead().unwrap();
}

#[test]
fn a_torn_tail_is_cut_and_damage_is_refused() {
    let disk = SimDisk::new(1);
    let store = Store::open_on(disk.clone(), &options()).unwrap();
    let commit = |key: &[u8]| {
        let mut tx = store.begin();
        tx.put(TableId::CATALOG, key, b"value").unwrap();
        store.wait_durable(tx.commit().unwrap().sequence).unwrap();
    };
    commit(b"first key");
    commit(b"second key");
    let frame_of =
        |image: &[u8], key: &[u8]| image.windows(key.len()).position(|bytes| bytes == key).unwrap();
    let image = disk.image();
    let open = |image: &[u8], read_only| {
        Store::open_on(SimDisk::from_image(image.to_vec(), 1), &Options { read_only, ..options() })
    };
    let mut torn = image.clone();
    torn[frame_of(&image, b"second key")] ^= 1;
    assert_eq!(open(&torn, false).unwrap().stats().last_sequence, 1, "nothing follows it: a torn tail");
    let mut damaged = image.clone();
    damaged[frame_of(&image, b"first key")] ^= 1;
    match open(&damaged, false) {
        Err(Error::Corrupt { place, .. }) => assert!(place.contains("log at byte"), "{place}"),
        other => panic!("{:?}", other.map(|store| store.stats())),
    }
    let readable = open(&damaged, true).unwrap();
    assert_eq!(readable.stats().last_sequence, 0);
    assert!(!readable.verify().unwrap().is_clean());
    drop(store);
    let sealed = disk.image();
    let mut damaged = sealed.clone();
    damaged[frame_of(&image, b"second key")] ^= 1;
    assert!(open(&damaged, false).is_err(), "the seal behind it says that it was there");
    let store = Arc::new(open(&sealed, false).unwrap());
    assert_eq!(store.stats().last_sequence, 2);
}
