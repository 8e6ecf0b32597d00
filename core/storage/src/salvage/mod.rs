//! Saving what is readable of a damaged file into a new one.
//!
//! The file is only read. What its newest checkpoint reaches is copied table by table, in the order of keys, with the
//! commits of the log laid over it. A block that cannot be read costs what it alone holds: where a branch, the list of
//! tables or every superblock is bad, the file is scanned for the leaves that belong there. The report names everything
//! that was not saved, and the copy becomes a database with its last commit, so one that was cut short is empty.

mod log_changes;
mod scan;
mod source;
mod table;

use crate::copy::{CopyProgress, OnProgress, into_new_file};
use crate::disk::{Disk, LockMode, RealDisk};
use crate::error::{Error, Result};
use crate::file_store;
use crate::ids::{Sequence, TableId};
use crate::options::Options;
use crate::problem::{LostKeys, Problem};
use crate::store::Store;
use source::Source;
use std::path::Path;
use std::sync::Arc;
use table::TableCopy;

/// What was saved of a damaged file, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The tables of the new file.
    pub tables: Vec<SalvagedTable>,
    /// The newest commit that was found.
    pub sequence: Sequence,
    /// Everything that is wrong with the file, and what is lost because of it.
    pub problems: Vec<Problem>,
}

/// A table that was saved, in whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvagedTable {
    /// Its number, in both files.
    pub table: TableId,
    /// Entries that were saved.
    pub entries: u64,
    /// Of these, entries that only a scan of the file has found.
    pub scanned_entries: u64,
    /// Whether the scan may have taken older entries for current ones: the list of free space, by which they are told
    /// apart, cannot be read either.
    pub may_be_stale: bool,
}

impl SalvageReport {
    /// Whether everything was saved.
    pub fn is_complete(&self) -> bool {
        self.problems.iter().all(|problem| problem.lost == LostKeys::Nothing)
    }

    /// Entries of all tables that were saved.
    pub fn entries(&self) -> u64 {
        self.tables.iter().map(|table| table.entries).sum()
    }

    /// Entries that are known to be lost; more may be where nobody knows how many there were.
    pub fn lost_entries(&self) -> u64 {
        let lost = |problem: &Problem| match &problem.lost {
            LostKeys::Nothing => 0,
            LostKeys::Entry(_) => 1,
            LostKeys::Range { entries, .. } => entries.unwrap_or(0),
        };
        self.problems.iter().map(lost).sum()
    }
}

/// Saves what is readable of the file `from` into the new file `to`. Nobody may have `from` open for writing; `to` must
/// not exist, and is taken away again when this fails.
///
/// # Errors
/// `from` cannot be opened or is no database; `to` cannot be written. Damage is no error but in the report.
pub fn salvage(from: &Path, to: &Path, on_progress: OnProgress<'_>) -> Result<SalvageReport> {
    let shown = from.display().to_string();
    let disk = RealDisk::open(from, true, false).map_err(|error| Error::io("open", shown, &error))?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    into_new_file("salvage to", to, &Options::default(), |target| salvage_into(disk, target, on_progress))
}

/// As [`salvage`], from one disk onto an empty one.
pub fn salvage_onto(
    from: Arc<dyn Disk>,
    to: Arc<dyn Disk>,
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Result<SalvageReport> {
    Store::open_on(to, options).and_then(|target| salvage_into(from, target, on_progress))
}

fn salvage_into(from: Arc<dyn Disk>, target: Store, on_progress: OnProgress<'_>) -> Result<SalvageReport> {
    file_store::lock(&*from, LockMode::NoWriter)?;
    let saved = copy_all(Arc::clone(&from), &target, on_progress);
    // The lock would go with the file anyway; a simulated disk outlives its handles.
    let _ = from.unlock();
    let report = saved?;
    target.close()?;
    Ok(report)
}

/// What all tables' copies share.
struct Work<'w> {
    report: SalvageReport,
    progress: CopyProgress,
    on_progress: OnProgress<'w>,
}

impl Work<'_> {
    fn tick(&mut self) -> Result<()> {
        // Of what only a scan finds nobody knew how much there is.
        self.progress.total = self.progress.total.max(self.progress.done);
        (self.on_progress)(self.progress)
    }
}

fn copy_all(from: Arc<dyn Disk>, target: &Store, on_progress: OnProgress<'_>) -> Result<SalvageReport> {
    let mut work = Work { report: SalvageReport::default(), progress: CopyProgress::default(), on_progress };
    let mut source = Source::find(from, &mut work)?;
    work.report.sequence = Sequence::from_u64(source.changes.sequence);
    let tables = source.table_numbers();
    work.progress.total = source.expected_entries();
    let mut transaction = target.begin();
    for id in tables {
        let changes = source.changes.take(id);
        let built = TableCopy::new(&source, target, id, changes, &mut work)?.run()?;
        transaction.attach(built)?;
    }
    work.tick()?;
    let committed = transaction.commit()?;
    target.wait_durable(committed.sequence)?;
    Ok(work.report)
}
