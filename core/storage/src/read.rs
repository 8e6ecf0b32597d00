//! Reading: the one way in which snapshots and transactions are read.

use crate::error::Result;
use crate::ids::TableId;
use crate::range::{Direction, KeyRange};
use crate::record::Record;
use crate::scan::Scan;

/// A consistent view over all tables.
pub trait Read {
    /// The record under `key`.
    fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Record>>;

    /// The entries of a range, in order. The scan owns its view: later writes of a transaction do not show in it.
    fn scan(&self, table: TableId, range: KeyRange, direction: Direction) -> Result<Scan>;

    /// How many records the table has. Costs nothing.
    fn count(&self, table: TableId) -> Result<u64>;

    /// How many keys of the table lie in the range. Reads two paths of the tree, not the range.
    fn count_range(&self, table: TableId, range: &KeyRange) -> Result<u64>;
}
