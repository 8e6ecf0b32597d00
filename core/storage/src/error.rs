//! What can go wrong in storage, by kinds.
//!
//! Every kind says what happened, where, and what the reader can do about it. The enum is `Clone`, so that the
//! first cause of a poisoned handle can be handed to everybody who meets it.

use crate::ids::{KeyId, RowId};
use std::{fmt, io};

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused or failed an operation.
    Io {
        /// What was being done, as a verb phrase: "open", "write the log".
        action: &'static str,
        /// The file, and the position where that matters.
        place: String,
        /// The system's kind of error.
        kind: io::ErrorKind,
        /// The system's own words.
        message: String,
    },
    /// Bytes in the file are not what was written there.
    Corrupt {
        /// File and position, table or structure.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// The file is not one of this library's.
    NotADatabase {
        /// The file.
        place: String,
    },
    /// The file was written by another version of this library.
    OtherFormat {
        /// The file.
        place: String,
        /// The version of its format.
        version: u32,
    },
    /// There is no room for the write; nothing of it happened, and it can be tried again.
    Full {
        /// What had no room: the file or its disk.
        place: String,
    },
    /// Another handle has the file open.
    Locked {
        /// The file.
        place: String,
        /// The process that says it owns the file, when it left its number.
        pid: Option<u32>,
        /// Its host, when that is known.
        host: String,
    },
    /// An earlier failure leaves the outcome of writes unknown; the handle is of no more use.
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// Somebody else is about to change, or has changed, a key that this transaction wrote or guarded.
    Conflict {
        /// What to wait for: see [`Store::begin_holding`](crate::Store::begin_holding).
        on: KeyId,
    },
    /// A unique entry with this key exists already and belongs to another row.
    DuplicateKey {
        /// The row that has the key.
        row: RowId,
    },
    /// The snapshot's blocks were given up, so that the file does not grow without bound.
    SnapshotTooOld,
    /// The store was opened for reading only.
    ReadOnly,
    /// The caller asked the operation to stop.
    Interrupted,
    /// A key, a record or a transaction is over a limit.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// No such table: it was never created, or it was dropped.
    NoTable {
        /// The table's number.
        table: u64,
    },
    /// The store was closed.
    Closed,
    /// The call makes no sense: a value that the record does not have, for instance.
    Misuse {
        /// What is wrong with the call.
        what: &'static str,
    },
}

impl Error {
    /// Wraps an operating system error; "no space" becomes [`Error::Full`].
    pub fn io(action: &'static str, place: impl Into<String>, error: &io::Error) -> Error {
        let place = place.into();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Error::Full { place }
            }
            kind => Error::Io { action, place, kind, message: error.to_string() },
        }
    }

    /// Damage at `place`.
    pub fn corrupt(place: impl Into<String>, what: impl Into<String>) -> Error {
        Error::Corrupt { place: place.into(), what: what.into() }
    }
}

/// What to do about a file that is open elsewhere.
const UNLOCK: &str = "close it there, or connect to a listener on it";

/// What to do about damage.
const RESCUE: &str = "'multifora check FILE' shows all of it, 'multifora salvage FILE NEW' saves what is readable \
                      into a new file, a backup has the rest";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { action, place, message, .. } => write!(f, "cannot {action}: {place}: {message}"),
            Error::Corrupt { place, what } => {
                write!(f, "damaged: {place}: {what}; {RESCUE}")
            }
            Error::NotADatabase { place } => write!(f, "{place} is not a MultiforaDB file"),
            Error::OtherFormat { place, version } => {
                let known = crate::superblock::FORMAT_VERSION;
                write!(
                    f,
                    "{place} has format version {version}, and this program reads version {known}: use a newer one"
                )
            }
            Error::Full { place } => {
                write!(f, "no space left for {place}: free some and try again; nothing was changed")
            }
            Error::Locked { place, pid: Some(pid), host } if host.is_empty() => {
                write!(f, "{place} is locked by pid {pid}; {UNLOCK}")
            }
            Error::Locked { place, pid: Some(pid), host } => {
                write!(f, "{place} is locked by pid {pid} on {host}; {UNLOCK}")
            }
            Error::Locked { place, pid: None, .. } => {
                write!(f, "{place} is locked by another handle; {UNLOCK}")
            }
            Error::Poisoned { cause } => {
                write!(
                    f,
                    "the outcome of recent writes is unknown; close the database and open it again (cause: {cause})"
                )
            }
            Error::Conflict { .. } => {
                write!(f, "write conflict: another transaction changed the same key first; try again")
            }
            Error::DuplicateKey { row } => write!(f, "duplicate key: row {row} has it already"),
            Error::SnapshotTooOld => {
                write!(f, "snapshot too old: its data was given up; start the read again")
            }
            Error::ReadOnly => write!(f, "the database was opened read-only"),
            Error::Interrupted => write!(f, "interrupted"),
            Error::TooLarge { what, bytes, limit_bytes } => {
                write!(f, "{what} of {bytes} bytes is over the limit of {limit_bytes} bytes")
            }
            Error::NoTable { table } => write!(f, "table {table} does not exist (it may have been dropped)"),
            Error::Closed => write!(f, "the database is closed"),
            Error::Misuse { what } => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for Error {}
