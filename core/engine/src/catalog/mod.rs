//! Which collections and indexes there are, and how they are kept (table 0 of the file).
//!
//! The catalogue is read through the same snapshot as the data it describes, so a reader never sees
//! an index without its entries. Parsed records are cached by name and record version: an entry
//! is right for every snapshot that sees that version of the record.

mod cache;
mod change;
mod namespace;
mod record;
mod validator;

pub use cache::CatalogCache;
pub use change::{create, drop_collection, rename, store};
pub use namespace::{MAX_DATABASE_NAME_BYTES, MAX_NAMESPACE_BYTES, Namespace, check_database_name};
pub use record::index_info;
pub use validator::Validator;

use crate::storage_error::MapStorage;
use multifora_model::collation::SORT_KEY_VERSION;
use multifora_model::path::FieldPath;
use multifora_model::{Collation, Error, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::filter::Filter;
use multifora_storage::{Direction, KeyRange, Read, Sequence, TableId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One collection, as of one snapshot.
#[derive(Clone, Debug)]
pub struct CollectionInfo {
    /// Its name.
    pub ns: Namespace,
    /// Its UUID.
    pub uuid: [u8; 16],
    /// The options it was created with, as a BSON document (what listCollections shows).
    pub options: Vec<u8>,
    /// How strings compare in it where nothing else is said; by their bytes without one.
    pub collation: Option<Arc<Collation>>,
    /// The rule that its documents must keep.
    pub validator: Option<Arc<Validator>>,
    /// Row number → document.
    pub records: TableId,
    /// All indexes, `_id_` first.
    pub indexes: Vec<Arc<IndexInfo>>,
    /// Indexes that are being built: writes note what they change of them, reads do not know them.
    pub building: Vec<BuildingIndex>,
}

/// An index that is being built from what was there before, while writes go on.
///
/// Writers do not touch its table: they note every entry that comes or goes in a table of changes, which the build
/// works into the index before it is published (see `index::changes` and `write::index_build`).
#[derive(Clone, Debug)]
pub struct BuildingIndex {
    /// The index to be. Its table is empty until the sorted entries take its place.
    pub index: Arc<IndexInfo>,
    /// Where writers note what they change.
    pub changes: TableId,
    /// Earlier changes, which the build is working in. Nobody writes there any more.
    pub draining: Option<TableId>,
}

impl BuildingIndex {
    /// Every table that belongs to it.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        [self.index.table, self.changes].into_iter().chain(self.draining)
    }
}

/// One index, as of one snapshot.
#[derive(Clone, Debug)]
pub struct IndexInfo {
    /// Its name.
    pub name: String,
    /// The specification as listIndexes shows it (`v`, `key`, `name`, options), as a BSON document.
    pub spec: Vec<u8>,
    /// The indexed paths, in order.
    pub fields: Vec<IndexField>,
    /// The paths of `fields` alone, as key extraction takes them.
    pub paths: Vec<FieldPath>,
    /// Equal keys are refused.
    pub unique: bool,
    /// Documents without any of the fields have no entry.
    pub sparse: bool,
    /// The planner does not use it.
    pub hidden: bool,
    /// Seconds after which documents expire by this index's date.
    pub expire_after_secs: Option<i64>,
    /// Only documents that match have entries.
    pub partial_filter: Option<Arc<Filter>>,
    /// By which strings are ordered; their bytes without one.
    pub collation: Option<Arc<Collation>>,
    /// The version of the collation's rules that its keys were made by; none without a collation.
    pub sort_keys: Option<String>,
    /// For each field: some document has an array along this path.
    pub multikey: Vec<bool>,
    /// Encoded keys → rows.
    pub table: TableId,
}

/// One path of an index.
#[derive(Clone, Debug)]
pub struct IndexField {
    /// The dotted path.
    pub path: FieldPath,
    /// Sorted downwards.
    pub descending: bool,
}

impl CollectionInfo {
    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&Arc<IndexInfo>> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The indexes that a write keeps in step: the complete ones, then those being built.
    pub fn maintained(&self) -> impl Iterator<Item = &Arc<IndexInfo>> {
        self.indexes.iter().chain(self.building.iter().map(|building| &building.index))
    }

    /// The same, to be changed.
    pub fn maintained_mut(&mut self) -> impl Iterator<Item = &mut Arc<IndexInfo>> {
        self.indexes.iter_mut().chain(self.building.iter_mut().map(|building| &mut building.index))
    }

    /// The options as a document.
    pub fn options_doc(&self) -> RawDoc<'_> {
        RawDoc::framed(&self.options).unwrap_or(RawDoc::EMPTY)
    }
}

impl IndexInfo {
    /// The key pattern.
    pub fn key_pattern(&self) -> RawDoc<'_> {
        crate::index::key_of(&self.spec)
    }

    /// The specification as a document.
    pub fn spec_doc(&self) -> RawDoc<'_> {
        RawDoc::framed(&self.spec).unwrap_or(RawDoc::EMPTY)
    }

    /// A query may read it.
    pub fn is_usable(&self) -> bool {
        !self.hidden && !self.is_outdated()
    }

    /// Its keys were made by another version of the collation's rules than this build has: it is neither read nor
    /// written, only dropped.
    pub fn is_outdated(&self) -> bool {
        self.sort_keys.as_deref().is_some_and(|version| version != SORT_KEY_VERSION)
    }

    /// Some document has an array along one of the paths.
    pub fn is_multikey(&self) -> bool {
        self.multikey.contains(&true)
    }
}

/// The collation in the options of a collection.
///
/// # Errors
/// Those of [`Collation::parse`].
pub fn default_collation(options: RawDoc<'_>) -> Result<Option<Arc<Collation>>> {
    let Some(collation) = options.get("collation").and_then(RawValue::as_doc) else { return Ok(None) };
    let collation = Collation::parse(collation)?;
    if collation.is_some() {
        COLLATIONS_MET.store(true, Ordering::Relaxed);
    }
    Ok(collation)
}

/// A collection with a default collation has been met by this process.
static COLLATIONS_MET: AtomicBool = AtomicBool::new(false);

/// False as long as no collection of an open database can have a default collation, so that writes need not look it up.
///
/// That is known because every record that is read or made passes [`default_collation`], and because opening a file
/// for writing reads them all (it looks for unfinished index builds).
pub fn may_have_collations() -> bool {
    COLLATIONS_MET.load(Ordering::Relaxed)
}

/// The collection of this name, as the snapshot or transaction sees it.
pub fn find(reads: &dyn Read, cache: &CatalogCache, ns: &Namespace) -> Result<Option<Arc<CollectionInfo>>> {
    let Some(record) = reads.get(TableId::CATALOG, &ns.key()).mapped()? else { return Ok(None) };
    let version = record.version();
    if let Some(known) = cache.get(ns, version) {
        return Ok(Some(known));
    }
    let info = Arc::new(record::decode(ns.clone(), record.head())?);
    // What a transaction has not committed yet has no version that would name it.
    if version != Sequence::UNCOMMITTED {
        cache.put(version, Arc::clone(&info));
    }
    Ok(Some(info))
}

/// Like [`find`], with `NamespaceNotFound` when there is none.
pub fn find_existing(reads: &dyn Read, cache: &CatalogCache, ns: &Namespace) -> Result<Arc<CollectionInfo>> {
    find(reads, cache, ns)?
        .ok_or_else(|| Error::new(ErrorCode::NamespaceNotFound, format!("ns does not exist: {ns}")))
}

/// The names of all databases that have a collection, in order.
pub fn list_databases(reads: &dyn Read) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    // Keys that begin with NUL are no collections (the sessions table stands there).
    let mut from = vec![1];
    // One look per database: the next search begins behind all of its collections.
    loop {
        let mut scan = reads.scan(TableId::CATALOG, KeyRange::from(&from), Direction::Forward).mapped()?;
        let Some(entry) = scan.next().mapped()? else { return Ok(names) };
        let Some(ns) = Namespace::from_key(entry.key) else {
            return Err(Error::internal("the catalogue holds a key that is no namespace"));
        };
        from = ns.db.as_bytes().to_vec();
        from.push(1);
        names.push(ns.db);
    }
}

/// The collections of one database, in order of their names.
pub fn list_collections(
    reads: &dyn Read,
    cache: &CatalogCache,
    db: &str,
) -> Result<Vec<Arc<CollectionInfo>>> {
    let range = KeyRange::prefix(&namespace::database_prefix(db));
    let mut scan = reads.scan(TableId::CATALOG, range, Direction::Forward).mapped()?;
    let mut found = Vec::new();
    while let Some(entry) = scan.next().mapped()? {
        let Some(ns) = Namespace::from_key(entry.key) else { continue };
        let version = entry.version();
        let info = match cache.get(&ns, version) {
            Some(known) => known,
            None => Arc::new(record::decode(ns, entry.head())?),
        };
        found.push(info);
    }
    Ok(found)
}

/// Every collection, by database and name; of a file that nobody else uses, so nothing is kept in a cache.
pub fn list_all(reads: &dyn Read) -> Result<Vec<Arc<CollectionInfo>>> {
    let cache = CatalogCache::default();
    let mut found = Vec::new();
    for db in list_databases(reads)? {
        found.extend(list_collections(reads, &cache, &db)?);
    }
    Ok(found)
}
