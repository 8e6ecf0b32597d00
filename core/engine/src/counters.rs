//! Counters behind serverStatus: relaxed atomics, never a lock.

use crate::stored::{ValueTally, take_tally};
use std::sync::atomic::{AtomicU64, Ordering};

/// One counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one open database counts.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the names are serverStatus's own")]
pub struct Counters {
    pub commands: Counter,
    pub failed_commands: Counter,
    pub inserts: Counter,
    pub queries: Counter,
    pub updates: Counter,
    pub deletes: Counter,
    pub get_mores: Counter,
    pub connections_created: Counter,
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub requests: Counter,
    pub ttl_passes: Counter,
    pub ttl_sub_passes: Counter,
    pub ttl_deleted_documents: Counter,
    pub cursors_timed_out: Counter,
    pub cursors_opened: Counter,
    pub write_conflicts: Counter,
    pub values_fetched: Counter,
    pub values_written: Counter,
    pub values_kept: Counter,
    pub asserts_user: Counter,
    pub asserts_internal: Counter,
}

impl Counters {
    /// Adds what the calling thread has done with values out of line since this was last called.
    pub fn add_values(&self) {
        let tally = take_tally();
        if tally != ValueTally::default() {
            self.values_fetched.add(tally.fetched);
            self.values_written.add(tally.written);
            self.values_kept.add(tally.kept);
        }
    }
}
