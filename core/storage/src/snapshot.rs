//! Snapshots: the state after some commit, for as long as somebody wants it.

use crate::error::{Error, Result};
use crate::ids::{RowId, Sequence, TableId};
use crate::range::{Direction, KeyRange};
use crate::read::Read;
use crate::record::Record;
use crate::scan::Scan;
use crate::state::{State, Table};
use std::sync::Arc;

/// All tables as they were after one commit. Cheap to take, to clone and to keep; never waits for writers.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) state: Arc<State>,
}

impl Snapshot {
    /// The newest commit that it sees.
    pub fn sequence(&self) -> Sequence {
        Sequence::from_u64(self.state.sequence)
    }

    /// Whether it has lost the right to read, so that the file does not grow without bound: what it has not read
    /// already is [`Error::SnapshotTooOld`].
    pub fn is_too_old(&self) -> bool {
        self.state.pages.is_revoked()
    }

    /// The row number that the table's next append was going to get.
    pub fn next_row(&self, table: TableId) -> Result<RowId> {
        Ok(RowId::from_u64(self.table(table)?.next_row))
    }

    pub(crate) fn table(&self, table: TableId) -> Result<&Arc<Table>> {
        self.state.tables.get(table.get()).ok_or(Error::NoTable { table: table.get() })
    }
}

impl Read for Snapshot {
    fn get(&self, table: TableId, key: &[u8]) -> Result<Option<Record>> {
        let context = self.state.context(table.get());
        Ok(self.table(table)?.tree.get(key, &context)?.map(|found| found.record(&context)))
    }

    fn scan(&self, table: TableId, range: KeyRange, direction: Direction) -> Result<Scan> {
        Scan::new(&self.table(table)?.tree, range, direction, &self.state.context(table.get()))
    }

    fn count(&self, table: TableId) -> Result<u64> {
        Ok(self.table(table)?.tree.count())
    }

    fn count_range(&self, table: TableId, range: &KeyRange) -> Result<u64> {
        self.table(table)?.tree.count_range(range, &self.state.context(table.get()))
    }
}
