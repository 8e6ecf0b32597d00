//! Storing new documents in chunks, each chunk one storage transaction.

use super::new_document::{self, EmptyTimestamps};
use super::outcome::{WriteErrors, fails_command};
use super::transaction::{Attempt, Writer};
use crate::catalog::Namespace;
use crate::session::RetryableWrite;
use multifora_model::{DocBuilder, RawDoc, Result};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Most documents in one storage transaction.
pub const MAX_CHUNK_DOCS: usize = 1_000;
/// Most bytes in one storage transaction (one document always fits).
pub const MAX_CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// A batch of documents to insert.
pub struct InsertBatch<'a> {
    /// Where to.
    pub ns: &'a Namespace,
    /// What.
    pub docs: &'a [RawDoc<'a>],
    /// The place of the first among the command's statements.
    pub first_statement: usize,
    /// Stop at the first error.
    pub ordered: bool,
    /// Leave the validator out.
    pub bypass_validation: bool,
    /// What becomes of empty timestamps.
    pub timestamps: EmptyTimestamps,
    /// The session's record of this write, when it may be sent again.
    pub retry: Option<&'a RetryableWrite>,
}

/// What became of a batch.
#[derive(Default)]
pub struct Inserted {
    /// Documents stored (now or, for a write that was sent again, then).
    pub n: u64,
    /// Statements that failed.
    pub errors: WriteErrors,
    /// Statements that were done already when the command came.
    pub retried: Vec<i32>,
}

/// A document on its way: prepared once, stored by as many attempts as it takes.
struct Prepared<'a> {
    index: usize,
    stmt_id: i32,
    doc: Result<Cow<'a, [u8]>>,
}

/// What one attempt at a chunk came to: per document its error, if it had one.
type ChunkErrors = SmallVec<[(usize, multifora_model::Error); 1]>;

/// Stores a batch.
///
/// # Errors
/// What fails the command as a whole; failures of single documents are in the result.
pub fn insert(writer: &mut Writer<'_>, batch: &InsertBatch<'_>) -> Result<Inserted> {
    let mut done = Inserted::default();
    let mut next = 0;
    while next < batch.docs.len() {
        let chunk = prepare_chunk(batch, &mut next, &mut done);
        let stored = chunk.iter().filter(|p| p.doc.is_ok()).count();
        let errors =
            if stored == 0 { preparation_errors(batch, &chunk) } else { store_chunk(writer, batch, &chunk)? };
        done.n += (chunk.len() - errors.len()) as u64;
        let failed = !errors.is_empty();
        if failed && batch.ordered {
            // Behind the first error nothing of the chunk was stored.
            let at = errors.first().map_or(0, |(index, _)| *index);
            done.n -= chunk.iter().filter(|p| p.index > at).count() as u64;
        }
        errors.into_iter().for_each(|(index, error)| done.errors.push(index, error));
        if failed && batch.ordered {
            break;
        }
    }
    Ok(done)
}

/// Takes documents up to the limits of a chunk; those that an earlier sending stored are counted and left out.
fn prepare_chunk<'a>(batch: &InsertBatch<'a>, next: &mut usize, done: &mut Inserted) -> Vec<Prepared<'a>> {
    let mut chunk = Vec::new();
    let mut len_bytes = 0;
    while let Some(doc) = batch.docs.get(*next)
        && chunk.len() < MAX_CHUNK_DOCS
        && len_bytes < MAX_CHUNK_BYTES
    {
        let index = *next;
        *next += 1;
        let stmt_id = batch.retry.map_or(0, |retry| retry.stmt_id(batch.first_statement + index));
        if batch.retry.is_some_and(|retry| retry.outcome(stmt_id).is_some()) {
            done.n += 1;
            done.retried.push(stmt_id);
            continue;
        }
        len_bytes += doc.as_bytes().len();
        chunk.push(Prepared { index, stmt_id, doc: new_document::prepare(*doc, batch.timestamps) });
    }
    chunk
}

fn preparation_errors(batch: &InsertBatch<'_>, chunk: &[Prepared<'_>]) -> ChunkErrors {
    let errors = chunk.iter().filter_map(|p| p.doc.as_ref().err().map(|e| (p.index, e.clone())));
    errors.take(if batch.ordered { 1 } else { usize::MAX }).collect()
}

fn store_chunk(
    writer: &mut Writer<'_>,
    batch: &InsertBatch<'_>,
    chunk: &[Prepared<'_>],
) -> Result<ChunkErrors> {
    let mut outcome = DocBuilder::new();
    outcome.i32("n", 1);
    let outcome = outcome.finish();
    let outcome = RawDoc::framed(&outcome).unwrap_or(RawDoc::EMPTY);
    let (database, interrupt) = (writer.database, writer.interrupt);
    let (errors, retry_chunk) = writer.run(|txn| {
        let opener = Writer::for_work(database, interrupt);
        let mut errors = ChunkErrors::new();
        let mut retry_chunk = batch.retry.map(RetryableWrite::chunk);
        let mut stored = 0;
        let mut write = opener.open_or_create(txn, batch.ns)?.bypassing_validation(batch.bypass_validation);
        for prepared in chunk {
            interrupt.check()?;
            let result = match &prepared.doc {
                Ok(bytes) => write.insert(bytes).map(drop),
                Err(error) => Err(error.clone()),
            };
            match result {
                Ok(()) => {
                    stored += 1;
                    if let Some(chunk) = &mut retry_chunk {
                        chunk.add(prepared.stmt_id, outcome);
                    }
                }
                Err(error) if fails_command(&error) => return Err(error),
                Err(error) => {
                    errors.push((prepared.index, error));
                    if batch.ordered {
                        break;
                    }
                }
            }
        }
        write.finish()?;
        if let Some(chunk) = &retry_chunk {
            chunk.put(txn)?;
        }
        let made = (errors, retry_chunk);
        Ok(if stored == 0 { Attempt::Leave(made) } else { Attempt::Commit(made) })
    })?;
    if let Some(chunk) = retry_chunk {
        chunk.committed();
    }
    Ok(errors)
}
