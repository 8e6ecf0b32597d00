//! Running a planned read: rows that match, in order, one at a time.
//!
//! [`open_rows`] is the one way to documents for find, count, distinct, aggregate, update, delete,
//! findAndModify and the expiry sweep. It plans the query against the collection's indexes and
//! gives a stream; the stream owns everything but the snapshot or transaction it reads from, so a
//! cursor can put it away between batches ([`RowStream::suspend`]).

use crate::catalog::CollectionInfo;
use crate::interrupt::Interrupt;
use multifora_model::Result;
use multifora_query::filter::Filter;
use multifora_query::sort::SortSpec;
use multifora_storage::{Read, Record};
use std::sync::Arc;

/// The number of a row in its collection's table of records (what clients see as RecordId).
pub type RowId = u64;

/// Which access path the client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// An index by name.
    Name(String),
    /// An index by key pattern, as a BSON document.
    KeyPattern(Vec<u8>),
    /// `{$natural: 1}` or `{$natural: -1}`: the table itself, forwards or backwards.
    Natural {
        /// From the last row to the first.
        backwards: bool,
    },
}

/// A query, compiled: which rows, in which order, how many.
#[derive(Clone, Default)]
pub struct QuerySpec {
    /// What a row must match; `None` for everything.
    pub filter: Option<Arc<Filter>>,
    /// The order; `None` for whatever comes first.
    pub sort: Option<Arc<SortSpec>>,
    /// Matching rows left out at the beginning.
    pub skip: u64,
    /// How many rows at most; `None` for all.
    pub limit: Option<u64>,
    /// The access path the client insists on.
    pub hint: Option<Hint>,
    /// Inclusive lower index key (`min`), as a BSON document.
    pub min: Option<Vec<u8>>,
    /// Exclusive upper index key (`max`), as a BSON document.
    pub max: Option<Vec<u8>>,
}

/// A matching row.
pub struct Row {
    /// Its number.
    pub id: RowId,
    /// Its document as stored.
    pub record: Record,
}

/// Plans `spec` over `collection` and opens the stream of matching rows.
///
/// # Errors
/// `BadValue` for a hint that names no index, the codes of `min`/`max`, storage errors.
pub fn open_rows<'r>(
    reads: &'r dyn Read,
    collection: &CollectionInfo,
    spec: &QuerySpec,
    interrupt: &Interrupt,
) -> Result<RowStream<'r>> {
    let _ = (reads, collection, spec, interrupt);
    Ok(RowStream { reads })
}

/// Matching rows, one at a time.
pub struct RowStream<'r> {
    reads: &'r dyn Read,
}

impl RowStream<'_> {
    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// Interruption, storage errors, errors of evaluating the filter (`$expr`).
    pub fn next(&mut self) -> Result<Option<Row>> {
        let _ = self.reads;
        Ok(None)
    }
}
