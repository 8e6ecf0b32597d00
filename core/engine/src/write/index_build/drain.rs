//! Working in what writers changed since a build began, and publishing the index.

use super::load::record_with_key;
use super::{Build, finish};
use crate::catalog::{CollectionInfo, IndexInfo};
use crate::index::changes::Change;
use crate::index::{duplicate_key_error, entries};
use crate::interrupt::Interrupt;
use crate::limits::{MAX_CHANGES_AT_HANDOVER, MAX_DRAINS};
use crate::storage_error::{MapStorage, from_storage};
use crate::write::insert::{MAX_CHUNK_BYTES, MAX_CHUNK_DOCS};
use crate::write::{Attempt, Writer};
use multifora_model::{RawDoc, Result};
use multifora_storage::{
    Direction, Error as StorageError, KeyRange, Read, RowId, Scan, TableId, Transaction,
};
use std::sync::Arc;

/// What currentOp calls it.
const PHASE: &str = "Index Build: draining writes received during build";

/// Works in what was changed, in rounds, until what is left can be done while writers wait.
///
/// # Errors
/// `DuplicateKey`, interruption, `IndexBuildAborted`, storage errors.
pub fn drain(build: &Build<'_>, writer: &mut Writer<'_>) -> Result<()> {
    for _ in 0..MAX_DRAINS {
        if waiting(build)? <= MAX_CHANGES_AT_HANDOVER {
            return Ok(());
        }
        drain_round(build, writer)?;
    }
    Ok(())
}

/// Works in what was changed up to now.
pub(super) fn drain_round(build: &Build<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let left = change_tables(build, writer)?;
    let total = left.iter().try_fold(0, |sum, left| count(build, left.changes).map(|n| sum + n))?;
    build.progress.begin(PHASE, total);
    // Entries that went first: a key that one row gave up may be another's now.
    for added in [false, true] {
        left.iter().try_for_each(|left| drain_table(build, writer, left, added))?;
    }
    Ok(())
}

/// How many changes wait to be worked in.
fn waiting(build: &Build<'_>) -> Result<u64> {
    let collection = build.find(&build.database.store().snapshot())?;
    build.own(&collection).try_fold(0, |sum, building| count(build, building.changes).map(|n| sum + n))
}

fn count(build: &Build<'_>, table: TableId) -> Result<u64> {
    build.database.store().snapshot().count(table).mapped()
}

/// Changes that nobody adds to any more.
struct Left {
    index: Arc<IndexInfo>,
    changes: TableId,
}

/// Gives writers a fresh table of changes for each index; gives those that they leave.
fn change_tables(build: &Build<'_>, writer: &mut Writer<'_>) -> Result<Vec<Left>> {
    writer.run(|txn| {
        let mut write = build.open(txn)?;
        let mut left = Vec::new();
        let fresh = build.own(&write.collection).map(|_| write.txn.create_table().mapped());
        let fresh = fresh.collect::<Result<Vec<_>>>()?;
        let mut drained = Vec::new();
        for (building, fresh) in build.own_mut(&mut write).zip(fresh) {
            drained.extend(building.draining.replace(building.changes));
            left.push(Left { index: Arc::clone(&building.index), changes: building.changes });
            building.changes = fresh;
        }
        drained.into_iter().try_for_each(|table| write.txn.drop_table(table).mapped())?;
        finish(write, left)
    })
}

/// Works in the changes of one kind.
fn drain_table(build: &Build<'_>, writer: &mut Writer<'_>, left: &Left, added: bool) -> Result<()> {
    let snapshot = build.database.store().snapshot();
    let mut scan = snapshot.scan(left.changes, KeyRange::all(), Direction::Forward).mapped()?;
    loop {
        let chunk = next_chunk(&mut scan, added, build.interrupt)?;
        if chunk.is_empty() {
            return Ok(());
        }
        writer.run(|txn| {
            let write = build.open(txn)?;
            for (key, row) in &chunk {
                build.interrupt.check()?;
                apply(build, write.txn, &left.index, &Change { key, row: *row, added })?;
            }
            Ok(Attempt::Commit(()))
        })?;
        build.progress.advance(chunk.len() as u64);
    }
}

/// The next changes of one kind, up to the limits of a chunk; empty at the end.
fn next_chunk(scan: &mut Scan, added: bool, interrupt: &Interrupt) -> Result<Vec<(Vec<u8>, RowId)>> {
    let mut chunk = Vec::new();
    let mut len_bytes = 0;
    while chunk.len() < MAX_CHUNK_DOCS && len_bytes < MAX_CHUNK_BYTES {
        interrupt.check()?;
        let Some(entry) = scan.next().mapped()? else { break };
        if let Some(change) = Change::read(entry.key, entry.head()).filter(|change| change.added == added) {
            len_bytes += change.key.len();
            chunk.push((change.key.to_vec(), change.row));
        }
    }
    Ok(chunk)
}

fn apply(build: &Build<'_>, txn: &mut Transaction, index: &IndexInfo, change: &Change<'_>) -> Result<()> {
    let kind = entries::kind(index);
    if !change.added {
        return txn.delete_entry(index.table, change.key, change.row, kind).map(drop).mapped();
    }
    match txn.put_entry(index.table, change.key, change.row, kind) {
        Err(StorageError::DuplicateKey { row: owner }) => {
            let collection = build.find(txn)?;
            Err(duplicate(txn, &collection, index, change, owner)?)
        }
        other => other.map_err(from_storage),
    }
}

/// The error for a key that two rows have, in the words of a document that has it still.
fn duplicate(
    txn: &Transaction,
    collection: &CollectionInfo,
    index: &IndexInfo,
    change: &Change<'_>,
    owner: RowId,
) -> Result<multifora_model::Error> {
    for row in [change.row, owner] {
        if let Some(stored) = record_with_key(txn.snapshot(), collection, index, change.key, row)? {
            return Ok(duplicate_key_error(&collection.ns, index, &stored.view()?, change.key));
        }
    }
    Ok(duplicate_key_error(&collection.ns, index, &RawDoc::EMPTY.into(), change.key))
}

/// Works in what is left while nobody else commits, and publishes the indexes.
///
/// # Errors
/// `DuplicateKey`, interruption, `IndexBuildAborted`, storage errors.
pub fn hand_over(build: &Build<'_>, writer: &mut Writer<'_>) -> Result<()> {
    writer.run_exclusive(|txn| {
        let mut write = build.open(txn)?;
        let collection = Arc::clone(&write.collection);
        for added in [false, true] {
            for building in build.own(&collection) {
                let changes = building.changes;
                let mut scan = write.txn.scan(changes, KeyRange::all(), Direction::Forward).mapped()?;
                while let Some(entry) = scan.next().mapped()? {
                    build.interrupt.check()?;
                    let change = Change::read(entry.key, entry.head());
                    if let Some(change) = change.filter(|change| change.added == added) {
                        apply(build, write.txn, &building.index, &change)?;
                    }
                }
            }
        }
        let published = Arc::make_mut(&mut write.collection);
        for building in published.building.extract_if(.., |building| build.owns(building)) {
            write.txn.drop_table(building.changes).mapped()?;
            building.draining.map_or(Ok(()), |table| write.txn.drop_table(table)).mapped()?;
            published.indexes.push(building.index);
        }
        finish(write, ())
    })
}
