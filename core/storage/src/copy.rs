//! Copies of a store: while it is being written to (backup), or in place of it (what a compaction leaves).
//!
//! A copy is built table by table from one snapshot, bottom-up, so it is as small as the data allows, and becomes a
//! database with its last commit: a copy that was cut short is empty.

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::ids::TableId;
use crate::options::{Location, Options};
use crate::range::{Direction, KeyRange};
use crate::read::Read;
use crate::store::{Medium, Store};
use std::path::Path;
use std::sync::Arc;

/// How far a copy is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyProgress {
    /// Records copied.
    pub done: u64,
    /// Records of the snapshot.
    pub total: u64,
}

/// Told about the progress of a copy; an error it gives ends the copy.
pub type OnProgress<'p> = &'p mut dyn FnMut(CopyProgress) -> Result<()>;

/// Records and bytes between two reports.
const REPORT_EVERY_RECORDS: u64 = 1024;
const REPORT_EVERY_BYTES: usize = 4 << 20;

impl Store {
    /// Writes everything as it is now into a new file, while others read and write. The file must not exist; when this
    /// fails, it is taken away again.
    pub fn backup_to(&self, path: &Path, on_progress: OnProgress<'_>) -> Result<()> {
        let options = Options { compress: self.shared().options.compress, ..Options::default() };
        into_new_file("write a backup to", path, &options, |target| self.copy_into(target, on_progress))
    }

    /// As [`backup_to`](Store::backup_to), onto an empty disk.
    pub fn backup_onto(
        &self,
        disk: Arc<dyn Disk>,
        options: &Options,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        Store::open_on(disk, options).and_then(|target| self.copy_into(target, on_progress))
    }

    pub(crate) fn copy_into(&self, target: Store, on_progress: OnProgress<'_>) -> Result<()> {
        if let Medium::ReadOnly(file) = &self.shared().medium
            && let Some(damage) = file.damage()
        {
            // What can be read is older than what was acknowledged: a copy of it would look whole.
            return Err(damage);
        }
        let snapshot = self.snapshot();
        let mut tables = Vec::new();
        let mut progress = CopyProgress::default();
        let mut unreported_bytes = 0;
        snapshot.state.tables.for_each(&mut |id, table| {
            progress.total += table.tree.count();
            tables.push((TableId::from_u64(id), table.next_row));
        });
        let mut transaction = target.begin();
        for (table, next_row) in tables {
            let mut builder = target.build_table_as(table)?;
            builder.set_next_row(next_row);
            let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Forward)?;
            while let Some(entry) = scan.next()? {
                let values =
                    (0..entry.value_count()).map(|index| entry.value(index)).collect::<Result<Vec<_>>>()?;
                let values: Vec<&[u8]> = values.iter().map(|value| &**value).collect();
                builder.push_with_values(entry.key, entry.head(), &values)?;
                progress.done += 1;
                unreported_bytes +=
                    entry.head().len() + values.iter().map(|value| value.len()).sum::<usize>();
                if progress.done.is_multiple_of(REPORT_EVERY_RECORDS) || unreported_bytes > REPORT_EVERY_BYTES
                {
                    unreported_bytes = 0;
                    on_progress(progress)?;
                }
            }
            transaction.attach(builder.finish()?)?;
        }
        let committed = transaction.commit()?;
        target.wait_durable(committed.sequence)?;
        on_progress(progress)?;
        target.close()
    }
}

/// Makes a new file and fills it; takes it away again when that fails.
pub(crate) fn into_new_file<T>(
    action: &'static str,
    path: &Path,
    options: &Options,
    fill: impl FnOnce(Store) -> Result<T>,
) -> Result<T> {
    // From here on it is this call's own, to be taken away again.
    std::fs::File::create_new(path).map_err(|error| Error::io(action, path.display().to_string(), &error))?;
    let filled = Store::open(&Location::File(path.to_path_buf()), options).and_then(fill);
    if filled.is_err() {
        // It was made here and holds nothing that anybody could want.
        let _ = std::fs::remove_file(path);
    }
    filled
}
