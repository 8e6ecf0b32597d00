//! `$skip`, `$limit` and `$count`.

use super::run::StageRun;
use super::source::{Chain, DocSource, view_of};
use crate::Resources;
use multifora_model::{DocBuilder, DocumentView, Result};
use std::sync::Arc;

/// `$skip` at work.
pub(super) struct SkipRun {
    left: u64,
}

impl SkipRun {
    pub(super) fn new(n: u64) -> Self {
        SkipRun { left: n }
    }
}

impl StageRun for SkipRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        while self.left > 0 {
            if !upstream.advance(res)? {
                self.left = 0;
                return Ok(false);
            }
            self.left -= 1;
        }
        upstream.advance(res)
    }
}

/// `$limit` at work.
pub(super) struct LimitRun {
    left: u64,
}

impl LimitRun {
    pub(super) fn new(n: u64) -> Self {
        LimitRun { left: n }
    }
}

impl StageRun for LimitRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        upstream.advance(res)
    }
}

/// `$count` at work.
pub(super) struct CountRun {
    name: Arc<str>,
    out: Vec<u8>,
    done: bool,
}

impl CountRun {
    pub(super) fn new(name: Arc<str>) -> Self {
        CountRun { name, out: Vec::new(), done: false }
    }
}

impl StageRun for CountRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        if self.done {
            self.out.clear();
            return Ok(false);
        }
        self.done = true;
        let mut count = 0u64;
        while upstream.advance(res)? {
            count += 1;
        }
        if count == 0 {
            return Ok(false);
        }
        let mut out = DocBuilder::new();
        out.count(&self.name, count);
        self.out = out.finish();
        Ok(true)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.out)
    }
}
