//! What waits to be written to the log, and the room that is claimed for it.
//!
//! Lives under the lock of the commit section. Room is claimed in the order of commits and for each as if it went into
//! a frame of its own, uncompressed; so what is queued always fits, and a full disk is met before anything becomes
//! visible. Which region an item goes to is decided here too.

use super::region::CONTROL_BYTES;
use crate::changes::{COMMIT_PREFIX_BYTES, push_commit};
use crate::frame::{FrameKind, frame_bytes};
use std::collections::VecDeque;

/// Raw bytes up to which commits share a frame.
const BATCH_BYTES: usize = 8 << 20;

/// Something to be written.
pub(crate) enum Item {
    Commit { sequence: u64, changes: Vec<u8> },
    Checkpoint,
    Seal,
}

impl Item {
    /// The room it is given.
    pub(crate) fn room_bytes(changes_len: usize) -> u64 {
        frame_bytes((changes_len + COMMIT_PREFIX_BYTES) as u64)
    }
}

struct Queued {
    item: Item,
    region: u64,
    reserved_bytes: u64,
}

/// Items to be written as one frame.
pub(crate) struct Batch {
    pub(super) kind: FrameKind,
    pub(super) payload: Vec<u8>,
    pub(super) first_sequence: u64,
    /// The last commit in it; 0 when it holds none.
    pub(super) last_sequence: u64,
    pub(super) region: u64,
    pub(super) reserved_bytes: u64,
    /// The number of the first item behind it.
    pub(super) end_item: u64,
}

/// The part of a region that is kept for deletes.
pub(super) fn reserve_of(region_bytes: u64) -> u64 {
    region_bytes / 16
}

/// The queue and the room.
pub(crate) struct Queue {
    items: VecDeque<Queued>,
    queued_bytes: usize,
    /// The number of the first item in the queue.
    first_item: u64,
    /// The region into which room is being given, what is left of it, and whether its control unit is.
    region: u64,
    room_bytes: u64,
    region_bytes: u64,
    has_control_room: bool,
    /// Regions that are ready to follow, with their room.
    prepared: VecDeque<(u64, u64)>,
}

impl Queue {
    /// A queue that writes into this region, of which so much is left.
    pub(crate) fn new(region: u64, room_bytes: u64) -> Queue {
        Queue {
            items: VecDeque::new(),
            queued_bytes: 0,
            first_item: 0,
            region,
            room_bytes,
            region_bytes: room_bytes,
            has_control_room: true,
            prepared: VecDeque::new(),
        }
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether so much can be claimed without preparing another region. A part of every region is kept for those
    /// who may `use_reserve`: transactions that only delete, so that a full disk can be emptied.
    pub(crate) fn has_room(&self, bytes: u64, use_reserve: bool) -> bool {
        self.has_room_here(bytes, use_reserve)
            || self.prepared.iter().any(|&(_, room)| room - reserve_of(room) >= bytes)
    }

    fn has_room_here(&self, bytes: u64, use_reserve: bool) -> bool {
        self.room_bytes >= bytes + if use_reserve { 0 } else { reserve_of(self.region_bytes) }
    }

    /// How many regions were begun since the file was opened, the first not counted.
    pub(crate) fn regions_begun(&self) -> u64 {
        self.region
    }

    /// Whether no region is ready to follow.
    pub(crate) fn wants_region(&self) -> bool {
        self.prepared.is_empty()
    }

    /// Whether it is time to prepare a region, before a commit has to.
    pub(crate) fn wants_region_soon(&self) -> bool {
        self.prepared.is_empty() && self.room_bytes < self.region_bytes / 2
    }

    /// Whether there is room for a seal in the region being written.
    pub(crate) fn has_room_for_seal(&self) -> bool {
        self.room_bytes >= CONTROL_BYTES
    }

    pub(crate) fn add_region(&mut self, region: u64, room_bytes: u64) {
        self.prepared.push_back((region, room_bytes));
    }

    /// Queues an item in room that [`has_room`](Queue::has_room) found; returns its number.
    pub(crate) fn push(&mut self, item: Item, reserved_bytes: u64, use_reserve: bool) -> u64 {
        while !self.has_room_here(reserved_bytes, use_reserve) {
            match self.prepared.pop_front() {
                Some((region, room)) => {
                    (self.region, self.room_bytes, self.region_bytes) = (region, room, room);
                    self.has_control_room = true;
                }
                None => break,
            }
        }
        self.room_bytes = self.room_bytes.saturating_sub(reserved_bytes);
        self.push_back(item, reserved_bytes)
    }

    /// Queues an item of one unit without payload where there is no other room: every region keeps one unit for that.
    pub(crate) fn push_control(&mut self, item: Item) -> Option<u64> {
        if self.has_room(CONTROL_BYTES, true) {
            return Some(self.push(item, CONTROL_BYTES, true));
        }
        std::mem::take(&mut self.has_control_room).then(|| self.push_back(item, CONTROL_BYTES))
    }

    fn push_back(&mut self, item: Item, reserved_bytes: u64) -> u64 {
        if let Item::Commit { changes, .. } = &item {
            self.queued_bytes += changes.len();
        }
        self.items.push_back(Queued { item, region: self.region, reserved_bytes });
        self.first_item + self.items.len() as u64 - 1
    }

    /// Room that a frame turned out not to need.
    pub(super) fn give_back(&mut self, region: u64, bytes: u64) {
        if region == self.region {
            self.room_bytes += bytes;
        }
    }

    /// Takes what goes into the next frame: one item that is no commit, or commits for one region.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let first = self.items.front()?;
        let kind = match first.item {
            Item::Commit { .. } => FrameKind::Commits,
            Item::Checkpoint => FrameKind::Checkpoint,
            Item::Seal => FrameKind::Seal,
        };
        let mut batch = Batch {
            kind,
            payload: Vec::new(),
            first_sequence: 0,
            last_sequence: 0,
            region: first.region,
            reserved_bytes: 0,
            end_item: 0,
        };
        while let Some(next) = self.items.front() {
            let is_first = batch.reserved_bytes == 0;
            let fits = match &next.item {
                Item::Commit { changes, .. } => {
                    kind == FrameKind::Commits
                        && next.region == batch.region
                        && batch.payload.len() + changes.len() <= BATCH_BYTES
                }
                _ => false,
            };
            if !is_first && !fits {
                break;
            }
            let Some(next) = self.items.pop_front() else { break };
            self.first_item += 1;
            batch.reserved_bytes += next.reserved_bytes;
            if let Item::Commit { sequence, changes } = next.item {
                self.queued_bytes -= changes.len();
                push_commit(&mut batch.payload, sequence, &changes);
                batch.last_sequence = sequence;
                if is_first {
                    batch.first_sequence = sequence;
                }
            }
        }
        batch.end_item = self.first_item;
        Some(batch)
    }
}
