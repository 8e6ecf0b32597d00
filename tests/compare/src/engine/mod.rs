//! What is measured of every database: the few things that a document store asks of the storage below it.
//!
//! A database holds documents by number (ids from 1, ascending) and one secondary index, from the four bytes `k` of
//! a document to its id. Each engine does this in the way that its own manual recommends for speed, at the same
//! durability: when a write says [`When::Synced`], it has reached the disk when the call returns.

mod fjall;
mod multifora;
mod redb;
mod sqlite;

use crate::documents::{Document, Kind};
use anyhow::Result;
use std::path::Path;

/// Every engine, the one that is judged first.
pub const ALL: [&dyn Engine; 4] = [&multifora::Multifora, &sqlite::Sqlite, &redb::Redb, &fjall::Fjall];

/// The name of the engine that is judged.
pub const JUDGED: &str = "multifora";

/// How a database is opened.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// What it holds.
    pub kind: Kind,
    /// Memory for cached data.
    pub cache_bytes: u64,
}

/// A database engine.
pub trait Engine: Sync {
    /// Its name in output and on the command line.
    fn name(&self) -> &'static str;

    /// What a reader of the figures has to know: settings that it has not, and what was done instead.
    fn remarks(&self) -> &'static [&'static str];

    /// Opens the database in `folder`, which exists, or creates it there.
    fn open(&self, folder: &Path, settings: Settings) -> Result<Box<dyn Database>>;
}

/// When a write must have reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the call returns.
    Synced,
    /// By the next [`Database::sync`]; a crash until then may lose it, but not a part of it.
    Later,
}

/// One change of a database.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// A new document. Ids ascend from 1 without gaps, as far as threads do not overtake each other.
    Insert(u64, Document<'a>),
    /// Another version of a document that exists, with the same `k`.
    Update(u64, Document<'a>),
    /// A document that exists goes.
    Delete(u64),
}

/// Is shown the small fields of a document and, from engines that keep it apart, the large one; otherwise the whole
/// document and nothing.
pub type Visit<'v> = &'v mut dyn FnMut(&[u8], &[u8]);

/// An open database. Dropping it closes it as the engine likes to be closed.
pub trait Database: Send + Sync {
    /// Makes the changes in one transaction.
    fn write(&self, changes: &[Change<'_>], when: When) -> Result<()>;

    /// Returns when everything that was written before is on the disk.
    fn sync(&self) -> Result<()>;

    /// Shows the documents `ids`, as of one moment, in the order asked for. An error when one is missing.
    fn read(&self, ids: &[u64], visit: Visit<'_>) -> Result<()>;

    /// Shows every document, ascending.
    fn scan(&self, visit: Visit<'_>) -> Result<()>;

    /// Shows at least the small fields of every document.
    fn scan_heads(&self, visit: Visit<'_>) -> Result<()>;

    /// How many entries the index has under `k`.
    fn index_entries(&self, k: u32) -> Result<u64>;

    /// Brings the files to rest: what waits in a log or in memory goes where it belongs. Returns when that is done.
    /// False from an engine that has nothing of the kind.
    fn checkpoint(&self) -> Result<bool>;

    /// A number that changes with every checkpoint, from engines that tell.
    fn checkpoint_number(&self) -> Option<u64> {
        None
    }
}
