//! Figures about an open database: what `multifora stats` and the doors show.

use crate::catalog;
use crate::database::Database;
use crate::storage_error::MapStorage;
use multifora_model::Result;
use multifora_storage::Read;

/// Figures about an open database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseStats {
    /// Length of the file; 0 in memory.
    pub file_bytes: u64,
    /// Bytes of the file that hold nothing.
    pub free_bytes: u64,
    /// Bytes of the log in the file.
    pub log_bytes: u64,
    /// Entries of all tables.
    pub entries: u64,
    /// Number of the newest commit.
    pub last_sequence: u64,
    /// The newest commit that is on the disk.
    pub durable_sequence: u64,
    /// The newest commit that the last checkpoint holds.
    pub checkpoint_sequence: u64,
    /// Checkpoints since the file was opened.
    pub checkpoints: u64,
    /// Commits that opening found in the log, after the last checkpoint.
    pub replayed_commits: u64,
    /// Syncs of the log since the file was opened; commits share them.
    pub log_syncs: u64,
    /// Memory that cached data takes.
    pub cached_bytes: u64,
    /// The most that `cached_bytes` may become.
    pub cache_bytes: u64,
    /// Blocks read from the file since it was opened.
    pub blocks_read: u64,
    /// Every collection, by database and name.
    pub collections: Vec<CollectionStats>,
}

/// Figures about one collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionStats {
    /// `database.collection`.
    pub ns: String,
    /// Its documents.
    pub documents: u64,
    /// Its indexes: name, number of entries.
    pub indexes: Vec<(String, u64)>,
}

/// The figures at this moment. Costs a look at each collection, not at its documents.
pub(crate) fn gather(database: &Database) -> Result<DatabaseStats> {
    let storage = database.store().stats();
    let mut stats = DatabaseStats {
        file_bytes: storage.file_bytes,
        free_bytes: storage.free_bytes,
        log_bytes: storage.log_bytes,
        entries: storage.entries,
        last_sequence: storage.last_sequence,
        durable_sequence: storage.durable_sequence,
        checkpoint_sequence: storage.checkpoint_sequence,
        checkpoints: storage.checkpoints,
        replayed_commits: database.replayed_commits(),
        log_syncs: storage.log_syncs,
        cached_bytes: storage.cached_bytes,
        cache_bytes: database.options().cache_size_bytes() as u64,
        blocks_read: storage.blocks_read,
        collections: Vec::new(),
    };
    let snapshot = database.store().snapshot();
    for db in catalog::list_databases(&snapshot)? {
        for collection in catalog::list_collections(&snapshot, database.catalog_cache(), &db)? {
            let mut indexes = Vec::with_capacity(collection.indexes.len());
            for index in &collection.indexes {
                indexes.push((index.name.clone(), snapshot.count(index.table).mapped()?));
            }
            let documents = snapshot.count(collection.records).mapped()?;
            stats.collections.push(CollectionStats { ns: collection.ns.to_string(), documents, indexes });
        }
    }
    Ok(stats)
}
