//! Storage on a simulated disk: crashes, errors, damage, long lives, and faults planted to see that all this would
//! notice them. `MULTIFORA_SIM_SEEDS=n` multiplies the number of seeds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

mod crash;
mod damage;
mod errors;
mod faults;
mod long_lives;
mod meanwhile;
mod world;

/// How many seeds to try: a few, times what the environment asks for.
fn seeds(few: u64) -> u64 {
    few * std::env::var("MULTIFORA_SIM_SEEDS").ok().and_then(|times| times.parse::<u64>().ok()).unwrap_or(1)
}
