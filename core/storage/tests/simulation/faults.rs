//! Every fault that can be planted in the engine must be caught by one of the checks of this suite.

use crate::crash::{Checked, crash_everywhere, crash_in_recovery, lives};
use crate::damage::{flip_log_bytes, stale_frames_stay_dead};
use multifora_storage::fault::{Fault, plant};

fn crashes() -> Checked {
    for seed in 0..4 {
        for life in lives(seed * 1000) {
            crash_everywhere(&life)?;
            crash_in_recovery(&life, 5)?;
        }
    }
    Ok(())
}

/// Runs a check with a fault in the engine. A panic of the check is a catch, too.
fn is_caught(fault: Fault, check: impl Fn() -> Checked + std::panic::UnwindSafe) -> bool {
    plant(Some(fault));
    let result = std::panic::catch_unwind(check);
    plant(None);
    !matches!(result, Ok(Ok(())))
}

#[test]
fn every_planted_fault_is_caught() {
    let by_crashes = [
        Fault::LogNotSynced,
        Fault::AcknowledgedEarly,
        Fault::SuperblockNotSynced,
        Fault::BlocksNotSynced,
        Fault::ReusedEarly,
        Fault::ValueFreedEarly,
        Fault::RegionNotNamed,
        Fault::EntryNotSynced,
        Fault::LengthNotSynced,
        Fault::RowNumbersForgotten,
    ];
    let mut missed: Vec<Fault> = by_crashes.into_iter().filter(|&fault| !is_caught(fault, crashes)).collect();
    if !is_caught(Fault::DamageTakenForTail, flip_log_bytes) {
        missed.push(Fault::DamageTakenForTail);
    }
    if !is_caught(Fault::UnsaltedFrames, stale_frames_stay_dead) {
        missed.push(Fault::UnsaltedFrames);
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
