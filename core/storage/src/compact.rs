//! Putting a copy in a file's place that is as small as its data allows.
//!
//! The copy is made beside the file, under a name that only this uses, and takes its place when all of it is on the
//! disk: until then the file is only read, and a copy that was cut short is taken away by the next compaction.

use crate::copy::{OnProgress, into_new_file};
use crate::disk::{Disk, LockMode, RealDisk};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::store::Store;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Length of the file before.
    pub before_bytes: u64,
    /// Length of the file that took its place.
    pub after_bytes: u64,
}

/// Replaces a file by a copy of itself. Nobody else may have it open. It has to be sound: of a damaged file
/// [`salvage`](crate::salvage()) makes another one.
///
/// # Errors
/// The file is open elsewhere or damaged, or there is no room for the copy beside it. The file is as it was, then.
pub fn compact(path: &Path, options: &Options, on_progress: OnProgress<'_>) -> Result<Compacted> {
    let error_at = |error: io::Error| Error::io("open", path.display().to_string(), &error);
    // The file itself is replaced, not a link that leads to it.
    let path = std::fs::canonicalize(path).map_err(error_at)?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&path, false, false).map_err(error_at)?);
    let reading = Options { read_only: true, background: false, ..options.clone() };
    let source = Store::open_with_lock(Arc::clone(&disk), &reading, Some(LockMode::Alone))?;
    let before = std::fs::metadata(&path).map_err(error_at)?;
    let temporary = temporary_beside(&path);
    let writing = Options { read_only: false, create: true, ..options.clone() };
    let copied = copy_to(&source, &temporary, &before, &writing, on_progress).and_then(|after_bytes| {
        let place = || path.display().to_string();
        std::fs::rename(&temporary, &path).map_err(|error| Error::io("replace", place(), &error))?;
        disk.sync_parent().map_err(|error| Error::io("sync the folder of", place(), &error))?;
        Ok(Compacted { before_bytes: before.len(), after_bytes })
    });
    if copied.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    // Only now may others open what stands in its place.
    source.close().and(copied)
}

/// Hidden, and never the name of a database: whatever is there was left by a compaction that was cut short.
fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.multifora-compact"))
}

/// Makes the copy; returns its length once it is on the disk with the owner and the rights of the original.
fn copy_to(
    source: &Store,
    temporary: &Path,
    like: &Metadata,
    options: &Options,
    on_progress: OnProgress<'_>,
) -> Result<u64> {
    let error_at = |error: io::Error| Error::io("write the copy", temporary.display().to_string(), &error);
    match std::fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error_at(error)),
        _ => {}
    }
    into_new_file("write the copy", temporary, options, |target| {
        // Before anything is in it that others may not read.
        let own = std::fs::metadata(temporary).map_err(error_at)?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            std::os::unix::fs::chown(temporary, Some(like.uid()), Some(like.gid())).map_err(error_at)?;
        }
        std::fs::set_permissions(temporary, like.permissions()).map_err(error_at)?;
        source.copy_into(target, on_progress)?;
        let copy = std::fs::File::open(temporary).map_err(error_at)?;
        copy.sync_all().map_err(error_at)?;
        Ok(copy.metadata().map_err(error_at)?.len())
    })
}
