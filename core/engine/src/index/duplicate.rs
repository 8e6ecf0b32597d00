//! `DuplicateKey`, in the words that drivers and tools parse.

use super::keys::with_values_of_key;
use crate::catalog::{IndexInfo, Namespace};
use multifora_model::{DocBuilder, DocumentView, Error, ErrorCode, RawDoc, Result, text};

/// The error for a document whose `key` in a unique index belongs to another document.
pub fn duplicate_key_error(ns: &Namespace, index: &IndexInfo, doc: &DocumentView<'_>, key: &[u8]) -> Error {
    match key_values(index, doc, key) {
        Ok(values) => error_for(ns, index, &values),
        Err(error) => error,
    }
}

/// `{ a: 1, b: "x" }`: the indexed paths with the values that collide.
fn key_values(index: &IndexInfo, doc: &DocumentView<'_>, key: &[u8]) -> Result<Vec<u8>> {
    let mut values = DocBuilder::new();
    with_values_of_key(index, doc, key, &mut |tuple| {
        for (field, value) in index.fields.iter().zip(tuple) {
            values.append(field.path.as_str(), *value);
        }
    })?;
    Ok(values.finish())
}

fn error_for(ns: &Namespace, index: &IndexInfo, values: &[u8]) -> Error {
    let values = RawDoc::framed(values).unwrap_or(RawDoc::EMPTY);
    let mut details = DocBuilder::new();
    details.doc("keyPattern", index.key_pattern()).doc("keyValue", values);
    let told = text::document(values);
    let message =
        format!("E11000 duplicate key error collection: {ns} index: {} dup key: {told}", index.name);
    Error::new(ErrorCode::DuplicateKey, message).with_details(details.finish())
}
