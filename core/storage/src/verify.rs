//! What `verify` and `stats` tell.

use crate::error::Error;

/// What a verification looked at and what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tables walked.
    pub tables: u64,
    /// Entries walked.
    pub entries: u64,
    /// Blocks read back from the file and checked.
    pub blocks: u64,
    /// Bytes of the file that are in use, and that are free.
    pub used_bytes: u64,
    /// Bytes of the file that hold nothing.
    pub free_bytes: u64,
    /// What is wrong; empty when the file is sound.
    pub problems: Vec<Error>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Figures about a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Length of the file; 0 in memory.
    pub file_bytes: u64,
    /// Bytes of the file that hold nothing.
    pub free_bytes: u64,
    /// Bytes of the log regions in the file.
    pub log_bytes: u64,
    /// Tables, the catalogue included.
    pub tables: u64,
    /// Records of all tables.
    pub entries: u64,
    /// The newest commit.
    pub last_sequence: u64,
    /// The newest commit that is on the disk.
    pub durable_sequence: u64,
    /// The newest checkpoint.
    pub checkpoint: u64,
    /// The newest commit that the checkpoint holds.
    pub checkpoint_sequence: u64,
    /// Syncs of the log since the store was opened; a group of commits shares one.
    pub log_syncs: u64,
    /// Checkpoints since the store was opened.
    pub checkpoints: u64,
}
