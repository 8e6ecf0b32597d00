//! Work on files that are not open: saving what is readable of a damaged one, and compaction.

use crate::interrupt::Interrupt;
use crate::open_options::OpenOptions;
use crate::repair::Repair;
use crate::storage_error::MapStorage;
use crate::table_names::TableNames;
use multifora_model::Result;
use multifora_storage::{
    Compacted, CopyProgress, Error as StorageError, Location, LostKeys, Read, SalvageReport as SavedTables,
    Store, TableId,
};
use std::collections::BTreeSet;
use std::path::Path;

/// Told about the progress of long work on files; an error that it gives ends the work.
pub type OnProgress<'p> = &'p mut dyn FnMut(CopyProgress) -> Result<()>;

/// What was saved of a damaged file, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// The collections of the new file.
    pub collections: Vec<SalvagedCollection>,
    /// Whether everything was saved.
    pub is_complete: bool,
    /// Entries (documents, index entries) that are known to be lost; more may be where a problem says so.
    pub lost_entries: u64,
    /// What is wrong with the damaged file, each in one line: where, and what is lost because of it.
    pub problems: Vec<String>,
    /// What had to be put right in the new file: index entries of documents that are lost, and the like.
    pub repairs: Vec<String>,
}

/// A collection that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedCollection {
    /// `database.collection`.
    pub ns: String,
    /// Its documents.
    pub documents: u64,
    /// Whether the copy may hold documents that had been deleted or changed since: the file was searched for them, and
    /// what tells old data from current data is damaged, too.
    pub may_be_stale: bool,
}

/// Saves what is readable of the file `from` into the new file `to`, and makes that a sound database. `from` is only read.
///
/// # Errors
/// `from` cannot be opened, is open for writing elsewhere, or is no database; `to` exists or cannot be written; the work
/// was interrupted. No file is left then. Damage is no error but in the report.
pub fn salvage(
    from: &Path,
    to: &Path,
    interrupt: &Interrupt,
    on_progress: OnProgress<'_>,
) -> Result<SalvageReport> {
    let saved = interruptible(interrupt, on_progress, |tell| multifora_storage::salvage(from, to, tell))?;
    let finished = finish(to, &saved, interrupt);
    if finished.is_err() {
        // It was made here, and is no whole database yet.
        let _ = std::fs::remove_file(to);
    }
    finished
}

/// Puts the copy right and tells what is in it.
fn finish(to: &Path, saved: &SavedTables, interrupt: &Interrupt) -> Result<SalvageReport> {
    let options = OpenOptions::default().create(false).for_storage()?;
    let store = Store::open(&Location::File(to.to_owned()), &options).mapped()?;
    let mut report = SalvageReport {
        is_complete: saved.is_complete(),
        lost_entries: saved.lost_entries(),
        ..SalvageReport::default()
    };
    let names = TableNames::of(&store.snapshot());
    report.problems = saved.problems.iter().map(|problem| names.describe(problem)).collect();
    let lost = saved.problems.iter().filter(|problem| problem.lost != LostKeys::Nothing);
    let stale: BTreeSet<TableId> =
        saved.tables.iter().filter(|table| table.may_be_stale).map(|table| table.table).collect();
    let mut touched: BTreeSet<TableId> = lost.clone().filter_map(|problem| problem.table).collect();
    touched.extend(&stale);
    // A list of tables that is not whole may be without any of them.
    let is_catalog_whole = !touched.contains(&TableId::CATALOG);
    let mut repair = Repair::new(&store, interrupt, touched);
    repair.run(saved.tables.iter().map(|table| table.table), is_catalog_whole)?;
    report.repairs = repair.into_lines();
    let snapshot = store.snapshot();
    for collection in crate::catalog::list_all(&snapshot)? {
        report.collections.push(SalvagedCollection {
            ns: collection.ns.to_string(),
            documents: snapshot.count(collection.records).mapped()?,
            may_be_stale: stale.contains(&collection.records),
        });
    }
    store.close().mapped()?;
    Ok(report)
}

/// Replaces a file by a copy of itself that holds no free space. Nobody else may have it open.
///
/// # Errors
/// It is open elsewhere or damaged, there is no room for the copy beside it, or the work was interrupted. The file is as
/// it was, then.
pub fn compact(
    path: &Path,
    options: &OpenOptions,
    interrupt: &Interrupt,
    on_progress: OnProgress<'_>,
) -> Result<Compacted> {
    let options = options.for_storage()?;
    interruptible(interrupt, on_progress, |tell| multifora_storage::compact(path, &options, tell))
}

/// Runs work of storage that reports its progress, until it is done, the token says stop, or `on_progress` fails.
pub(crate) fn interruptible<T>(
    interrupt: &Interrupt,
    on_progress: OnProgress<'_>,
    work: impl FnOnce(multifora_storage::OnProgress<'_>) -> multifora_storage::Result<T>,
) -> Result<T> {
    let mut stopped = None;
    let done = work(&mut |progress| {
        interrupt.check().and_then(|()| on_progress(progress)).map_err(|error| {
            stopped = Some(error);
            StorageError::Interrupted
        })
    });
    match stopped {
        Some(error) => Err(error),
        None => done.mapped(),
    }
}
