//! One document in, at most one out: `$match`, and the stages that make another document of each.

use super::add_fields::AddFields;
use super::replace_root::ReplaceRoot;
use super::run::StageRun;
use super::source::{Chain, DocSource, view_of};
use crate::Resources;
use crate::filter::Filter;
use crate::projection::Projection;
use multifora_model::{DocumentView, Result};
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

/// Makes another document of one; what `$project`, `$addFields`, `$replaceRoot` and their aliases do.
pub(super) trait Change: Send + Sync {
    /// Appends the document made of `view` to `out`.
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
    out: Vec<u8>,
}

impl<C: Change> ChangeRun<C> {
    pub(super) fn new(change: Arc<C>) -> Self {
        ChangeRun { change, out: Vec::new() }
    }
}

impl<C: Change> StageRun for ChangeRun<C> {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        self.out.clear();
        if !upstream.advance(res)? {
            return Ok(false);
        }
        self.change.change(&upstream.current(), res, &mut self.out)?;
        Ok(true)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.out)
    }
}
