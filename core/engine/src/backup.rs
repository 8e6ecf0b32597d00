//! Copies of an open database: one moment of it in a new file, while everybody goes on reading and writing.

use crate::connection::{Connection, ConnectionInfo, contain_panic};
use crate::database::Database;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::rescue::{OnProgress, interruptible};
use multifora_model::Result;
use multifora_storage::CopyProgress;
use std::path::Path;
use std::sync::Arc;

/// What currentOp calls it.
const PHASE: &str = "Backup: copying records";

impl Connection {
    /// Writes the database as it is now into the new file `path`. Others read and write meanwhile; what they commit
    /// later is not in it. It runs like a command: currentOp shows it, [`interrupt`](Connection::interrupt) and killOp
    /// stop it, and so does closing the database. When it fails, no file is left.
    ///
    /// # Errors
    /// `path` exists or cannot be written, the disk is full, the work was interrupted, or what `on_progress` gave.
    pub fn backup_to(&self, path: impl AsRef<Path>, on_progress: OnProgress<'_>) -> Result<()> {
        contain_panic("backup", || {
            let database = self.database();
            let _open = database.enter()?;
            let interrupt = Interrupt::new();
            let progress = Arc::new(Progress::default());
            let _running = self.begin("backup", "admin", &interrupt, &progress);
            let mut shown = 0;
            let mut tell = |copied: CopyProgress| {
                if shown == 0 {
                    progress.begin(PHASE, copied.total);
                }
                progress.advance(copied.done - shown);
                shown = copied.done;
                on_progress(copied)
            };
            interruptible(&interrupt, &mut tell, |on_progress| {
                database.store().backup_to(path.as_ref(), on_progress)
            })
        })
    }
}

impl Database {
    /// As [`Connection::backup_to`], through a connection of its own.
    ///
    /// # Errors
    /// As there.
    pub fn backup_to(&self, path: impl AsRef<Path>, on_progress: OnProgress<'_>) -> Result<()> {
        self.connect(ConnectionInfo::in_process("rust")).backup_to(path, on_progress)
    }
}
