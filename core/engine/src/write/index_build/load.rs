//! From sorted entries to a table.

use super::scan::ScannedIndex;
use super::{Build, finish, note_arrays};
use crate::catalog::{CollectionInfo, IndexInfo};
use crate::external_sort::SortedEntries;
use crate::index::{duplicate_key_error, is_unindexable, keys_of};
use crate::storage_error::MapStorage;
use crate::stored::Stored;
use crate::write::Writer;
use multifora_model::{Error, Result};
use multifora_storage::{BuiltTable, Read, Record, RowId, Snapshot, TableBuilder, TableId};
use std::sync::Arc;

/// What currentOp calls it.
const PHASE: &str = "Index Build: inserting keys from external sorter into index";

/// One index, loaded; nobody knows its table yet.
pub struct LoadedIndex {
    index: Arc<IndexInfo>,
    array_paths: u32,
    table: BuiltTable,
}

/// Puts the entries of one index into a table, in order.
///
/// # Errors
/// `DuplicateKey`, interruption, `IndexBuildAborted`, storage errors, those of the sort's file.
pub fn load(build: &Build<'_>, scanned: ScannedIndex) -> Result<LoadedIndex> {
    let ScannedIndex { index, entries, array_paths } = scanned;
    build.progress.begin(PHASE, entries.count());
    let entries = entries.finish()?;
    let builder = build.database.store().build_table().mapped()?;
    let table = match index.unique {
        true => load_unique(build, &index, entries, builder)?,
        false => load_plain(build, entries, builder)?,
    };
    Ok(LoadedIndex { index, array_paths, table })
}

fn load_plain(
    build: &Build<'_>,
    mut entries: SortedEntries,
    mut builder: TableBuilder,
) -> Result<BuiltTable> {
    while let Some(entry) = entries.next()? {
        build.interrupt.check()?;
        builder.push(entry, &[]).mapped()?;
        build.progress.advance(1);
    }
    builder.finish().mapped()
}

/// Entries with equal keys stand side by side. Their rows may have been scanned at different times, so the present
/// decides whether two rows really share a key; where they do not, the table of changes knows what became of them.
fn load_unique(
    build: &Build<'_>,
    index: &IndexInfo,
    mut entries: SortedEntries,
    mut builder: TableBuilder,
) -> Result<BuiltTable> {
    // The last entry, as long as it is not known whether another row shares its key.
    let mut waiting: Option<Vec<u8>> = None;
    while let Some(entry) = entries.next()? {
        build.interrupt.check()?;
        build.progress.advance(1);
        let (key, row) = split(entry)?;
        if let Some(last) = &mut waiting {
            let (last_key, last_row) = split(last)?;
            if last_key == key {
                waiting = match who_holds(build, index, key, [last_row, row])? {
                    [_, true] => Some(entry.to_vec()),
                    [true, false] => Some(last.clone()),
                    [false, false] => None,
                };
                continue;
            }
            builder.push(last_key, &last_row.to_key()).mapped()?;
            last.clear();
            last.extend_from_slice(entry);
        } else {
            waiting = Some(entry.to_vec());
        }
    }
    if let Some(last) = &waiting {
        let (key, row) = split(last)?;
        builder.push(key, &row.to_key()).mapped()?;
    }
    builder.finish().mapped()
}

fn split(entry: &[u8]) -> Result<(&[u8], RowId)> {
    let parts = entry.split_last_chunk::<8>();
    let (key, row) = parts.ok_or_else(|| Error::internal("a sorted index entry has no row number"))?;
    Ok((key, RowId::from_u64(u64::from_be_bytes(*row))))
}

/// Which of two rows have this key now.
///
/// # Errors
/// `DuplicateKey` when both have.
fn who_holds(build: &Build<'_>, index: &IndexInfo, key: &[u8], rows: [RowId; 2]) -> Result<[bool; 2]> {
    let snapshot = build.database.store().snapshot();
    let collection = build.find(&snapshot)?;
    let holder = |row| record_with_key(&snapshot, &collection, index, key, row);
    match (holder(rows[0])?, holder(rows[1])?) {
        (Some(_), Some(stored)) => Err(duplicate_key_error(&collection.ns, index, &stored.view()?, key)),
        (first, second) => Ok([first.is_some(), second.is_some()]),
    }
}

/// The document of a row, if it has this key.
pub fn record_with_key(
    snapshot: &Snapshot,
    collection: &CollectionInfo,
    index: &IndexInfo,
    key: &[u8],
    row: RowId,
) -> Result<Option<Stored<Record>>> {
    let Some(record) = snapshot.get(collection.records, &row.to_key()).mapped()? else { return Ok(None) };
    let stored = Stored::new(record);
    let has_key = match keys_of(index, &stored.view()?) {
        Ok(keys) => keys.contains(key),
        Err(error) if is_unindexable(&error) => false,
        Err(error) => return Err(error),
    };
    Ok(has_key.then_some(stored))
}

/// Makes the loaded tables those of the indexes; gives the tables.
///
/// # Errors
/// `IndexBuildAborted`, storage errors.
pub fn attach(build: &Build<'_>, writer: &mut Writer<'_>, loaded: Vec<LoadedIndex>) -> Result<Vec<TableId>> {
    // A table can be attached once, so the transaction must not lose a conflict.
    let mut loaded = Some(loaded);
    writer.run_exclusive(|txn| {
        let Some(loaded) = loaded.take() else {
            return Err(Error::internal("an exclusive transaction lost a conflict"));
        };
        let mut write = build.open(txn)?;
        let mut tables = Vec::new();
        for part in loaded {
            let (old, new) = (part.index.table, write.txn.attach(part.table).mapped()?);
            let found = build.own_mut(&mut write).find(|building| building.index.table == old);
            let building = found.ok_or_else(|| build.aborted())?;
            let index = Arc::make_mut(&mut building.index);
            index.table = new;
            note_arrays(index, part.array_paths);
            write.txn.drop_table(old).mapped()?;
            tables.push(new);
        }
        finish(write, tables)
    })
}
