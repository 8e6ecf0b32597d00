//! Reads, writes and syncs that fail at call number N, once and for good.

use crate::crash::{Checked, Life};
use crate::world::{Habits, World, options};
use multifora_storage::sim::{Call, Keep, Plan, SimDisk, Tear};
use multifora_storage::*;
use std::io::ErrorKind;
use std::sync::Arc;

/// Lives on after every clean error; stops at the first that poisons the handle.
fn live_with_errors(life: &Life, disk: &Arc<SimDisk>) -> std::result::Result<(World, bool), String> {
    let mut world = World::new(life.seed, life.habits);
    let mut has_failed = false;
    let mut opened = None;
    for step in 0..life.steps {
        let store = match &opened {
            Some(store) => Store::clone(store),
            None => match world.open(disk) {
                Ok(store) => {
                    // What was not acknowledged may have gone with the last handle.
                    check_in_spite(&mut world, &store)?;
                    opened.insert(store).clone()
                }
                Err(Error::Io { .. } | Error::Full { .. } | Error::Poisoned { .. }) => {
                    has_failed = true;
                    continue;
                }
                Err(other) => return Err(format!("opening in step {step}: {other}")),
            },
        };
        match world.step(&store) {
            Ok(()) => {}
            Err(Error::Io { .. } | Error::Full { .. }) => {
                has_failed = true;
                // A clean error: everything is as it was before, for readers too. What they see need not be on the disk.
                let acknowledged = world.acknowledged;
                check_in_spite(&mut world, &store)?;
                world.acknowledged = acknowledged;
            }
            Err(Error::Poisoned { .. }) => {
                expect_dead(&store)?;
                world.let_go();
                return Ok((world, true));
            }
            Err(other) => return Err(format!("step {step}: {other}")),
        }
        drop(store);
        if step % life.reopen_every == life.reopen_every - 1 {
            // Dropping writes nothing that was not acknowledged or visible; errors have nobody to go to.
            world.let_go();
            opened = None;
        }
    }
    world.let_go();
    Ok((world, has_failed))
}

/// Compares; that blocks cannot be read back while reads fail is no fault of the store's.
fn check_in_spite(world: &mut World, store: &Store) -> Checked {
    world
        .check(store)
        .or_else(|what| if what.contains("Io {") || what.contains(": cannot ") { Ok(()) } else { Err(what) })
}

/// Nothing works on a poisoned handle, and nothing is tried again.
fn expect_dead(store: &Store) -> Checked {
    let mut tx = store.begin();
    tx.put(TableId::CATALOG, b"k", b"v").map_err(|error| error.to_string())?;
    let results = [tx.commit().map(|_| ()), store.checkpoint(), store.sync(), store.close()];
    match results.iter().all(|result| matches!(result, Err(Error::Poisoned { .. }))) {
        true => Ok(()),
        false => Err(format!("a poisoned handle goes on: {results:?}")),
    }
}

fn fail_everywhere(life: &Life, call: Call, once: bool, kind: ErrorKind) -> Checked {
    let what =
        |n: u64, text: String| format!("{life:?}, {call:?} {n} fails with {kind:?}, once {once}: {text}");
    for n in 0.. {
        let disk = SimDisk::new(life.seed);
        disk.set_plan(Plan::FailAt { call, n, once, kind });
        let (world, has_failed) = live_with_errors(life, &disk).map_err(|text| what(n, text))?;
        let has_reached = disk.calls(call) > n;
        disk.set_plan(Plan::Fine);
        // Both what the next process sees without a crash, and what a crash leaves.
        for keep in [Keep::Everything, Keep::Nothing, Keep::Subset] {
            let mut world = world.branch();
            let disk = disk.crash(keep, Tear::Sectors512, n);
            let store =
                Store::open_on(disk, &options()).map_err(|error| what(n, format!("{keep:?}: {error}")))?;
            world.check(&store).map_err(|text| what(n, format!("{keep:?}: {text}")))?;
        }
        if !has_reached {
            return if has_failed { Err(what(n, "an error out of nowhere".to_owned())) } else { Ok(()) };
        }
    }
    Ok(())
}

#[test]
fn calls_fail_everywhere() {
    for seed in 0..crate::seeds(1) {
        for life in [
            Life { seed, steps: 22, habits: Habits::of(seed, 300), reopen_every: 7 },
            Life { seed: seed + 100, steps: 16, habits: Habits::of(seed + 100, 60_000), reopen_every: 9 },
        ] {
            for call in [Call::Read, Call::Write, Call::Sync] {
                for once in [true, false] {
                    fail_everywhere(&life, call, once, ErrorKind::Other).unwrap();
                }
            }
            fail_everywhere(&life, Call::Write, true, ErrorKind::StorageFull).unwrap();
            fail_everywhere(&life, Call::Write, false, ErrorKind::StorageFull).unwrap();
        }
    }
}
