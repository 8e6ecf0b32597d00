//! Running a planned read: rows that match, in order, one at a time.
//!
//! [`open_rows`] is the one way to documents for find, count, distinct, aggregate, update, delete,
//! findAndModify and the expiry sweep. It plans the query against the collection's indexes and
//! gives a stream. The stream owns everything but the snapshot (or transaction) it reads from, which each
//! call of [`RowStream::next`] gets handed again, so that a cursor can own both.
//!
//! A blocking sort holds keys and row numbers, not documents: what it gives back is fetched again.
//!
//! Module order: `spec` · `resources` · `compile` · `source` · `count` · `batch` · `pipeline` ·
//! `explain`.

pub mod batch;
pub mod compile;
pub mod count;
pub mod explain;
pub mod pipeline;
pub mod resources;
pub mod source;
mod spec;

pub use multifora_storage::RowId;
pub use resources::CommandResources;
pub use spec::QuerySpec;

use crate::catalog::CollectionInfo;
use crate::interrupt::Interrupt;
use crate::plan::{self, Access, Plan};
use crate::storage_error::from_storage;
use multifora_model::{DocumentView, Error, RawDoc, Result};
use multifora_query::filter::Filter;
use multifora_query::sort::{SortSpec, Sorted, Sorter};
use multifora_storage::{Read, Record, TableId};
use source::{Examined, Source};

/// A matching row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number.
    pub id: RowId,
    /// Its document as stored.
    pub record: Record,
}

impl Row {
    /// The document, as query code reads it.
    ///
    /// # Errors
    /// The stored bytes are no document.
    pub fn view(&self) -> Result<DocumentView<'_>> {
        view_of(self.record.head())
    }

    /// The document's bytes.
    ///
    /// # Errors
    /// The stored bytes are no document.
    pub fn doc(&self) -> Result<RawDoc<'_>> {
        framed(self.record.head())
    }
}

/// A stored record's head as query code reads it.
///
/// # Errors
/// The bytes are no document.
pub fn view_of(head: &[u8]) -> Result<DocumentView<'_>> {
    framed(head).map(DocumentView::whole)
}

fn framed(head: &[u8]) -> Result<RawDoc<'_>> {
    RawDoc::framed(head).ok_or_else(|| Error::internal("a stored record is no BSON document"))
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
    source: Source,
    records: TableId,
    /// `None` when the access path decides alone.
    filter: Option<Filter>,
    order: Order,
    skip: u64,
    left: Option<u64>,
}

enum Order {
    /// As the source gives them.
    AsFound,
    /// To be sorted first; with the number of rows that are needed.
    Unsorted(SortSpec, Option<u64>),
    Sorted(Sorted),
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
        let decided = matches!(&plan.access, Access::Id(lookup) if lookup.decides);
        let order = match &spec.sort {
            Some(sort) if !plan.in_order => {
                Order::Unsorted(sort.clone(), spec.limit.map(|limit| limit.saturating_add(spec.skip)))
            }
            _ => Order::AsFound,
        };
        Ok(RowStream {
            source: Source::open(reads, collection.records, &plan.access)?,
            records: collection.records,
            filter: spec.filter.clone().filter(|filter| !decided && !filter.is_always_true()),
            order,
            skip: spec.skip,
            left: spec.limit,
        })
    }

    /// The next row; `None` at the end. `reads` is what the stream was opened on.
    ///
    /// # Errors
    /// Interruption, storage errors, errors of the filter (`$expr`) or of the sort.
    pub fn next(&mut self, reads: &dyn Read, interrupt: &Interrupt) -> Result<Option<Row>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        loop {
            let row = match &mut self.order {
                Order::AsFound => self.find(reads, interrupt)?,
                Order::Unsorted(..) => {
                    self.sort(reads, interrupt)?;
                    continue;
                }
                Order::Sorted(sorted) => next_sorted(sorted, reads, self.records, interrupt)?,
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

    /// True once it is known, without reading on, that no row will come.
    pub fn is_at_end(&self) -> bool {
        self.left == Some(0) || matches!(&self.order, Order::Sorted(sorted) if sorted.is_empty())
    }

    /// What has been looked at so far.
    pub fn examined(&self) -> Examined {
        self.source.examined
    }

    /// The next candidate that the filter accepts.
    fn find(&mut self, reads: &dyn Read, interrupt: &Interrupt) -> Result<Option<Row>> {
        let resources = CommandResources::new(interrupt);
        let filter = self.filter.as_ref();
        let mut matches = |head: &[u8]| {
            interrupt.check()?;
            match filter {
                Some(filter) => filter.matches(&view_of(head)?, &resources),
                None => Ok(true),
            }
        };
        while let Some(candidate) = self.source.next(reads, &mut matches)? {
            if let Some(record) = candidate.record {
                return Ok(Some(Row { id: candidate.row, record }));
            }
            // A row that was deleted by the transaction that reads is gone from the table already.
            let fetched = reads.get(self.records, &candidate.row.to_key()).map_err(from_storage)?;
            let Some(record) = fetched else { continue };
            self.source.examined.docs += 1;
            if matches(record.head())? {
                return Ok(Some(Row { id: candidate.row, record }));
            }
        }
        Ok(None)
    }

    fn sort(&mut self, reads: &dyn Read, interrupt: &Interrupt) -> Result<()> {
        let Order::Unsorted(spec, limit) = &self.order else { return Ok(()) };
        let mut sorter = Sorter::new(spec.clone(), *limit);
        while let Some(row) = self.find(reads, interrupt)? {
            sorter.add(&row.view()?, &row.id.to_key())?;
        }
        interrupt.check()?;
        self.order = Order::Sorted(sorter.finish());
        Ok(())
    }
}

fn next_sorted(
    sorted: &mut Sorted,
    reads: &dyn Read,
    records: TableId,
    interrupt: &Interrupt,
) -> Result<Option<Row>> {
    while let Some(key) = sorted.next_record() {
        interrupt.check()?;
        let Some(id) = RowId::from_key(key) else {
            return Err(Error::internal("a sorted row has no number"));
        };
        if let Some(record) = reads.get(records, key).map_err(from_storage)? {
            return Ok(Some(Row { id, record }));
        }
    }
    Ok(None)
}
