//! Deleting documents: one, or all that match.

use super::target::{MatchedRows, Target};
use super::transaction::{Attempt, Writer};
use crate::catalog::Namespace;
use crate::session::RetryableWrite;
use crate::stored::Stored;
use multifora_model::{DocBuilder, RawDoc, Result};
use multifora_storage::Record;

/// A retryable statement: the session's record and the statement's number.
pub type RetryStatement<'a> = Option<(&'a RetryableWrite, i32)>;

/// Deletes the first document that matches; gives what `outcome_of` made of it, which is asked before anything is
/// committed.
///
/// # Errors
/// Those of the filter, of `outcome_of` and of storage. Conflicts are met by trying again.
pub fn delete_one(
    writer: &mut Writer<'_>,
    ns: &Namespace,
    target: &Target,
    retry: RetryStatement<'_>,
    outcome_of: &dyn Fn(&Stored<Record>) -> Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    let mut known = None;
    let (deleted, chunk) = writer.run(|txn| {
        let opener = Writer::for_work(database, interrupt);
        let Some(mut write) = opener.open(txn, ns)? else { return Ok(Attempt::Leave((None, None))) };
        let Some(row) = target.find_one(&write, known, interrupt)? else {
            return Ok(Attempt::Leave((None, None)));
        };
        known = Some(row.id);
        write.delete(row.id, &row.view()?)?;
        write.finish()?;
        let outcome = outcome_of(&row.stored)?;
        let mut chunk = retry.map(|(retry, _)| retry.chunk());
        if let (Some(chunk), Some((_, stmt_id))) = (&mut chunk, retry) {
            chunk.add(stmt_id, RawDoc::framed(&outcome).unwrap_or(RawDoc::EMPTY));
            chunk.put(txn)?;
        }
        Ok(Attempt::Commit((Some(outcome), chunk)))
    })?;
    if let Some(chunk) = chunk {
        chunk.committed();
    }
    Ok(deleted)
}

/// Deletes every document that matched in one snapshot and still matches; gives their number.
///
/// # Errors
/// As [`delete_one`]; what was committed before the error stays deleted.
pub fn delete_many(writer: &mut Writer<'_>, ns: &Namespace, target: &Target) -> Result<u64> {
    let Some(mut rows) = MatchedRows::open(writer, ns, target)? else { return Ok(0) };
    let (database, interrupt) = (writer.database, writer.interrupt);
    let mut n = 0;
    loop {
        let chunk = rows.next_chunk(interrupt)?;
        if chunk.is_empty() {
            return Ok(n);
        }
        let uuid = rows.collection.uuid;
        n += writer.run(|txn| {
            let opened = Writer::for_work(database, interrupt).open(txn, ns)?;
            // Dropped (and perhaps made anew) meanwhile: its documents are gone.
            let Some(mut write) = opened.filter(|w| w.collection.uuid == uuid) else {
                return Ok(Attempt::Leave(0));
            };
            let mut deleted = 0;
            for row in &chunk {
                interrupt.check()?;
                if let Some(now) = MatchedRows::current(&write, target, row, interrupt)? {
                    write.delete(row.id, &now.view()?)?;
                    deleted += 1;
                }
            }
            write.finish()?;
            Ok(if deleted == 0 { Attempt::Leave(0) } else { Attempt::Commit(deleted) })
        })?;
    }
}

/// `{n: 1}`: the outcome of a statement that deleted its document.
pub fn one_deleted(_deleted: &Stored<Record>) -> Result<Vec<u8>> {
    let mut outcome = DocBuilder::new();
    outcome.i32("n", 1);
    Ok(outcome.finish())
}
