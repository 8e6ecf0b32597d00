//! What the commands share: opening the file they name, with errors that name it, and printing JSON.

use crate::Failure;
use multiforadb::{Database, OpenOptions, RawDoc, extjson};
use std::path::Path;

/// Opens `path`; every failure says which file it was.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Database, Failure> {
    Database::open(path, options).map_err(|error| {
        let shown = path.display().to_string();
        let line = match error.message().contains(&shown) {
            true => error.message().to_owned(),
            false => format!("cannot open {shown}: {}", error.message()),
        };
        Failure::from(error).line(line)
    })
}

/// Opens a file that must exist, for looking only.
pub(crate) fn open_to_look(path: &Path) -> Result<Database, Failure> {
    open(path, &OpenOptions::default().read_only(true).create(false))
}

/// A document as one line of relaxed Extended JSON.
pub(crate) fn to_json(document: &[u8]) -> String {
    extjson::to_text(RawDoc::framed(document).unwrap_or(RawDoc::EMPTY), extjson::Mode::Relaxed)
}
