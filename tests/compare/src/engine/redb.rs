//! redb: a table of blobs and a table of index entries, `Durability::Immediate`.

use super::{Change, Database, Engine, Settings, Visit, When};
use crate::documents::k_of;
use anyhow::{Context, Result};
use redb::{Durability, ReadableDatabase, ReadableTable, Table, TableDefinition};
use std::ops::Bound;
use std::path::Path;

/// The engine.
pub struct Redb;

const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
const INDEX: TableDefinition<'_, (u32, u64), ()> = TableDefinition::new("index");

impl Engine for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "no compression, one writer at a time, no log: every durable commit writes the changed pages, there is no checkpoint",
            "loads commit their batches with Durability::None and the last with Durability::Immediate; rows go in through a cursor, index entries sorted",
            "its one-phase commit and full repair after a crash, the defaults: quick_repair would slow commits down",
        ]
    }

    fn open(&self, folder: &Path, settings: Settings) -> Result<Box<dyn Database>> {
        let cache_bytes = usize::try_from(settings.cache_bytes)?;
        let database =
            redb::Database::builder().set_cache_size(cache_bytes).create(folder.join("data.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(ROWS)?;
        transaction.open_table(INDEX)?;
        transaction.commit()?;
        Ok(Box::new(Open { database }))
    }
}

struct Open {
    database: redb::Database,
}

fn apply(
    rows: &mut Table<'_, u64, &[u8]>,
    index: &mut Table<'_, (u32, u64), ()>,
    changes: &[Change<'_>],
) -> Result<()> {
    if changes.len() > 1 && changes.iter().all(|change| matches!(change, Change::Insert(..))) {
        return append(rows, index, changes);
    }
    for change in changes {
        match change {
            Change::Insert(id, document) => {
                rows.insert(id, document.whole)?;
                index.insert((document.k(), *id), ())?;
            }
            Change::Update(id, document) => {
                rows.insert(id, document.whole)?;
            }
            Change::Delete(id) => {
                let k = rows.remove(id)?.map(|old| k_of(old.value()));
                if let Some(k) = k {
                    index.remove((k, *id))?;
                }
            }
        }
    }
    Ok(())
}

/// As its manual says for ascending keys: through a cursor at the end. The index entries go in order, too.
fn append(
    rows: &mut Table<'_, u64, &[u8]>,
    index: &mut Table<'_, (u32, u64), ()>,
    changes: &[Change<'_>],
) -> Result<()> {
    let mut entries = Vec::with_capacity(changes.len());
    let mut end = rows.upper_bound_mut(Bound::<u64>::Unbounded)?;
    for change in changes {
        if let Change::Insert(id, document) = change {
            end.insert_before(id, document.whole)?;
            entries.push((document.k(), *id));
        }
    }
    end.close()?;
    entries.sort_unstable();
    for entry in entries {
        index.insert(entry, ())?;
    }
    Ok(())
}

impl Database for Open {
    fn write(&self, changes: &[Change<'_>], when: When) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(match when {
            When::Synced => Durability::Immediate,
            When::Later => Durability::None,
        })?;
        apply(&mut transaction.open_table(ROWS)?, &mut transaction.open_table(INDEX)?, changes)?;
        Ok(transaction.commit()?)
    }

    fn sync(&self) -> Result<()> {
        Ok(self.database.begin_write()?.commit()?)
    }

    fn read(&self, ids: &[u64], visit: Visit<'_>) -> Result<()> {
        let rows = self.database.begin_read()?.open_table(ROWS)?;
        for id in ids {
            let body = rows.get(id)?.with_context(|| format!("document {id} is missing"))?;
            visit(body.value(), &[]);
        }
        Ok(())
    }

    fn scan(&self, visit: Visit<'_>) -> Result<()> {
        let rows = self.database.begin_read()?.open_table(ROWS)?;
        for entry in rows.iter()? {
            visit(entry?.1.value(), &[]);
        }
        Ok(())
    }

    fn scan_heads(&self, visit: Visit<'_>) -> Result<()> {
        self.scan(visit)
    }

    fn index_entries(&self, k: u32) -> Result<u64> {
        let index = self.database.begin_read()?.open_table(INDEX)?;
        let entries = index.range((k, 0)..=(k, u64::MAX))?;
        Ok(entries.count() as u64)
    }

    fn checkpoint(&self) -> Result<bool> {
        self.sync()?;
        Ok(false)
    }
}
