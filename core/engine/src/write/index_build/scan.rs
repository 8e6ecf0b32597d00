//! The scan of an index build: every row's keys, into sorters.

use super::Build;
use crate::catalog::IndexInfo;
use crate::external_sort::ExternalSorter;
use crate::index::{KeySet, keys_of};
use crate::limits::{INDEX_SCAN_SNAPSHOT_BYTES, INDEX_SORT_BYTES, MIN_INDEX_SORT_BYTES};
use crate::storage_error::MapStorage;
use crate::stored::Stored;
use multifora_model::{Error, ErrorCode, Result};
use multifora_storage::{Direction, Entry, KeyRange, Read, RowId, Snapshot, TableId};
use smallvec::SmallVec;
use std::sync::Arc;

/// What currentOp calls it.
const PHASE: &str = "Index Build: scanning collection";

/// One index, scanned.
pub struct ScannedIndex {
    /// The index.
    pub index: Arc<IndexInfo>,
    /// Its entries, each the key and the row's 8 bytes.
    pub entries: ExternalSorter,
    /// Bit i: an array was met along path i.
    pub array_paths: u32,
}

/// Reads all rows and sorts their keys.
///
/// # Errors
/// Those of key extraction, of the sort, interruption, `IndexBuildAborted`, storage errors.
pub fn scan(build: &Build<'_>) -> Result<Vec<ScannedIndex>> {
    let store = build.database.store();
    let mut snapshot = store.snapshot();
    let collection = build.find(&snapshot)?;
    let records = collection.records;
    let count = build.own(&collection).count();
    let budget_bytes = (INDEX_SORT_BYTES / count.max(1)).max(MIN_INDEX_SORT_BYTES);
    let mut scanned: Vec<ScannedIndex> = build
        .own(&collection)
        .map(|building| ScannedIndex {
            index: Arc::clone(&building.index),
            entries: ExternalSorter::new(budget_bytes),
            array_paths: 0,
        })
        .collect();
    // Rows from here on were written when their writers knew of the index already.
    let end = snapshot.next_row(records).mapped()?;
    build.progress.begin(PHASE, snapshot.count(records).mapped()?);
    let mut next = RowId::from_u64(0);
    while next < end {
        next = scan_part(build, &snapshot, records, next..end, &mut scanned)?;
        // A snapshot that is not held for long keeps little from being reused.
        snapshot = store.snapshot();
        build.find(&snapshot)?;
    }
    Ok(scanned)
}

/// Scans as far as one snapshot should serve; gives the row to go on from.
fn scan_part(
    build: &Build<'_>,
    snapshot: &Snapshot,
    records: TableId,
    rows: std::ops::Range<RowId>,
    scanned: &mut [ScannedIndex],
) -> Result<RowId> {
    let range = KeyRange::between(&rows.start.to_key(), &rows.end.to_key());
    let mut scan = snapshot.scan(records, range, Direction::Forward).mapped()?;
    let mut next = rows.start;
    let mut len_bytes = 0;
    while len_bytes < INDEX_SCAN_SNAPSHOT_BYTES {
        build.interrupt.check()?;
        let read = scan.next().mapped().and_then(|entry| match entry {
            Some(entry) => keys_of_entry(&entry, scanned).map(Some),
            None => Ok(None),
        });
        let (row, len, keys) = match read {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(rows.end),
            // Given up by storage: the rows scanned so far stay scanned.
            Err(error) if error.code() == ErrorCode::SnapshotTooOld && next > rows.start => return Ok(next),
            Err(error) => return Err(error),
        };
        for (part, keys) in scanned.iter_mut().zip(&keys) {
            part.array_paths |= keys.array_paths;
            keys.iter().try_for_each(|key| part.entries.push([key, &row.to_key()]))?;
        }
        build.progress.advance(1);
        next = RowId::from_u64(row.get() + 1);
        len_bytes += len;
    }
    Ok(next)
}

/// A row's number, its size, and its keys in each index.
type RowKeys = (RowId, usize, SmallVec<[KeySet; 4]>);

fn keys_of_entry(entry: &Entry<'_>, scanned: &[ScannedIndex]) -> Result<RowKeys> {
    let row = RowId::from_key(entry.key).ok_or_else(|| Error::internal("a row's key is not 8 bytes"))?;
    let stored = Stored::new(*entry);
    let view = stored.view()?;
    let keys = scanned.iter().map(|part| keys_of(&part.index, &view)).collect::<Result<_>>()?;
    Ok((row, entry.head().len(), keys))
}
