//! What a disk holds for certain, what reads see, and the operations between the two.

use super::random::Random;

/// Which of the operations that were not synced a crash keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// None of them.
    Nothing,
    /// All of them, the torn last one perhaps not.
    Everything,
    /// The first few.
    Prefix,
    /// Any.
    Subset,
}

/// In pieces of which size writes are atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tear {
    /// A write is kept whole or not at all.
    Whole,
    /// Sectors of 512 bytes.
    Sectors512,
    /// Sectors of 4 KiB.
    Sectors4096,
}

#[derive(Debug, Clone)]
enum Operation {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

pub(super) struct Medium {
    pub(super) current: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Operation>,
    pub(super) entry_is_durable: bool,
}

impl Medium {
    pub(super) fn new() -> Medium {
        Medium { current: Vec::new(), durable: Vec::new(), unsynced: Vec::new(), entry_is_durable: false }
    }

    pub(super) fn from_image(image: Vec<u8>) -> Medium {
        Medium { durable: image.clone(), current: image, unsynced: Vec::new(), entry_is_durable: true }
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let offset = offset as usize;
        let end = offset + bytes.len();
        if end > self.current.len() {
            self.set_len(end as u64);
        }
        self.current[offset..end].copy_from_slice(bytes);
        self.unsynced.push(Operation::Write { offset, bytes: bytes.to_vec() });
    }

    pub(super) fn set_len(&mut self, len_bytes: u64) {
        self.current.resize(len_bytes as usize, 0);
        self.unsynced.push(Operation::SetLen(len_bytes as usize));
    }

    pub(super) fn sync(&mut self) {
        for operation in std::mem::take(&mut self.unsynced) {
            apply(&mut self.durable, &operation);
        }
    }

    /// Makes one range durable and nothing else: not even the length that it would need.
    pub(super) fn sync_range(&mut self, offset: u64, len_bytes: u64) {
        let (from, to) = (offset as usize, (offset + len_bytes) as usize);
        let reach = to.min(self.durable.len());
        if from >= reach {
            return;
        }
        self.durable[from..reach].copy_from_slice(&self.current[from..reach]);
        // What was written there earlier cannot come back over it.
        let mut rest = Vec::new();
        for operation in std::mem::take(&mut self.unsynced) {
            match operation {
                Operation::Write { offset, bytes } if offset < reach && offset + bytes.len() > from => {
                    if offset < from {
                        rest.push(Operation::Write { offset, bytes: bytes[..from - offset].to_vec() });
                    }
                    if offset + bytes.len() > reach {
                        rest.push(Operation::Write {
                            offset: reach,
                            bytes: bytes[reach - offset..].to_vec(),
                        });
                    }
                }
                other => rest.push(other),
            }
        }
        self.unsynced = rest;
    }

    /// A sync failed: some of the pages went out, the others are forgotten and will not be tried again.
    pub(super) fn lose_unsynced(&mut self, random: &mut Random) {
        for operation in std::mem::take(&mut self.unsynced) {
            if random.one_in(2) {
                apply(&mut self.durable, &operation);
            }
        }
    }

    pub(super) fn after_crash(&self, keep: Keep, tear: Tear, random: &mut Random) -> Vec<u8> {
        if !self.entry_is_durable && (keep == Keep::Nothing || (keep == Keep::Subset && random.one_in(2))) {
            return Vec::new();
        }
        let mut image = self.durable.clone();
        let count = self.unsynced.len() as u64;
        let prefix = if keep == Keep::Prefix { random.below(count + 1) } else { count };
        for (number, operation) in (0..).zip(&self.unsynced) {
            let is_kept = match keep {
                Keep::Nothing => false,
                Keep::Everything => true,
                Keep::Prefix => number < prefix,
                Keep::Subset => random.one_in(2),
            };
            // The last one that is kept was under way.
            let is_torn = keep == Keep::Subset || number + 1 == prefix;
            match operation {
                Operation::Write { offset, bytes } if is_kept && is_torn && tear != Tear::Whole => {
                    apply_torn(&mut image, *offset, bytes, tear, random);
                }
                operation if is_kept => apply(&mut image, operation),
                _ => {}
            }
        }
        image
    }
}

fn apply(image: &mut Vec<u8>, operation: &Operation) {
    match operation {
        Operation::SetLen(len) => image.resize(*len, 0),
        Operation::Write { offset, bytes } => {
            // What lies behind the end is lost with the length that was not kept.
            let end = (offset + bytes.len()).min(image.len());
            if *offset < end {
                image[*offset..end].copy_from_slice(&bytes[..end - offset]);
            }
        }
    }
}

fn apply_torn(image: &mut Vec<u8>, offset: usize, bytes: &[u8], tear: Tear, random: &mut Random) {
    let sector = if tear == Tear::Sectors512 { 512 } else { 4096 };
    // Half of the time a beginning is kept, else any of the sectors.
    let cut = random.one_in(2).then(|| random.below(bytes.len() as u64 + 1) as usize);
    let mut at = 0;
    while at < bytes.len() {
        let end = ((offset + at) / sector * sector + sector - offset).min(bytes.len());
        let is_kept = cut.map_or_else(|| random.one_in(2), |cut| end <= cut);
        if is_kept {
            apply(image, &Operation::Write { offset: offset + at, bytes: bytes[at..end].to_vec() });
        }
        at = end;
    }
}
