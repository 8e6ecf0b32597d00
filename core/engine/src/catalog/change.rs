//! Changes of the catalogue, each inside the transaction that needs it.

use super::{BuildingIndex, CollectionInfo, Namespace, Validator, list_databases, namespace, record};
use crate::index::ParsedSpec;
use crate::random;
use crate::storage_error::MapStorage;
use multifora_model::{Error, ErrorCode, RawDoc, Result};
use multifora_storage::{Direction, KeyRange, Read, TableId, Transaction};
use std::sync::Arc;

/// Creates a collection with its `_id_` index.
///
/// # Errors
/// `InvalidNamespace` for names that cannot be created, `DatabaseDifferCase` beside a database whose name
/// differs in case only. Two creations at once conflict at commit.
pub fn create(txn: &mut Transaction, ns: &Namespace, options: RawDoc<'_>) -> Result<CollectionInfo> {
    ns.check_creatable()?;
    check_database_case(&*txn, &ns.db)?;
    let collation = super::default_collation(options)?;
    let records = txn.create_table().mapped()?;
    let id_table = txn.create_table().mapped()?;
    let info = CollectionInfo {
        ns: ns.clone(),
        uuid: random::uuid(),
        options: options.as_bytes().to_vec(),
        validator: Validator::parse(options)?.map(Arc::new),
        records,
        indexes: vec![Arc::new(record::index_info(ParsedSpec::id_index(collation.as_ref()), id_table)?)],
        collation,
        building: Vec::new(),
    };
    store(txn, &info)?;
    Ok(info)
}

/// Writes the record of a collection.
pub fn store(txn: &mut Transaction, info: &CollectionInfo) -> Result<()> {
    let bytes = record::encode(info);
    txn.put(TableId::CATALOG, &info.ns.key(), &bytes).mapped()
}

/// Gives a collection the name that `renamed` carries; its tables stay.
///
/// # Errors
/// As [`create`], for the new name.
pub fn rename(txn: &mut Transaction, from: &Namespace, renamed: &CollectionInfo) -> Result<()> {
    renamed.ns.check_creatable()?;
    check_database_case(&*txn, &renamed.ns.db)?;
    txn.delete(TableId::CATALOG, &from.key()).mapped()?;
    store(txn, renamed)
}

/// Drops a collection with everything in it.
pub fn drop_collection(txn: &mut Transaction, info: &CollectionInfo) -> Result<()> {
    for index in &info.indexes {
        txn.drop_table(index.table).mapped()?;
    }
    for table in info.building.iter().flat_map(BuildingIndex::tables) {
        txn.drop_table(table).mapped()?;
    }
    txn.drop_table(info.records).mapped()?;
    txn.delete(TableId::CATALOG, &info.ns.key()).mapped()?;
    Ok(())
}

/// Two databases whose names differ in case only would be one on some systems: MongoDB refuses them everywhere.
fn check_database_case(reads: &dyn Read, db: &str) -> Result<()> {
    let range = KeyRange::prefix(&namespace::database_prefix(db));
    let mut own = reads.scan(TableId::CATALOG, range, Direction::Forward).mapped()?;
    if own.next().mapped()?.is_some() {
        return Ok(());
    }
    drop(own);
    let lower = db.to_lowercase();
    match list_databases(reads)?.iter().find(|known| known.to_lowercase() == lower) {
        Some(known) => Err(Error::new(
            ErrorCode::DatabaseDifferCase,
            format!("db already exists with different case already have: [{known}] trying to create [{db}]"),
        )),
        None => Ok(()),
    }
}
