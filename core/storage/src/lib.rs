//! One file of ordered byte tables.
//!
//! This crate knows bytes, never BSON. A [`Store`] is one file, or memory. It holds tables: ordered maps from keys
//! to records. A [`Snapshot`] reads all of them as they were after one commit; a [`Transaction`] reads a snapshot
//! and its own writes, and commits whole or not at all. [`Store::wait_durable`] is what acknowledges: when it
//! returns, the commit has been synced to the disk.
//!
//! The modules stand in this order, each knowing only those before it: `limits`, `error`, `ids`, `range`,
//! `options`; `block` (a place in the file); `record`; `tree`; `state` (all tables at one moment); `scan`, `read`,
//! `snapshot`; `write_set`, `transaction`, `commit`, `store`.

mod block;
mod commit;
mod error;
mod ids;
mod limits;
mod options;
mod range;
mod read;
mod record;
mod scan;
mod snapshot;
mod state;
mod store;
mod transaction;
mod tree;
mod verify;
mod write_set;

pub use commit::Committed;
pub use error::{Error, Result};
pub use ids::{EntryKind, RowId, Sequence, TableId};
pub use limits::{MAX_KEY_BYTES, MAX_TRANSACTION_BYTES, MAX_VALUE_BYTES, MAX_VALUES};
pub use options::{Durability, Location, Options};
pub use range::{Direction, KeyRange};
pub use read::Read;
pub use record::{NewRecord, NewValue, Record, Value};
pub use scan::{Entry, Scan};
pub use snapshot::Snapshot;
pub use store::Store;
pub use transaction::Transaction;
pub use verify::{Stats, VerifyReport};
