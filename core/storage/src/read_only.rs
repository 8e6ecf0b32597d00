//! A store's file while it is open for reading: alone, or beside a writer in another process.
//!
//! Nothing is written, so files on read-only media can be read. The checkpoint that is read is [pinned](crate::pin),
//! and the log after it is replayed into this process's own memory. Every snapshot looks first whether there is more:
//! in the log, whose new frames are applied, or a newer superblock, from which reading begins anew. Snapshots keep the
//! pin of the checkpoint that they read.

use crate::checkpoint::load;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::file_store::space_of;
use crate::log::{self, Tail};
use crate::options::Options;
use crate::pages::{Pager, Pages};
use crate::pending::Pending;
use crate::pin::{self, Pin, Pinned};
use crate::state::State;
use crate::superblock::{Found, RegionEntry, Superblock};
use parking_lot::Mutex;
use std::sync::Arc;

/// Superblocks that may be published while one is being read.
const TRIES: usize = 20;

/// A file that is open for reading.
pub(crate) struct ReadOnlyFile {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) pager: Arc<Pager>,
    /// Whether nobody can write it meanwhile, so that nothing is pinned.
    is_locked: bool,
    view: Mutex<View>,
}

/// What was found when the file was looked at last.
#[derive(Default)]
struct View {
    /// None: nothing was ever written.
    base: Option<Base>,
    /// What the log names beside the checkpoint.
    regions: Vec<RegionEntry>,
    pending: Pending,
    /// Acknowledged commits that cannot be read; what is read is the state before them.
    damage: Option<Error>,
    tail: Option<Tail>,
}

struct Base {
    superblock: Superblock,
    pin: Option<Arc<Pin>>,
}

/// Figures about the file.
#[derive(Default)]
pub(crate) struct FileFigures {
    pub(crate) superblock: Option<Superblock>,
    pub(crate) damage: Option<Error>,
    /// Bytes of the log's regions.
    pub(crate) log_bytes: u64,
    /// Bytes that neither the checkpoint nor the log uses.
    pub(crate) free_bytes: u64,
}

impl ReadOnlyFile {
    /// Opens a file; pins what is read unless the file is locked.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        options: &Options,
        is_locked: bool,
    ) -> Result<(ReadOnlyFile, State)> {
        let pager = Pager::new(Arc::clone(&disk), options.cache_bytes);
        let (view, state) = match is_locked {
            true => match pin::find(&*disk)? {
                Found::Database { superblock, damage } => {
                    read(&disk, &pager, Base { superblock: *superblock, pin: None }, damage)?
                }
                Found::New => nothing(&pager),
            },
            false => read_pinned(&disk, &pager, None)?,
        };
        Ok((ReadOnlyFile { disk, pager, is_locked, view: Mutex::new(view) }, state))
    }

    /// Calls `publish` with a newer state than `now`, if there is one. What cannot be read leaves things as they are.
    pub(crate) fn refresh(&self, now: impl Fn() -> Arc<State>, publish: impl FnOnce(State)) {
        if self.is_locked {
            return;
        }
        let mut view = self.view.lock();
        let Ok(Found::Database { superblock, .. }) = pin::find(&*self.disk) else { return };
        // What could not be read may be readable by now; what is damaged stays so.
        let has_failed = view.damage.as_ref().is_some_and(|error| matches!(error, Error::Io { .. }));
        let is_same = view.base.as_ref().is_some_and(|base| base.superblock.number == superblock.number);
        if is_same && !has_failed {
            if let Some(state) = self.read_on(&mut view, &now()) {
                publish(state);
            }
            return;
        }
        let held = view.base.as_ref().and_then(|base| base.pin.as_ref());
        // A writer that was killed may have left less than it had shown: never go back.
        if let Ok((seen, state)) = read_pinned(&self.disk, &self.pager, held)
            && state.sequence >= now().sequence
        {
            *view = seen;
            publish(state);
        }
    }

    /// Applies what the log has got since.
    fn read_on(&self, view: &mut View, now: &State) -> Option<State> {
        let (base, tail) = (view.base.as_ref()?, view.tail.as_ref()?);
        if view.damage.is_some() || !tail.has_more(&*self.disk) {
            return None;
        }
        let (mut state, mut pending) = (now.clone(), Pending::default());
        let from = tail.clone();
        let resumed = log::resume(&*self.disk, &base.superblock, from, &mut state, &mut pending).ok()?;
        if resumed.damage.is_some() {
            return None;
        }
        pending.outside.extend(resumed.outside);
        view.pending.append(pending);
        // The first is the one that the earlier replay ended in.
        view.regions.extend(resumed.regions.into_iter().skip(1));
        view.tail = resumed.tail;
        Some(state)
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Acknowledged commits that cannot be read.
    pub(crate) fn damage(&self) -> Option<Error> {
        self.view.lock().damage.clone()
    }

    pub(crate) fn figures(&self) -> FileFigures {
        let view = self.view.lock();
        let log_bytes = view.regions.iter().map(|region| region.len_bytes).sum();
        let Some(Base { superblock, .. }) = &view.base else { return FileFigures::default() };
        let len_bytes = self.disk.len().unwrap_or(0);
        // Figures only: a damaged list of free extents does not keep anybody from reading.
        let space = space_of(&*self.disk, &self.pager, superblock, &view.regions, &view.pending);
        let free_bytes = space.map_or(0, |space| space.free_bytes() + len_bytes.saturating_sub(space.end()));
        FileFigures {
            superblock: Some(superblock.clone()),
            damage: view.damage.clone(),
            log_bytes,
            free_bytes,
        }
    }
}

fn nothing(pager: &Arc<Pager>) -> (View, State) {
    (View::default(), State::empty(Pages::pinned(Arc::clone(pager), None)))
}

/// Reads what is newest. Of what seems damaged while a writer is at work, another look is taken.
fn read_pinned(disk: &Arc<dyn Disk>, pager: &Arc<Pager>, held: Option<&Arc<Pin>>) -> Result<(View, State)> {
    let mut tries = 0;
    loop {
        let Some(Pinned { superblock, damage, pin }) = pin::newest(disk, held)? else {
            return Ok(nothing(pager));
        };
        let number = superblock.number;
        let found = read(disk, pager, Base { superblock, pin: Some(pin) }, damage);
        let is_good = found.as_ref().is_ok_and(|(view, _)| view.damage.is_none());
        let has_changed = || matches!(pin::find(&**disk), Ok(Found::Database { superblock, .. }) if superblock.number != number);
        tries += 1;
        if is_good || tries == TRIES || !has_changed() {
            return found;
        }
    }
}

/// Reads a checkpoint and the log after it.
fn read(
    disk: &Arc<dyn Disk>,
    pager: &Arc<Pager>,
    base: Base,
    damage: Option<Error>,
) -> Result<(View, State)> {
    let pages = Pages::pinned(Arc::clone(pager), base.pin.clone());
    let (mut state, _) = load(&**disk, &base.superblock, &pages)?;
    let mut pending = Pending::default();
    let replayed = log::replay(&**disk, &base.superblock, &mut state, &mut pending)?;
    pending.outside = replayed.outside;
    let damage = damage.or(replayed.damage);
    let view = View { base: Some(base), regions: replayed.regions, pending, damage, tail: replayed.tail };
    Ok((view, state))
}
