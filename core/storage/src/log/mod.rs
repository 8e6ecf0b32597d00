//! The log: frames of commits in regions of the file, and the group commit over them.
//!
//! A commit is put into the [`Queue`] under the lock of the commit section, in the order in which it becomes visible,
//! into room that was claimed before. Whoever then waits for it either becomes the leader, who writes everything that
//! is queued as one frame with one sync, or waits for the leader. What is covered is decided by sequence numbers. One
//! frame is under way at a time: a later valid frame proves that the one before it was on the disk.

mod queue;
mod reader;
mod region;
mod writer;

pub(crate) use queue::{Item, Queue};
pub(crate) use reader::{Replayed, Tail, replay, replay_into, resume};
pub(crate) use region::{
    FIRST_REGION_BYTES, KEPT_FOR_DELETES_BYTES, LiveRegion, Need, cut_to_file, write_zeros,
};
pub(crate) use writer::Writer;

use crate::commit::Section;
use crate::disk::Disk;
use crate::error::Result;
use crate::poison::Poison;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The log of an open file.
pub(crate) struct Log {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) poison: Arc<Poison>,
    pub(crate) writer: Mutex<Writer>,
    /// Held while a region is being prepared, so that one is enough.
    preparing: Mutex<()>,
    group: Mutex<Group>,
    group_changed: Condvar,
    /// Every commit up to this one is on the disk.
    durable_sequence: AtomicU64,
    /// Every item of the queue before this one is on the disk.
    durable_items: AtomicU64,
    syncs: AtomicU64,
    /// The oldest region that is still needed, and the newest into which commits go.
    oldest_region: AtomicU64,
    newest_region: AtomicU64,
    queued_bytes: AtomicUsize,
    outside_bytes: AtomicU64,
    may_compress: bool,
    /// Regions do not grow beyond this.
    region_max_bytes: u64,
}

struct Group {
    is_led: bool,
}

/// Until when somebody waits.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// The commit of this number is durable.
    Sequence(u64),
    /// The item of this number is written.
    Item(u64),
}

impl Log {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        poison: Arc<Poison>,
        writer: Writer,
        sequence: u64,
        may_compress: bool,
        region_max_bytes: u64,
    ) -> Log {
        Log {
            disk,
            poison,
            writer: Mutex::new(writer),
            preparing: Mutex::new(()),
            group: Mutex::new(Group { is_led: false }),
            group_changed: Condvar::new(),
            durable_sequence: AtomicU64::new(sequence),
            durable_items: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            oldest_region: AtomicU64::new(0),
            newest_region: AtomicU64::new(0),
            queued_bytes: AtomicUsize::new(0),
            outside_bytes: AtomicU64::new(0),
            may_compress,
            region_max_bytes,
        }
    }

    pub(crate) fn durable_sequence(&self) -> u64 {
        self.durable_sequence.load(Ordering::Acquire)
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Notes what the queue says, to be looked at without its lock.
    pub(crate) fn note_queue(&self, queue: &Queue) {
        self.queued_bytes.store(queue.queued_bytes(), Ordering::Relaxed);
        self.newest_region.store(queue.regions_begun(), Ordering::Relaxed);
    }

    /// Bytes that waited to be written after the last commit.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes.load(Ordering::Relaxed)
    }

    /// Notes changes outside the log, which wait for a checkpoint.
    pub(crate) fn add_outside(&self, bytes: u64) {
        self.outside_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A checkpoint holds so many of them.
    pub(crate) fn take_outside(&self, bytes: u64) {
        self.outside_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of changes outside the log that wait for a checkpoint.
    pub(crate) fn outside_bytes(&self) -> u64 {
        self.outside_bytes.load(Ordering::Relaxed)
    }

    /// How many regions wait for a checkpoint.
    pub(crate) fn lag(&self) -> u64 {
        self.newest_region.load(Ordering::Relaxed).saturating_sub(self.oldest_region.load(Ordering::Relaxed))
    }

    pub(crate) fn set_oldest_region(&self, ordinal: u64) {
        self.oldest_region.store(ordinal, Ordering::Relaxed);
    }

    fn is_reached(&self, until: Until) -> bool {
        match until {
            Until::Sequence(sequence) => self.durable_sequence() >= sequence,
            Until::Item(item) => self.durable_items.load(Ordering::Acquire) > item,
        }
    }

    /// Returns when that is on the disk, which the caller may have to see to himself.
    pub(crate) fn wait(&self, section: &Mutex<Section>, until: Until) -> Result<()> {
        if self.is_reached(until) {
            return Ok(());
        }
        let mut group = self.group.lock();
        loop {
            if self.is_reached(until) {
                return Ok(());
            }
            self.poison.check()?;
            if group.is_led {
                self.group_changed.wait(&mut group);
                continue;
            }
            group.is_led = true;
            drop(group);
            let lead = Lead { log: self };
            let result = self.write_group(section);
            drop(lead);
            result?;
            group = self.group.lock();
        }
    }

    /// Writes what is queued, as far as it goes into one frame.
    fn write_group(&self, section: &Mutex<Section>) -> Result<()> {
        self.poison.check()?;
        let mut writer = self.writer.lock();
        let Some(batch) = section.lock().queue.take_batch() else { return Ok(()) };
        let written = self.write_batch(&mut writer, &batch).map_err(|error| self.poison.set(&error))?;
        section.lock().queue.give_back(batch.region, batch.reserved_bytes.saturating_sub(written));
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.durable_sequence.fetch_max(batch.last_sequence, Ordering::AcqRel);
        self.durable_items.store(batch.end_item, Ordering::Release);
        Ok(())
    }
}

/// Leadership of the group; given up however the leader ends.
struct Lead<'l> {
    log: &'l Log,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.log.poison.set_cause("a panic while the log was written");
        }
        self.log.group.lock().is_led = false;
        self.log.group_changed.notify_all();
    }
}
