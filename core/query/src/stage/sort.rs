//! `$sort`.

use super::run::StageRun;
use super::source::{Chain, DocSource, view_of};
use crate::Resources;
use crate::sort::{SortSpec, Sorted, Sorter};
use multifora_model::{DocumentView, Result};

/// `$sort` at work: takes everything in, then gives it in order.
pub(super) struct SortRun {
    sorter: Option<Sorter>,
    sorted: Option<Sorted>,
    current: Vec<u8>,
}

impl SortRun {
    pub(super) fn new(spec: SortSpec, limit: Option<u64>) -> Self {
        SortRun { sorter: Some(Sorter::new(spec, limit)), sorted: None, current: Vec::new() }
    }
}

impl StageRun for SortRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        if let Some(mut sorter) = self.sorter.take() {
            while upstream.advance(res)? {
                sorter.add_document(&upstream.current())?;
            }
            self.sorted = Some(sorter.finish());
        }
        let next = self.sorted.as_mut().and_then(Sorted::next_record);
        self.current.clear();
        self.current.extend_from_slice(next.unwrap_or_default());
        Ok(next.is_some())
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.current)
    }
}
