//! Real files in real processes: killed, forked, racing for the lock, and disks that are really full.
//! `MULTIFORA_KILL_ROUNDS=n` says how often a process is killed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

mod fork;
mod full;
mod killed;
mod races;

use multifora_storage::*;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const T: TableId = TableId::CATALOG;
/// Tells a test of this program that it runs as somebody's child, on this file.
const CHILD: &str = "MULTIFORA_STORAGE_CHILD";

fn open(path: &Path, options: &Options) -> Result<Store> {
    Store::open(&Location::File(path.to_path_buf()), options)
}

/// Runs one test of this program in a process of its own.
fn start_child(test: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The file, in a process that was started so.
fn child_path() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD).map(Into::into)
}

/// Bytes that follow from a number; every second number's do not compress.
fn bytes_of(number: u64, len: usize) -> Vec<u8> {
    if number.is_multiple_of(2) {
        return vec![number as u8; len];
    }
    let mut random = sim::Random::new(number);
    (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(len).collect()
}
