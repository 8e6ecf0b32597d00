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
    collection.indexes.iter().map(|index| keys_of(index, &view)).collect()
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
    for (at, (index, set)) in collection.indexes.iter().zip(keys).enumerate() {
        if let Err(failed) = put_all(txn, index, row, set.iter()) {
            for (index, set) in collection.indexes.iter().zip(keys).take(at) {
                take_back(txn, index, row, set.iter())?;
            }
            return Err(failed.into_error(collection, index, doc));
        }
    }
    Ok(())
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
    let mut array_paths = ArrayPaths::from_elem(0, collection.indexes.len());
    let mut changes: SmallVec<[(&IndexInfo, KeySet, KeySet); 8]> = SmallVec::new();
    for (index, seen) in collection.indexes.iter().zip(array_paths.iter_mut()) {
        if !touched(index) {
            continue;
        }
        let new = keys_of(index, &DocumentView::whole(after))?;
        let old = keys_of(index, &DocumentView::whole(before))?;
        *seen = new.array_paths;
        if new != old {
            changes.push((index, old, new));
        }
    }
    for (at, (index, old, new)) in changes.iter().enumerate() {
        if let Err(failed) = put_all(txn, index, row, added(old, new)) {
            for (index, old, new) in changes.iter().take(at) {
                take_back(txn, index, row, added(old, new))?;
            }
            return Err(failed.into_error(collection, index, after));
        }
    }
    for (index, old, new) in &changes {
        take_back(txn, index, row, added(new, old))?;
    }
    Ok(array_paths)
}

/// Deletes the entries of a document.
pub fn delete(txn: &mut Transaction, collection: &CollectionInfo, row: RowId, doc: RawDoc<'_>) -> Result<()> {
    let view = DocumentView::whole(doc);
    for index in &collection.indexes {
        take_back(txn, index, row, keys_of(index, &view)?.iter())?;
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

fn take_back<'k>(
    txn: &mut Transaction,
    index: &IndexInfo,
    row: RowId,
    mut keys: impl Iterator<Item = &'k [u8]>,
) -> Result<()> {
    keys.try_for_each(|key| txn.delete_entry(index.table, key, row, kind(index)).mapped().map(drop))
}
