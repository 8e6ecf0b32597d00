//! The locks of a simulated file. Its handles share one disk, so whoever unlocks is believed to be the one who locked.

use crate::disk::LockMode;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Locks {
    /// Who has it: with [`LockMode::NoWriter`] several.
    held: Option<(LockMode, u32)>,
    pins: BTreeMap<u64, u32>,
}

impl Locks {
    pub(super) fn lock(&mut self, mode: LockMode) -> bool {
        match (&mut self.held, mode) {
            (None, LockMode::Alone) if !self.pins.is_empty() => return false,
            (None, _) => self.held = Some((mode, 1)),
            (Some((LockMode::NoWriter, count)), LockMode::NoWriter) => *count += 1,
            (Some(_), _) => return false,
        }
        true
    }

    pub(super) fn unlock(&mut self) {
        self.held = self.held.and_then(|(mode, count)| (count > 1).then_some((mode, count - 1)));
    }

    pub(super) fn pin(&mut self, checkpoint: u64) -> bool {
        let is_free = !matches!(self.held, Some((LockMode::Alone, _)));
        if is_free {
            *self.pins.entry(checkpoint).or_default() += 1;
        }
        is_free
    }

    pub(super) fn unpin(&mut self, checkpoint: u64) {
        if let Some(count) = self.pins.get_mut(&checkpoint) {
            *count -= 1;
            if *count == 0 {
                self.pins.remove(&checkpoint);
            }
        }
    }

    pub(super) fn is_pinned_before(&self, checkpoint: u64) -> bool {
        self.pins.range(..checkpoint).next().is_some()
    }
}
