//! A store's file while it is open for writing, and how it gets open.
//!
//! Order of opening: lock, sync (an earlier process may have left pages that never reached the disk), superblock,
//! checkpoint, log; then a fresh log region and one superblock that names the old roots, the old regions with their
//! ends and the new region. Nothing that was read is changed. Order of creating: zeros, sync, superblock, directory.

use crate::checkpoint::{Newest, Releases, load, log_max_bytes};
use crate::disk::{Disk, LockMode};
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::log::{
    self, FIRST_REGION_BYTES, KEPT_FOR_DELETES_BYTES, LiveRegion, Log, Queue, Replayed, Writer,
};
use crate::options::Options;
use crate::owner;
use crate::pages::{Pager, Pages};
use crate::pending::Pending;
use crate::poison::Poison;
use crate::recount::{self, Counted};
use crate::space::{Extent, Space};
use crate::state::State;
use crate::superblock::{self, DATA_START_BYTES, Found, MAX_REGIONS, RegionEntry, Superblock};
use crate::tree::Tree;
use parking_lot::Mutex;
use std::sync::Arc;

/// Length of a new file.
pub(crate) const INITIAL_BYTES: u64 = DATA_START_BYTES + FIRST_REGION_BYTES;
/// Old regions up to which a store opens without a checkpoint.
const MAX_OLD_REGIONS: usize = MAX_REGIONS / 2;

/// A file that is open for writing.
pub(crate) struct FileStore {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) pager: Arc<Pager>,
    pub(crate) poison: Arc<Poison>,
    pub(crate) log: Log,
    pub(crate) space: Mutex<Space>,
    pub(crate) newest: Mutex<Newest>,
    pub(crate) releases: Releases,
    pub(crate) may_compress: bool,
    /// See [`log_max_bytes`](crate::checkpoint::log_max_bytes).
    pub(crate) log_max_bytes: u64,
}

/// An opened file, its state, and the queue of its log.
pub(crate) struct Opened {
    pub(crate) file: FileStore,
    pub(crate) state: State,
    pub(crate) queue: Queue,
    pub(crate) pending: Pending,
    /// More old log regions than a superblock should name: a checkpoint has to come before the first commit.
    pub(crate) wants_checkpoint: bool,
}

/// Locks the file for this handle.
pub(crate) fn lock(disk: &dyn Disk, mode: LockMode) -> Result<()> {
    match disk.lock(mode) {
        Ok(true) => Ok(()),
        Ok(false) => Err(owner::locked(disk)),
        Err(error) => Err(Error::io("lock", disk.place(), &error)),
    }
}

pub(crate) fn len_of(disk: &dyn Disk) -> Result<u64> {
    disk.len().map_err(|error| Error::io("read the length of", disk.place(), &error))
}

/// Opens or creates a locked file for writing.
pub(crate) fn open(disk: Arc<dyn Disk>, options: &Options) -> Result<Opened> {
    let len_bytes = len_of(&*disk)?;
    // The length that is seen is set again, for the same reason: what is synced below must count.
    disk.set_len(len_bytes).map_err(|error| Error::io("set the length of", disk.place(), &error))?;
    disk.sync().map_err(|error| Error::io("sync", disk.place(), &error))?;
    let found = superblock::find(&*disk, len_bytes, INITIAL_BYTES, true)?;
    let superblock = match found {
        Found::Database { damage: Some(error), .. } => return Err(error),
        Found::Database { superblock, damage: None } => *superblock,
        Found::New => create(&*disk)?,
    };
    // Not only after creating: whoever created the file may have died before this.
    if !planted(Fault::EntryNotSynced) {
        disk.sync_parent().map_err(|error| Error::io("sync the folder of", disk.place(), &error))?;
    }
    let pager = Pager::new(Arc::clone(&disk), options.cache_bytes);
    let pages = Pages::new(1, Some(Arc::clone(&pager)));
    recount::mend_twins(&pager, &superblock)?;
    let (mut state, tables_tree) = load(&*disk, &superblock, &pages)?;
    let mut pending = Pending::default();
    let mut replayed = log::replay(&*disk, &superblock, &mut state, &mut pending)?;
    pending.outside = std::mem::take(&mut replayed.outside);
    if let Some(damage) = replayed.damage {
        return Err(damage);
    }
    // Whoever wrote these may have been told that they did not reach the disk, and yet the system shows them: written
    // again as they are, they count.
    for (at, bytes) in &replayed.last_writes {
        disk.write_durable_at(*at, bytes)
            .map_err(|error| Error::io("write the log", disk.place(), &error))?;
    }
    let space = space_of(&*disk, &pager, &superblock, &replayed.regions, &pending)?;
    let checkpoint = Recovered { state, tables_tree, pending, space };
    let opened = start_log(disk, pager, options, superblock, checkpoint, replayed)?;
    owner::write(&*opened.file.disk);
    Ok(opened)
}

/// What the file held.
struct Recovered {
    state: State,
    tables_tree: Tree,
    pending: Pending,
    space: Space,
}

/// What is free: by the map of the checkpoint, without what the log names.
pub(crate) fn space_of(
    disk: &dyn Disk,
    pager: &Pager,
    superblock: &Superblock,
    regions: &[RegionEntry],
    pending: &Pending,
) -> Result<Space> {
    let file_len = len_of(disk)?;
    let Counted { mut space, is_exact } = recount::space_of(pager, superblock, file_len)?;
    let named = regions.iter().map(region_extent);
    let named = named.chain(pending.provisional.iter().chain(&pending.outside).copied());
    for extent in named {
        if extent.end() > file_len {
            let place = format!("{}, byte {}", disk.place(), extent.offset);
            return Err(Error::corrupt(place, "the log names a part that the file does not have"));
        }
        match space.mark_provisional(extent) {
            true => {}
            false if !is_exact => space.set_provisional(extent),
            false => {
                let place = format!("{}, byte {}", disk.place(), extent.offset);
                return Err(Error::corrupt(place, "the log and the last checkpoint both use it"));
            }
        }
    }
    Ok(space)
}

fn region_extent(region: &RegionEntry) -> Extent {
    Extent { offset: region.start, len_bytes: region.len_bytes }
}

fn create(disk: &dyn Disk) -> Result<Superblock> {
    let region = Extent { offset: DATA_START_BYTES, len_bytes: FIRST_REGION_BYTES };
    log::write_zeros(disk, Extent { offset: 0, len_bytes: INITIAL_BYTES })?;
    let sync_error = |error| Error::io("sync the new file", disk.place(), &error);
    disk.sync().map_err(sync_error)?;
    let mut uuid = [0; 16];
    for half in uuid.chunks_mut(8) {
        half.copy_from_slice(&salt(disk)?.to_le_bytes());
    }
    let superblock = Superblock {
        uuid,
        number: 1,
        checkpoint: 0,
        sequence: 0,
        generation: 0,
        next_table: 1,
        tables_root: None,
        tables_height: 0,
        space_map: None,
        regions: vec![RegionEntry {
            start: region.offset,
            len_bytes: region.len_bytes,
            salt: salt(disk)?,
            end: 0,
        }],
    };
    superblock.write(disk)?;
    Ok(superblock)
}

fn salt(disk: &dyn Disk) -> Result<u64> {
    disk.entropy().map_err(|error| Error::io("make a salt for", disk.place(), &error))
}

/// A region to begin with: on a full disk a small one, for which room was set aside.
fn first_region(disk: &dyn Disk, space: &mut Space) -> Result<Extent> {
    let mut take = |len_bytes| {
        let extent = space.allocate_region(len_bytes, u64::MAX);
        log::write_zeros(disk, extent).map(|()| extent).inspect_err(|_| {
            space.release(extent);
            space.cut_to(disk.len().unwrap_or(0));
        })
    };
    match take(FIRST_REGION_BYTES) {
        Err(Error::Full { .. }) => take(KEPT_FOR_DELETES_BYTES),
        result => result,
    }
}

/// Gives the log a fresh region, and publishes it.
fn start_log(
    disk: Arc<dyn Disk>,
    pager: Arc<Pager>,
    options: &Options,
    superblock: Superblock,
    recovered: Recovered,
    replayed: Replayed,
) -> Result<Opened> {
    let Recovered { state, tables_tree, pending, mut space } = recovered;
    let extent = first_region(&*disk, &mut space)?;
    if !planted(Fault::LengthNotSynced) {
        disk.sync().map_err(|error| Error::io("sync a new log region", disk.place(), &error))?;
    }
    // What the checkpoint holds altogether needs no log; the old regions are free once the new superblock is there.
    let needs_old = replayed.commits > 0;
    let live = |(ordinal, region): (u64, &RegionEntry)| LiveRegion {
        ordinal,
        extent: region_extent(region),
        salt: region.salt,
        end: region.end,
        last_sequence: state.sequence,
    };
    let older: Vec<LiveRegion> =
        if needs_old { (0..).zip(&replayed.regions).map(live).collect() } else { Vec::new() };
    let region =
        LiveRegion { ordinal: older.len() as u64, extent, salt: salt(&*disk)?, end: 0, last_sequence: 0 };
    let wants_checkpoint = older.len() > MAX_OLD_REGIONS;
    let generation = superblock.generation + 1;
    let mut next = Superblock { number: superblock.number + 1, generation, ..superblock };
    if wants_checkpoint {
        next.number -= 1;
    } else {
        next.regions = older.iter().chain([&region]).map(LiveRegion::entry).collect();
        next.write(&*disk)?;
        if !needs_old {
            replayed.regions.iter().for_each(|region| space.release(region_extent(region)));
        }
    }
    let queue = Queue::new(region.ordinal, region.room_bytes());
    let writer = Writer::new(older, region, state.sequence, next.checkpoint, generation);
    let poison = Arc::new(Poison::default());
    let log_max_bytes = log_max_bytes(options.cache_bytes);
    let log = Log::new(
        Arc::clone(&disk),
        Arc::clone(&poison),
        writer,
        state.sequence,
        options.compress,
        log_max_bytes / 2,
    );
    log.add_outside(pending.outside_bytes());
    let newest = Mutex::new(Newest::new(next, tables_tree));
    let releases = Releases::new(options.tuning.pinned_min_bytes);
    releases.begin_epoch(&state.pages);
    let (space, may_compress) = (Mutex::new(space), options.compress);
    let file = FileStore { disk, pager, poison, log, space, newest, releases, may_compress, log_max_bytes };
    Ok(Opened { file, state, queue, pending, wants_checkpoint })
}
