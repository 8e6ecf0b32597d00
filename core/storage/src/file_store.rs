//! A store's file while it is open for writing, and how it gets open.
//!
//! Order of opening: lock, sync (an earlier process may have left pages that never reached the disk), superblock,
//! checkpoint, log; then a fresh log region and one superblock that names the old roots, the old regions with their
//! ends and the new region. Nothing that was read is changed. Order of creating: zeros, sync, superblock, directory.

use crate::checkpoint::{Loaded, Newest, load};
use crate::disk::{Disk, LockMode};
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::log::{
    self, FIRST_REGION_BYTES, KEPT_FOR_DELETES_BYTES, LiveRegion, Log, Queue, Replayed, Writer,
};
use crate::options::Options;
use crate::owner;
use crate::poison::Poison;
use crate::space::{Extent, Space};
use crate::state::State;
use crate::superblock::{self, DATA_START_BYTES, Found, MAX_REGIONS, RegionEntry, Superblock};
use parking_lot::Mutex;
use std::sync::Arc;

/// Length of a new file.
const INITIAL_BYTES: u64 = DATA_START_BYTES + FIRST_REGION_BYTES;
/// Old regions up to which a store opens without a checkpoint.
const MAX_OLD_REGIONS: usize = MAX_REGIONS / 2;

/// A file that is open for writing.
pub(crate) struct FileStore {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) poison: Arc<Poison>,
    pub(crate) log: Log,
    pub(crate) space: Mutex<Space>,
    pub(crate) newest: Mutex<Newest>,
    pub(crate) may_compress: bool,
}

/// A file that is open for reading.
pub(crate) struct ReadOnlyFile {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) superblock: Option<Superblock>,
    /// Acknowledged commits that cannot be read; what is read is the state before them.
    pub(crate) damage: Option<Error>,
    /// Bytes of the log regions that the superblock names.
    pub(crate) log_bytes: u64,
    /// Bytes that neither the checkpoint nor the log uses.
    pub(crate) free_bytes: u64,
}

/// An opened file, its state, and the queue of its log.
pub(crate) struct Opened {
    pub(crate) file: FileStore,
    pub(crate) state: State,
    pub(crate) queue: Queue,
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

fn len_of(disk: &dyn Disk) -> Result<u64> {
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
        Found::Database { superblock, damage: None } => superblock,
        Found::New => create(&*disk)?,
    };
    // Not only after creating: whoever created the file may have died before this.
    if !planted(Fault::EntryNotSynced) {
        disk.sync_parent().map_err(|error| Error::io("sync the folder of", disk.place(), &error))?;
    }
    let len_bytes = len_of(&*disk)?;
    let mut loaded = load(&*disk, len_bytes, &superblock)?;
    let replayed = log::replay(&*disk, len_bytes, &superblock, &mut loaded.state)?;
    if let Some(damage) = replayed.damage {
        return Err(damage);
    }
    // Whoever wrote these may have been told that they did not reach the disk, and yet the system shows them: written
    // again as they are, they count.
    for (at, bytes) in &replayed.last_writes {
        disk.write_durable_at(*at, bytes)
            .map_err(|error| Error::io("write the log", disk.place(), &error))?;
    }
    let opened = start_log(disk, options, superblock, loaded, replayed)?;
    owner::write(&*opened.file.disk);
    Ok(opened)
}

/// Reads a locked file without writing to it.
pub(crate) fn open_read_only(disk: Arc<dyn Disk>) -> Result<(ReadOnlyFile, State)> {
    let len_bytes = len_of(&*disk)?;
    let Found::Database { superblock, damage } = superblock::find(&*disk, len_bytes, INITIAL_BYTES, false)?
    else {
        let file = ReadOnlyFile { disk, superblock: None, damage: None, log_bytes: 0, free_bytes: 0 };
        return Ok((file, State::empty()));
    };
    let mut loaded = load(&*disk, len_bytes, &superblock)?;
    let replayed = log::replay(&*disk, len_bytes, &superblock, &mut loaded.state)?;
    let damage = damage.or(replayed.damage);
    let log_bytes = superblock.regions.iter().map(|region| region.len_bytes).sum::<u64>();
    let used_bytes = loaded.used.iter().map(|extent| extent.len_bytes).sum::<u64>() + log_bytes;
    let free_bytes = len_bytes.saturating_sub(DATA_START_BYTES).saturating_sub(used_bytes);
    let file = ReadOnlyFile { disk, superblock: Some(superblock), damage, log_bytes, free_bytes };
    Ok((file, loaded.state))
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
        let extent = space.allocate_below(len_bytes, u64::MAX);
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
    options: &Options,
    superblock: Superblock,
    loaded: Loaded,
    replayed: Replayed,
) -> Result<Opened> {
    let Loaded { state, tables_tree, mut used } = loaded;
    used.sort_unstable();
    let region_extent = |region: &RegionEntry| Extent { offset: region.start, len_bytes: region.len_bytes };
    let in_use = used.iter().copied().chain(replayed.regions.iter().map(region_extent)).collect();
    let mut space = Space::from_used(in_use).map_err(|(a, b)| {
        Error::corrupt(
            format!("{}, byte {}", disk.place(), b.offset),
            format!("two things use it, the other one from byte {}", a.offset),
        )
    })?;
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
    let log = Log::new(Arc::clone(&disk), Arc::clone(&poison), writer, state.sequence, options.compress);
    let newest = Mutex::new(Newest::new(next, tables_tree, used));
    let file =
        FileStore { disk, poison, log, space: Mutex::new(space), newest, may_compress: options.compress };
    Ok(Opened { file, state, queue, wants_checkpoint })
}
