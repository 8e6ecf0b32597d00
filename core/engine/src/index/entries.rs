//! Keeping index entries in step with documents.
//!
//! Each function either does its whole work on the transaction or leaves it as it was: a duplicate in
//! the third index takes back what the first two got, so that the other documents of the same
//! transaction can still be committed.

use super::changes;
use super::duplicate::duplicate_key_error;
use super::keys::{KeySet, is_unindexable, keys_of};
use crate::catalog::{CollectionInfo, IndexInfo, Namespace};
use crate::storage_error::{MapStorage, from_storage};
use multifora_model::{DocumentView, Error, Result};
use multifora_storage::{EntryKind, Error as StorageError, RowId, TableId, Transaction};
use smallvec::SmallVec;

/// For each index of a collection (by its place): the fields that met an array.
pub type ArrayPaths = SmallVec<[u32; 8]>;

/// The kind of an index's entries.
pub fn kind(index: &IndexInfo) -> EntryKind {
    if index.unique { EntryKind::Unique } else { EntryKind::Plain }
}

/// An index, and where its entries are written.
#[derive(Clone, Copy)]
struct Place<'c> {
    index: &'c IndexInfo,
    /// The index is being built: what comes and goes is noted there, and its own table left alone.
    changes: Option<TableId>,
}

/// Every index that writers keep in step, in the order of [`CollectionInfo::maintained`].
fn places(collection: &CollectionInfo) -> impl Iterator<Item = Place<'_>> {
    let complete = collection.indexes.iter().map(|index| Place { index, changes: None });
    let building = &collection.building;
    complete.chain(building.iter().map(|b| Place { index: &b.index, changes: Some(b.changes) }))
}

impl Place<'_> {
    fn put(self, txn: &mut Transaction, key: &[u8], row: RowId) -> std::result::Result<(), StorageError> {
        match self.changes {
            Some(changes) => changes::note_added(txn, changes, key, row),
            None => txn.put_entry(self.index.table, key, row, kind(self.index)),
        }
    }

    fn remove(self, txn: &mut Transaction, key: &[u8], row: RowId) -> std::result::Result<(), StorageError> {
        match self.changes {
            Some(changes) => changes::note_removed(txn, changes, key, row),
            None => txn.delete_entry(self.index.table, key, row, kind(self.index)).map(drop),
        }
    }

    /// The keys of a version that goes. A document that was there before the index may have none that it could take:
    /// the build stops at it, unless it goes first.
    fn keys_before(self, doc: &DocumentView<'_>) -> Result<KeySet> {
        match keys_of(self.index, doc) {
            Err(error) if self.changes.is_some() && is_unindexable(&error) => Ok(KeySet::default()),
            keys => keys,
        }
    }
}

/// The keys of a document in all indexes, and where they met arrays. No index has been touched yet.
pub fn keys_of_all(collection: &CollectionInfo, doc: &DocumentView<'_>) -> Result<SmallVec<[KeySet; 8]>> {
    collection.maintained().map(|index| keys_of(index, doc)).collect()
}

/// Writes the entries of a new document.
///
/// # Errors
/// `DuplicateKey` (nothing is written then); storage errors.
pub fn insert(
    txn: &mut Transaction,
    collection: &CollectionInfo,
    row: RowId,
    doc: &DocumentView<'_>,
    keys: &[KeySet],
) -> Result<()> {
    for (at, (place, set)) in places(collection).zip(keys).enumerate() {
        if let Err(failed) = put_all(txn, place, row, set.iter()) {
            for (place, set) in places(collection).zip(keys).take(at) {
                take_back(txn, place, row, set.iter())?;
            }
            return Err(failed.into_error(&collection.ns, place.index, doc));
        }
    }
    Ok(())
}

/// The keys of one document in one index, before and after.
struct Change<'c> {
    place: Place<'c>,
    old: KeySet,
    new: KeySet,
}

/// Changes the entries of a document in the indexes for which `touched` says so.
///
/// # Errors
/// `DuplicateKey` (nothing is written then); those of key extraction; storage errors.
pub fn replace(
    txn: &mut Transaction,
    collection: &CollectionInfo,
    row: RowId,
    before: &DocumentView<'_>,
    after: &DocumentView<'_>,
    touched: &dyn Fn(&IndexInfo) -> bool,
) -> Result<ArrayPaths> {
    let mut array_paths = ArrayPaths::new();
    let mut changes: SmallVec<[Change<'_>; 4]> = SmallVec::new();
    for place in places(collection) {
        array_paths.push(0);
        if !touched(place.index) {
            continue;
        }
        let new = keys_of(place.index, after)?;
        let old = place.keys_before(before)?;
        if let Some(seen) = array_paths.last_mut() {
            *seen = new.array_paths;
        }
        if new != old {
            changes.push(Change { place, old, new });
        }
    }
    for (at, change) in changes.iter().enumerate() {
        if let Err(failed) = put_all(txn, change.place, row, added(&change.old, &change.new)) {
            for done in changes.iter().take(at) {
                take_back(txn, done.place, row, added(&done.old, &done.new))?;
            }
            return Err(failed.into_error(&collection.ns, change.place.index, after));
        }
    }
    for change in &changes {
        take_back(txn, change.place, row, added(&change.new, &change.old))?;
    }
    Ok(array_paths)
}

/// Deletes the entries of a document.
pub fn delete(
    txn: &mut Transaction,
    collection: &CollectionInfo,
    row: RowId,
    doc: &DocumentView<'_>,
) -> Result<()> {
    places(collection).try_for_each(|place| take_back(txn, place, row, place.keys_before(doc)?.iter()))
}

/// The keys of `new` that `old` does not have.
fn added<'k>(old: &'k KeySet, new: &'k KeySet) -> impl Iterator<Item = &'k [u8]> {
    new.iter().filter(|key| !old.contains(key))
}

/// A write of entries that failed, and the key at which it did.
struct Failed {
    error: StorageError,
    key: Vec<u8>,
}

impl Failed {
    fn into_error(self, ns: &Namespace, index: &IndexInfo, doc: &DocumentView<'_>) -> Error {
        match self.error {
            StorageError::DuplicateKey { .. } => duplicate_key_error(ns, index, doc, &self.key),
            other => from_storage(other),
        }
    }
}

/// Writes all entries of one index, or none.
fn put_all<'k>(
    txn: &mut Transaction,
    place: Place<'_>,
    row: RowId,
    keys: impl Iterator<Item = &'k [u8]>,
) -> std::result::Result<(), Failed> {
    let mut done: SmallVec<[&[u8]; 8]> = SmallVec::new();
    for key in keys {
        if let Err(error) = place.put(txn, key, row) {
            let undone = done.into_iter().try_for_each(|key| place.remove(txn, key, row));
            let error = undone.err().unwrap_or(error);
            return Err(Failed { error, key: key.to_vec() });
        }
        done.push(key);
    }
    Ok(())
}

/// Deletes entries.
fn take_back<'k>(
    txn: &mut Transaction,
    place: Place<'_>,
    row: RowId,
    mut keys: impl Iterator<Item = &'k [u8]>,
) -> Result<()> {
    keys.try_for_each(|key| place.remove(txn, key, row)).mapped()
}

/// Writes the entries of one document in an index that nobody else knows yet; says where it met arrays.
///
/// # Errors
/// `DuplicateKey`, those of key extraction, storage errors.
pub fn insert_built(
    txn: &mut Transaction,
    ns: &Namespace,
    index: &IndexInfo,
    row: RowId,
    doc: &DocumentView<'_>,
) -> Result<u32> {
    let keys = keys_of(index, doc)?;
    match put_all(txn, Place { index, changes: None }, row, keys.iter()) {
        Ok(()) => Ok(keys.array_paths),
        Err(failed) => Err(failed.into_error(ns, index, doc)),
    }
}

/// The key under which storage keeps an entry.
pub fn stored_key(index: &IndexInfo, key: &[u8], row: RowId) -> Vec<u8> {
    match kind(index) {
        EntryKind::Plain => [key, &row.to_key()].concat(),
        EntryKind::Unique => key.to_vec(),
    }
}
