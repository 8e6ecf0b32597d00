//! Making a sound database of what a salvage has saved.
//!
//! Documents decide: an index gets the entries that are missing and loses those of documents that are not there. Tables
//! that the catalogue names are there, be they empty; tables that it does not name become collections where the catalogue
//! itself has lost something, and go otherwise.

use crate::catalog::{self, CollectionInfo, IndexInfo, Namespace};
use crate::check::{has_entry, whole_document};
use crate::index::{entries, keys_of};
use crate::interrupt::Interrupt;
use crate::storage_error::{MapStorage, from_storage};
use crate::stored::Stored;
use multifora_model::{DocumentView, RawDoc, Result};
use multifora_storage::{
    Direction, EntryKind, Error as StorageError, KeyRange, Read, RowId, Store, TableId, Transaction,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Changes of one commit.
const CHANGES_PER_COMMIT: usize = 1000;
/// Where collections go whose names are lost.
const DATABASE_FOR_UNNAMED: &str = "salvaged";

pub(crate) struct Repair<'r> {
    store: &'r Store,
    interrupt: &'r Interrupt,
    /// Tables that may not hold what they should.
    touched: BTreeSet<TableId>,
    lines: Vec<String>,
}

/// Changes on their way into the store, some at a time.
struct Batch<'b> {
    store: &'b Store,
    txn: Option<Transaction>,
    changes: usize,
}

impl Batch<'_> {
    fn new(store: &Store) -> Batch<'_> {
        Batch { store, txn: None, changes: 0 }
    }

    fn txn(&mut self) -> &mut Transaction {
        self.txn.get_or_insert_with(|| self.store.begin())
    }

    /// A change was made.
    fn count(&mut self) -> Result<()> {
        self.changes += 1;
        if self.changes.is_multiple_of(CHANGES_PER_COMMIT) { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<()> {
        match self.txn.take() {
            Some(txn) => txn.commit().map(drop).mapped(),
            None => Ok(()),
        }
    }
}

impl<'r> Repair<'r> {
    pub(crate) fn new(store: &'r Store, interrupt: &'r Interrupt, touched: BTreeSet<TableId>) -> Repair<'r> {
        Repair { store, interrupt, touched, lines: Vec::new() }
    }

    /// What was done, each in one line.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// Repairs the store, which has these tables.
    pub(crate) fn run(
        &mut self,
        tables: impl Iterator<Item = TableId>,
        is_catalog_whole: bool,
    ) -> Result<()> {
        for collection in catalog::list_all(&self.store.snapshot())? {
            self.complete(&collection)?;
        }
        self.unnamed_tables(tables, is_catalog_whole)?;
        for collection in catalog::list_all(&self.store.snapshot())? {
            if own_tables(&collection).any(|table| self.touched.contains(&table)) {
                self.indexes(&collection)?;
            }
        }
        Ok(())
    }

    /// Gives a collection the tables that are missing, and ends index builds that were under way without theirs.
    fn complete(&mut self, collection: &CollectionInfo) -> Result<()> {
        let snapshot = self.store.snapshot();
        let is_there = |table: TableId| snapshot.count(table).is_ok();
        let building = collection.building.iter().flat_map(|building| building.tables());
        if own_tables(collection).chain(building).all(is_there) {
            return Ok(());
        }
        let mut txn = self.store.begin();
        let mut collection = collection.clone();
        let mut replace = |table: TableId| -> Result<TableId> {
            if is_there(table) {
                return Ok(table);
            }
            let created = txn.create_table().mapped()?;
            self.touched.insert(created);
            self.lines.push(format!("{}: nothing was found of its table {table}", collection.ns));
            Ok(created)
        };
        collection.records = replace(collection.records)?;
        for index in &mut collection.indexes {
            let table = replace(index.table)?;
            Arc::make_mut(index).table = table;
        }
        for building in std::mem::take(&mut collection.building) {
            for table in building.tables().filter(|table| is_there(*table)) {
                txn.drop_table(table).mapped()?;
            }
        }
        catalog::store(&mut txn, &collection)?;
        txn.commit().map(drop).mapped()
    }

    /// Tables that no collection names.
    fn unnamed_tables(
        &mut self,
        tables: impl Iterator<Item = TableId>,
        is_catalog_whole: bool,
    ) -> Result<()> {
        let snapshot = self.store.snapshot();
        let mut named: BTreeSet<TableId> = BTreeSet::from([TableId::CATALOG]);
        named.extend(crate::session::SessionsTable::default().find(&snapshot)?);
        for collection in catalog::list_all(&snapshot)? {
            named.extend(own_tables(&collection));
            named.extend(collection.building.iter().flat_map(|building| building.tables()));
        }
        for table in tables.filter(|table| !named.contains(table)) {
            let count = snapshot.count(table).mapped()?;
            let mut txn = self.store.begin();
            if !is_catalog_whole && holds_documents(&snapshot, table)? {
                let ns = Namespace::new(DATABASE_FOR_UNNAMED, &format!("table_{table}"))?;
                let mut collection = catalog::create(&mut txn, &ns, RawDoc::EMPTY)?;
                txn.drop_table(collection.records).mapped()?;
                collection.records = table;
                catalog::store(&mut txn, &collection)?;
                self.touched.insert(table);
                self.lines.push(format!("{ns}: {count} documents of a collection whose name is lost"));
            } else {
                txn.drop_table(table).mapped()?;
                if count > 0 {
                    self.lines.push(format!(
                        "table {table}, which no collection names, was left out: {count} entries"
                    ));
                }
            }
            txn.commit().mapped()?;
        }
        Ok(())
    }

    /// Makes the indexes of a collection agree with its documents.
    fn indexes(&mut self, collection: &CollectionInfo) -> Result<()> {
        let expected = self.add_missing(collection)?;
        for (index, expected) in collection.indexes.iter().zip(expected) {
            for is_deep in [false, true] {
                if self.store.snapshot().count(index.table).mapped()? != expected {
                    self.remove_strays(collection, index, is_deep)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the entries that are missing; says how many each index should have.
    fn add_missing(&mut self, collection: &CollectionInfo) -> Result<Vec<u64>> {
        let mut expected = vec![0_u64; collection.indexes.len()];
        let (mut added, mut batch) = (0_u64, Batch::new(self.store));
        let snapshot = self.store.snapshot();
        let mut scan = snapshot.scan(collection.records, KeyRange::all(), Direction::Forward).mapped()?;
        while let Some(entry) = scan.next().mapped()? {
            self.interrupt.check()?;
            let Some(row) = RowId::from_key(entry.key) else { continue };
            let stored = Stored::new(entry);
            let keys = whole_document(&stored).and_then(|doc| all_keys(collection, doc));
            let keys = match keys {
                Ok(keys) => keys,
                Err(error) => {
                    self.lines.push(format!(
                        "{}: document in row {row} was left out: {}",
                        collection.ns,
                        error.message()
                    ));
                    batch.txn().delete(collection.records, &row.to_key()).mapped()?;
                    batch.count()?;
                    continue;
                }
            };
            for ((index, keys), expected) in collection.indexes.iter().zip(&keys).zip(&mut expected) {
                for key in keys {
                    if !has_entry(batch.txn(), index, key, row)? {
                        self.add_entry(collection, index, key, row, &mut batch)?;
                        added += 1;
                    }
                    *expected += 1;
                }
            }
        }
        batch.commit()?;
        if added > 0 {
            self.lines.push(format!("{}: {added} index entries were written again", collection.ns));
        }
        Ok(expected)
    }

    /// Adds an entry. Of two documents that a unique index cannot have both, the later row stays.
    fn add_entry(
        &mut self,
        collection: &CollectionInfo,
        index: &IndexInfo,
        key: &[u8],
        row: RowId,
        batch: &mut Batch<'_>,
    ) -> Result<()> {
        match batch.txn().put_entry(index.table, key, row, entries::kind(index)) {
            Ok(()) => batch.count(),
            Err(StorageError::DuplicateKey { row: other }) => {
                // Rows are met in ascending order: the other is the earlier one, or one that is lost.
                let txn = batch.txn();
                txn.delete_entry(index.table, key, other, EntryKind::Unique).mapped()?;
                txn.put_entry(index.table, key, row, EntryKind::Unique).mapped()?;
                if txn.delete(collection.records, &other.to_key()).mapped()? {
                    self.lines.push(format!(
                        "{}: document in row {other} was left out: row {row} has the same key in the index '{}'",
                        collection.ns, index.name
                    ));
                }
                batch.count()
            }
            Err(error) => Err(from_storage(error)),
        }
    }

    /// Removes entries of documents that are not there, or, looked at in depth, that ask for no such entry.
    fn remove_strays(&mut self, collection: &CollectionInfo, index: &IndexInfo, is_deep: bool) -> Result<()> {
        let (mut removed, mut batch) = (0_u64, Batch::new(self.store));
        let snapshot = self.store.snapshot();
        let mut scan = snapshot.scan(index.table, KeyRange::all(), Direction::Forward).mapped()?;
        while let Some(entry) = scan.next().mapped()? {
            self.interrupt.check()?;
            let (row, key) = match entries::kind(index) {
                EntryKind::Plain => {
                    (entry.row_in_key(), entry.key.split_last_chunk::<8>().map(|(key, _)| key))
                }
                EntryKind::Unique => (RowId::from_key(entry.head()), Some(entry.key)),
            };
            let record = match row {
                Some(row) => snapshot.get(collection.records, &row.to_key()).mapped()?,
                None => None,
            };
            let is_right = match (record, key) {
                (Some(record), Some(key)) if is_deep => {
                    let stored = Stored::new(record);
                    keys_of(index, &stored.view()?)?.contains(key)
                }
                (record, _) => record.is_some(),
            };
            if !is_right {
                batch.txn().delete(index.table, entry.key).mapped()?;
                batch.count()?;
                removed += 1;
            }
        }
        batch.commit()?;
        if removed > 0 {
            let text = format!(
                "{} index '{}': {removed} entries of lost documents were removed",
                collection.ns, index.name
            );
            self.lines.push(text);
        }
        Ok(())
    }
}

/// The tables of a collection and its indexes.
fn own_tables(collection: &CollectionInfo) -> impl Iterator<Item = TableId> {
    std::iter::once(collection.records).chain(collection.indexes.iter().map(|index| index.table))
}

/// The keys of a document in each index.
fn all_keys(collection: &CollectionInfo, doc: RawDoc<'_>) -> Result<Vec<Vec<Vec<u8>>>> {
    let doc = DocumentView::whole(doc);
    let keys = |index: &Arc<IndexInfo>| {
        keys_of(index, &doc).map(|keys| keys.iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    collection.indexes.iter().map(keys).collect()
}

/// Whether a table looks like that of a collection: its first record is a document under a row number.
fn holds_documents(reads: &dyn Read, table: TableId) -> Result<bool> {
    let mut scan = reads.scan(table, KeyRange::all(), Direction::Forward).mapped()?;
    let Some(entry) = scan.next().mapped()? else { return Ok(false) };
    let is_row = RowId::from_key(entry.key).is_some();
    Ok(is_row && whole_document(&Stored::new(entry)).is_ok())
}
