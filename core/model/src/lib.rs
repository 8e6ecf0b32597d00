//! What a document is: raw BSON walking and validation, values, comparison order, ordered keys,
//! numbers and decimals, regular expressions.
//!
//! Everything that gives a BSON value meaning lives here exactly once and is called by filter,
//! expression, update, sort, index and accumulator alike.
//!
//! Module order (each may use those before it): `error` · `types` · `raw` · `builder` · `value` ·
//! `validate` · `object_id` · `decimal` · `decimal_arithmetic` · `number` · `compare` · `key` · `regex` · `text` · `collation` · `split` ·
//! `view` · `cut` · `path` · `extjson`.
#![forbid(unsafe_code)]

#[cfg(test)]
mod arbitrary;
pub mod builder;
pub mod collation;
pub mod compare;
pub mod cut;
pub mod decimal;
mod decimal_arithmetic;
pub mod error;
pub mod extjson;
pub mod key;
pub mod number;
pub mod object_id;
pub mod path;
pub mod raw;
pub mod regex;
pub mod split;
pub mod text;
pub mod types;
pub mod validate;
pub mod value;
pub mod view;

pub use builder::DocBuilder;
pub use collation::Collation;
pub use compare::{canonical_class, compare, compare_docs};
pub use decimal::Decimal128;
pub use decimal_arithmetic::DecimalRounding;
pub use error::{Error, ErrorCode, Result};
pub use key::{KeyDirection, ValueKey, canonical_hash};
pub use number::Number;
pub use raw::{Element, RawDoc, RawValue};
pub use regex::Regex;
pub use types::ElementType;
pub use value::{OwnedValue, Val};
pub use view::{DocumentView, FetchValue, WholeDocument};

/// Limits that MongoDB sets and clients rely on.
pub mod limits {
    /// Largest document a client may store (16 MiB).
    pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
    /// Largest document handled inside (commands, replies): the stored size plus 16 KiB of envelope.
    pub const MAX_INTERNAL_DOCUMENT_BYTES: usize = MAX_DOCUMENT_BYTES + 16 * 1024;
    /// Deepest nesting of a stored document.
    pub const MAX_NESTING_DEPTH: usize = 100;
    /// Deepest nesting accepted inside a command (MongoDB's BSON depth limit).
    pub const MAX_COMMAND_DEPTH: usize = 180;
}
