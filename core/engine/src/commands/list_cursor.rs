//! A cursor over documents that are at hand: what listCollections and listIndexes answer with.

use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::cursor::{Batch, BatchSource, CursorRequest, Progress, open_cursor};
use crate::interrupt::Interrupt;
use multifora_model::{DocBuilder, RawDoc, Result};
use std::collections::VecDeque;

/// Documents made in advance, handed out in batches.
struct Listed(VecDeque<Vec<u8>>);

impl BatchSource for Listed {
    fn next_batch(&mut self, _interrupt: &Interrupt, batch: &mut Batch<'_>) -> Result<Progress> {
        while let Some(first) = self.0.front() {
            if !batch.wants_more() || !batch.offer(RawDoc::framed(first).unwrap_or(RawDoc::EMPTY)) {
                return Ok(Progress::More);
            }
            self.0.pop_front();
        }
        Ok(Progress::Exhausted)
    }
}

static CURSOR_FIELDS: &[Field] = &[Field::optional("batchSize", Types::NUMBER)];

/// The `cursor` argument of a listing command.
pub(super) fn cursor_request(path: &'static str, cursor: Option<RawDoc<'_>>) -> Result<CursorRequest> {
    let mut request = CursorRequest::default();
    if let Some(cursor) = cursor {
        let args = Args::nested(path, CURSOR_FIELDS, cursor)?;
        let size = args.i64_at_least("batchSize", 0)?;
        request.batch_size = size.map(|size| u64::try_from(size).unwrap_or(0));
    }
    // A listing is small: without a wish it comes in one batch.
    request.batch_size = Some(request.batch_size.unwrap_or(u64::MAX));
    Ok(request)
}

/// Answers with a cursor over `docs`.
pub(super) fn reply_with(
    context: &CommandContext<'_>,
    ns: &str,
    docs: Vec<Vec<u8>>,
    request: &CursorRequest,
    reply: &mut DocBuilder,
) -> Result<()> {
    open_cursor(context, ns, Box::new(Listed(docs.into())), request, reply)
}
