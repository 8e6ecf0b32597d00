//! Keeping index entries in step with documents.
//!
//! Each function either does its whole work on the transaction or leaves it as it was: a duplicate in
//! the third index takes back what the first two got, so that the other documents of the same
//! transaction can still be committed.

use super::duplicate::duplicate_key_error;
use super::keys::{KeySet, keys_of};
use crate::catalog::{CollectionInfo, IndexInfo};
use crate::storage_error::{MapStorage, from_storage};
use multifora_model::{DocumentView, RawDoc, Result};
use multifora_storage::{EntryKind, Error as StorageError, RowId, Transaction};
use smallvec::SmallVec;

/// For each index of a collection (by its place): the fields that met an array.
pub type ArrayPaths = SmallVec<[u32; 8]>;

/// The kind of an index's entries.
pub fn kind(index: &IndexInfo) -> EntryKind {
    if index.unique { EntryKind::Unique } else { EntryKind::Plain }
}

/// The keys of a document in all indexes, and where they met arrays. No index has been touched yet.
pub fn keys_of_all(collection: &CollectionInfo, doc: RawDoc<'_>) -> Result<SmallVec<[KeySet; 8]>> {
    let view = DocumentView::whole(doc);
    collection.maintained().map(|index| keys_of(index, &view)).collect()
}

/// Writes the entries of a new document.
///
/// # Errors
/// `DuplicateKey` (nothing is written then); storage errors.
pub fn insert(
    txn: &mut Transaction,
    collection: &CollectionInfo,
    row: RowId,
    doc: RawDoc<'_>,
    keys: &[KeySet],
) -> Result<()> {
    for (at, (index, set)) in collection.maintained().zip(keys).enumerate() {
        if let Err(failed) = put_all(txn, index, row, set.iter()) {
            for (index, set) in collection.maintained().zip(keys).take(at) {
                take_back(txn, index, row, set.iter(), false)?;
            }
            return Err(failed.into_error(collection, index, doc));
        }
    }
    Ok(())
}

/// The keys of one document in one index, before and after.
struct Change<'c> {
    index: &'c IndexInfo,
    old: KeySet,
    new: KeySet,
    is_building: bool,
}

/// Changes the entries of a document in the indexes for which `touched` says so.
///
/// # Errors
/// `DuplicateKey` (nothing is written then); those of key extraction; storage errors.
pub fn replace(
    txn: &mut Transaction,
    collection: &CollectionInfo,
    row: RowId,
    before: RawDoc<'_>,
    after: RawDoc<'_>,
    touched: &dyn Fn(&IndexInfo) -> bool,
) -> Result<ArrayPaths> {
    let mut array_paths = ArrayPaths::new();
    let mut changes: SmallVec<[Change<'_>; 4]> = SmallVec::new();
    for (at, index) in collection.maintained().enumerate() {
        array_paths.push(0);
        if !touched(index) {
            continue;
        }
        let new = keys_of(index, &DocumentView::whole(after))?;
        let old = keys_of(index, &DocumentView::whole(before))?;
        if let Some(seen) = array_paths.last_mut() {
            *seen = new.array_paths;
        }
        if new != old {
            changes.push(Change { index, old, new, is_building: at >= collection.indexes.len() });
        }
    }
    for (at, change) in changes.iter().enumerate() {
        if let Err(failed) = put_all(txn, change.index, row, added(&change.old, &change.new)) {
            for done in changes.iter().take(at) {
                take_back(txn, done.index, row, added(&done.old, &done.new), false)?;
            }
            return Err(failed.into_error(collection, change.index, after));
        }
    }
    for change in &changes {
        take_back(txn, change.index, row, added(&change.new, &change.old), change.is_building)?;
    }
    Ok(array_paths)
}

/// Deletes the entries of a document.
pub fn delete(txn: &mut Transaction, collection: &CollectionInfo, row: RowId, doc: RawDoc<'_>) -> Result<()> {
    let view = DocumentView::whole(doc);
    for (at, index) in collection.maintained().enumerate() {
        take_back(txn, index, row, keys_of(index, &view)?.iter(), at >= collection.indexes.len())?;
    }
    Ok(())
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
    fn into_error(
        self,
        collection: &CollectionInfo,
        index: &IndexInfo,
        doc: RawDoc<'_>,
    ) -> multifora_model::Error {
        match self.error {
            StorageError::DuplicateKey { .. } => duplicate_key_error(&collection.ns, index, doc, &self.key),
            other => from_storage(other),
        }
    }
}

/// Writes all entries of one index, or none.
fn put_all<'k>(
    txn: &mut Transaction,
    index: &IndexInfo,
    row: RowId,
    keys: impl Iterator<Item = &'k [u8]>,
) -> std::result::Result<(), Failed> {
    let mut done: SmallVec<[&[u8]; 8]> = SmallVec::new();
    for key in keys {
        if let Err(error) = txn.put_entry(index.table, key, row, kind(index)) {
            let undone = done
                .into_iter()
                .try_for_each(|key| txn.delete_entry(index.table, key, row, kind(index)).map(drop));
            let error = undone.err().unwrap_or(error);
            return Err(Failed { error, key: key.to_vec() });
        }
        done.push(key);
    }
    Ok(())
}

/// Deletes entries. `guard_missing`: one that is not there yet must not have come in between either; the build of an
/// index may be about to write it for the version of the document that this transaction replaces.
fn take_back<'k>(
    txn: &mut Transaction,
    index: &IndexInfo,
    row: RowId,
    keys: impl Iterator<Item = &'k [u8]>,
    guard_missing: bool,
) -> Result<()> {
    for key in keys {
        let found = txn.delete_entry(index.table, key, row, kind(index)).mapped()?;
        if !found && guard_missing {
            txn.guard(index.table, &stored_key(index, key, row)).mapped()?;
        }
    }
    Ok(())
}

/// The key under which storage keeps an entry.
pub fn stored_key(index: &IndexInfo, key: &[u8], row: RowId) -> Vec<u8> {
    match kind(index) {
        EntryKind::Plain => [key, &row.to_key()].concat(),
        EntryKind::Unique => key.to_vec(),
    }
}

/// Writes the entries that an index being built needs for one document.
pub fn insert_built(
    txn: &mut Transaction,
    collection: &CollectionInfo,
    index: &IndexInfo,
    row: RowId,
    doc: RawDoc<'_>,
) -> Result<u32> {
    let keys = keys_of(index, &DocumentView::whole(doc))?;
    match put_all(txn, index, row, keys.iter()) {
        Ok(()) => Ok(keys.array_paths),
        Err(failed) => Err(failed.into_error(collection, index, doc)),
    }
}
