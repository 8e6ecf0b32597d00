//! MultiforaDB's storage engine, as the engine above it uses it: a table of rows and a table of index entries.

use super::{Change, Database, Engine, Settings, Visit, When};
use crate::documents::{Document, Kind, k_of};
use anyhow::{Context, Result, ensure};
use multifora_storage::{
    Direction, EntryKind, Error, KeyRange, Location, NewRecord, NewValue, Options, Read, Record, RowId,
    Store, TableId, Transaction,
};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The engine.
pub struct Multifora;

/// Conflicts in a row that a write bears before it gives up.
const MAX_CONFLICTS: u32 = 1000;

impl Engine for Multifora {
    fn name(&self) -> &'static str {
        super::JUDGED
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "documents of 16 KiB are split: 200 bytes in the head of the record, the rest one value out of line",
            "loads commit in batches that are waited for once, at the end",
        ]
    }

    fn open(&self, folder: &Path, settings: Settings) -> Result<Box<dyn Database>> {
        let location = Location::File(folder.join("data.mfdb"));
        let options = Options {
            cache_bytes: usize::try_from(settings.cache_bytes).unwrap_or(usize::MAX),
            ..Options::default()
        };
        let store = Store::open(&location, &options)?;
        let (rows, index) = tables(&store)?;
        Ok(Box::new(Open { store, rows, index, kind: settings.kind, newest_checkpoint: AtomicU64::new(0) }))
    }
}

/// The two tables; their numbers stand in the catalogue table.
fn tables(store: &Store) -> Result<(TableId, TableId)> {
    let number_under = |key: &[u8]| -> Result<Option<TableId>> {
        let record = store.snapshot().get(TableId::CATALOG, key)?;
        let number = record.and_then(|record| RowId::from_key(record.head()));
        Ok(number.map(|number| TableId::from_u64(number.get())))
    };
    if let (Some(rows), Some(index)) = (number_under(b"rows")?, number_under(b"index")?) {
        return Ok((rows, index));
    }
    let mut transaction = store.begin();
    let (rows, index) = (transaction.create_table()?, transaction.create_table()?);
    transaction.put(TableId::CATALOG, b"rows", &rows.get().to_be_bytes())?;
    transaction.put(TableId::CATALOG, b"index", &index.get().to_be_bytes())?;
    let committed = transaction.commit()?;
    store.wait_durable(committed.sequence)?;
    let first = store.snapshot().next_row(rows)?;
    ensure!(first.get() == 1, "row numbers begin at {first}, this benchmark counts from 1");
    Ok((rows, index))
}

struct Open {
    store: Store,
    rows: TableId,
    index: TableId,
    kind: Kind,
    newest_checkpoint: AtomicU64,
}

fn key(id: u64) -> [u8; 8] {
    RowId::from_u64(id).to_key()
}

impl Open {
    fn stage(&self, transaction: &mut Transaction, change: &Change<'_>) -> Result<(), Error> {
        match change {
            Change::Insert(_, document) => with_record(document, |record| {
                let row = transaction.append(self.rows, record)?;
                transaction.put_entry(self.index, &document.k().to_be_bytes(), row, EntryKind::Plain)
            }),
            Change::Update(id, document) => {
                with_record(document, |record| transaction.put(self.rows, &key(*id), record))
            }
            Change::Delete(id) => {
                let Some(old) = transaction.get(self.rows, &key(*id))? else { return Ok(()) };
                let k = k_of(old.head());
                transaction.delete(self.rows, &key(*id))?;
                transaction
                    .delete_entry(self.index, &k.to_be_bytes(), RowId::from_u64(*id), EntryKind::Plain)
                    .map(drop)
            }
        }
    }

    fn show(&self, record: &Record, visit: Visit<'_>) -> Result<()> {
        if record.value_count() == 0 {
            visit(record.head(), &[]);
        } else {
            visit(record.head(), &record.value(0)?);
        }
        Ok(())
    }
}

fn with_record(
    document: &Document<'_>,
    write: impl FnOnce(NewRecord<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    match document.tail() {
        None => write(NewRecord { head: document.head(), values: &[] }),
        Some(tail) => write(NewRecord { head: document.head(), values: &[NewValue::New(tail)] }),
    }
}

impl Database for Open {
    fn write(&self, changes: &[Change<'_>], when: When) -> Result<()> {
        for _ in 0..MAX_CONFLICTS {
            let mut transaction = self.store.begin();
            let staged = changes.iter().try_for_each(|change| self.stage(&mut transaction, change));
            match staged.and_then(|()| transaction.commit()) {
                Err(Error::Conflict { .. }) => {}
                Err(other) => return Err(other.into()),
                Ok(committed) => {
                    if when == When::Synced {
                        self.store.wait_durable(committed.sequence)?;
                    }
                    return Ok(());
                }
            }
        }
        anyhow::bail!("{MAX_CONFLICTS} conflicts in a row")
    }

    fn sync(&self) -> Result<()> {
        Ok(self.store.sync()?)
    }

    fn read(&self, ids: &[u64], visit: Visit<'_>) -> Result<()> {
        let snapshot = self.store.snapshot();
        for id in ids {
            let record = snapshot.get(self.rows, &key(*id))?;
            let record = record.with_context(|| format!("document {id} is missing"))?;
            self.show(&record, visit)?;
        }
        Ok(())
    }

    fn scan(&self, visit: Visit<'_>) -> Result<()> {
        let mut scan = self.store.snapshot().scan(self.rows, KeyRange::all(), Direction::Forward)?;
        while let Some(entry) = scan.next()? {
            if entry.value_count() == 0 {
                visit(entry.head(), &[]);
            } else {
                visit(entry.head(), &entry.value(0)?);
            }
        }
        Ok(())
    }

    fn scan_heads(&self, visit: Visit<'_>) -> Result<()> {
        let mut scan = self.store.snapshot().scan(self.rows, KeyRange::all(), Direction::Forward)?;
        while let Some(entry) = scan.next()? {
            visit(entry.head(), &[]);
        }
        Ok(())
    }

    fn index_entries(&self, k: u32) -> Result<u64> {
        Ok(self.store.snapshot().count_range(self.index, &KeyRange::prefix(&k.to_be_bytes()))?)
    }

    fn checkpoint(&self) -> Result<bool> {
        self.store.sync()?;
        self.store.checkpoint()?;
        Ok(true)
    }

    fn checkpoint_number(&self) -> Option<u64> {
        // While a checkpoint runs, the store may not know the last one's number.
        let number = self.store.stats().checkpoint;
        Some(self.newest_checkpoint.fetch_max(number, Ordering::Relaxed).max(number))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Err(error) = self.store.close() {
            eprintln!("closing a {} database failed: {error}", self.kind.name());
        }
    }
}
