//! How a store is opened.

use std::path::PathBuf;

/// Where a store lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// One ordinary file. Nothing is ever put beside it.
    File(PathBuf),
    /// Nowhere: private to the handle and gone with it.
    Memory,
}

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// `wait_durable` returns after the commit is on the disk.
    Sync,
    /// `wait_durable` returns at once; what was committed reaches the disk within that many milliseconds, and
    /// a crash loses at most the commits of that time, from the newest backwards.
    Relaxed {
        /// The longest time between commit and sync.
        every_ms: u64,
    },
}

/// The options of [`Store::open`](crate::Store::open).
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of memory for blocks that were read. What commits changed since the last checkpoint comes on top.
    pub cache_bytes: usize,
    /// When a commit counts as done.
    pub durability: Durability,
    /// Open without ever writing, also on read-only media.
    pub read_only: bool,
    /// Create the file when it does not exist.
    pub create: bool,
    /// Compress blocks and log frames with LZ4.
    pub compress: bool,
    /// Run checkpoints, seals and late syncs on a thread of the store's own. Simulations switch it off to be
    /// repeatable and call [`Store::checkpoint`](crate::Store::checkpoint) themselves.
    pub background: bool,
    /// Sizes at which the engine changes its ways. Only simulations have a reason to set them.
    pub tuning: Tuning,
}

/// Sizes at which the engine changes its ways, so that a small life in a simulation meets what otherwise takes
/// gigabytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Bytes of values from which on a commit writes them to their place before it is logged.
    pub direct_from_bytes: usize,
    /// Bytes that snapshots may keep from being freed, however small the file is.
    pub pinned_min_bytes: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { direct_from_bytes: 512 << 10, pinned_min_bytes: 64 << 20 }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cache_bytes: 256 << 20,
            durability: Durability::Sync,
            read_only: false,
            create: true,
            compress: true,
            background: true,
            tuning: Tuning::default(),
        }
    }
}
