//! Placeholder: the storage crate.
