//! Which collections and indexes there are, and how they are kept (table 0 of the file).

use multifora_storage::TableId;
use std::sync::Arc;

/// `database.collection`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace {
    /// Database name.
    pub db: String,
    /// Collection name.
    pub coll: String,
}

/// One collection, as of one snapshot.
#[derive(Debug)]
pub struct CollectionInfo {
    /// Its name.
    pub ns: Namespace,
    /// Its UUID.
    pub uuid: [u8; 16],
    /// The options it was created with, as a BSON document (what listCollections shows).
    pub options: Vec<u8>,
    /// Row number → document.
    pub records: TableId,
    /// All indexes, `_id_` first.
    pub indexes: Vec<Arc<IndexInfo>>,
}

/// One index, as of one snapshot.
#[derive(Debug)]
pub struct IndexInfo {
    /// Its name.
    pub name: String,
    /// The specification as listIndexes shows it (`v`, `key`, `name`, options), as a BSON document.
    pub spec: Vec<u8>,
    /// The indexed paths, in order.
    pub fields: Vec<IndexField>,
    /// Equal keys are refused.
    pub unique: bool,
    /// Documents without any of the fields have no entry.
    pub sparse: bool,
    /// The planner does not use it.
    pub hidden: bool,
    /// Seconds after which documents expire by this index's date.
    pub expire_after_secs: Option<i64>,
    /// For each field: some document has an array along this path.
    pub multikey: Vec<bool>,
    /// Encoded keys → rows.
    pub table: TableId,
}

/// One path of an index.
#[derive(Clone, Debug)]
pub struct IndexField {
    /// The dotted path.
    pub path: multifora_model::path::FieldPath,
    /// Sorted downwards.
    pub descending: bool,
}
