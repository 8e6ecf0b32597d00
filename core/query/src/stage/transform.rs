//! `$match` and `$project`: one document in, at most one out.

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

/// `$project` at work.
pub(super) struct ProjectRun {
    projection: Arc<Projection>,
    out: Vec<u8>,
}

impl ProjectRun {
    pub(super) fn new(projection: Arc<Projection>) -> Self {
        ProjectRun { projection, out: Vec::new() }
    }
}

impl StageRun for ProjectRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        self.out.clear();
        if !upstream.advance(res)? {
            return Ok(false);
        }
        self.projection.apply(&upstream.current(), res, &mut self.out)?;
        Ok(true)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.out)
    }
}
