//! Every fault that can be planted in the engine must be caught by one of the checks of this suite.

use crate::crash::{Checked, crash_everywhere, crash_in_recovery, lives};
use crate::damage::{flip_log_bytes, stale_frames_stay_dead};
use crate::long_lives::long_life;
use multifora_storage::fault::{Fault, plant};

type Check = fn() -> Checked;

fn crashes() -> Checked {
    for seed in 0..6 {
        for life in lives(seed * 1000) {
            crash_everywhere(&life)?;
            crash_in_recovery(&life, 5)?;
        }
    }
    Ok(())
}

fn lives_of_readers() -> Checked {
    (0..12).try_for_each(|seed| long_life(seed, 400))
}

fn more_lives_of_readers() -> Checked {
    (0..60).try_for_each(|seed| long_life(seed, 400))
}

/// Each fault, and the check that is to notice it.
const FAULTS: [(Fault, Check); 24] = [
    (Fault::LogNotSynced, crashes),
    (Fault::AcknowledgedEarly, crashes),
    (Fault::SuperblockNotSynced, crashes),
    (Fault::BlocksNotSynced, crashes),
    (Fault::ReusedEarly, crashes),
    (Fault::ValueFreedEarly, crashes),
    (Fault::RegionNotNamed, crashes),
    (Fault::EntryNotSynced, crashes),
    (Fault::LengthNotSynced, crashes),
    (Fault::RowNumbersForgotten, lives_of_readers),
    (Fault::DamageTakenForTail, flip_log_bytes),
    (Fault::UnsaltedFrames, stale_frames_stay_dead),
    (Fault::KeptValueFreed, lives_of_readers),
    (Fault::ReusedUnderSnapshot, lives_of_readers),
    (Fault::ReleasedEpochEarly, lives_of_readers),
    (Fault::ReusedUnderReader, lives_of_readers),
    (Fault::ProvisionalLeftOut, lives_of_readers),
    (Fault::ProvisionalTooLong, lives_of_readers),
    (Fault::MapWithoutItself, lives_of_readers),
    (Fault::DirectNotSynced, crashes),
    (Fault::AttachedNotMarked, lives_of_readers),
    (Fault::DirectNotMarked, lives_of_readers),
    (Fault::OriginsForgotten, lives_of_readers),
    (Fault::CacheByPlaceOnly, more_lives_of_readers),
];

/// Runs a check with a fault in the engine. A panic of the check is a catch, too.
fn is_caught(fault: Fault, check: Check) -> bool {
    plant(Some(fault));
    let result = std::panic::catch_unwind(check);
    plant(None);
    let caught = !matches!(result, Ok(Ok(())));
    if let Ok(Err(what)) = result {
        println!("{fault:?}: {what:.300}");
    }
    caught
}

#[test]
fn every_planted_fault_is_caught() {
    let missed: Vec<Fault> = FAULTS
        .into_iter()
        .filter(|&(fault, check)| !is_caught(fault, check))
        .map(|(fault, _)| fault)
        .collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
