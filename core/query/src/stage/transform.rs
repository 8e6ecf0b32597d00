//! One document in, at most one out: `$match`, and the stages that make another document of each.

use super::add_fields::AddFields;
use super::replace_root::ReplaceRoot;
use super::run::StageRun;
use super::source::{Chain, DocSource, derived};
use crate::Resources;
use crate::filter::Filter;
use crate::projection::Projection;
use multifora_model::{DocumentView, Result, WholeDocument};
use std::sync::Arc;

/// `$match` at work.
pub(super) struct MatchRun {
    filter: Filter,
}

impl MatchRun {
    pub(super) fn new(filter: Filter) -> Self {
        MatchRun { filter }
    }
}

impl StageRun for MatchRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        while upstream.advance(res)? {
            if self.filter.matches(&upstream.current(), res)? {
                return Ok(true);
            }
            res.check_interrupt()?;
        }
        Ok(false)
    }
}

/// Makes another document of one, or rather its head; what `$project`, `$addFields`, `$replaceRoot` and their aliases do.
pub(super) trait Change: Send + Sync {
    /// Appends the head of the document made of `view` to `out`.
    fn change(&self, view: &DocumentView<'_>, res: &dyn Resources, out: &mut Vec<u8>) -> Result<()>;
}

macro_rules! changes {
    ($($stage:ty),*) => {
        $(impl Change for $stage {
            fn change(&self, view: &DocumentView<'_>, res: &dyn Resources, out: &mut Vec<u8>) -> Result<()> {
                self.apply(view, res, out)
            }
        })*
    };
}

changes!(Projection, AddFields, ReplaceRoot);

/// A stage that changes each document, at work; one buffer serves all of them.
pub(super) struct ChangeRun<C> {
    change: Arc<C>,
    /// What was made of the document that the source stands on. Values that stayed as they were are fetched through it.
    head: Vec<u8>,
    whole: WholeDocument,
}

impl<C: Change> ChangeRun<C> {
    pub(super) fn new(change: Arc<C>) -> Self {
        ChangeRun { change, head: Vec::new(), whole: WholeDocument::new() }
    }
}

impl<C: Change> StageRun for ChangeRun<C> {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        self.head.clear();
        self.whole.take();
        if !upstream.advance(res)? {
            return Ok(false);
        }
        self.change.change(&upstream.current(), res, &mut self.head)?;
        Ok(true)
    }

    fn current<'s>(&'s self, upstream: Chain<'s>) -> DocumentView<'s> {
        derived(upstream.current(), &self.head, &self.whole)
    }
}
