//! One file of ordered byte tables.
//!
//! This crate knows bytes, never BSON. A [`Store`] is one file, or memory. It holds tables: ordered maps from keys
//! to records. A [`Snapshot`] reads all of them as they were after one commit; a [`Transaction`] reads a snapshot
//! and its own writes, and commits whole or not at all. [`Store::wait_durable`] is what acknowledges: when it
//! returns, the commit has been synced to the disk.
//!
//! The modules stand in this order, each knowing only those before it: `limits`, `error`, `ids`, `range`, `options`;
//! `disk`, `fault`, `bytes`, `block`, `frame`, `superblock`, `owner`, `space`, `poison` (the file, piece by piece);
//! `record`, `tree`, `state` (all tables at one moment); `scan`, `read`, `snapshot`, `write_set`. From there on they
//! form one engine: `transaction` and `commit` make states, `changes` and `log` write them down and read them back,
//! `checkpoint` turns them into blocks, `file_store` opens a file, `caretaker` works in the background, and `store`
//! holds it all together. The byte format is described in `docs/file-format.md`.

mod block;
mod block_writer;
mod bytes;
mod caretaker;
mod changes;
mod checkpoint;
mod commit;
mod compact;
mod copy;
mod direct_values;
mod disk;
mod error;
#[cfg_attr(feature = "planted-faults", allow(missing_docs))]
#[cfg(feature = "planted-faults")]
pub mod fault;
#[cfg(not(feature = "planted-faults"))]
mod fault;
mod file_store;
mod frame;
mod ids;
mod inspect;
mod intents;
mod limits;
mod log;
mod node_block;
mod options;
mod outside;
mod owner;
mod pages;
mod pending;
mod pin;
mod poison;
mod problem;
mod range;
mod read;
mod read_only;
mod record;
mod recount;
mod replay;
mod salvage;
mod scan;
#[cfg(any(test, feature = "simulation"))]
pub mod sim;
mod snapshot;
mod space;
mod state;
mod store;
mod superblock;
mod table_builder;
mod transaction;
mod tree;
mod verify;
mod write_set;

pub use commit::Committed;
pub use compact::{Compacted, compact};
pub use copy::{CopyProgress, OnProgress};
pub use disk::{Disk, LockMode};
pub use error::{Error, Result};
pub use ids::{EntryKind, KeyId, RowId, Sequence, TableId};
pub use intents::ContendedKeys;
pub use limits::{MAX_KEY_BYTES, MAX_TRANSACTION_BYTES, MAX_VALUE_BYTES, MAX_VALUES};
pub use options::{Durability, Location, Options, Tuning};
pub use problem::{LostKeys, Problem};
pub use range::{Direction, KeyRange};
pub use read::Read;
pub use record::{NewRecord, NewValue, Record, Value};
pub use salvage::{SalvageReport, SalvagedTable, salvage, salvage_onto};
pub use scan::{Entry, Scan};
pub use snapshot::Snapshot;
pub use store::Store;
pub use table_builder::{BuiltTable, TableBuilder};
pub use transaction::Transaction;
pub use verify::{Stats, VerifyReport};
