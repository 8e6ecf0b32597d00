//! Files with damage: what still works, what repairs itself, and what can be saved into a new file.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that fails"
)]

mod blocks;
mod repair;
mod salvage;
