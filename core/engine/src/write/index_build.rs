//! Building indexes while others read and write.
//!
//! A small collection is done in one exclusive transaction. A larger one in three steps: the index is entered in the
//! catalogue as "being built", with an empty table; from that commit on every writer keeps its entries.
//! Then the rows of a snapshot taken after it are gone through in chunks, each row guarded, so that whoever changes a
//! row at the same time either finds the entry or sends one of the two back to try again. At last the
//! index moves to the complete ones, and readers see it. A build that fails is taken out again;
//! one that a crash left behind is taken out when the file is opened.

use super::insert::{MAX_CHUNK_BYTES, MAX_CHUNK_DOCS};
use super::transaction::{Attempt, CollectionWrite, Writer, framed};
use crate::catalog::{self, CollectionInfo, Namespace};
use crate::database::Database;
use crate::index::{Likeness, ParsedSpec, check_index_count, entries};
use crate::interrupt::Interrupt;
use crate::storage_error::MapStorage;
use multifora_model::{Error, ErrorCode, Result};
use multifora_storage::{Direction, KeyRange, Read, Record, RowId, Transaction};
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
    /// Entered in the catalogue, with these names; entries are to be written.
    Entered(BuildReport, Vec<String>),
}

/// Creates the indexes that do not exist yet; all of them or none.
///
/// # Errors
/// Conflicts with existing indexes, `DuplicateKey`, those of key extraction, interruption, storage errors.
pub fn create_indexes(writer: &mut Writer<'_>, ns: &Namespace, specs: &[ParsedSpec]) -> Result<BuildReport> {
    loop {
        match start(writer, ns, specs)? {
            Start::Done(report) => return Ok(report),
            Start::Entered(report, names) => return build(writer, ns, &names).map(|()| report),
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
        let before = write.collection.indexes.len();
        let Some(wanted) = missing(&write.collection, specs)? else { return Ok(Attempt::Leave(Start::Wait)) };
        let report = BuildReport { before, after: before + wanted.len(), created_collection };
        if wanted.is_empty() {
            let start = Start::Done(report);
            return Ok(if created_collection { finish(write, start)? } else { Attempt::Leave(start) });
        }
        let docs = write.txn.count(write.collection.records).mapped()?;
        let names: Vec<String> = wanted.iter().map(|spec| spec.name.clone()).collect();
        enter(&mut write, wanted)?;
        if docs > MAX_DOCS_AT_ONCE {
            return finish(write, Start::Entered(report, names));
        }
        write_entries_at_once(&mut write, interrupt)?;
        publish(&mut write, &names);
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
        if collection
            .building
            .iter()
            .any(|b| !matches!(spec.likeness(&b.name, &b.spec), Ok(Likeness::Different)))
        {
            return Ok(None);
        }
        wanted.push(spec);
        let count = collection.maintained().count() + wanted.len();
        check_index_count(&collection.ns, count, spec.key())?;
    }
    Ok(Some(wanted))
}

/// Enters indexes as being built.
fn enter(write: &mut CollectionWrite<'_>, wanted: Vec<&ParsedSpec>) -> Result<()> {
    for spec in wanted {
        let table = write.txn.create_table().mapped()?;
        let index = catalog::index_info(spec.clone(), table)?;
        Arc::make_mut(&mut write.collection).building.push(Arc::new(index));
    }
    Ok(())
}

/// Moves indexes from those being built to the complete ones, in the order in which they were asked for.
fn publish(write: &mut CollectionWrite<'_>, names: &[String]) {
    let collection = Arc::make_mut(&mut write.collection);
    for name in names {
        if let Some(at) = collection.building.iter().position(|index| &index.name == name) {
            let index = collection.building.remove(at);
            collection.indexes.push(index);
        }
    }
}

/// Everything in this one transaction, during which nobody else commits.
fn write_entries_at_once(write: &mut CollectionWrite<'_>, interrupt: &Interrupt) -> Result<()> {
    let names: Vec<String> = write.collection.building.iter().map(|index| index.name.clone()).collect();
    let mut rows = write.txn.scan(write.collection.records, KeyRange::all(), Direction::Forward).mapped()?;
    while let Some(entry) = rows.next().mapped()? {
        interrupt.check()?;
        let Some(row) = RowId::from_key(entry.key) else { continue };
        write_entries(write, &names, row, entry.head())?;
    }
    Ok(())
}

/// The entries of one document in the indexes of these names.
fn write_entries(write: &mut CollectionWrite<'_>, names: &[String], row: RowId, doc: &[u8]) -> Result<()> {
    let collection = Arc::clone(&write.collection);
    for (at, index) in collection.maintained().enumerate() {
        if names.contains(&index.name) {
            let met = entries::insert_built(write.txn, &collection, index, row, framed(doc)?)?;
            write.note_array(at, met);
        }
    }
    Ok(())
}

fn build(writer: &mut Writer<'_>, ns: &Namespace, names: &[String]) -> Result<()> {
    let built = write_chunks(writer, ns, names).and_then(|()| {
        change_built(writer, ns, |write| {
            publish(write, names);
            Ok(())
        })
    });
    if built.is_err() {
        // Whatever stopped the build must not stop its removal.
        let never = Interrupt::new();
        let mut cleaner = Writer::for_work(writer.database, &never);
        change_built(&mut cleaner, ns, |write| {
            remove_building(write, |name| names.iter().any(|n| n == name))
        })?;
    }
    built
}

/// Changes the list of indexes being built, if the collection is still there.
fn change_built(
    writer: &mut Writer<'_>,
    ns: &Namespace,
    change: impl Fn(&mut CollectionWrite<'_>) -> Result<()>,
) -> Result<()> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    writer.run(|txn| match Writer::for_work(database, interrupt).open(txn, ns)? {
        Some(mut write) => {
            change(&mut write)?;
            finish(write, ())
        }
        None => Ok(Attempt::Leave(())),
    })
}

fn remove_building(write: &mut CollectionWrite<'_>, is_gone: impl Fn(&str) -> bool) -> Result<()> {
    let (gone, kept): (Vec<_>, Vec<_>) =
        write.collection.building.iter().cloned().partition(|index| is_gone(&index.name));
    for index in gone {
        write.txn.drop_table(index.table).mapped()?;
    }
    Arc::make_mut(&mut write.collection).building = kept;
    Ok(())
}

fn write_chunks(writer: &mut Writer<'_>, ns: &Namespace, names: &[String]) -> Result<()> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    let snapshot = database.store().snapshot();
    let Some(collection) = catalog::find(&snapshot, database.catalog_cache(), ns)? else {
        return Err(aborted(ns));
    };
    let mut rows = snapshot.scan(collection.records, KeyRange::all(), Direction::Forward).mapped()?;
    let mut chunk: Vec<(RowId, Record)> = Vec::new();
    loop {
        chunk.clear();
        let mut len_bytes = 0;
        while chunk.len() < MAX_CHUNK_DOCS && len_bytes < MAX_CHUNK_BYTES {
            interrupt.check()?;
            let Some(entry) = rows.next().mapped()? else { break };
            let Some(row) = RowId::from_key(entry.key) else { continue };
            len_bytes += entry.head().len();
            chunk.push((row, entry.to_record()));
        }
        if chunk.is_empty() {
            return Ok(());
        }
        writer.run(|txn| write_chunk(database, interrupt, txn, &collection, names, &chunk))?;
    }
}

fn write_chunk(
    database: &Database,
    interrupt: &Interrupt,
    txn: &mut Transaction,
    collection: &CollectionInfo,
    names: &[String],
    chunk: &[(RowId, Record)],
) -> Result<Attempt<()>> {
    let opened = Writer::for_work(database, interrupt).open(txn, &collection.ns)?;
    let Some(mut write) = opened.filter(|write| write.collection.uuid == collection.uuid) else {
        return Err(aborted(&collection.ns));
    };
    if !names.iter().all(|name| write.collection.building.iter().any(|index| &index.name == name)) {
        return Err(aborted(&collection.ns));
    }
    for (row, seen) in chunk {
        interrupt.check()?;
        write.txn.guard(collection.records, &row.to_key()).mapped()?;
        // The version as it is now; a row that was deleted meanwhile needs nothing.
        let Some(now) = write.get(*row)? else { continue };
        let doc = if now.version() == seen.version() { seen } else { &now };
        write_entries(&mut write, names, *row, doc.head())?;
    }
    write.finish()?;
    Ok(Attempt::Commit(()))
}

fn aborted(ns: &Namespace) -> Error {
    Error::new(
        ErrorCode::IndexBuildAborted,
        format!("Index build aborted: collection {ns} was dropped or changed"),
    )
}

/// Takes out what a crash left behind of builds. Called when a file has been opened for writing.
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
                change_built(&mut writer, &collection.ns, |write| remove_building(write, |_| true))?;
            }
        }
    }
    writer.wait_durable()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ConnectionInfo;
    use crate::database::OpenOptions;
    use multifora_model::{RawDoc, extjson};

    #[test]
    fn a_build_that_a_crash_left_behind_is_gone_after_opening() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.mfdb");
        let options = OpenOptions::default().ttl_sweep_secs(0);
        let run = |database: &Database, command: &str| {
            let connection = database.connect(ConnectionInfo::in_process("rust"));
            let reply = connection.command_bytes("d", &extjson::parse_document(command).unwrap());
            extjson::to_text(RawDoc::framed(&reply).unwrap(), extjson::Mode::Relaxed)
        };
        let ns = Namespace::new("d", "c").unwrap();
        {
            let database = Database::open(&path, &options).unwrap();
            run(&database, r#"{"insert": "c", "documents": [{"_id": 1, "a": [1]}]}"#);
            let key = extjson::parse_document(r#"{"key": {"a": 1}, "name": "a", "unique": true}"#).unwrap();
            let spec = ParsedSpec::parse(RawDoc::framed(&key).unwrap()).unwrap();
            let interrupt = Interrupt::new();
            let mut writer = Writer::for_work(&database, &interrupt);
            change_built(&mut writer, &ns, |write| enter(write, vec![&spec])).unwrap();
            writer.wait_durable().unwrap();
            // Writers keep it, readers do not see it.
            assert!(
                run(&database, r#"{"insert": "c", "documents": [{"_id": 2, "a": 5}]}"#).contains("\"n\":1")
            );
            assert!(
                run(&database, r#"{"insert": "c", "documents": [{"_id": 3, "a": 5}]}"#).contains("E11000")
            );
            assert!(!run(&database, r#"{"listIndexes": "c"}"#).contains("\"name\":\"a\""));
            database.close().unwrap();
        }
        let database = Database::open(&path, &options).unwrap();
        let snapshot = database.store().snapshot();
        let collection = catalog::find(&snapshot, database.catalog_cache(), &ns).unwrap().unwrap();
        assert_eq!((collection.indexes.len(), collection.building.len()), (1, 0));
        assert!(run(&database, r#"{"insert": "c", "documents": [{"_id": 3, "a": 5}]}"#).contains("\"n\":1"));
    }
}
