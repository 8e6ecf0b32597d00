//! Storage on a simulated disk: crashes, errors, damage, long lives, and faults planted to see that all this would
//! notice them. `MULTIFORA_SIM_SEEDS=n` multiplies the number of seeds; with `--nocapture` every test that crashes
//! says at how many points.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

mod changes;
mod crash;
mod damage;
mod errors;
mod faults;
mod full;
mod held;
mod long_lives;
mod meanwhile;
mod model;
mod mutations;
mod old_readers;
mod read_along;
mod threads;
mod watched;
mod world;

use std::cell::Cell;

/// How many seeds to try: a few, times what the environment asks for.
fn seeds(few: u64) -> u64 {
    few * std::env::var("MULTIFORA_SIM_SEEDS").ok().and_then(|times| times.parse::<u64>().ok()).unwrap_or(1)
}

thread_local! {
    static CRASH_POINTS: Cell<u64> = const { Cell::new(0) };
}

/// Counts one loss of power of which everything that it left was opened and compared.
fn count_crash_point() {
    CRASH_POINTS.set(CRASH_POINTS.get() + 1);
}

/// Says how many of them this thread has simulated.
fn report_crash_points(test: &str) {
    println!("{test}: {} crash points", CRASH_POINTS.get());
}
