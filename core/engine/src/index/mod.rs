//! Indexes: what may be declared, which keys a document has, how entries are kept, and whether they
//! are all there.
//!
//! An index is a table of encoded keys. Keeping it right is the business of [`entries`]: every write
//! of a document goes through there, inside the transaction that writes the document.

pub mod changes;
mod duplicate;
pub mod entries;
mod keys;
mod partial;
mod spec;
mod spec_options;

pub use duplicate::duplicate_key_error;
pub use keys::{KeySet, is_unindexable, keys_of};
pub use partial::compile_partial_filter;
pub use spec::{
    Likeness, MAX_EXPIRE_AFTER_SECS, MAX_FIELDS, MAX_INDEXES_PER_COLLECTION, ParsedSpec, cannot_create,
    check_index_count, key_of, parse_key,
};
