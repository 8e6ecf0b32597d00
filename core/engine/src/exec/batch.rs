//! Rows as a cursor's batches.

use super::{Row, RowStream};
use crate::cursor::{Batch, BatchSource, Progress};
use crate::interrupt::Interrupt;
use multifora_model::{Result, WholeDocument};
use multifora_storage::Snapshot;

/// Makes the document that a client gets out of a row.
pub trait Shape: Send {
    /// Writes the document's head to `out` (which is empty): what it shows of the row's document as it stands may stay
    /// where it is. `false` when the stored document is the answer.
    ///
    /// # Errors
    /// Those of projections and of reading the document.
    fn shape(&self, row: &Row, interrupt: &Interrupt, out: &mut Vec<u8>) -> Result<bool>;
}

/// The answer is the document as stored.
pub struct AsStored;

impl Shape for AsStored {
    fn shape(&self, _row: &Row, _interrupt: &Interrupt, _out: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }
}

/// Nothing at all: what a collection that does not exist holds.
pub struct NoRows;

impl BatchSource for NoRows {
    fn next_batch(&mut self, _interrupt: &Interrupt, _batch: &mut Batch<'_>) -> Result<Progress> {
        Ok(Progress::Exhausted)
    }
}

/// A stream of rows over the snapshot it owns.
pub struct RowBatches {
    snapshot: Snapshot,
    rows: RowStream,
    shape: Box<dyn Shape>,
    /// Offered, refused, and therefore the first of the next batch: a row, and what was made of it.
    pending: Option<(Row, Option<Vec<u8>>)>,
    scratch: Vec<u8>,
}

impl RowBatches {
    /// Batches from a stream that was opened on `snapshot`.
    pub fn new(snapshot: Snapshot, rows: RowStream, shape: Box<dyn Shape>) -> Self {
        RowBatches { snapshot, rows, shape, pending: None, scratch: Vec::new() }
    }
}

impl BatchSource for RowBatches {
    fn next_batch(&mut self, interrupt: &Interrupt, batch: &mut Batch<'_>) -> Result<Progress> {
        if let Some((row, shaped)) = self.pending.take()
            && !offer(&row, shaped.as_deref(), batch)?
        {
            self.pending = Some((row, shaped));
            return Ok(Progress::More);
        }
        while batch.wants_more() {
            let Some(row) = self.rows.next(&self.snapshot, interrupt)? else {
                return Ok(Progress::Exhausted);
            };
            self.scratch.clear();
            let is_shaped = self.shape.shape(&row, interrupt, &mut self.scratch)?;
            if !offer(&row, is_shaped.then_some(self.scratch.as_slice()), batch)? {
                self.pending = Some((row, is_shaped.then(|| self.scratch.clone())));
                return Ok(Progress::More);
            }
        }
        Ok(if self.rows.is_at_end() { Progress::Exhausted } else { Progress::More })
    }

    fn renew(&mut self, newest: &dyn Fn() -> Snapshot) -> Result<()> {
        if self.snapshot.is_too_old() {
            // What was refused is found again: its values may not be readable any more.
            let again = self.pending.as_ref().map(|(row, _)| row.id);
            let snapshot = newest();
            if self.rows.renew(&snapshot, again)? {
                (self.snapshot, self.pending) = (snapshot, None);
            }
        }
        Ok(())
    }
}

/// Offers a row's document, or what was made of it; its values go from storage straight into the batch.
fn offer(row: &Row, shaped: Option<&[u8]>, batch: &mut Batch<'_>) -> Result<bool> {
    let view = row.view()?;
    match shaped {
        None => batch.offer_view(&view),
        Some(head) => batch.offer_view(&view.derived(head, &WholeDocument::new())?),
    }
}
