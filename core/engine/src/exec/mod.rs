//! Running a planned read: rows that match, in order, one at a time.
//!
//! [`open_rows`] is the one way to documents for find, count, distinct, aggregate, update, delete,
//! findAndModify and the expiry sweep. It plans the query against the collection's indexes and
//! gives a stream. The stream owns everything but the snapshot (or transaction) it reads from, which each
//! call of [`RowStream::next`] gets handed again, so that a cursor can own both.
//!
//! A blocking sort holds keys and row numbers, not documents: what it gives back is fetched again.
//!
//! Module order: `spec` · `resources` · `reading` · `compile` · `source` · `ordered` · `count` · `batch` · `pipeline` ·
//! `explain`.

pub mod batch;
pub mod compile;
pub mod count;
pub mod explain;
mod ordered;
pub mod pipeline;
mod reading;
pub mod resources;
pub mod source;
mod spec;

pub use multifora_storage::RowId;
pub use reading::{Reading, default_collation, with_collation};
pub use resources::CommandResources;
pub use spec::QuerySpec;

use crate::catalog::CollectionInfo;
use crate::interrupt::Interrupt;
use crate::plan::{self, Access, Plan};
use crate::storage_error::from_storage;
use crate::stored::Stored;
use multifora_model::{DocumentView, Result};
use multifora_query::filter::Filter;
use multifora_query::sort::SortSpec;
use multifora_storage::{Read, Record, TableId};
use ordered::{OrderedRows, Rescan};
use source::{Examined, Source};

/// A matching row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number.
    pub id: RowId,
    /// Its document.
    pub stored: Stored<Record>,
}

impl Row {
    /// A row and its record.
    pub fn new(id: RowId, record: Record) -> Self {
        Row { id, stored: Stored::new(record) }
    }

    /// The document, as query code reads it.
    ///
    /// # Errors
    /// The stored bytes are no document.
    #[inline]
    pub fn view(&self) -> Result<DocumentView<'_>> {
        self.stored.view()
    }
}

/// Plans `spec` over `collection` and opens the stream of matching rows.
///
/// # Errors
/// `BadValue` for a hint that names no index, the codes of `min` and `max`, storage errors.
pub fn open_rows(reads: &dyn Read, collection: &CollectionInfo, spec: &QuerySpec) -> Result<RowStream> {
    let plan = plan::plan(reads, collection, spec)?;
    RowStream::open(reads, collection, spec, &plan)
}

/// Matching rows, one at a time.
pub struct RowStream {
    found: FoundRows,
    order: Order,
    skip: u64,
    left: Option<u64>,
}

enum Order {
    /// As they are found.
    AsFound,
    /// To be sorted first; with the number of rows that are needed.
    Unsorted(SortSpec, Option<u64>),
    Sorted(OrderedRows),
}

impl RowStream {
    /// Opens a stream over a plan made before.
    ///
    /// # Errors
    /// Storage errors.
    pub fn open(
        reads: &dyn Read,
        collection: &CollectionInfo,
        spec: &QuerySpec,
        plan: &Plan,
    ) -> Result<RowStream> {
        let order = match &spec.sort {
            Some(sort) if !plan.in_order => {
                Order::Unsorted(sort.clone(), spec.limit.map(|limit| limit.saturating_add(spec.skip)))
            }
            _ => Order::AsFound,
        };
        let found = FoundRows::open(reads, collection.records, spec, &plan.access)?;
        Ok(RowStream { found, order, skip: spec.skip, left: spec.limit })
    }

    /// The next row; `None` at the end. `reads` is what the stream was opened on.
    ///
    /// # Errors
    /// Interruption, storage errors, errors of the filter (`$expr`) or of the sort.
    pub fn next(&mut self, reads: &dyn Read, interrupt: &Interrupt) -> Result<Option<Row>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        if self.skip > 0 && matches!(self.order, Order::AsFound) && self.found.skip(self.skip)? {
            self.skip = 0;
        }
        loop {
            let row = match &mut self.order {
                Order::AsFound => self.found.next(reads, interrupt)?,
                Order::Unsorted(sort, limit) => {
                    let mut rows = Rows { found: &mut self.found, reads, interrupt };
                    self.order = Order::Sorted(OrderedRows::sort(sort.clone(), *limit, &mut rows)?);
                    continue;
                }
                Order::Sorted(sorted) => {
                    let mut rows = Rows { found: &mut self.found, reads, interrupt };
                    match sorted.next(&mut rows, interrupt)? {
                        None => None,
                        Some(id) => {
                            match reads.get(self.found.records, &id.to_key()).map_err(from_storage)? {
                                Some(record) => Some(Row::new(id, record)),
                                // Deleted meanwhile by the transaction that reads.
                                None => continue,
                            }
                        }
                    }
                }
            };
            let Some(row) = row else {
                self.left = Some(0);
                return Ok(None);
            };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            if let Some(left) = &mut self.left {
                *left -= 1;
            }
            return Ok(Some(row));
        }
    }

    /// Goes on over other reads behind the last row, or at the row `again`, which then counts as not given. False when
    /// the order of the rows is not the table's: nothing has changed then.
    ///
    /// # Errors
    /// Storage errors.
    pub fn renew(&mut self, reads: &dyn Read, again: Option<RowId>) -> Result<bool> {
        let is_in_table_order = matches!(self.order, Order::AsFound);
        if !is_in_table_order || !self.found.source.renew(reads, self.found.records, again)? {
            return Ok(false);
        }
        if let (Some(_), Some(left)) = (again, &mut self.left) {
            *left += 1;
        }
        Ok(true)
    }

    /// True once it is known, without reading on, that no row will come.
    pub fn is_at_end(&self) -> bool {
        self.left == Some(0) || matches!(&self.order, Order::Sorted(sorted) if sorted.is_empty())
    }

    /// What has been looked at so far.
    pub fn examined(&self) -> Examined {
        self.found.source.examined
    }
}

/// Candidates that the filter accepts, as the access path gives them.
struct FoundRows {
    source: Source,
    access: Access,
    records: TableId,
    /// `None` when the access path decides alone.
    filter: Option<Filter>,
}

impl FoundRows {
    fn open(reads: &dyn Read, records: TableId, spec: &QuerySpec, access: &Access) -> Result<Self> {
        let decided = matches!(access, Access::Id(lookup) if lookup.decides);
        Ok(FoundRows {
            source: Source::open(reads, records, access)?,
            access: access.clone(),
            records,
            filter: spec.filter.clone().filter(|filter| !decided && !filter.is_always_true()),
        })
    }

    /// Leaves out `n` rows without reading them; false where candidates have to be looked at.
    fn skip(&mut self, n: u64) -> Result<bool> {
        let all_match = match &self.access {
            Access::Index(scan) => scan.decides,
            _ => self.filter.is_none(),
        };
        if all_match { self.source.skip(n) } else { Ok(false) }
    }

    fn next(&mut self, reads: &dyn Read, interrupt: &Interrupt) -> Result<Option<Row>> {
        let resources = CommandResources::new(interrupt);
        let filter = self.filter.as_ref();
        let mut matches = |view: &DocumentView<'_>| match filter {
            Some(filter) => filter.matches(view, &resources),
            None => Ok(true),
        };
        while let Some(candidate) = self.source.next(reads, interrupt, &mut matches)? {
            if let Some(stored) = candidate.stored {
                return Ok(Some(Row { id: candidate.row, stored }));
            }
            // A row that was deleted by the transaction that reads is gone from the table already.
            let fetched = reads.get(self.records, &candidate.row.to_key()).map_err(from_storage)?;
            let Some(record) = fetched else { continue };
            self.source.examined.docs += 1;
            let row = Row::new(candidate.row, record);
            if matches(&row.view()?)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// The found rows, as a sort asks for them.
struct Rows<'r> {
    found: &'r mut FoundRows,
    reads: &'r dyn Read,
    interrupt: &'r Interrupt,
}

impl Rescan for Rows<'_> {
    fn restart(&mut self) -> Result<()> {
        let examined = self.found.source.examined;
        self.found.source = Source::open(self.reads, self.found.records, &self.found.access)?;
        self.found.source.examined = examined;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Row>> {
        self.found.next(self.reads, self.interrupt)
    }
}
