//! SQLite: one table of blobs with an index, write-ahead log, `synchronous=FULL`.

use super::{Change, Database, Engine, Settings, Visit, When};
use anyhow::{Context, Result, anyhow};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// The engine.
pub struct Sqlite;

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "no compression, one writer at a time: its threads take turns on one connection",
            "a commit cannot be waited for later: every batch of a load is synced",
            "pages of 4 KiB and a checkpoint every 1,000 pages, the defaults",
            "checkpoints run inside the commit that fills the log; a checkpoint is wal_checkpoint(TRUNCATE) on a second connection",
        ]
    }

    fn open(&self, folder: &Path, settings: Settings) -> Result<Box<dyn Database>> {
        let path = folder.join("data.sqlite");
        let connection = Connection::open(&path)?;
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -{};
             CREATE TABLE IF NOT EXISTS documents(id INTEGER PRIMARY KEY, k INTEGER NOT NULL, body BLOB NOT NULL);
             CREATE INDEX IF NOT EXISTS documents_k ON documents(k);",
            settings.cache_bytes >> 10
        ))?;
        let checkpointer = Connection::open(&path)?;
        checkpointer.execute_batch("PRAGMA synchronous = FULL; PRAGMA busy_timeout = 60000;")?;
        connection.execute_batch("PRAGMA busy_timeout = 60000;")?;
        Ok(Box::new(Open { connection: Mutex::new(connection), checkpointer: Mutex::new(checkpointer) }))
    }
}

struct Open {
    connection: Mutex<Connection>,
    checkpointer: Mutex<Connection>,
}

fn lock(connection: &Mutex<Connection>) -> Result<MutexGuard<'_, Connection>> {
    connection.lock().map_err(|_| anyhow!("another thread failed while it used the connection"))
}

fn row_number(id: u64) -> Result<i64> {
    Ok(i64::try_from(id)?)
}

impl Database for Open {
    fn write(&self, changes: &[Change<'_>], _: When) -> Result<()> {
        let mut connection = lock(&self.connection)?;
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO documents(id, k, body) VALUES(?, ?, ?)")?;
            let mut update = transaction.prepare_cached("UPDATE documents SET body = ? WHERE id = ?")?;
            let mut delete = transaction.prepare_cached("DELETE FROM documents WHERE id = ?")?;
            for change in changes {
                match change {
                    Change::Insert(id, document) => {
                        insert.execute(params![row_number(*id)?, document.k(), document.whole])?
                    }
                    Change::Update(id, document) => {
                        update.execute(params![document.whole, row_number(*id)?])?
                    }
                    Change::Delete(id) => delete.execute([row_number(*id)?])?,
                };
            }
        }
        Ok(transaction.commit()?)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn read(&self, ids: &[u64], visit: Visit<'_>) -> Result<()> {
        let mut connection = lock(&self.connection)?;
        let transaction = connection.transaction()?;
        let mut select = transaction.prepare_cached("SELECT body FROM documents WHERE id = ?")?;
        for id in ids {
            let mut rows = select.query([row_number(*id)?])?;
            let row = rows.next()?.with_context(|| format!("document {id} is missing"))?;
            visit(row.get_ref(0)?.as_blob()?, &[]);
        }
        Ok(())
    }

    fn scan(&self, visit: Visit<'_>) -> Result<()> {
        let connection = lock(&self.connection)?;
        let mut select = connection.prepare_cached("SELECT body FROM documents ORDER BY id")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            visit(row.get_ref(0)?.as_blob()?, &[]);
        }
        Ok(())
    }

    fn scan_heads(&self, visit: Visit<'_>) -> Result<()> {
        self.scan(visit)
    }

    fn index_entries(&self, k: u32) -> Result<u64> {
        let connection = lock(&self.connection)?;
        let sql = "SELECT count(*) FROM documents INDEXED BY documents_k WHERE k = ?";
        let count: i64 = connection.query_row(sql, [k], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    fn checkpoint(&self) -> Result<bool> {
        let connection = lock(&self.checkpointer)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(true)
    }
}
