//! A query as the planner and the executor take it: compiled, free of the command it came from.

use crate::plan::Hint;
use multifora_model::Collation;
use multifora_query::filter::Filter;
use multifora_query::sort::SortSpec;
use std::sync::Arc;

/// Which rows, in which order, how many.
#[derive(Clone, Default)]
pub struct QuerySpec {
    /// What a row must match; `None` for everything.
    pub filter: Option<Filter>,
    /// The order; `None` for whatever comes first.
    pub sort: Option<SortSpec>,
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
    /// How strings compare. Filter and sort know it already; `min` and `max` do not.
    pub collation: Option<Arc<Collation>>,
}

impl QuerySpec {
    /// All rows that match.
    pub fn matching(filter: Filter) -> Self {
        QuerySpec { filter: Some(filter), ..QuerySpec::default() }
    }
}
