//! `DuplicateKey`, in the words that drivers and tools parse.

use super::keys::with_values_of_key;
use crate::catalog::{IndexInfo, Namespace};
use multifora_model::compare::Collator;
use multifora_model::{
    Collation, DocBuilder, DocumentView, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result,
    text,
};

/// The error for a document whose `key` in a unique index belongs to another document.
pub fn duplicate_key_error(ns: &Namespace, index: &IndexInfo, doc: &DocumentView<'_>, key: &[u8]) -> Error {
    match key_values(index, doc, key) {
        Ok(values) => error_for(ns, index, &values),
        Err(error) => error,
    }
}

/// The value with sort keys in place of its strings, in hexadecimal digits: what is equal in the index, which the
/// strings themselves need not be.
fn with_sort_keys(value: RawValue<'_>, collation: &Collation) -> OwnedValue {
    match value.ty {
        ElementType::String | ElementType::Symbol => {
            let mut key = Vec::new();
            collation.sort_key(value.as_str_bytes().unwrap_or_default(), &mut key);
            let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            OwnedValue::string(&format!("0x{digits}"))
        }
        ElementType::Document => {
            let mut out = DocBuilder::new();
            for field in value.as_doc().into_iter().flatten() {
                out.append(field.name(), with_sort_keys(field.value, collation).as_ref());
            }
            OwnedValue::document(out.finish())
        }
        ElementType::Array => {
            let mut out = DocBuilder::new_array();
            for element in value.as_array().into_iter().flatten() {
                out.push(with_sort_keys(element.value, collation).as_ref());
            }
            OwnedValue::from_vec(ElementType::Array, out.finish())
        }
        _ => value.into(),
    }
}

/// `{ a: 1, b: "x" }`: the indexed paths with the values that collide.
fn key_values(index: &IndexInfo, doc: &DocumentView<'_>, key: &[u8]) -> Result<Vec<u8>> {
    let mut values = DocBuilder::new();
    with_values_of_key(index, doc, key, &mut |tuple| {
        for (field, value) in index.fields.iter().zip(tuple) {
            match index.collation {
                None => values.append(field.path.as_str(), *value),
                Some(ref collation) => {
                    values.append(field.path.as_str(), with_sort_keys(*value, collation).as_ref())
                }
            };
        }
    })?;
    Ok(values.finish())
}

fn error_for(ns: &Namespace, index: &IndexInfo, values: &[u8]) -> Error {
    let values = RawDoc::framed(values).unwrap_or(RawDoc::EMPTY);
    let mut details = DocBuilder::new();
    details.doc("keyPattern", index.key_pattern()).doc("keyValue", values);
    let told = text::document(values);
    let mut collated = String::new();
    if let Some(collation) = &index.collation {
        details.doc("collation", collation.document());
        collated = format!(" collation: {}", text::document(collation.document()));
    }
    let message = format!(
        "E11000 duplicate key error collection: {ns} index: {}{collated} dup key: {told}",
        index.name
    );
    Error::new(ErrorCode::DuplicateKey, message).with_details(details.finish())
}
