//! Rows through the stages of a pipeline, as a cursor's batches.

use super::{CommandResources, Row, RowStream};
use crate::cursor::{Batch, BatchSource, Progress};
use crate::interrupt::Interrupt;
use multifora_model::{DocumentView, RawDoc, Result};
use multifora_query::Resources;
use multifora_query::stage::{DocSource, Documents, PipelineRun};
use multifora_storage::Snapshot;

/// A running pipeline over the snapshot it owns.
pub struct PipelineBatches {
    snapshot: Snapshot,
    input: Input,
    run: PipelineRun,
    /// Offered, refused, and therefore the first of the next batch.
    pending: Option<Vec<u8>>,
}

/// What goes into the first stage.
enum Input {
    Rows(Box<RowStream>),
    Documents(Documents),
}

impl PipelineBatches {
    /// A pipeline over a stream that was opened on `snapshot`.
    pub fn over_rows(snapshot: Snapshot, rows: RowStream, run: PipelineRun) -> Self {
        PipelineBatches { snapshot, input: Input::Rows(Box::new(rows)), run, pending: None }
    }

    /// A pipeline over documents that are known already (none, where there is no collection).
    pub fn over_documents(snapshot: Snapshot, documents: Vec<Vec<u8>>, run: PipelineRun) -> Self {
        PipelineBatches { snapshot, input: Input::Documents(Documents::new(documents)), run, pending: None }
    }
}

impl BatchSource for PipelineBatches {
    fn next_batch(&mut self, interrupt: &Interrupt, batch: &mut Batch<'_>) -> Result<Progress> {
        if let Some(pending) = self.pending.take()
            && !batch.offer(RawDoc::framed(&pending).unwrap_or(RawDoc::EMPTY))
        {
            self.pending = Some(pending);
            return Ok(Progress::More);
        }
        let resources = CommandResources::new(interrupt);
        let mut stored;
        let input: &mut dyn DocSource = match &mut self.input {
            Input::Rows(rows) => {
                stored = Rows { snapshot: &self.snapshot, rows, interrupt, current: None };
                &mut stored
            }
            Input::Documents(documents) => documents,
        };
        while batch.wants_more() {
            if !self.run.advance(input, &resources)? {
                return Ok(Progress::Exhausted);
            }
            let view = self.run.current(input);
            if !batch.offer_view(&view)? {
                self.pending = Some(view.to_vec()?);
                return Ok(Progress::More);
            }
        }
        Ok(Progress::More)
    }

    fn renew(&mut self, newest: &dyn Fn() -> Snapshot) -> Result<()> {
        if let (true, Input::Rows(rows)) = (self.snapshot.is_too_old(), &mut self.input) {
            let snapshot = newest();
            if rows.renew(&snapshot, None)? {
                self.snapshot = snapshot;
            }
        }
        Ok(())
    }
}

/// Runs a pipeline to its end without keeping anything; gives the number of documents (for explain).
///
/// # Errors
/// Those of the rows and of the stages.
pub fn drain(
    snapshot: &Snapshot,
    rows: &mut RowStream,
    run: &mut PipelineRun,
    interrupt: &Interrupt,
) -> Result<u64> {
    let resources = CommandResources::new(interrupt);
    let mut source = Rows { snapshot, rows, interrupt, current: None };
    let mut returned = 0;
    while run.advance(&mut source, &resources)? {
        returned += 1;
    }
    Ok(returned)
}

/// A stream of rows as a pipeline pulls it.
struct Rows<'r> {
    snapshot: &'r Snapshot,
    rows: &'r mut RowStream,
    interrupt: &'r Interrupt,
    current: Option<Row>,
}

impl DocSource for Rows<'_> {
    fn advance(&mut self, _: &dyn Resources) -> Result<bool> {
        self.current = self.rows.next(self.snapshot, self.interrupt)?;
        // Checked here once, so that `current` cannot meet bytes that are no document.
        if let Some(row) = &self.current {
            row.view()?;
        }
        Ok(self.current.is_some())
    }

    fn current(&self) -> DocumentView<'_> {
        let view = self.current.as_ref().and_then(|row| row.view().ok());
        view.unwrap_or(DocumentView::whole(RawDoc::EMPTY))
    }
}
