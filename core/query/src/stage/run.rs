//! Running a pipeline: the state of its stages.

use super::Stage;
use super::source::{Chain, DocSource, Upstream};
use crate::Resources;
use multifora_model::{DocumentView, Result};

/// A stage at work.
pub trait StageRun: Send {
    /// Goes to the next document that the stage gives.
    ///
    /// # Errors
    /// Reading, evaluating, interruption, too much memory.
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool>;

    /// The document the stage stands on; by default the one its source stands on.
    fn current<'s>(&'s self, upstream: Chain<'s>) -> DocumentView<'s> {
        upstream.current()
    }
}

/// The state of a running pipeline, apart from its source: it may be put away and go on later.
pub struct PipelineRun {
    stages: Vec<Box<dyn StageRun>>,
}

impl PipelineRun {
    pub(super) fn new(stages: &[Stage]) -> Self {
        PipelineRun { stages: stages.iter().map(Stage::start).collect() }
    }

    /// Goes to the next document of the pipeline's result, advancing `input` as needed.
    ///
    /// # Errors
    /// Reading, evaluating, interruption, too much memory.
    pub fn advance(&mut self, input: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        Upstream { stages: &mut self.stages, input }.advance(res)
    }

    /// The document the pipeline stands on. `input` is the source it was last advanced with.
    pub fn current<'s>(&'s self, input: &'s dyn DocSource) -> DocumentView<'s> {
        Chain { stages: &self.stages, input }.current()
    }

    /// Runs to the end and collects the documents. For small results: tests, `$facet`.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn collect(&mut self, input: &mut dyn DocSource, res: &dyn Resources) -> Result<Vec<Vec<u8>>> {
        let mut documents = Vec::new();
        while self.advance(input, res)? {
            documents.push(self.current(input).to_vec()?);
        }
        Ok(documents)
    }
}
