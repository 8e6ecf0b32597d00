//! Updating documents: one, or all that match; inserting one when nothing does.

use super::delete::RetryStatement;
use super::new_document::{self, EmptyTimestamps};
use super::outcome::fails_command;
use super::target::{MatchedRows, Target};
use super::transaction::{Attempt, CollectionWrite, Writer, framed};
use crate::catalog::{IndexInfo, Namespace};
use crate::exec::{CommandResources, Row};
use crate::interrupt::Interrupt;
use crate::session::RetryChunk;
use crate::stored::Stored;
use multifora_model::{DocumentView, Error, OwnedValue, RawDoc, RawValue, Result, WholeDocument};
use multifora_query::update::{Outcome, Touched, Update};
use multifora_storage::Record;

/// One statement, compiled.
pub struct UpdateStatement {
    /// Which documents.
    pub target: Target,
    /// What becomes of them.
    pub update: Update,
    /// Insert one when none matches.
    pub upsert: bool,
    /// Leave the validator out.
    pub bypass_validation: bool,
}

/// What a statement came to.
#[derive(Clone, Debug, Default)]
pub struct Updated {
    /// Documents that matched, or one when one was inserted.
    pub n: u64,
    /// Documents that were changed.
    pub modified: u64,
    /// The `_id` of the document that was inserted.
    pub upserted: Option<OwnedValue>,
    /// The document before (single updates).
    pub before: Option<Stored<Record>>,
    /// The document after, as a head that has kept values of the one before: `None` when nothing matched, or when it is
    /// as before.
    pub after: Option<Vec<u8>>,
    /// Where the filter matched in an array (for positional projections of findAndModify).
    pub position: Option<u32>,
    /// What the statement is answered with (single updates).
    pub outcome: Vec<u8>,
}

impl Updated {
    /// The document before; `None` when one was inserted or nothing matched.
    ///
    /// # Errors
    /// The stored bytes are no document.
    pub fn view_before(&self) -> Result<Option<DocumentView<'_>>> {
        self.before.as_ref().map(Stored::view).transpose()
    }

    /// The document as it is now; `None` when nothing matched. `whole` as for [`DocumentView::of_head`].
    ///
    /// # Errors
    /// The stored bytes are no document.
    pub fn view_after<'a>(&'a self, whole: &'a WholeDocument) -> Result<Option<DocumentView<'a>>> {
        match (&self.after, self.view_before()?) {
            (Some(after), Some(before)) => before.derived(after, whole).map(Some),
            (Some(after), None) => framed(after).map(|doc| Some(doc.into())),
            (None, before) => Ok(before),
        }
    }
}

/// Makes of what was done what the statement is answered with, also when it is sent a second time. Asked before anything is
/// committed: what cannot be told is not done.
pub type OutcomeOf<'a> = &'a dyn Fn(&Updated) -> Result<Vec<u8>>;

/// Updates the first document that matches, or inserts one.
///
/// # Errors
/// Those of the update, `DuplicateKey`, storage errors. Conflicts are met by trying again.
pub fn update_one(
    writer: &mut Writer<'_>,
    ns: &Namespace,
    statement: &UpdateStatement,
    retry: RetryStatement<'_>,
    outcome_of: OutcomeOf<'_>,
) -> Result<Updated> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    let mut known = None;
    let (updated, chunk) = writer.run(|txn| {
        let opener = Writer::for_work(database, interrupt);
        let opened = match statement.upsert {
            true => Some(opener.open_or_create(txn, ns)?),
            false => opener.open(txn, ns)?,
        };
        let Some(write) = opened else { return Ok(Attempt::Leave((nothing_matched(outcome_of)?, None))) };
        let mut write = write.bypassing_validation(statement.bypass_validation);
        let mut updated = match statement.target.find_one(&write, known, interrupt)? {
            Some(row) => {
                known = Some(row.id);
                change(&mut write, statement, row, interrupt)?
            }
            None if statement.upsert => insert_seeded(&mut write, statement, interrupt)?,
            None => return Ok(Attempt::Leave((nothing_matched(outcome_of)?, None))),
        };
        write.finish()?;
        updated.outcome = outcome_of(&updated)?;
        let mut chunk: Option<RetryChunk<'_>> = None;
        if let Some((retry, stmt_id)) = retry {
            // Remembered even when nothing changed: a second sending must not change anything either.
            let mut made = retry.chunk();
            made.add(stmt_id, RawDoc::framed(&updated.outcome).unwrap_or(RawDoc::EMPTY));
            made.put(txn)?;
            chunk = Some(made);
        }
        let nothing_to_write = updated.after.is_none() && chunk.is_none();
        let made = (updated, chunk);
        Ok(if nothing_to_write { Attempt::Leave(made) } else { Attempt::Commit(made) })
    })?;
    if let Some(chunk) = chunk {
        chunk.committed();
    }
    Ok(updated)
}

fn nothing_matched(outcome_of: OutcomeOf<'_>) -> Result<Updated> {
    let updated = Updated::default();
    Ok(Updated { outcome: outcome_of(&updated)?, ..updated })
}

/// Applies the update to one document.
fn change(
    write: &mut CollectionWrite<'_>,
    statement: &UpdateStatement,
    row: Row,
    interrupt: &Interrupt,
) -> Result<Updated> {
    let before = row.view()?;
    let resources = CommandResources::new(interrupt);
    let position = match statement.update.needs_position() {
        true => {
            let matched = statement.target.filter.matches_with_position(&before, &resources)?;
            matched.and_then(|m| m.position)
        }
        false => None,
    };
    let after = match statement.update.apply(&before, position, false, &resources)? {
        Outcome::Unchanged => None,
        Outcome::Changed(after) => {
            let touched = statement.update.touched();
            let whole = WholeDocument::new();
            let view = before.derived(&after, &whole)?;
            write.replace(row.id, &before, &view, &|index| touches(&touched, index))?;
            Some(after)
        }
    };
    let modified = u64::from(after.is_some());
    Ok(Updated { n: 1, modified, before: Some(row.stored), after, position, ..Updated::default() })
}

/// May the keys of this index change?
fn touches(touched: &Touched<'_>, index: &IndexInfo) -> bool {
    // Whether a document is in a partial index may depend on any field.
    index.partial_filter.is_some() || index.paths.iter().any(|path| touched.touches(path.as_str()))
}

fn insert_seeded(
    write: &mut CollectionWrite<'_>,
    statement: &UpdateStatement,
    interrupt: &Interrupt,
) -> Result<Updated> {
    let resources = CommandResources::new(interrupt);
    let seeded = statement.update.document_to_insert(statement.target.filter.root(), &resources)?;
    let seeded = framed(&seeded)?;
    if let Some(id) = seeded.get("_id") {
        new_document::check_updated_id(id)?;
    }
    let doc = new_document::prepare(seeded, EmptyTimestamps::Fill)?.into_owned();
    write.insert(&doc)?;
    let id = RawDoc::framed(&doc).and_then(|doc| doc.get("_id")).unwrap_or(RawValue::NULL).into();
    Ok(Updated { n: 1, upserted: Some(id), after: Some(doc), ..Updated::default() })
}

/// Updates every document that matched in one snapshot and still matches, each once.
///
/// # Errors
/// As [`update_one`]; what was committed before the error stays.
pub fn update_many(writer: &mut Writer<'_>, ns: &Namespace, statement: &UpdateStatement) -> Result<Updated> {
    let mut total = Updated::default();
    if let Some(mut rows) = MatchedRows::open(writer, ns, &statement.target)? {
        loop {
            let chunk = rows.next_chunk(writer.interrupt)?;
            if chunk.is_empty() {
                break;
            }
            let (n, modified, failed) = update_chunk(writer, ns, statement, &rows, &chunk)?;
            total.n += n;
            total.modified += modified;
            if let Some(error) = failed {
                return Err(error);
            }
        }
    }
    if total.n == 0 && statement.upsert {
        return update_one(writer, ns, statement, None, &|_| Ok(Vec::new()));
    }
    Ok(total)
}

/// One chunk in one transaction: matched, modified, and the error that ended it early. What
/// was done before the error is committed.
fn update_chunk(
    writer: &mut Writer<'_>,
    ns: &Namespace,
    statement: &UpdateStatement,
    rows: &MatchedRows,
    chunk: &[Row],
) -> Result<(u64, u64, Option<Error>)> {
    let (database, interrupt) = (writer.database, writer.interrupt);
    let uuid = rows.collection.uuid;
    writer.run(|txn| {
        let opened = Writer::for_work(database, interrupt).open(txn, ns)?;
        // Dropped (and perhaps made anew) meanwhile: its documents are gone.
        let Some(write) = opened.filter(|w| w.collection.uuid == uuid) else {
            return Ok(Attempt::Leave((0, 0, None)));
        };
        let mut write = write.bypassing_validation(statement.bypass_validation);
        let (mut n, mut modified, mut failed) = (0, 0, None);
        for row in chunk {
            interrupt.check()?;
            let Some(now) = MatchedRows::current(&write, &statement.target, row, interrupt)? else {
                continue;
            };
            match change(&mut write, statement, Row { id: row.id, stored: now }, interrupt) {
                Ok(updated) => {
                    n += 1;
                    modified += updated.modified;
                }
                Err(error) if fails_command(&error) => return Err(error),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        write.finish()?;
        let made = (n, modified, failed);
        Ok(if modified == 0 { Attempt::Leave(made) } else { Attempt::Commit(made) })
    })
}
