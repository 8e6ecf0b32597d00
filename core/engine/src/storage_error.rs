//! Storage's errors as MongoDB's: mapped here and nowhere else.
//!
//! Clients act on the code (a driver retries a write conflict, a tool stops at a full disk); people read the
//! message, which keeps storage's own words: what happened, where, and what to do.

use multifora_model::{Error, ErrorCode, Result};
use multifora_storage::Error as StorageError;
use std::io::ErrorKind;

/// Turns storage's results into the engine's.
pub trait MapStorage<T> {
    /// The same result with MongoDB's error.
    fn mapped(self) -> Result<T>;
}

impl<T> MapStorage<T> for Result<T, StorageError> {
    #[inline]
    fn mapped(self) -> Result<T> {
        self.map_err(from_storage)
    }
}

/// The error that clients see for a failure of storage.
///
/// `Conflict` becomes `WriteConflict`; writers that retry look at the storage error before they map it.
/// `DuplicateKey` gets its E11000 text from whoever knows the index.
pub fn from_storage(error: StorageError) -> Error {
    let code = match &error {
        StorageError::Io { kind, .. } => match kind {
            ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::ReadOnlyFilesystem => ErrorCode::FileNotOpen,
            _ => ErrorCode::FileStreamFailed,
        },
        StorageError::Corrupt { .. } => ErrorCode::DataCorruptionDetected,
        StorageError::NotADatabase { .. } | StorageError::OtherFormat { .. } => ErrorCode::UnsupportedFormat,
        StorageError::Conflict { .. } => ErrorCode::WriteConflict,
        StorageError::DuplicateKey { .. } => ErrorCode::DuplicateKey,
        StorageError::Full { .. } => ErrorCode::OutOfDiskSpace,
        StorageError::Locked { .. } => ErrorCode::DBPathInUse,
        StorageError::SnapshotTooOld => ErrorCode::SnapshotTooOld,
        StorageError::ReadOnly => ErrorCode::IllegalOperation,
        StorageError::Interrupted => ErrorCode::Interrupted,
        StorageError::TooLarge { .. } => ErrorCode::BSONObjectTooLarge,
        StorageError::Closed => ErrorCode::InterruptedAtShutdown,
        StorageError::NoTable { .. } => ErrorCode::NamespaceNotFound,
        StorageError::Poisoned { .. } => ErrorCode::UnknownError,
        _ => ErrorCode::InternalError,
    };
    Error::new(code, error.to_string())
}
