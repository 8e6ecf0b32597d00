//! Extended JSON v2: text to BSON and back.
//!
//! Reading keeps field order, number types and duplicate names, and takes canonical, relaxed and the
//! usual legacy forms. Writing goes straight from document bytes to text. An object is a special value only
//! when it consists of exactly the wrapper's keys; `{"$regex": …}`, `{"$type": …}` and other operators
//! are ordinary documents.

mod json;
mod read;
mod wrapper;
mod write;

pub use read::{parse_document, parse_documents, parse_value};
pub use write::{Mode, to_text, write_document, write_value};

#[cfg(test)]
pub(crate) mod tests;
