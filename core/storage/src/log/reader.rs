//! Reading the log back: replay, and telling a torn tail from damage.
//!
//! Nothing is changed by reading. One frame was under way when the writer stopped, so the first bad frame is a torn
//! tail only if nothing valid of the same region follows it; else something acknowledged was damaged, and replay stops
//! there and says so. A writer in another process may go on meanwhile: what seems damaged is read once more, and a
//! checkpoint that nobody knew of is looked for in the superblock.

use super::region::{EXTENSION_BYTES, decode_extension};
use crate::block::UNIT_BYTES;
use crate::changes;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::file_store::len_of;
use crate::frame::{FoundHeader, FrameKind, HEADER_BYTES, decode_header, frame_bytes};
use crate::outside;
use crate::pending::Pending;
use crate::pin;
use crate::replay::{Apply, Replaying, Unfit};
use crate::space::Extent;
use crate::state::State;
use crate::superblock::{DATA_START_BYTES, Found, RegionEntry, Superblock};

/// Bytes of a region that are read at once.
const WINDOW_BYTES: u64 = 256 << 10;
/// Most regions that follow each other by extension frames; more is a circle.
const MAX_CHAIN: usize = 1 << 16;

/// What a replay found.
pub(crate) struct Replayed {
    /// Every region of the log, each with its end.
    pub(crate) regions: Vec<RegionEntry>,
    /// Commits that the checkpoint does not hold.
    pub(crate) commits: u64,
    /// The frame that was written last, as it is in the file, and where: the only bytes of the log of which nothing
    /// proves that they were synced.
    pub(crate) last_writes: Vec<(u64, Vec<u8>)>,
    /// Changes outside the log.
    pub(crate) outside: Vec<Extent>,
    /// Where acknowledged commits are damaged; the state holds what comes before.
    pub(crate) damage: Option<Error>,
    /// Where the next frame is going to be.
    pub(crate) tail: Option<Tail>,
}

/// A place between two frames of a region.
#[derive(Clone)]
pub(crate) struct Tail {
    region: RegionEntry,
    position: u64,
    previous_hash: u64,
}

impl Tail {
    fn start_of(region: RegionEntry) -> Tail {
        Tail { position: region.start, previous_hash: region.salt, region }
    }

    /// Where frames end at the latest.
    fn limit(&self) -> u64 {
        let region_end = self.region.start.saturating_add(self.region.len_bytes);
        match self.region.end {
            0 => region_end.saturating_sub(EXTENSION_BYTES),
            end => end.clamp(self.region.start, region_end),
        }
    }

    /// Whether something may have been written here since.
    pub(crate) fn has_more(&self, disk: &dyn Disk) -> bool {
        let mut header = [0; HEADER_BYTES];
        [self.position, self.limit()].into_iter().any(|at| {
            disk.read_at(at, &mut header).is_ok() && decode_header(&header, self.region.salt, at).is_some()
        })
    }
}

/// Applies the log of `superblock` to `state`, which is the checkpoint's.
pub(crate) fn replay(
    disk: &dyn Disk,
    superblock: &Superblock,
    state: &mut State,
    pending: &mut Pending,
) -> Result<Replayed> {
    let before = state.clone();
    let into = &mut Replaying { state, pending, last: u64::MAX, scratch: Vec::new() };
    let mut replayed = replay_into(disk, superblock, into)?;
    if replayed.damage.is_some() {
        // Of the commit that could not be applied a part was: again, without it.
        let last = state.sequence;
        (*state, *pending) = (before, Pending::default());
        let into = &mut Replaying { state, pending, last, scratch: Vec::new() };
        replayed.commits = replay_into(disk, superblock, into)?.commits;
    }
    Ok(replayed)
}

/// As [`replay`], into whatever takes commits.
pub(crate) fn replay_into(
    disk: &dyn Disk,
    superblock: &Superblock,
    into: &mut dyn Apply,
) -> Result<Replayed> {
    let from = superblock.regions.iter().map(|region| Tail::start_of(*region)).collect();
    Replay::new(disk, superblock, into).follow(from)
}

/// Goes on where an earlier replay ended. When something is damaged, `state` is of no use.
pub(crate) fn resume(
    disk: &dyn Disk,
    superblock: &Superblock,
    tail: Tail,
    state: &mut State,
    pending: &mut Pending,
) -> Result<Replayed> {
    let into = &mut Replaying { state, pending, last: u64::MAX, scratch: Vec::new() };
    Replay::new(disk, superblock, into).follow(vec![tail])
}

enum RegionEnd {
    /// At the end that the superblock names, or at a torn tail.
    Ended(u64),
    /// By a frame that names the next region.
    Followed { end: u64, by: RegionEntry },
    /// By acknowledged frames that are not what was written.
    Damaged(Error),
}

struct Replay<'r> {
    disk: &'r dyn Disk,
    superblock: &'r Superblock,
    /// The newest checkpoint that a superblock names.
    newest_checkpoint: u64,
    into: &'r mut dyn Apply,
    commits: u64,
    last_writes: Vec<(u64, Vec<u8>)>,
    outside: Vec<Extent>,
}

impl<'r> Replay<'r> {
    fn new(disk: &'r dyn Disk, superblock: &'r Superblock, into: &'r mut dyn Apply) -> Replay<'r> {
        let newest_checkpoint = superblock.checkpoint;
        let (last_writes, outside) = (Vec::new(), Vec::new());
        Replay { disk, superblock, newest_checkpoint, into, commits: 0, last_writes, outside }
    }

    fn damaged(&self, at: u64, what: &str) -> Error {
        Error::corrupt(format!("{}, log at byte {at}", self.disk.place()), what)
    }

    /// Replays regions from where each is to be read, and those that follow them.
    fn follow(mut self, from: Vec<Tail>) -> Result<Replayed> {
        let mut regions: Vec<RegionEntry> = Vec::new();
        let mut ahead = from.into_iter();
        let mut next = ahead.next();
        let (mut damage, mut tail) = (None, None);
        while let Some(mut at) = next {
            let mut region = at.region;
            if regions.len() >= MAX_CHAIN {
                return Err(self.damaged(region.start, "the log's regions lead in a circle"));
            }
            match self.region(&mut at)? {
                RegionEnd::Followed { end, by } => {
                    region.end = end;
                    next = Some(Tail::start_of(by));
                }
                RegionEnd::Ended(end) => {
                    region.end = end;
                    next = ahead.next();
                }
                RegionEnd::Damaged(error) => {
                    damage = Some(error);
                    next = None;
                }
            }
            tail = Some(at);
            regions.push(region);
        }
        let Replay { commits, last_writes, outside, .. } = self;
        Ok(Replayed { regions, commits, last_writes, outside, damage, tail })
    }

    /// Replays a region from `at` on, which is moved to where its frames end.
    fn region(&mut self, at: &mut Tail) -> Result<RegionEnd> {
        let region = at.region;
        // Asked for now: a writer at work lengthens the file before it says what is there.
        let file_len = len_of(self.disk)?;
        let end_of_file = region.start.checked_add(region.len_bytes).filter(|&end| end <= file_len);
        let is_whole = region.start.is_multiple_of(UNIT_BYTES) && region.len_bytes.is_multiple_of(UNIT_BYTES);
        let (Some(region_end), true) =
            (end_of_file, is_whole && region.start >= DATA_START_BYTES && region.len_bytes >= 4 * UNIT_BYTES)
        else {
            return Ok(RegionEnd::Damaged(self.damaged(region.start, "a log region lies outside the file")));
        };
        let limit = at.limit();
        let mut window = Window::new(self.disk, region_end);
        loop {
            if let Some(damage) = self.frames(&mut window, at, limit)? {
                return Ok(RegionEnd::Damaged(damage));
            }
            if region.end != 0 {
                let lost = || self.damaged(at.position, "commits that were acknowledged cannot be read");
                return Ok(match at.position == limit {
                    true => RegionEnd::Ended(at.position),
                    false => RegionEnd::Damaged(lost()),
                });
            }
            let end = self.open_end(&mut window, &region, at.position, limit, at.previous_hash)?;
            window.forget();
            // What was being written a moment ago, while what follows was looked at.
            let is_there_now = matches!(end, RegionEnd::Damaged(_))
                && read_frame(&mut window, region.salt, at.position, limit, at.previous_hash)?.is_some();
            if !is_there_now {
                return Ok(end);
            }
        }
    }

    /// Applies frames up to the first that is none; gives what is wrong with one.
    fn frames(&mut self, window: &mut Window<'_>, at: &mut Tail, limit: u64) -> Result<Option<Error>> {
        let mut last_frame = None;
        while at.position < limit {
            let Some((found, payload)) =
                read_frame(window, at.region.salt, at.position, limit, at.previous_hash)?
            else {
                break;
            };
            if !self.is_known(found.header.checkpoint) {
                let what = "it belongs to a newer checkpoint than any superblock that can be read";
                return Ok(Some(self.damaged(at.position, what)));
            }
            if let Some(damage) = self.apply(&found, &payload, at.position) {
                return Ok(Some(damage));
            }
            at.previous_hash = found.hash;
            last_frame = Some((at.position, HEADER_BYTES as u64 + found.stored_len_bytes));
            at.position += frame_bytes(found.stored_len_bytes);
        }
        if let Some((at, len)) = last_frame {
            self.last_writes = vec![(at, window.bytes(at, len)?.to_vec())];
        }
        Ok(None)
    }

    /// Whether a superblock names this checkpoint or a newer one: a writer may have published it just now.
    fn is_known(&mut self, checkpoint: u64) -> bool {
        if checkpoint > self.newest_checkpoint
            && let Ok(Found::Database { superblock, .. }) = pin::find(self.disk)
            && superblock.uuid == self.superblock.uuid
        {
            self.newest_checkpoint = self.newest_checkpoint.max(superblock.checkpoint);
        }
        checkpoint <= self.newest_checkpoint
    }

    /// Decides what the first bad frame of the open region is.
    fn open_end(
        &mut self,
        window: &mut Window<'_>,
        region: &RegionEntry,
        position: u64,
        limit: u64,
        previous_hash: u64,
    ) -> Result<RegionEnd> {
        if planted(Fault::DamageTakenForTail) {
            return Ok(RegionEnd::Ended(position));
        }
        let lost = |this: &Self| {
            Ok(RegionEnd::Damaged(this.damaged(position, "commits that were acknowledged cannot be read")))
        };
        for copy in 0..2 {
            let at = limit + copy * UNIT_BYTES;
            let Some((found, payload)) = read_extension(window, region.salt, at)? else { continue };
            return match decode_extension(&payload) {
                Some((end, by)) if end == position && found.header.previous_hash == previous_hash => {
                    let unit = window.bytes(at, UNIT_BYTES)?.to_vec();
                    self.last_writes = vec![(at, unit)];
                    Ok(RegionEnd::Followed { end, by })
                }
                _ => lost(self),
            };
        }
        // The writer has one frame under way at a time: what follows the bad frame proves that it was on the disk.
        let mut later = position + UNIT_BYTES;
        while later < limit {
            if decode_header(window.bytes(later, HEADER_BYTES as u64)?, region.salt, later).is_some() {
                return lost(self);
            }
            later += UNIT_BYTES;
        }
        Ok(RegionEnd::Ended(position))
    }

    /// Applies a frame's commits; says what does not fit.
    fn apply(&mut self, found: &FoundHeader, payload: &[u8], position: u64) -> Option<Error> {
        match found.header.kind {
            FrameKind::Checkpoint | FrameKind::Seal => return None,
            FrameKind::Extension => {
                return Some(self.damaged(position, "an extension frame is out of its place"));
            }
            FrameKind::Commits => {}
        }
        for commit in changes::commits(payload) {
            let Some((sequence, changes)) = commit else {
                return Some(self.damaged(position, "a frame's commits cannot be read"));
            };
            if sequence <= self.superblock.sequence {
                continue;
            }
            if sequence != self.into.sequence() + 1 {
                return Some(self.damaged(position, "commits are missing"));
            }
            let found = match outside::read(self.disk, changes) {
                Ok(found) => found,
                Err(error) => return Some(error),
            };
            let changes = found.as_ref().map_or(changes, |found| found.changes.as_slice());
            self.outside.extend(found.as_ref().map(|found| found.extent));
            match self.into.commit(sequence, changes) {
                Ok(()) => self.commits += 1,
                Err(Unfit::Changes) => {
                    return Some(self.damaged(position, "a commit does not fit the data before it"));
                }
                Err(Unfit::Reading(error)) => return Some(error),
            }
        }
        None
    }
}

/// The frame at `position`, if a valid one that continues the chain is there.
fn read_frame(
    window: &mut Window<'_>,
    salt: u64,
    position: u64,
    limit: u64,
    previous_hash: u64,
) -> Result<Option<(FoundHeader, Vec<u8>)>> {
    let Some(found) = decode_header(window.bytes(position, HEADER_BYTES as u64)?, salt, position) else {
        return Ok(None);
    };
    let room = limit - position;
    if found.header.previous_hash != previous_hash
        || found.stored_len_bytes > room
        || frame_bytes(found.stored_len_bytes) > room
    {
        return Ok(None);
    }
    let stored = window.bytes(position + HEADER_BYTES as u64, found.stored_len_bytes)?;
    Ok(found.payload(stored, salt).map(|payload| (found, payload)))
}

fn read_extension(window: &mut Window<'_>, salt: u64, at: u64) -> Result<Option<(FoundHeader, Vec<u8>)>> {
    let Some(found) = decode_header(window.bytes(at, HEADER_BYTES as u64)?, salt, at) else {
        return Ok(None);
    };
    if found.header.kind != FrameKind::Extension || frame_bytes(found.stored_len_bytes) > UNIT_BYTES {
        return Ok(None);
    }
    let stored = window.bytes(at + HEADER_BYTES as u64, found.stored_len_bytes)?;
    Ok(found.payload(stored, salt).map(|payload| (found, payload)))
}

/// A part of the file in memory, moved along as the log is read.
struct Window<'d> {
    disk: &'d dyn Disk,
    start: u64,
    bytes: Vec<u8>,
    /// Nothing is read behind this.
    end: u64,
}

impl<'d> Window<'d> {
    fn new(disk: &'d dyn Disk, end: u64) -> Window<'d> {
        Window { disk, start: 0, bytes: Vec::new(), end }
    }

    /// Makes it read again what it has.
    fn forget(&mut self) {
        self.bytes.clear();
    }

    /// Bytes of the file; none when they would reach behind the end.
    fn bytes(&mut self, at: u64, len: u64) -> Result<&[u8]> {
        if at.checked_add(len).is_none_or(|end| end > self.end) {
            return Ok(&[]);
        }
        if at < self.start || at + len > self.start + self.bytes.len() as u64 {
            self.bytes.resize(len.max(WINDOW_BYTES).min(self.end - at) as usize, 0);
            self.start = at;
            let read = self.disk.read_at(at, &mut self.bytes);
            read.map_err(|error| Error::io("read the log", self.disk.place(), &error))?;
        }
        let from = (at - self.start) as usize;
        Ok(self.bytes.get(from..from + len as usize).unwrap_or_default())
    }
}
