//! Blocks: the checked pieces of which a checkpoint is made.

use parking_lot::Mutex;

/// Where a block is and what is there; everything that points to a block says all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPointer {
    /// Position in the file, in bytes.
    pub(crate) offset: u64,
    /// Bytes stored, header included.
    pub(crate) stored_len_bytes: u32,
    /// Bytes of the payload before compression.
    pub(crate) raw_len_bytes: u32,
    /// XXH3 of the stored payload.
    pub(crate) hash: u64,
}

/// Where the last checkpoint put a node or value; empty until one did.
#[derive(Debug, Default)]
pub(crate) struct Place(Mutex<Option<BlockPointer>>);

impl Place {
    pub(crate) fn get(&self) -> Option<BlockPointer> {
        *self.0.lock()
    }

    pub(crate) fn set(&self, pointer: BlockPointer) {
        *self.0.lock() = Some(pointer);
    }
}
