//! Cursors: results that a client fetches in batches.
//!
//! A command makes a [`BatchSource`] (which owns its snapshot) and calls [`open_cursor`]: the first
//! batch goes into the reply, and what is left is registered under a random id until getMore has
//! fetched it all, killCursors or the end of its session closes it, or nobody asked for ten minutes.
//! A cursor belongs to the database, not to a connection: drivers fetch over any connection they have.
//! While a getMore works on a cursor it is out of the registry's hands (`CursorInUse` for others).

use crate::context::CommandContext;
use crate::interrupt::Interrupt;
use crate::limits::{CURSOR_IDLE, DEFAULT_FIRST_BATCH_DOCS, MAX_BATCH_BYTES, MAX_OPEN_CURSORS};
use multifora_model::{DocBuilder, DocumentView, ElementType, Error, ErrorCode, RawDoc, Result};
use multifora_storage::Snapshot;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Whether a source has more to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Perhaps: ask again.
    More,
    /// Nothing will come any more.
    Exhausted,
}

/// Where a cursor's documents come from: an executor with its snapshot.
pub trait BatchSource: Send {
    /// Offers documents to `batch` until [`Batch::wants_more`] says no, [`Batch::offer`] refuses one (which must
    /// then be offered first in the next batch), or there are none left.
    fn next_batch(&mut self, interrupt: &Interrupt, batch: &mut Batch<'_>) -> Result<Progress>;

    /// Goes on with the newest snapshot when its own is too old, if its order allows that: then every document still
    /// comes once. Otherwise the next batch says that the snapshot is too old.
    ///
    /// # Errors
    /// Storage errors.
    fn renew(&mut self, newest: &dyn Fn() -> Snapshot) -> Result<()> {
        let _ = newest;
        Ok(())
    }
}

/// The batch being written into a reply.
pub struct Batch<'b> {
    out: &'b mut DocBuilder,
    max_docs: u64,
    docs: u64,
    bytes: usize,
}

impl Batch<'_> {
    /// False once the batch has as many documents as were asked for, or as many bytes as it may have.
    pub fn wants_more(&self) -> bool {
        self.docs < self.max_docs && self.bytes < MAX_BATCH_BYTES
    }

    /// Takes the document, or says no: it is then the first of the next batch.
    #[must_use]
    pub fn offer(&mut self, doc: RawDoc<'_>) -> bool {
        if !self.fits(doc.as_bytes().len()) {
            return false;
        }
        self.out.push(doc.as_value());
        self.count(doc.as_bytes().len());
        true
    }

    /// The same for a document that may have values elsewhere; they are fetched only if it is taken, and copied once.
    ///
    /// # Errors
    /// Those of fetching; the batch is then as it was.
    pub fn offer_view(&mut self, view: &DocumentView<'_>) -> Result<bool> {
        let len_bytes = view.len_bytes();
        if !self.fits(len_bytes) {
            return Ok(false);
        }
        self.out.push_with(ElementType::Document, |out| view.append_to(out))?;
        self.count(len_bytes);
        Ok(true)
    }

    fn fits(&self, len_bytes: usize) -> bool {
        let has_room = self.docs == 0 || self.bytes + len_bytes <= MAX_BATCH_BYTES;
        has_room && self.docs < self.max_docs
    }

    fn count(&mut self, len_bytes: usize) {
        self.docs += 1;
        self.bytes += len_bytes;
    }

    /// Documents taken so far.
    pub fn len(&self) -> u64 {
        self.docs
    }

    /// No document taken yet.
    pub fn is_empty(&self) -> bool {
        self.docs == 0
    }
}

/// How a cursor was asked for.
#[derive(Clone, Debug, Default)]
pub struct CursorRequest {
    /// Documents in the first batch; `None`: the default of 101. Zero opens the cursor without looking.
    pub batch_size: Option<u64>,
    /// Close after the first batch.
    pub single_batch: bool,
    /// Never closed for being idle.
    pub no_timeout: bool,
    /// Stays open at the end of the data, and getMore may wait (tailable, awaitData).
    pub await_data: bool,
}

/// Runs the first batch of `source` into the reply's `cursor` field, and registers what is left.
/// `ns` is what the reply names and what getMore's `collection` has to agree with.
pub fn open_cursor(
    ctx: &CommandContext<'_>,
    ns: &str,
    mut source: Box<dyn BatchSource>,
    request: &CursorRequest,
    reply: &mut DocBuilder,
) -> Result<()> {
    let max_docs = request.batch_size.unwrap_or(DEFAULT_FIRST_BATCH_DOCS);
    reply.start_doc("cursor");
    let progress = fill(&ctx.interrupt, source.as_mut(), "firstBatch", max_docs, reply)?;
    ctx.database.counters().cursors_opened.add(1);
    let keep = progress == Progress::More && !request.single_batch;
    let id = if keep { ctx.database.cursors().register(ctx, ns, source, request)? } else { 0 };
    reply.i64("id", id).str("ns", ns).end();
    Ok(())
}

/// Writes the next batch of cursor `id` into the reply's `cursor` field.
pub(crate) fn fetch_more(
    ctx: &CommandContext<'_>,
    id: i64,
    ns: &str,
    batch_size: Option<u64>,
    reply: &mut DocBuilder,
) -> Result<()> {
    let registry = ctx.database.cursors();
    let (mut checked_out, interrupt) = registry.check_out(ctx, id, ns)?;
    if let Some(source) = &mut checked_out.source {
        source.renew(&|| ctx.database.store().snapshot())?;
    }
    reply.start_doc("cursor");
    let max_docs = batch_size.unwrap_or(u64::MAX);
    // On an error the checked-out cursor is dropped, which removes it from the registry.
    let progress = fill(&interrupt, checked_out.source()?, "nextBatch", max_docs, reply)?;
    let open = progress == Progress::More && checked_out.put_back();
    reply.i64("id", if open { id } else { 0 }).str("ns", ns).end();
    Ok(())
}

fn fill(
    interrupt: &Interrupt,
    source: &mut dyn BatchSource,
    field: &str,
    max_docs: u64,
    reply: &mut DocBuilder,
) -> Result<Progress> {
    reply.start_array(field);
    let mut batch = Batch { out: reply, max_docs, docs: 0, bytes: 0 };
    let progress = if max_docs == 0 { Progress::More } else { source.next_batch(interrupt, &mut batch)? };
    reply.end();
    Ok(progress)
}

/// The open cursors of one database.
#[derive(Default)]
pub struct CursorRegistry {
    cursors: Mutex<HashMap<i64, Entry>>,
}

struct Entry {
    ns: String,
    session: Option<[u8; 16]>,
    no_timeout: bool,
    await_data: bool,
    last_used: Instant,
    /// What is left of the command's maxTimeMS for its getMores.
    time_left: Option<Duration>,
    /// `None` while a getMore works on it.
    source: Option<Box<dyn BatchSource>>,
    /// Stops the getMore that works on it.
    in_use_by: Option<Interrupt>,
}

/// How many cursors are open, for serverStatus.
#[derive(Clone, Copy, Debug, Default)]
pub struct CursorCounts {
    /// All.
    pub total: usize,
    /// Those that never time out.
    pub no_timeout: usize,
    /// Those that a getMore works on right now.
    pub pinned: usize,
}

/// What killCursors found under one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// It is closed now.
    Yes,
    /// There is none under this namespace.
    NotFound,
}

impl CursorRegistry {
    fn register(
        &self,
        ctx: &CommandContext<'_>,
        ns: &str,
        source: Box<dyn BatchSource>,
        request: &CursorRequest,
    ) -> Result<i64> {
        let mut cursors = self.cursors.lock();
        if cursors.len() >= MAX_OPEN_CURSORS {
            let text = format!("too many open cursors ({MAX_OPEN_CURSORS}); close some with killCursors");
            return Err(Error::new(ErrorCode::ExceededMemoryLimit, text));
        }
        let mut id = random_id();
        while id == 0 || cursors.contains_key(&id) {
            id = random_id();
        }
        let entry = Entry {
            ns: ns.to_owned(),
            session: ctx.session_id(),
            no_timeout: request.no_timeout,
            await_data: request.await_data,
            last_used: Instant::now(),
            time_left: ctx.interrupt.deadline().map(|at| at.saturating_duration_since(Instant::now())),
            source: Some(source),
            in_use_by: None,
        };
        cursors.insert(id, entry);
        Ok(id)
    }

    /// The cursor, and the token that stops the work on it.
    fn check_out(&self, ctx: &CommandContext<'_>, id: i64, ns: &str) -> Result<(CheckedOut<'_>, Interrupt)> {
        let mut cursors = self.cursors.lock();
        let entry = cursors.get_mut(&id).ok_or_else(|| not_found(id))?;
        if entry.ns != ns {
            let text = format!(
                "Requested getMore on namespace '{ns}', but cursor belongs to a different namespace {}",
                entry.ns
            );
            return Err(Error::new(ErrorCode::Unauthorized, text));
        }
        check_session(id, entry.session, ctx.session_id())?;
        if ctx.interrupt.deadline().is_some() && !entry.await_data {
            return Err(Error::bad_value(
                "cannot set maxTimeMS on getMore command for a non-awaitData cursor",
            ));
        }
        let Some(source) = entry.source.take() else {
            return Err(Error::new(ErrorCode::CursorInUse, format!("cursor id {id} is already in use")));
        };
        let deadline = entry.time_left.and_then(|left| Instant::now().checked_add(left));
        let interrupt =
            if entry.await_data { ctx.interrupt.clone() } else { ctx.interrupt.with_deadline(deadline) };
        entry.in_use_by = Some(interrupt.clone());
        entry.last_used = Instant::now();
        Ok((CheckedOut { registry: self, id, source: Some(source) }, interrupt))
    }

    /// Closes a cursor; a getMore that works on it is interrupted.
    pub fn kill(&self, id: i64, ns: &str) -> Killed {
        let removed = {
            let mut cursors = self.cursors.lock();
            match cursors.get(&id) {
                Some(entry) if entry.ns == ns => cursors.remove(&id),
                _ => None,
            }
        };
        // The source, with its snapshot, is dropped outside the lock.
        match removed {
            Some(entry) => {
                entry.stop();
                Killed::Yes
            }
            None => Killed::NotFound,
        }
    }

    /// Closes the cursors of a session.
    pub fn kill_session(&self, session: [u8; 16]) {
        self.kill_where(|entry| entry.session == Some(session));
    }

    /// Closes the cursors of a database or collection that is going away (`db.` or `db.coll`).
    pub fn kill_namespace(&self, is_gone: impl Fn(&str) -> bool) {
        self.kill_where(|entry| is_gone(&entry.ns));
    }

    /// Closes every cursor.
    pub fn kill_all(&self) {
        self.kill_where(|_| true);
    }

    /// Closes the cursors that nobody used for ten minutes.
    pub(crate) fn close_idle(&self, now: Instant) -> usize {
        self.kill_where(|entry| {
            let idle = now.saturating_duration_since(entry.last_used) >= CURSOR_IDLE;
            idle && !entry.no_timeout && entry.in_use_by.is_none()
        })
    }

    fn kill_where(&self, condition: impl Fn(&Entry) -> bool) -> usize {
        let removed: Vec<(i64, Entry)> = {
            let mut cursors = self.cursors.lock();
            cursors.extract_if(|_, entry| condition(entry)).collect()
        };
        removed.iter().for_each(|(_, entry)| entry.stop());
        removed.len()
    }

    /// How many are open.
    pub fn counts(&self) -> CursorCounts {
        let cursors = self.cursors.lock();
        CursorCounts {
            total: cursors.len(),
            no_timeout: cursors.values().filter(|e| e.no_timeout).count(),
            pinned: cursors.values().filter(|e| e.in_use_by.is_some()).count(),
        }
    }
}

impl Entry {
    fn stop(&self) {
        if let Some(interrupt) = &self.in_use_by {
            interrupt.interrupt();
        }
    }
}

/// A cursor that one getMore works on; dropped without `put_back`, it is closed.
struct CheckedOut<'r> {
    registry: &'r CursorRegistry,
    id: i64,
    source: Option<Box<dyn BatchSource>>,
}

impl CheckedOut<'_> {
    fn source(&mut self) -> Result<&mut dyn BatchSource> {
        match &mut self.source {
            Some(source) => Ok(source.as_mut()),
            None => Err(Error::internal("a cursor was used after it was put back")),
        }
    }

    /// False when it was killed meanwhile.
    fn put_back(&mut self) -> bool {
        let mut cursors = self.registry.cursors.lock();
        let Some(entry) = cursors.get_mut(&self.id) else { return false };
        entry.source = self.source.take();
        entry.in_use_by = None;
        entry.time_left = entry.time_left.map(|left| left.saturating_sub(entry.last_used.elapsed()));
        entry.last_used = Instant::now();
        true
    }
}

impl Drop for CheckedOut<'_> {
    fn drop(&mut self) {
        if self.source.is_some() {
            self.registry.cursors.lock().remove(&self.id);
        }
    }
}

fn check_session(id: i64, owner: Option<[u8; 16]>, asking: Option<[u8; 16]>) -> Result<()> {
    let (code, text) = match (owner, asking) {
        (None, None) => return Ok(()),
        (Some(a), Some(b)) if a == b => return Ok(()),
        (None, Some(_)) => (50736, "which was not created in a session, in a session"),
        (Some(_), None) => (50737, "which was created in a session, without an lsid"),
        (Some(_), Some(_)) => (50738, "which was created in another session"),
    };
    Err(Error::location(code, format!("Cannot run getMore on cursor {id}, {text}")))
}

fn not_found(id: i64) -> Error {
    Error::new(ErrorCode::CursorNotFound, format!("cursor id {id} not found"))
}

#[expect(clippy::cast_possible_wrap, reason = "the sign bit is shifted out")]
fn random_id() -> i64 {
    (crate::random::u64() >> 1) as i64
}
