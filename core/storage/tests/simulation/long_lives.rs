//! Long random lives against the model, with crashes at random moments.

use crate::count_crash_point;
use crate::crash::{CRASHES, Checked};
use crate::world::{Habits, World, options};
use multifora_storage::sim::{Plan, Random, SimDisk};
use multifora_storage::*;

pub fn long_life(seed: u64, steps: u64) -> Checked {
    let mut random = Random::new(seed ^ 0x10f3);
    let largest_head = [50, 1000, 30_000, 300_000][seed as usize % 4];
    let mut disk = SimDisk::new(seed);
    let mut world = World::new(seed, Habits::of(seed, largest_head));
    let mut done = 0;
    while done < steps {
        let at = random.below(400);
        disk.set_plan(if random.one_in(4) { Plan::Fine } else { Plan::CrashAt(at) });
        let store = match world.open(&disk) {
            Ok(store) => store,
            Err(error) if !disk.is_off() => {
                return Err(format!("seed {seed}, step {done}: opening: {error}"));
            }
            Err(_) => {
                count_crash_point();
                let (keep, tear) = CRASHES[random.below(CRASHES.len() as u64) as usize];
                disk = disk.crash(keep, tear, random.next());
                continue;
            }
        };
        if !disk.is_off() {
            world.check(&store).map_err(|what| format!("seed {seed}, step {done}: {what}"))?;
        }
        let mut result = Ok(());
        for _ in 0..random.below(120) {
            result = world.step(&store);
            done += 1;
            if result.is_err() {
                break;
            }
        }
        if let (Err(error), false) = (&result, disk.is_off()) {
            return Err(format!("seed {seed}, step {done}: {error}"));
        }
        world.let_go();
        if result.is_ok() && random.one_in(2) {
            result = store.close();
        }
        drop(store);
        if result.is_err() || random.one_in(3) {
            count_crash_point();
            let (keep, tear) = CRASHES[random.below(CRASHES.len() as u64) as usize];
            disk = disk.crash(keep, tear, random.next());
        }
    }
    Ok(())
}

#[test]
fn long_random_lives() {
    // 31: changes written outside the log became a log region in a place where none may be.
    for seed in (0..crate::seeds(12)).chain([31]) {
        long_life(seed, 600).unwrap();
    }
    crate::report_crash_points("long lives");
}

/// Endless rewriting does not let the file grow without bound, and deleting lets it shrink.
#[test]
fn the_file_stays_near_its_live_data() {
    let disk = SimDisk::new(1);
    let store = Store::open_on(disk.clone(), &options()).unwrap();
    let mut random = Random::new(1);
    let mut write = |keys: u64, commits: u64| {
        for _ in 0..commits {
            let mut tx = store.begin();
            for _ in 0..20 {
                let key = random.below(keys).to_be_bytes();
                let head: Vec<u8> = (0..125).flat_map(|_| random.next().to_le_bytes()).collect();
                tx.put(TableId::CATALOG, &key, &head).unwrap();
            }
            store.wait_durable(tx.commit().unwrap().sequence).unwrap();
            if store.stats().log_bytes > 4 << 20 {
                store.checkpoint().unwrap();
            }
        }
        store.checkpoint().unwrap();
    };
    write(12_000, 1200);
    let live = 12_000 * 1000;
    let grown = disk.image().len();
    write(12_000, 1800);
    let later = disk.image().len();
    assert!(
        later < grown + grown / 5 && later < live * 4,
        "{grown} bytes, then {later}, for {live} bytes of data"
    );
    let mut tx = store.begin();
    for key in 100..12_000u64 {
        tx.delete(TableId::CATALOG, &key.to_be_bytes()).unwrap();
    }
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    for _ in 0..40 {
        write(100, 20);
    }
    // What is left is mostly log: regions of 4 MiB, and as much free for the next checkpoint.
    assert!(disk.image().len() < 16 << 20, "{} bytes left of {later}", disk.image().len());
    assert!(store.verify().unwrap().is_clean());
}
