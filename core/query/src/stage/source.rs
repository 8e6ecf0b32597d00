//! How documents flow: one at a time, pulled, lent and not given.
//!
//! A source stands on a current document until it is advanced. A stage that lets documents pass
//! (`$match`, `$limit`) lends on what its source lends; one that computes them lends its own buffer.
//! So nothing is copied or allocated on the way, and the state of a running pipeline does not
//! borrow from its source: a cursor puts it away between batches and goes on with another source
//! over the same snapshot.

use super::run::StageRun;
use crate::Resources;
use multifora_model::{DocumentView, RawDoc, Result, WholeDocument};
use std::sync::Arc;

/// A stream of documents.
pub trait DocSource {
    /// Goes to the next document; `false` at the end (and from then on).
    ///
    /// # Errors
    /// Reading, evaluating, interruption.
    fn advance(&mut self, res: &dyn Resources) -> Result<bool>;

    /// The document that the source stands on (an empty one before the first and after the last).
    fn current(&self) -> DocumentView<'_>;
}

/// Documents in memory, as a source; clones share them.
#[derive(Clone, Debug)]
pub struct Documents {
    documents: Arc<[Vec<u8>]>,
    /// How many have been given.
    given: usize,
}

impl Documents {
    /// The documents in this order.
    pub fn new(documents: Vec<Vec<u8>>) -> Self {
        Documents { documents: documents.into(), given: 0 }
    }
}

impl DocSource for Documents {
    fn advance(&mut self, res: &dyn Resources) -> Result<bool> {
        res.check_interrupt()?;
        self.given = self.given.saturating_add(1);
        Ok(self.given <= self.documents.len())
    }

    fn current(&self) -> DocumentView<'_> {
        let at = self.given.checked_sub(1);
        view_of(at.and_then(|at| self.documents.get(at)).map_or(&[], Vec::as_slice))
    }
}

/// The view over a buffer with a document in it (an empty document when there is none).
pub(super) fn view_of(bytes: &[u8]) -> DocumentView<'_> {
    DocumentView::whole(RawDoc::framed(bytes).unwrap_or(RawDoc::EMPTY))
}

/// The view over a head that was made of `source` (an empty document when there is none).
pub(super) fn derived<'s>(
    source: DocumentView<'s>,
    head: &'s [u8],
    whole: &'s WholeDocument,
) -> DocumentView<'s> {
    source.derived(head, whole).unwrap_or(DocumentView::whole(RawDoc::EMPTY))
}

/// The stages before one, and the source before them all: what a stage advances.
pub(super) struct Upstream<'u> {
    pub stages: &'u mut [Box<dyn StageRun>],
    pub input: &'u mut dyn DocSource,
}

impl DocSource for Upstream<'_> {
    fn advance(&mut self, res: &dyn Resources) -> Result<bool> {
        match self.stages.split_last_mut() {
            Some((last, stages)) => last.advance(&mut Upstream { stages, input: self.input }, res),
            None => self.input.advance(res),
        }
    }

    fn current(&self) -> DocumentView<'_> {
        Chain { stages: self.stages, input: self.input }.current()
    }
}

/// The same, to look at only.
#[derive(Clone, Copy)]
pub struct Chain<'s> {
    pub(super) stages: &'s [Box<dyn StageRun>],
    pub(super) input: &'s dyn DocSource,
}

impl<'s> Chain<'s> {
    /// The document that the end of the chain stands on.
    pub(super) fn current(self) -> DocumentView<'s> {
        match self.stages.split_last() {
            Some((last, stages)) => last.current(Chain { stages, input: self.input }),
            None => self.input.current(),
        }
    }
}
