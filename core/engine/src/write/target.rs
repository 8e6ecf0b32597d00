//! Finding the documents that a statement is about, and meeting each of them once.

use super::insert::{MAX_CHUNK_BYTES, MAX_CHUNK_DOCS};
use super::transaction::{CollectionWrite, Writer};
use crate::catalog::{self, CollectionInfo, Namespace};
use crate::exec::{CommandResources, QuerySpec, Row, RowStream, open_rows};
use crate::interrupt::Interrupt;
use crate::stored::Stored;
use multifora_model::Result;
use multifora_query::filter::Filter;
use multifora_storage::{Record, RowId, Sequence, Snapshot};
use std::sync::Arc;

/// A statement's query: what to look for, and how.
pub struct Target {
    /// Filter, sort and hint.
    pub spec: QuerySpec,
    /// The filter again, for checking single documents.
    pub filter: Filter,
}

impl Target {
    /// All that match `filter`.
    pub fn new(filter: Filter) -> Self {
        Target { spec: QuerySpec::matching(filter.clone()), filter }
    }

    /// The first document that matches, as the transaction sees it. `known` is the row an earlier attempt found: when it
    /// still matches, nothing is searched (unless the order matters, which may have changed).
    pub fn find_one(
        &self,
        write: &CollectionWrite<'_>,
        known: Option<RowId>,
        interrupt: &Interrupt,
    ) -> Result<Option<Row>> {
        if let Some(id) = known.filter(|_| self.spec.sort.is_none())
            && let Some(stored) = write.get(id)?
            && self.matches(&stored, interrupt)?
        {
            return Ok(Some(Row { id, stored }));
        }
        let spec = QuerySpec { limit: Some(1), ..self.spec.clone() };
        open_rows(&*write.txn, &write.collection, &spec)?.next(&*write.txn, interrupt)
    }

    /// Does the document match?
    pub fn matches(&self, stored: &Stored<Record>, interrupt: &Interrupt) -> Result<bool> {
        self.filter.matches(&stored.view()?, &CommandResources::new(interrupt))
    }
}

/// The documents that matched in one snapshot, in chunks.
pub struct MatchedRows {
    snapshot: Snapshot,
    rows: RowStream,
    /// The collection as of the snapshot.
    pub collection: Arc<CollectionInfo>,
}

impl MatchedRows {
    /// Opens the stream; `None` when there is no such collection.
    pub fn open(writer: &Writer<'_>, ns: &Namespace, target: &Target) -> Result<Option<Self>> {
        let snapshot = writer.database.store().snapshot();
        let Some(collection) = catalog::find(&snapshot, writer.database.catalog_cache(), ns)? else {
            return Ok(None);
        };
        let rows = open_rows(&snapshot, &collection, &target.spec)?;
        Ok(Some(MatchedRows { snapshot, rows, collection }))
    }

    /// The next documents, up to the limits of a chunk; empty at the end.
    pub fn next_chunk(&mut self, interrupt: &Interrupt) -> Result<Vec<Row>> {
        let mut chunk = Vec::new();
        let mut len_bytes = 0;
        while chunk.len() < MAX_CHUNK_DOCS && len_bytes < MAX_CHUNK_BYTES {
            let Some(row) = self.rows.next(&self.snapshot, interrupt)? else { break };
            len_bytes += row.stored.len_bytes();
            chunk.push(row);
        }
        Ok(chunk)
    }

    /// The document of a row of a chunk as the transaction sees it: `None` when it is gone or, changed since the snapshot,
    /// does not match any more.
    pub fn current(
        write: &CollectionWrite<'_>,
        target: &Target,
        row: &Row,
        interrupt: &Interrupt,
    ) -> Result<Option<Stored<Record>>> {
        let Some(now) = write.get(row.id)? else { return Ok(None) };
        let (version, known) = (now.record().version(), row.stored.record().version());
        let unchanged = version == known && version != Sequence::UNCOMMITTED;
        Ok((unchanged || target.matches(&now, interrupt)?).then_some(now))
    }
}
