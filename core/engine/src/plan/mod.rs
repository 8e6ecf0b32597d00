//! From a query to an access path: which rows to look at, through which index, in which order.
//!
//! An index only proposes candidates and the whole filter decides, so a plan can be slow but not
//! wrong. Plans are compared by counting: storage counts the keys of a range without reading them, so
//! there are no trial runs and no cached plans that went stale.
//!
//! Module order: `interval` · `values` · `conjunct` · `bounds` · `partial` ·
//! `index_match` · `hint` ·
//! `choose` · `describe`.

pub mod bounds;
mod choose;
pub mod conjunct;
pub mod describe;
mod hint;
pub mod index_match;
pub mod interval;
mod partial;
mod values;

pub(crate) use choose::{MAX_WHOLE_RANGES, key_range};
pub use choose::{plan, plan_count};
pub use hint::Hint;
pub(crate) use hint::natural_direction;

use crate::catalog::IndexInfo;
use bounds::IndexBounds;
use interval::ByteRange;
use std::sync::Arc;

/// How rows are found.
#[derive(Clone, Debug)]
pub enum Access {
    /// No row can match.
    Nothing,
    /// Every row of the collection.
    Table {
        /// From the last row to the first.
        backwards: bool,
    },
    /// The one row with this `_id`.
    Id(IdLookup),
    /// The rows that an index gives.
    Index(IndexScan),
    /// The rows that any of several index scans gives, each row once.
    Union(Vec<IndexScan>),
}

/// A look-up in the `_id_` index.
#[derive(Clone, Debug)]
pub struct IdLookup {
    /// The index.
    pub index: Arc<IndexInfo>,
    /// The encoded value.
    pub key: Vec<u8>,
    /// The filter asks for nothing else.
    pub decides: bool,
}

/// A scan of one index.
#[derive(Clone, Debug)]
pub struct IndexScan {
    /// The index.
    pub index: Arc<IndexInfo>,
    /// Which keys.
    pub bounds: IndexBounds,
    /// A further limit on whole keys (`min` and `max`).
    pub range: ByteRange,
    /// From large keys to small ones.
    pub backwards: bool,
    /// Each key inside is a matching row and each matching row one key.
    pub decides: bool,
}

/// An access path and what it spares.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How rows are found.
    pub access: Access,
    /// They come in the order that was asked for.
    pub in_order: bool,
    /// What else was considered, for explain.
    pub rejected: Vec<Access>,
}
