//! fjall: a keyspace of documents and a keyspace of index entries, `PersistMode::SyncData`.

use super::{Change, Database, Engine, Settings, Visit, When};
use crate::documents::{Kind, k_of};
use anyhow::{Context, Result};
use fjall::{Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode, Readable};
use std::path::Path;
use std::time::{Duration, Instant};

/// The engine.
pub struct Fjall;

/// How long compactions may take to come to rest.
const MAX_REST: Duration = Duration::from_secs(600);
/// Nothing has begun for that long: at rest.
const REST: Duration = Duration::from_millis(300);

impl Engine for Fjall {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "its cache setting covers blocks only: write buffers of 64 MiB a keyspace come on top, as by default",
            "LZ4; documents of 16 KiB with key-value separation",
            "loads commit their batches unsynced and persist at the end; its ingestion is for one keyspace outside of transactions and not used",
            "a checkpoint is: write buffers flushed and compactions come to rest",
        ]
    }

    fn open(&self, folder: &Path, settings: Settings) -> Result<Box<dyn Database>> {
        let database =
            fjall::Database::builder(folder.join("data.fjall")).cache_size(settings.cache_bytes).open()?;
        let rows = database.keyspace("rows", || {
            let separation = (settings.kind == Kind::Large).then(KvSeparationOptions::default);
            KeyspaceCreateOptions::default().with_kv_separation(separation)
        })?;
        let index = database.keyspace("index", KeyspaceCreateOptions::default)?;
        Ok(Box::new(Open { database, rows, index }))
    }
}

struct Open {
    database: fjall::Database,
    rows: Keyspace,
    index: Keyspace,
}

fn entry(k: u32, id: u64) -> [u8; 12] {
    let mut key = [0; 12];
    let (front, back) = key.split_at_mut(4);
    front.copy_from_slice(&k.to_be_bytes());
    back.copy_from_slice(&id.to_be_bytes());
    key
}

impl Database for Open {
    fn write(&self, changes: &[Change<'_>], when: When) -> Result<()> {
        let mut batch = self.database.batch().durability(match when {
            When::Synced => Some(PersistMode::SyncData),
            When::Later => None,
        });
        for change in changes {
            match change {
                Change::Insert(id, document) => {
                    batch.insert(&self.rows, id.to_be_bytes(), document.whole);
                    batch.insert(&self.index, entry(document.k(), *id), []);
                }
                Change::Update(id, document) => batch.insert(&self.rows, id.to_be_bytes(), document.whole),
                Change::Delete(id) => {
                    if let Some(old) = self.rows.get(id.to_be_bytes())? {
                        batch.remove(&self.index, entry(k_of(&old), *id));
                        batch.remove(&self.rows, id.to_be_bytes());
                    }
                }
            }
        }
        Ok(batch.commit()?)
    }

    fn sync(&self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncData)?)
    }

    fn read(&self, ids: &[u64], visit: Visit<'_>) -> Result<()> {
        let snapshot = self.database.snapshot();
        for id in ids {
            let body = snapshot.get(&self.rows, id.to_be_bytes())?;
            visit(&body.with_context(|| format!("document {id} is missing"))?, &[]);
        }
        Ok(())
    }

    fn scan(&self, visit: Visit<'_>) -> Result<()> {
        for entry in self.database.snapshot().iter(&self.rows) {
            visit(&entry.value()?, &[]);
        }
        Ok(())
    }

    fn scan_heads(&self, visit: Visit<'_>) -> Result<()> {
        self.scan(visit)
    }

    fn index_entries(&self, k: u32) -> Result<u64> {
        let mut count = 0;
        for entry in self.database.snapshot().prefix(&self.index, k.to_be_bytes()) {
            entry.key()?;
            count += 1;
        }
        Ok(count)
    }

    fn checkpoint(&self) -> Result<bool> {
        self.sync()?;
        self.rows.rotate_memtable_and_wait()?;
        self.index.rotate_memtable_and_wait()?;
        let begun = Instant::now();
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < REST && begun.elapsed() < MAX_REST {
            std::thread::sleep(Duration::from_millis(10));
            if self.database.active_compactions() > 0 || self.database.outstanding_flushes() > 0 {
                quiet_since = Instant::now();
            }
        }
        Ok(true)
    }
}
