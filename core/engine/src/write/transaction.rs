//! One attempt at changing documents of one collection, and the loop that repeats attempts.
//!
//! Writes are optimistic: an attempt reads one snapshot, and its writes or its commit say Conflict when somebody
//! else is changing or has changed what it wrote or guarded. The loop then waits for its turn at the keys that were lost
//! and runs the attempt again on a fresh snapshot. Every attempt guards the catalogue record of its collection: a write
//! and a drop or an index build never miss each other.

use crate::catalog::{self, CollectionInfo, Namespace};
use crate::context::CommandContext;
use crate::database::Database;
use crate::index::{KeySet, entries};
use crate::interrupt::Interrupt;
use crate::storage_error::{MapStorage, from_storage};
use crate::stored::{self, Stored};
use multifora_model::{DocumentView, Error, RawDoc, Result};
use multifora_storage::{
    ContendedKeys, Error as StorageError, Read, Record, RowId, Sequence, TableId, Transaction,
};
use std::sync::Arc;

/// Who writes: everything that the attempts of one statement share.
pub struct Writer<'a> {
    /// The open file.
    pub database: &'a Database,
    /// Stops the work.
    pub interrupt: &'a Interrupt,
    /// The newest commit made so far; waited for once, at the end.
    last_commit: Option<Sequence>,
}

/// What an attempt came to.
pub enum Attempt<T> {
    /// Commit it.
    Commit(T),
    /// There is nothing to commit.
    Leave(T),
}

impl<'a> Writer<'a> {
    /// A writer for a command.
    pub fn new(context: &'a CommandContext<'_>) -> Self {
        Self::for_work(context.database, &context.interrupt)
    }

    /// A writer for work that no command asked for (the expiry sweep).
    pub fn for_work(database: &'a Database, interrupt: &'a Interrupt) -> Self {
        Writer { database, interrupt, last_commit: None }
    }

    /// Runs `attempt` until it commits or has nothing to commit.
    ///
    /// # Errors
    /// Those of the attempt, interruption, storage errors other than conflicts.
    pub fn run<T>(&mut self, attempt: impl FnMut(&mut Transaction) -> Result<Attempt<T>>) -> Result<T> {
        let (store, interrupt) = (self.database.store(), self.interrupt);
        self.run_in(attempt, |lost| match lost.is_empty() {
            true => Ok(store.begin()),
            false => store.begin_holding(lost, &mut || interrupt.check().is_err()),
        })
    }

    /// Runs `attempt` in a transaction during which nobody else commits. For short work only.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_exclusive<T>(
        &mut self,
        attempt: impl FnMut(&mut Transaction) -> Result<Attempt<T>>,
    ) -> Result<T> {
        let store = self.database.store();
        self.run_in(attempt, |_| store.begin_exclusive())
    }

    fn run_in<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Transaction) -> Result<Attempt<T>>,
        begin: impl Fn(&ContendedKeys) -> multifora_storage::Result<Transaction>,
    ) -> Result<T> {
        let mut lost = ContendedKeys::default();
        loop {
            self.interrupt.check()?;
            let mut txn = match begin(&lost) {
                // The next look says why.
                Err(StorageError::Interrupted) => continue,
                begun => begun.mapped()?,
            };
            let result = attempt(&mut txn);
            let on = match (txn.conflict(), result) {
                // Whatever the attempt made of it.
                (Some(on), _) => on,
                (None, Err(error)) => return Err(error),
                (None, Ok(Attempt::Leave(value))) => return Ok(value),
                (None, Ok(Attempt::Commit(value))) => match txn.commit() {
                    Ok(committed) => {
                        self.last_commit = self.last_commit.max(Some(committed.sequence));
                        return Ok(value);
                    }
                    Err(StorageError::Conflict { on }) => on,
                    Err(error) => return Err(from_storage(error)),
                },
            };
            self.database.counters().write_conflicts.add(1);
            lost.add(on);
        }
    }

    /// Returns when everything committed through this writer is on disk.
    pub fn wait_durable(self) -> Result<()> {
        match self.last_commit {
            Some(sequence) => self.database.store().wait_durable(sequence).mapped(),
            None => Ok(()),
        }
    }

    /// The collection as the transaction sees it, guarded.
    pub fn open<'t>(&self, txn: &'t mut Transaction, ns: &Namespace) -> Result<Option<CollectionWrite<'t>>> {
        let found = catalog::find(&*txn, self.database.catalog_cache(), ns)?;
        Ok(match found {
            Some(collection) => {
                txn.guard(TableId::CATALOG, &ns.key()).mapped()?;
                Some(CollectionWrite { txn, collection, multikey_changed: false, validates: true })
            }
            None => None,
        })
    }

    /// Like [`open`](Self::open); creates the collection when there is none.
    pub fn open_or_create<'t>(
        &self,
        txn: &'t mut Transaction,
        ns: &Namespace,
    ) -> Result<CollectionWrite<'t>> {
        let collection = match catalog::find(&*txn, self.database.catalog_cache(), ns)? {
            Some(collection) => {
                txn.guard(TableId::CATALOG, &ns.key()).mapped()?;
                collection
            }
            None => Arc::new(catalog::create(txn, ns, RawDoc::EMPTY)?),
        };
        Ok(CollectionWrite { txn, collection, multikey_changed: false, validates: true })
    }
}

/// The writes of one attempt. Each of its methods does its whole work or changes nothing, so that after an error the
/// other documents of the attempt can still be committed.
pub struct CollectionWrite<'t> {
    /// What reads see: the snapshot and the writes so far.
    pub txn: &'t mut Transaction,
    /// The collection.
    pub collection: Arc<CollectionInfo>,
    multikey_changed: bool,
    validates: bool,
}

impl CollectionWrite<'_> {
    /// Leaves the collection's validator out (`bypassDocumentValidation`).
    #[must_use]
    pub fn bypassing_validation(mut self, bypass: bool) -> Self {
        self.validates = !bypass;
        self
    }

    /// Stores a new document (already prepared: `_id` first, sizes checked).
    ///
    /// # Errors
    /// `DuplicateKey`, `DocumentValidationFailure`, `CannotIndexParallelArrays`; storage errors.
    pub fn insert(&mut self, bytes: &[u8]) -> Result<RowId> {
        let doc = DocumentView::whole(framed(bytes)?);
        self.validate(None, &doc)?;
        let keys = entries::keys_of_all(&self.collection, &doc)?;
        let row = stored::write(&doc, |record| self.txn.append(self.collection.records, record))?;
        if let Err(error) = entries::insert(self.txn, &self.collection, row, &doc, &keys) {
            self.txn.delete(self.collection.records, &row.to_key()).mapped()?;
            return Err(error);
        }
        self.note_arrays(keys.iter().map(|set: &KeySet| set.array_paths));
        Ok(row)
    }

    /// Puts a new version in place of a document; values out of line that it has kept are neither read nor written.
    /// `touched` says for which indexes keys may have changed.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn replace(
        &mut self,
        row: RowId,
        before: &DocumentView<'_>,
        after: &DocumentView<'_>,
        touched: &dyn Fn(&catalog::IndexInfo) -> bool,
    ) -> Result<()> {
        self.validate(Some(before), after)?;
        let arrays = entries::replace(self.txn, &self.collection, row, before, after, touched)?;
        stored::write(after, |record| self.txn.put(self.collection.records, &row.to_key(), record))?;
        self.note_arrays(arrays.into_iter());
        Ok(())
    }

    /// Deletes a document.
    pub fn delete(&mut self, row: RowId, doc: &DocumentView<'_>) -> Result<()> {
        entries::delete(self.txn, &self.collection, row, doc)?;
        self.txn.delete(self.collection.records, &row.to_key()).mapped()?;
        Ok(())
    }

    /// The document of a row as this transaction sees it.
    pub fn get(&self, row: RowId) -> Result<Option<Stored<Record>>> {
        Ok(self.txn.get(self.collection.records, &row.to_key()).mapped()?.map(Stored::new))
    }

    /// Writes what the documents changed in the catalogue. To be called once, before the commit.
    pub fn finish(self) -> Result<()> {
        if self.multikey_changed {
            catalog::store(self.txn, &self.collection)?;
        }
        Ok(())
    }

    fn validate(&self, before: Option<&DocumentView<'_>>, after: &DocumentView<'_>) -> Result<()> {
        match &self.collection.validator {
            Some(validator) if self.validates => validator.check(before, after),
            _ => Ok(()),
        }
    }

    /// Sets the multikey flags of fields that met their first array.
    fn note_arrays(&mut self, array_paths: impl Iterator<Item = u32>) {
        for (at, met) in array_paths.enumerate() {
            if met != 0 {
                self.note_array(at, met);
            }
        }
    }

    /// The same for one index, by its place among the maintained ones.
    pub fn note_array(&mut self, at: usize, met: u32) {
        let is_new = |(field, known): (usize, &bool)| !known && met & (1 << field) != 0;
        let index = self.collection.maintained().nth(at);
        if !index.is_some_and(|index| index.multikey.iter().enumerate().any(is_new)) {
            return;
        }
        let collection = Arc::make_mut(&mut self.collection);
        if let Some(index) = collection.maintained_mut().nth(at) {
            for (field, flag) in Arc::make_mut(index).multikey.iter_mut().enumerate() {
                *flag |= met & (1 << field) != 0;
            }
            self.multikey_changed = true;
        }
    }
}

/// The bytes of a document to be stored.
pub fn framed(bytes: &[u8]) -> Result<RawDoc<'_>> {
    RawDoc::framed(bytes).ok_or_else(|| Error::internal("what is to be stored is no BSON document"))
}
