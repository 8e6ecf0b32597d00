//! Faults that tests plant in the engine, to prove that the tests would notice them.
//!
//! Without the feature `planted-faults` every question is answered "no" at compile time. With it, a fault is planted
//! for the current thread only, so that tests do not disturb each other.

/// A mistake that the engine could make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A log frame is written without a sync.
    LogNotSynced,
    /// A commit is acknowledged before its frame is written.
    AcknowledgedEarly,
    /// The superblock's copies are not synced.
    SuperblockNotSynced,
    /// A checkpoint's blocks are not synced before the superblock names them.
    BlocksNotSynced,
    /// What a checkpoint drops is free before its superblock is written.
    ReusedEarly,
    /// Values that a checkpoint drops are free before its superblock is written.
    ValueFreedEarly,
    /// Frames are hashed without their region's salt, so that old ones are taken for new.
    UnsaltedFrames,
    /// A bad frame is taken for a torn tail whatever comes after it.
    DamageTakenForTail,
    /// A log region is used before the frame that names it is synced.
    RegionNotNamed,
    /// The directory entry of a new file is not synced.
    EntryNotSynced,
    /// The length of the file is not synced before a log region behind it is used.
    LengthNotSynced,
    /// A checkpoint forgets a table's highest row number.
    RowNumbersForgotten,
    /// Values that a record keeps are taken for dropped when its leaf is written again.
    KeptValueFreed,
    /// What a checkpoint dropped is free although a snapshot needs it.
    ReusedUnderSnapshot,
    /// What a checkpoint dropped is free while states of the epoch before its cut are alive.
    ReleasedEpochEarly,
    /// The written map does not list as free what no checkpoint reaches yet.
    ProvisionalLeftOut,
    /// The written map lists as free what its checkpoint reaches.
    ProvisionalTooLong,
    /// The written map lists its own place as free.
    MapWithoutItself,
    /// Direct values and built tables are not synced before the frame that names them.
    DirectNotSynced,
    /// A replay does not mark the blocks of a table that was attached.
    AttachedNotMarked,
    /// A replay does not mark direct values.
    DirectNotMarked,
    /// What readers in other processes have pinned is used again.
    ReusedUnderReader,
    /// A checkpoint forgets which blocks the nodes that it writes replace.
    OriginsForgotten,
    /// No checksum is compared, so that mutated bytes reach what reads them, as if they had been sealed again.
    ChecksumsIgnored,
    /// The cache takes any block for the one that stood at the same place before.
    CacheByPlaceOnly,
}

#[cfg(feature = "planted-faults")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Plants a fault in this thread, or takes it away.
#[cfg(feature = "planted-faults")]
pub fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

#[cfg(feature = "planted-faults")]
pub(crate) fn planted(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}

#[cfg(not(feature = "planted-faults"))]
pub(crate) const fn planted(_: Fault) -> bool {
    false
}

/// Whether a checksum is the one that was written.
pub(crate) fn checksum_fits(found: u64, written: u64) -> bool {
    found == written || planted(Fault::ChecksumsIgnored)
}
