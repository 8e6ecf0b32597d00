//! How far a long operation has come, for currentOp.
//!
//! One operation writes, anybody reads. The numbers are advice: they may be a step apart.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of one operation. Nothing is shown until it [`begin`](Progress::begin)s.
#[derive(Debug, Default)]
pub struct Progress {
    phase: Mutex<Option<&'static str>>,
    done: AtomicU64,
    total: AtomicU64,
}

/// What can be seen of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressSeen {
    /// What is being done.
    pub phase: &'static str,
    /// Steps that are done.
    pub done: u64,
    /// Steps in all, as far as that is known; more may be done.
    pub total: u64,
}

impl Progress {
    /// Begins a phase of `total` steps.
    pub fn begin(&self, phase: &'static str, total: u64) {
        let mut current = self.phase.lock();
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        *current = Some(phase);
    }

    /// Some more steps are done.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Nothing is to be shown any more.
    pub fn end(&self) {
        *self.phase.lock() = None;
    }

    /// What there is to be shown.
    pub fn seen(&self) -> Option<ProgressSeen> {
        let phase = *self.phase.lock();
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        phase.map(|phase| ProgressSeen { phase, done, total })
    }
}

impl ProgressSeen {
    /// The text as MongoDB words it (manual: currentOp, `msg`): the phase, then the phase with its figures.
    pub fn message(&self) -> String {
        let ProgressSeen { phase, done, total } = self;
        let percent = done.saturating_mul(100).checked_div(*total).unwrap_or(100);
        format!("{phase} {phase}: {done}/{total} {percent}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_mongodbs_words() {
        let progress = Progress::default();
        assert_eq!(progress.seen(), None);
        progress.begin("Index Build: scanning collection", 200);
        progress.advance(49);
        let seen = progress.seen().unwrap();
        assert_eq!(
            seen.message(),
            "Index Build: scanning collection Index Build: scanning collection: 49/200 24%"
        );
        progress.begin("x", 0);
        assert_eq!(progress.seen().unwrap().message(), "x x: 0/0 100%");
        progress.end();
        assert_eq!(progress.seen(), None);
    }
}
