//! Building indexes while others read and write.
//!
//! A small collection is done in one exclusive transaction. A larger one in these steps:
//!
//! 1. The index is entered in the catalogue as being built, with a table of changes. From that commit on every writer
//!    notes there which entries come and go (`index::changes`); nobody is held up by the build.
//! 2. `scan`: the rows are read from snapshots, and their keys sorted within bounded memory.
//! 3. `load`: the sorted entries are packed into a table from the bottom up; a unique index meets its duplicates here.
//! 4. `drain`: what writers noted is worked in, in rounds: each round gives them a fresh table and works in the one
//!    that they left. When little is left, one short exclusive transaction works in the rest and publishes the index.
//!
//! A row may be scanned in any version since step 1: whatever changed since then is noted pair by pair of key and row,
//! and the last note stands. So snapshots need not be held for the whole build, and what was loaded is put right
//! whichever version it came from.
//!
//! A build that fails is taken out again; one that a crash left behind is taken out when the file is opened.

mod drain;
mod live;
mod load;
mod scan;
#[cfg(test)]
mod tests;

pub use live::LiveBuilds;

use super::transaction::{Attempt, CollectionWrite, Writer};
use crate::catalog::{self, BuildingIndex, CollectionInfo, IndexInfo, Namespace};
use crate::database::Database;
use crate::index::{Likeness, ParsedSpec, check_index_count, entries};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::storage_error::MapStorage;
use crate::stored::Stored;
use live::LiveBuild;
use multifora_model::{Error, ErrorCode, Result};
use multifora_storage::{Direction, KeyRange, Read, RowId, TableId};
use std::sync::Arc;
use std::time::Duration;

/// Collections with at most this many documents are indexed in one transaction.
const MAX_DOCS_AT_ONCE: u64 = 1_000;
/// How often somebody who waits for another's build of the same index looks again.
const BUILD_POLL: Duration = Duration::from_millis(10);

/// What createIndexes came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuildReport {
    /// Indexes before.
    pub before: usize,
    /// Indexes after.
    pub after: usize,
    /// The collection did not exist.
    pub created_collection: bool,
}

/// What the first look at the collection came to.
enum Start {
    Done(BuildReport),
    /// Somebody else is building one of them.
    Wait,
    /// Entered in the catalogue; entries are to be written.
    Entered(BuildReport, Entered),
}

/// Indexes that were entered as being built.
struct Entered {
    uuid: [u8; 16],
    /// Their tables, by which they are known.
    tables: Vec<TableId>,
    _live: LiveBuild,
}

/// Creates the indexes that do not exist yet; all of them or none.
///
/// # Errors
/// Conflicts with existing indexes, `DuplicateKey`, those of key extraction, interruption, `IndexBuildAborted` when
/// the collection or the index was dropped meanwhile, storage errors.
pub fn create_indexes(
    writer: &mut Writer<'_>,
    ns: &Namespace,
    specs: &[ParsedSpec],
    progress: &Progress,
) -> Result<BuildReport> {
    loop {
        match start(writer, ns, specs)? {
            Start::Done(report) => return Ok(report),
            Start::Entered(report, entered) => {
                let (database, interrupt) = (writer.database, writer.interrupt);
                let mut build = Build { database, interrupt, progress, ns, entered };
                let built = build.run(writer);
                progress.end();
                if built.is_err() {
                    build.take_out();
                }
                return built.map(|()| report);
            }
            Start::Wait => {
                writer.interrupt.check()?;
                std::thread::sleep(BUILD_POLL);
            }
        }
    }
}

fn start(writer: &mut Writer<'_>, ns: &Namespace, specs: &[ParsedSpec]) -> Result<Start> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    writer.run_exclusive(|txn| {
        let opener = Writer::for_work(database, interrupt);
        let created_collection = catalog::find(&*txn, database.catalog_cache(), ns)?.is_none();
        let mut write = opener.open_or_create(txn, ns)?;
        remove_building(&mut write, |uuid, building| !database.builds().is_live(uuid, &building.index.name))?;
        let before = write.collection.indexes.len();
        let default = write.collection.collation.clone();
        let specs: Vec<ParsedSpec> =
            specs.iter().map(|spec| spec.in_collection(default.as_ref())).collect::<Result<_>>()?;
        let Some(wanted) = missing(&write.collection, &specs)? else {
            return Ok(Attempt::Leave(Start::Wait));
        };
        let report = BuildReport { before, after: before + wanted.len(), created_collection };
        if wanted.is_empty() {
            let start = Start::Done(report);
            return if created_collection { finish(write, start) } else { Ok(Attempt::Leave(start)) };
        }
        let docs = write.txn.count(write.collection.records).mapped()?;
        if docs > MAX_DOCS_AT_ONCE {
            let entered = enter(&mut write, database, &wanted)?;
            return finish(write, Start::Entered(report, entered));
        }
        build_at_once(&mut write, &wanted, interrupt)?;
        finish(write, Start::Done(report))
    })
}

fn finish<T>(write: CollectionWrite<'_>, value: T) -> Result<Attempt<T>> {
    catalog::store(write.txn, &write.collection)?;
    Ok(Attempt::Commit(value))
}

/// The specifications that no index meets yet; `None` while one of them is being built by somebody else.
fn missing<'s>(collection: &CollectionInfo, specs: &'s [ParsedSpec]) -> Result<Option<Vec<&'s ParsedSpec>>> {
    let mut wanted: Vec<&ParsedSpec> = Vec::new();
    for spec in specs {
        let mut exists = false;
        for index in &collection.indexes {
            exists |= spec.likeness(&index.name, &index.spec)? == Likeness::Identical;
        }
        for earlier in &wanted {
            exists |= spec.likeness(&earlier.name, &earlier.bson)? == Likeness::Identical;
        }
        if exists {
            continue;
        }
        let differs = |b: &BuildingIndex| spec.likeness(&b.index.name, &b.index.spec);
        if collection.building.iter().any(|b| !matches!(differs(b), Ok(Likeness::Different))) {
            return Ok(None);
        }
        wanted.push(spec);
        let count = collection.maintained().count() + wanted.len();
        check_index_count(&collection.ns, count, spec.key())?;
    }
    Ok(Some(wanted))
}

/// Enters indexes as being built.
fn enter(write: &mut CollectionWrite<'_>, database: &Database, wanted: &[&ParsedSpec]) -> Result<Entered> {
    let mut tables = Vec::new();
    for spec in wanted {
        let (table, changes) = (write.txn.create_table().mapped()?, write.txn.create_table().mapped()?);
        let index = Arc::new(catalog::index_info((*spec).clone(), table)?);
        Arc::make_mut(&mut write.collection).building.push(BuildingIndex { index, changes, draining: None });
        tables.push(table);
    }
    let uuid = write.collection.uuid;
    let live = database.builds().begin(uuid, wanted.iter().map(|spec| spec.name.clone()));
    Ok(Entered { uuid, tables, _live: live })
}

/// Everything in this one transaction, during which nobody else commits.
fn build_at_once(
    write: &mut CollectionWrite<'_>,
    wanted: &[&ParsedSpec],
    interrupt: &Interrupt,
) -> Result<()> {
    let mut made: Vec<IndexInfo> = Vec::new();
    for spec in wanted {
        made.push(catalog::index_info((*spec).clone(), write.txn.create_table().mapped()?)?);
    }
    let mut rows = write.txn.scan(write.collection.records, KeyRange::all(), Direction::Forward).mapped()?;
    while let Some(entry) = rows.next().mapped()? {
        interrupt.check()?;
        let Some(row) = RowId::from_key(entry.key) else { continue };
        let stored = Stored::new(entry);
        let doc = stored.view()?;
        for index in &mut made {
            let met = entries::insert_built(write.txn, &write.collection.ns, index, row, &doc)?;
            note_arrays(index, met);
        }
    }
    Arc::make_mut(&mut write.collection).indexes.extend(made.into_iter().map(Arc::new));
    Ok(())
}

/// Sets the multikey flags of fields that met an array.
fn note_arrays(index: &mut IndexInfo, met: u32) {
    for (field, flag) in index.multikey.iter_mut().enumerate() {
        *flag |= met & (1 << field) != 0;
    }
}

/// A build at work: everything its steps share.
struct Build<'b> {
    database: &'b Database,
    interrupt: &'b Interrupt,
    progress: &'b Progress,
    ns: &'b Namespace,
    entered: Entered,
}

impl Build<'_> {
    fn run(&mut self, writer: &mut Writer<'_>) -> Result<()> {
        let scanned = scan::scan(self)?;
        let mut loaded = Vec::new();
        for part in scanned {
            loaded.push(load::load(self, part)?);
        }
        self.entered.tables = load::attach(self, writer, loaded)?;
        drain::drain(self, writer)?;
        drain::hand_over(self, writer)
    }

    /// The collection as `reads` sees it, with the indexes of this build.
    fn find(&self, reads: &dyn Read) -> Result<Arc<CollectionInfo>> {
        match catalog::find(reads, self.database.catalog_cache(), self.ns)? {
            Some(collection) if self.is_in(&collection) => Ok(collection),
            _ => Err(self.aborted()),
        }
    }

    fn is_in(&self, collection: &CollectionInfo) -> bool {
        let is_there = |table: &TableId| collection.building.iter().any(|b| b.index.table == *table);
        collection.uuid == self.entered.uuid && self.entered.tables.iter().all(is_there)
    }

    /// Is this one of the build's own?
    fn owns(&self, building: &BuildingIndex) -> bool {
        self.entered.tables.contains(&building.index.table)
    }

    fn own<'c>(&self, collection: &'c CollectionInfo) -> impl Iterator<Item = &'c BuildingIndex> {
        collection.building.iter().filter(|building| self.owns(building))
    }

    fn own_mut<'c>(&self, write: &'c mut CollectionWrite<'_>) -> impl Iterator<Item = &'c mut BuildingIndex> {
        Arc::make_mut(&mut write.collection).building.iter_mut().filter(|building| self.owns(building))
    }

    /// The collection, for writing; fails when it is not there any more, or not with this build.
    fn open<'t>(&self, txn: &'t mut multifora_storage::Transaction) -> Result<CollectionWrite<'t>> {
        let opened = Writer::for_work(self.database, self.interrupt).open(txn, self.ns)?;
        opened.filter(|write| self.is_in(&write.collection)).ok_or_else(|| self.aborted())
    }

    fn aborted(&self) -> Error {
        Error::new(
            ErrorCode::IndexBuildAborted,
            format!("Index build aborted: collection {} or the index was dropped or changed", self.ns),
        )
    }

    /// Takes the indexes out of the catalogue again, whatever stopped the build.
    fn take_out(&self) {
        let never = Interrupt::new();
        let mut writer = Writer::for_work(self.database, &never);
        let taken = change_building(&mut writer, self.ns, |uuid, building| {
            *uuid == self.entered.uuid && self.owns(building)
        });
        if taken.is_err() {
            // A full disk, say. Upkeep tries again; writers note changes until then.
            self.database.builds().leave_behind();
        }
    }
}

/// Takes indexes out that are being built, if the collection is still there.
fn change_building(
    writer: &mut Writer<'_>,
    ns: &Namespace,
    is_gone: impl Fn(&[u8; 16], &BuildingIndex) -> bool,
) -> Result<()> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    writer.run(|txn| match Writer::for_work(database, interrupt).open(txn, ns)? {
        Some(mut write) => match remove_building(&mut write, &is_gone)? {
            true => finish(write, ()),
            false => Ok(Attempt::Leave(())),
        },
        None => Ok(Attempt::Leave(())),
    })
}

/// Takes out indexes that are being built, with their tables; says whether there were any.
fn remove_building(
    write: &mut CollectionWrite<'_>,
    is_gone: impl Fn(&[u8; 16], &BuildingIndex) -> bool,
) -> Result<bool> {
    let uuid = write.collection.uuid;
    if !write.collection.building.iter().any(|building| is_gone(&uuid, building)) {
        return Ok(false);
    }
    let collection = Arc::make_mut(&mut write.collection);
    for building in collection.building.extract_if(.., |building| is_gone(&uuid, building)) {
        building.tables().try_for_each(|table| write.txn.drop_table(table).mapped())?;
    }
    Ok(true)
}

/// Takes out what a crash, or a failure on top of a failure, left behind of builds. Called when a file has been opened
/// for writing, and by upkeep when there is something.
///
/// # Errors
/// Storage errors; damaged catalogue records.
pub fn remove_unfinished_builds(database: &Database) -> Result<()> {
    let interrupt = Interrupt::new();
    let snapshot = database.store().snapshot();
    let mut writer = Writer::for_work(database, &interrupt);
    for db in catalog::list_databases(&snapshot)? {
        for collection in catalog::list_collections(&snapshot, database.catalog_cache(), &db)? {
            if !collection.building.is_empty() {
                let is_live = |uuid: &_, b: &BuildingIndex| database.builds().is_live(uuid, &b.index.name);
                change_building(&mut writer, &collection.ns, |uuid, building| !is_live(uuid, building))?;
            }
        }
    }
    writer.wait_durable()
}
