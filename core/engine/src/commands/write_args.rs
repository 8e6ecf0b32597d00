//! Arguments and reply fields that the write commands share.

use super::args::Args;
use crate::limits::MAX_WRITE_BATCH;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, OwnedValue, RawDoc, Result};

/// The statements of a batch, wherever they travelled.
pub(super) fn batch_documents<'a>(
    args: &Args<'a>,
    name: &'static str,
    request: &Request<'a>,
) -> Result<Vec<RawDoc<'a>>> {
    Ok(args.documents(name, request)?.iter().collect())
}

/// Refuses empty and oversized batches.
pub(super) fn check_batch_size(count: usize) -> Result<()> {
    if (1..=MAX_WRITE_BATCH).contains(&count) {
        return Ok(());
    }
    let text = format!("Write batch sizes must be between 1 and {MAX_WRITE_BATCH}. Got {count} operations.");
    Err(Error::new(ErrorCode::InvalidLength, text))
}

/// Tells which statements had been done by an earlier sending of the command.
pub(super) fn append_retried(stmt_ids: &[i32], reply: &mut DocBuilder) {
    if stmt_ids.is_empty() {
        return;
    }
    reply.start_array("retriedStmtIds");
    for id in stmt_ids {
        reply.push(OwnedValue::from(*id).as_ref());
    }
    reply.end();
}

/// Updates fill empty timestamps in when they are compiled and cannot be told to keep them (yet).
pub(super) fn refuse_kept_timestamps(args: &Args<'_>) -> Result<()> {
    if args.bool("bypassEmptyTsReplacement") == Some(true) {
        let text = "bypassEmptyTsReplacement is not supported for updates by this version of MultiforaDB";
        return Err(Error::new(ErrorCode::CommandNotSupported, text));
    }
    Ok(())
}
