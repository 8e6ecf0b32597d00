//! Is the file sound? Storage's own walk, and whether documents and index entries agree.
//!
//! Every document must be well-formed, the values that are kept out of line included, and have exactly the entries that
//! its indexes ask for. Each expected entry is looked up; when all are there and the index has no more entries than were
//! expected, every entry has its document as well. Only an index with too many entries is walked to name the strays.
//! What storage cannot read is named by collection and index, and does not end the check.

use crate::catalog::{self, CollectionInfo, IndexInfo};
use crate::database::Database;
use crate::index::{entries, keys_of};
use crate::interrupt::Interrupt;
use crate::storage_error::MapStorage;
use crate::stored::Stored;
use crate::table_names::TableNames;
use multifora_model::limits::{MAX_DOCUMENT_BYTES, MAX_NESTING_DEPTH};
use multifora_model::split::MAX_CUTS;
use multifora_model::{DocumentView, Error, ErrorCode, RawDoc, Result, validate};
use multifora_storage::{Direction, Entry, EntryKind, KeyRange, LostKeys, Problem, Read, RowId, TableId};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most problems that a report spells out.
const MAX_PROBLEMS: usize = 100;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Tables walked.
    pub tables: u64,
    /// Entries of all tables.
    pub entries: u64,
    /// Blocks read back and checked.
    pub blocks: u64,
    /// Bytes of the file in use.
    pub used_bytes: u64,
    /// Bytes of the file that hold nothing.
    pub free_bytes: u64,
    /// Collections looked at.
    pub collections: u64,
    /// Documents looked at.
    pub documents: u64,
    /// Index entries looked up.
    pub index_entries: u64,
    /// What is wrong, each in one line; at most the first hundred.
    pub problems: Vec<String>,
    /// How many problems there are in all.
    pub problem_count: u64,
}

impl CheckReport {
    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problem_count == 0
    }

    fn add(&mut self, problem: String) {
        self.problem_count += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// How often a check begins anew because a writer in another process had to give up what it was reading.
const TRIES: usize = 5;

/// Checks the whole file, as it is at this moment.
pub(crate) fn check(database: &Database, interrupt: &Interrupt) -> Result<CheckReport> {
    let too_old = |checked: &Result<CheckReport>| {
        checked.as_ref().is_err_and(|error| error.code() == ErrorCode::SnapshotTooOld)
    };
    let mut checked = check_once(database, interrupt);
    for _ in 1..TRIES {
        if !too_old(&checked) {
            break;
        }
        checked = check_once(database, interrupt);
    }
    checked
}

fn check_once(database: &Database, interrupt: &Interrupt) -> Result<CheckReport> {
    let verified = database.store().verify().mapped()?;
    let mut report = CheckReport {
        tables: verified.tables,
        entries: verified.entries,
        blocks: verified.blocks,
        used_bytes: verified.used_bytes,
        free_bytes: verified.free_bytes,
        ..CheckReport::default()
    };
    let snapshot = database.store().snapshot();
    let names = TableNames::of(&snapshot);
    for problem in &verified.problems {
        report.add(names.describe(problem));
    }
    let damaged = damaged_tables(&verified.problems);
    let collections = match catalog::list_all(&snapshot) {
        Ok(collections) => collections,
        Err(error) => {
            report.add(format!(
                "the catalogue cannot be read, so no document was looked at: {}",
                error.message()
            ));
            return Ok(report);
        }
    };
    for collection in collections {
        report.collections += 1;
        if damaged.contains(&collection.records) {
            report.add(format!(
                "{}: documents are lost, so the others were not compared with its indexes",
                collection.ns
            ));
            continue;
        }
        match check_collection(&snapshot, &collection, &damaged, interrupt, &mut report) {
            Err(error) if error.code() == ErrorCode::DataCorruptionDetected => {
                report.add(format!("{}: {}", collection.ns, error.message()));
            }
            checked => checked?,
        }
    }
    Ok(report)
}

/// Tables that have entries which cannot be reached.
fn damaged_tables(problems: &[Problem]) -> BTreeSet<TableId> {
    let lost = problems.iter().filter(|problem| matches!(problem.lost, LostKeys::Range { .. }));
    lost.filter_map(|problem| problem.table).collect()
}

fn check_collection(
    reads: &dyn Read,
    collection: &CollectionInfo,
    damaged: &BTreeSet<TableId>,
    interrupt: &Interrupt,
    report: &mut CheckReport,
) -> Result<()> {
    let readable = collection.indexes.iter().filter(|index| !damaged.contains(&index.table));
    let indexes: Vec<&Arc<IndexInfo>> = readable.collect();
    let mut expected = vec![0_u64; indexes.len()];
    let mut scan = reads.scan(collection.records, KeyRange::all(), Direction::Forward).mapped()?;
    while let Some(entry) = scan.next().mapped()? {
        interrupt.check()?;
        report.documents += 1;
        let Some(row) = RowId::from_key(entry.key) else {
            report.add(format!("{}: a record's key is no row number", collection.ns));
            continue;
        };
        let stored = Stored::new(entry);
        let doc = match whole_document(&stored) {
            Ok(doc) => DocumentView::whole(doc),
            Err(error) => {
                report.add(format!("{}: document in row {row}: {}", collection.ns, error.message()));
                continue;
            }
        };
        for (index, expected) in indexes.iter().zip(&mut expected) {
            let place = || format!("{} index '{}': document in row {row}", collection.ns, index.name);
            let keys = match keys_of(index, &doc) {
                Ok(keys) => keys,
                Err(error) => {
                    report.add(format!("{}: {}", place(), error.message()));
                    continue;
                }
            };
            for key in keys.iter() {
                *expected += 1;
                report.index_entries += 1;
                if !has_entry(reads, index, key, row)? {
                    report.add(format!("{} has no entry", place()));
                }
            }
        }
    }
    for (index, expected) in indexes.iter().zip(expected) {
        let found = reads.count(index.table).mapped()?;
        if found != expected {
            report.add(format!(
                "{} index '{}': {found} entries, expected {expected}",
                collection.ns, index.name
            ));
            name_strays(reads, collection, index, interrupt, report)?;
        }
    }
    Ok(())
}

/// The document, put together and checked: every value is there, is what the head says, and belongs to one field.
pub(crate) fn whole_document<'s>(stored: &'s Stored<Entry<'_>>) -> Result<RawDoc<'s>> {
    let view = stored.view()?;
    let mut numbers: SmallVec<[u8; MAX_CUTS]> = view.head().cuts().map(|cut| cut.number).collect();
    numbers.sort_unstable();
    let values = stored.record().value_count();
    if numbers.len() != values || !numbers.iter().copied().map(usize::from).eq(0..values) {
        return Err(Error::corrupt(format!("its head tells of values {numbers:?}, and {values} are stored")));
    }
    validate::document(view.to_doc()?.as_bytes(), MAX_DOCUMENT_BYTES, MAX_NESTING_DEPTH + 1)
}

pub(crate) fn has_entry(reads: &dyn Read, index: &IndexInfo, key: &[u8], row: RowId) -> Result<bool> {
    let record = reads.get(index.table, &entries::stored_key(index, key, row)).mapped()?;
    Ok(record.is_some_and(|record| match entries::kind(index) {
        EntryKind::Plain => true,
        EntryKind::Unique => RowId::from_key(record.head()) == Some(row),
    }))
}

/// Entries whose document is gone.
fn name_strays(
    reads: &dyn Read,
    collection: &CollectionInfo,
    index: &IndexInfo,
    interrupt: &Interrupt,
    report: &mut CheckReport,
) -> Result<()> {
    let mut scan = reads.scan(index.table, KeyRange::all(), Direction::Forward).mapped()?;
    while let Some(entry) = scan.next().mapped()? {
        interrupt.check()?;
        let row = match entries::kind(index) {
            EntryKind::Plain => entry.row_in_key(),
            EntryKind::Unique => RowId::from_key(entry.head()),
        };
        let exists = match row {
            Some(row) => reads.get(collection.records, &row.to_key()).mapped()?.is_some(),
            None => false,
        };
        if !exists {
            let row = row.map_or_else(|| String::from("none"), |r| r.to_string());
            report.add(format!(
                "{} index '{}': an entry names row {row}, which is not there",
                collection.ns, index.name
            ));
        }
    }
    Ok(())
}
