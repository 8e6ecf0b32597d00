//! What checkpoints dropped, until no snapshot needs it.
//!
//! A snapshot of some epoch may read whatever was in the file up to that epoch's end. So what the checkpoint at the end
//! of an epoch dropped is free when all states of that epoch and of those before are gone. Snapshots that keep too much
//! from being freed lose the right to read. Readers in other processes pin the checkpoint that they read: what a later
//! checkpoint dropped waits for them too, to the same limit. Beyond it they find out by the hashes in their pointers.

use crate::fault::{Fault, planted};
use crate::pages::Pages;
use crate::space::{Extent, Space};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// What snapshots may keep from being freed, as a part of what is in use.
const PINNED_PART_OF_USED: u64 = 4;

/// What one checkpoint dropped, at the end of an epoch.
struct Batch {
    epoch: u64,
    checkpoint: u64,
    extents: Vec<Extent>,
    bytes: u64,
}

#[derive(Default)]
struct Waiting {
    /// Epochs of which states may be alive, oldest first.
    epochs: VecDeque<(u64, Weak<Pages>)>,
    batches: VecDeque<Batch>,
}

pub(crate) struct Releases {
    waiting: Mutex<Waiting>,
    /// Bytes that snapshots may keep from being freed in any case.
    pinned_min_bytes: u64,
}

impl Waiting {
    /// The oldest epoch of which a state is alive.
    fn oldest_epoch(&mut self) -> u64 {
        while self.epochs.front().is_some_and(|(_, pages)| pages.strong_count() == 0) {
            self.epochs.pop_front();
        }
        self.epochs.front().map_or(u64::MAX, |(epoch, _)| *epoch)
    }
}

impl Releases {
    pub(crate) fn new(pinned_min_bytes: u64) -> Releases {
        Releases { waiting: Mutex::default(), pinned_min_bytes }
    }

    pub(crate) fn begin_epoch(&self, pages: &Arc<Pages>) {
        self.waiting.lock().epochs.push_back((pages.epoch, Arc::downgrade(pages)));
    }

    /// Adds what a checkpoint dropped, at the end of an epoch.
    pub(crate) fn add(&self, epoch: u64, checkpoint: u64, extents: Vec<Extent>) {
        if !extents.is_empty() {
            let bytes = extents.iter().map(|extent| extent.len_bytes).sum();
            self.waiting.lock().batches.push_back(Batch { epoch, checkpoint, extents, bytes });
        }
    }

    /// Calls `look` with everything that waits.
    pub(crate) fn with_waiting<T>(&self, look: impl FnOnce(&[Extent]) -> T) -> T {
        let waiting = self.waiting.lock();
        let all: Vec<Extent> =
            waiting.batches.iter().flat_map(|batch| batch.extents.iter().copied()).collect();
        look(&all)
    }

    /// Frees what nobody needs any more. Snapshots that keep too much are told that they are too old; `is_pinned_before`
    /// says whether another process reads an older checkpoint.
    pub(crate) fn free(&self, space: &Mutex<Space>, is_pinned_before: &dyn Fn(u64) -> bool) {
        let mut waiting = self.waiting.lock();
        let limit = (space.lock().used_bytes() / PINNED_PART_OF_USED).max(self.pinned_min_bytes);
        while let Some(first) = waiting.batches.front() {
            let (epoch, checkpoint) = (first.epoch, first.checkpoint);
            let pinned: u64 = waiting.batches.iter().map(|batch| batch.bytes).sum();
            let oldest = waiting.oldest_epoch();
            let no_snapshot = oldest > epoch
                || planted(Fault::ReusedUnderSnapshot)
                || (planted(Fault::ReleasedEpochEarly) && oldest + 1 == epoch);
            let no_reader =
                || pinned > limit || planted(Fault::ReusedUnderReader) || !is_pinned_before(checkpoint);
            if no_snapshot && no_reader() {
                let Some(batch) = waiting.batches.pop_front() else { break };
                let mut space = space.lock();
                batch.extents.into_iter().for_each(|extent| space.release(extent));
            } else if !no_snapshot && pinned > limit {
                let Some((_, pages)) = waiting.epochs.pop_front() else { break };
                if let Some(pages) = pages.upgrade() {
                    pages.revoke();
                }
            } else {
                break;
            }
        }
    }
}
