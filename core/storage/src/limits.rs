//! The limits of this crate, in one place.

/// Longest key.
pub const MAX_KEY_BYTES: usize = 32 << 20;
/// Longest head of a record, and longest value out of line.
pub const MAX_VALUE_BYTES: usize = 64 << 20;
/// Most values of one record.
pub const MAX_VALUES: usize = 1024;
/// Most bytes that one transaction may write: it goes to the log as one frame.
pub const MAX_TRANSACTION_BYTES: u64 = 512 << 20;
