//! A crash at every write and every sync of a store's life, and at every one of the recovery, twice.

use crate::model::compare;
use crate::world::{Habits, World, options};
use crate::{count_crash_point, report_crash_points};
use multifora_storage::sim::{Keep, Plan, SimDisk, Tear};
use multifora_storage::*;
use std::sync::Arc;

pub type Checked = std::result::Result<(), String>;

/// What a crash leaves of the operations that were not synced.
pub const CRASHES: [(Keep, Tear); 9] = [
    (Keep::Nothing, Tear::Whole),
    (Keep::Everything, Tear::Whole),
    (Keep::Everything, Tear::Sectors512),
    (Keep::Prefix, Tear::Sectors512),
    (Keep::Prefix, Tear::Sectors4096),
    (Keep::Subset, Tear::Whole),
    (Keep::Subset, Tear::Sectors512),
    (Keep::Subset, Tear::Sectors512),
    (Keep::Subset, Tear::Sectors4096),
];

/// One life of a store that is repeated again and again, each time cut off somewhere else.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub seed: u64,
    pub steps: u64,
    pub habits: Habits,
    /// Opened anew after so many steps, with and without closing in turn.
    pub reopen_every: u64,
}

/// Lives it until something fails.
pub fn live(life: &Life, disk: &Arc<SimDisk>) -> (World, Result<()>) {
    let mut world = World::new(life.seed, life.habits);
    let result = (|| {
        let mut store = world.open(disk)?;
        for step in 1..=life.steps {
            world.step(&store)?;
            if step % life.reopen_every == 0 {
                world.let_go();
                if (step / life.reopen_every).is_multiple_of(2) {
                    world.acknowledge(&store)?;
                    store.close()?;
                }
                drop(store);
                store = world.open(disk)?;
            }
        }
        world.acknowledge(&store)?;
        world.let_go();
        store.close()
    })();
    world.let_go();
    (world, result)
}

/// A life cut off at its change number `at`; `None` when it has fewer.
fn cut_off(life: &Life, at: u64) -> std::result::Result<Option<(World, Arc<SimDisk>)>, String> {
    let disk = SimDisk::new(life.seed);
    disk.set_plan(Plan::CrashAt(at));
    let (world, result) = live(life, &disk);
    match result {
        Err(error) if !disk.is_off() => Err(format!("{life:?}: an error while the power was on: {error}")),
        result => Ok(result.is_err().then_some((world, disk))),
    }
}

/// Opens what a crash left, compares, goes on for a little while, and opens again.
fn check_and_go_on(world: &mut World, disk: &Arc<SimDisk>) -> Checked {
    let open = |world: &mut World| world.open(disk).map_err(|error| format!("opening: {error}"));
    let store = open(world)?;
    world.check(&store)?;
    let go_on = |world: &mut World| {
        for _ in 0..3 {
            world.step(&store)?;
        }
        world.acknowledge(&store)?;
        store.checkpoint()
    };
    go_on(world).map_err(|error| format!("going on: {error}"))?;
    world.let_go();
    drop(store);
    let store = open(world)?;
    world.check(&store).map_err(|what| format!("opened again: {what}"))
}

/// Crashes everywhere, in every way.
pub fn crash_everywhere(life: &Life) -> Checked {
    for at in 0.. {
        let Some((world, dead)) = cut_off(life, at)? else {
            return if at < 20 { Err(format!("the life ended after {at} changes")) } else { Ok(()) };
        };
        for (number, &(keep, tear)) in CRASHES.iter().enumerate() {
            let disk = dead.crash(keep, tear, life.seed + at * 31 + number as u64);
            count_crash_point();
            check_and_go_on(&mut world.branch(), &disk).map_err(|what| {
                format!("{life:?}, crash at {at}, {keep:?} {tear:?} (number {number}): {what}")
            })?;
        }
    }
    Ok(())
}

/// Crashes everywhere, and again at every change of the recovery, and again.
pub fn crash_in_recovery(life: &Life, every: u64) -> Checked {
    for at in (0..).step_by(every as usize) {
        let Some((world, dead)) = cut_off(life, at)? else { return Ok(()) };
        let (keep, tear) = CRASHES[(at / every) as usize % CRASHES.len()];
        let first = dead.crash(keep, tear, life.seed + at);
        for during in 0.. {
            // The same image each time: a crash that keeps everything of a disk on which nothing happened.
            let disk = first.crash(Keep::Everything, Tear::Whole, at);
            disk.set_plan(Plan::CrashAt(during));
            let is_open = world.branch().open(&disk).is_ok();
            if is_open {
                break;
            }
            let (keep, tear) = CRASHES[(at + during) as usize % CRASHES.len()];
            let second = disk.crash(keep, tear, life.seed + at + during);
            second.set_plan(Plan::CrashAt(during / 2));
            let _ = world.branch().open(&second);
            count_crash_point();
            let third = second.crash(tear_keep(during), tear, at + during);
            check_and_go_on(&mut world.branch(), &third).map_err(|what| {
                format!("{life:?}, crash at {at}, again at {during} of the recovery: {what}")
            })?;
        }
    }
    Ok(())
}

fn tear_keep(during: u64) -> Keep {
    [Keep::Subset, Keep::Nothing, Keep::Everything, Keep::Prefix][during as usize % 4]
}

/// Lives that together meet everything: small commits, log regions that fill up, reopening all the time.
pub fn lives(seed: u64) -> [Life; 3] {
    let habits = |number, largest_head| Habits::of(seed + number, largest_head);
    [
        Life { seed, steps: 40, habits: habits(0, 300), reopen_every: 15 },
        Life { seed: seed + 1, steps: 24, habits: habits(1, 60_000), reopen_every: 17 },
        Life { seed: seed + 2, steps: 20, habits: habits(2, 2_000), reopen_every: 4 },
    ]
}

#[test]
fn a_crash_at_every_change_of_a_life() {
    for seed in 0..crate::seeds(2) {
        for life in lives(seed * 1000) {
            crash_everywhere(&life).unwrap();
        }
    }
    report_crash_points("crashes at every change");
}

#[test]
fn a_crash_at_every_change_of_recovery_twice() {
    for seed in 0..crate::seeds(1) {
        for life in lives(seed * 1000 + 500) {
            crash_in_recovery(&life, 7).unwrap();
        }
    }
    report_crash_points("crashes at every change of recovery");
}

/// A backup becomes a database with its last commit: cut off at any change of its disk, it is empty or whole.
#[test]
fn a_backup_that_is_cut_off_is_empty_or_whole() {
    let mut world = World::new(7, Habits { bulk: 300, keys: 400, ..Habits::of(7, 3000) });
    let source = SimDisk::new(7);
    let store = world.open(&source).unwrap();
    for _ in 0..60 {
        world.step(&store).unwrap();
    }
    for at in 0.. {
        let target = SimDisk::new(at);
        target.set_plan(Plan::CrashAt(at));
        let copied = store.backup_onto(target.clone(), &options(), &mut |_| Ok(()));
        for (number, &(keep, tear)) in CRASHES.iter().enumerate() {
            let left = target.crash(keep, tear, at * 31 + number as u64);
            let copy = Store::open_on(left, &options()).unwrap();
            count_crash_point();
            let is_whole = compare(&copy.snapshot(), world.newest()).is_ok();
            let is_empty = copy.stats().tables == 1 && copy.snapshot().count(TableId::CATALOG).unwrap() == 0;
            assert!(
                if copied.is_ok() { is_whole } else { is_whole || is_empty },
                "crash at {at}, number {number}"
            );
            let report = copy.verify().unwrap();
            assert!(report.is_clean(), "crash at {at}, number {number}: {:?}", report.problems);
        }
        if copied.is_ok() {
            assert!(at > 10, "a backup of {at} changes");
            break;
        }
    }
    report_crash_points("backups cut off");
}
