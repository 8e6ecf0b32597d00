//! Sorts: what a sort document means, the key a document has under it, and sorting.
//!
//! A sort key is bytes (`multifora_model::key`), so a comparison is `memcmp` whatever the types are.
//! An array counts with its smallest element where the direction is ascending and with its
//! largest where it is descending: of all the tuples of values that the paths have in a
//! document, the first one in the order of the sort is the key. Missing is null; an
//! empty array is before null.
//!
//! Module order: `spec` · `sorter`.

mod sorter;
mod spec;

pub use sorter::{MAX_SORT_BYTES, Sorted, Sorter};
pub use spec::{MAX_SORT_FIELDS, SortField, SortSpec};

#[cfg(test)]
mod tests;
