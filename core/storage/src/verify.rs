//! Looking at a store: figures, and whether everything is as it should be.

use crate::error::{Error, Result};
use crate::file_store::{FileStore, len_of};
use crate::inspect::{self, Lost, Values, Visit};
use crate::pages::Pager;
use crate::problem::Problem;
use crate::range::{Direction, KeyRange};
use crate::read_only::ReadOnlyFile;
use crate::space::Extent;
use crate::state::State;
use crate::store::{Medium, Store};
use crate::superblock::{DATA_START_BYTES, Superblock};
use crate::tree::{Cursor, Packed, Tree};
use std::sync::Arc;

/// What a verification looked at and what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tables walked.
    pub tables: u64,
    /// Entries walked.
    pub entries: u64,
    /// Blocks read back from the file and checked.
    pub blocks: u64,
    /// Bytes of the file that are in use, and that are free.
    pub used_bytes: u64,
    /// Bytes of the file that hold nothing.
    pub free_bytes: u64,
    /// What is wrong; empty when the file is sound.
    pub problems: Vec<Problem>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Figures about a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Length of the file; 0 in memory.
    pub file_bytes: u64,
    /// Bytes of the file that hold nothing.
    pub free_bytes: u64,
    /// Bytes of the log regions in the file.
    pub log_bytes: u64,
    /// Tables, the catalogue included.
    pub tables: u64,
    /// Records of all tables.
    pub entries: u64,
    /// The newest commit.
    pub last_sequence: u64,
    /// The newest commit that is on the disk.
    pub durable_sequence: u64,
    /// The newest checkpoint.
    pub checkpoint: u64,
    /// The newest commit that the checkpoint holds.
    pub checkpoint_sequence: u64,
    /// Syncs of the log since the store was opened; a group of commits shares one.
    pub log_syncs: u64,
    /// Checkpoints since the store was opened.
    pub checkpoints: u64,
    /// Bytes of memory that cached blocks take.
    pub cached_bytes: u64,
    /// Blocks read from the file since the store was opened.
    pub blocks_read: u64,
}

impl Store {
    /// Figures about the store.
    pub fn stats(&self) -> Stats {
        let shared = self.shared();
        let state = Arc::clone(&shared.published.read());
        let mut stats =
            Stats { last_sequence: state.sequence, durable_sequence: state.sequence, ..Stats::default() };
        stats.tables = state.tables.len() as u64;
        state.tables.for_each(&mut |_, table| stats.entries += table.tree.count());
        match &shared.medium {
            Medium::Memory => {}
            Medium::ReadOnly(file) => {
                stats.file_bytes = file.disk.len().unwrap_or(0);
                let figures = file.figures();
                (stats.log_bytes, stats.free_bytes) = (figures.log_bytes, figures.free_bytes);
                (stats.cached_bytes, stats.blocks_read) =
                    (file.pager.cached_bytes(), file.pager.blocks_read());
                if let Some(superblock) = figures.superblock {
                    stats.checkpoint = superblock.checkpoint;
                    stats.checkpoint_sequence = superblock.sequence;
                }
            }
            Medium::File(file) => {
                stats.file_bytes = file.disk.len().unwrap_or(0);
                stats.durable_sequence = file.log.durable_sequence();
                (stats.cached_bytes, stats.blocks_read) =
                    (file.pager.cached_bytes(), file.pager.blocks_read());
                stats.log_syncs = file.log.syncs();
                // A running checkpoint holds this lock for long: its figures are those of the last one.
                if let Some(newest) = file.newest.try_lock() {
                    stats.checkpoint = newest.superblock.checkpoint;
                    stats.checkpoint_sequence = newest.superblock.sequence;
                    stats.checkpoints = newest.taken;
                }
                stats.log_bytes = file.log.writer.lock().log_bytes();
                stats.free_bytes = file.space.lock().free_bytes();
            }
        }
        stats
    }

    /// Walks everything, reads every block of the newest checkpoint back, and accounts for every byte of the file.
    /// What is wrong is listed in the report; an error means that the verification could not be done.
    pub fn verify(&self) -> Result<VerifyReport> {
        let shared = self.shared();
        shared.check_open()?;
        let mut report = VerifyReport::default();
        match &shared.medium {
            Medium::Memory => {}
            Medium::ReadOnly(file) => return self.verify_read_only(file),
            Medium::File(file) => verify_file(file, &mut report)?,
        }
        verify_state(&self.newest(), &mut report);
        Ok(report)
    }

    /// While another process writes, what is read may be given up: what seems damaged then is looked for once more in what
    /// is newest, and only what is found again is reported.
    fn verify_read_only(&self, file: &ReadOnlyFile) -> Result<VerifyReport> {
        let mut found_before: Option<Vec<Problem>> = None;
        loop {
            let state = self.snapshot().state;
            let mut report = VerifyReport::default();
            let figures = file.figures();
            report.problems.extend(figures.damage.map(Problem::of_file));
            if let Some(superblock) = figures.superblock {
                report.free_bytes = figures.free_bytes;
                report.used_bytes = len_of(&*file.disk)?.saturating_sub(figures.free_bytes);
                walk_checkpoint(&file.pager, &superblock, &mut report)?;
            }
            verify_state(&state, &mut report);
            let is_overtaken = state.pages.is_overtaken();
            if let Some(before) = &found_before {
                report.problems.retain(|problem| before.contains(problem));
            }
            if report.is_clean() || found_before.is_some() || !is_overtaken {
                return Ok(report);
            }
            found_before = Some(report.problems);
        }
    }
}

/// Adds up what a walk finds.
struct Tally<'r> {
    report: &'r mut VerifyReport,
    extents: Vec<Extent>,
    sequence: u64,
}

impl Visit for Tally<'_> {
    fn block(&mut self, extent: Extent) {
        self.report.blocks += 1;
        self.extents.push(extent);
    }

    fn leaf(&mut self, table: u64, leaf: &Packed) -> Result<()> {
        if leaf.iter().any(|entry| entry.version > self.sequence) {
            let what = "an entry is newer than the checkpoint that holds it";
            self.problem(table, Error::corrupt(format!("table {table}"), what), Lost::Nothing)?;
        }
        Ok(())
    }

    fn problem(&mut self, table: u64, error: Error, lost: Lost<'_>) -> Result<()> {
        self.report.problems.push(Problem::new(table, error, lost));
        Ok(())
    }
}

/// Everything that a checkpoint reaches in the file, sorted.
fn walk_checkpoint(pager: &Pager, superblock: &Superblock, report: &mut VerifyReport) -> Result<Vec<Extent>> {
    let mut tally = Tally { report, extents: Vec::new(), sequence: superblock.sequence.max(1) };
    inspect::walk(pager, superblock, Values::Read, &mut tally)?;
    let mut extents = tally.extents;
    extents.sort_unstable();
    Ok(extents)
}

/// Counts the entries of all tables, and walks those that have changed since the checkpoint.
fn verify_state(state: &State, report: &mut VerifyReport) {
    state.tables.for_each(&mut |id, table| {
        report.tables += 1;
        let is_in_file = table.tree.root().is_none_or(|root| root.pointer().is_some());
        if is_in_file {
            report.entries += table.tree.count();
            return;
        }
        match verify_table(state, id, &table.tree) {
            Ok(entries) => report.entries += entries,
            Err(error) => report.problems.push(Problem::new(id, error, Lost::Nothing)),
        }
    });
}

fn verify_table(state: &State, id: u64, tree: &Tree) -> Result<u64> {
    let mut cursor = Cursor::new(tree, KeyRange::all(), Direction::Forward, &state.context(id))?;
    let mut entries = 0;
    let mut last: Option<Vec<u8>> = None;
    while let Some(found) = cursor.next()? {
        let entry = found.entry();
        entries += 1;
        if last.as_ref().is_some_and(|last| last.as_slice() >= entry.key)
            || entry.version > state.sequence.max(1)
        {
            let what = format!("the entry of key {:02x?} is out of order", entry.key);
            return Err(Error::corrupt(format!("table {id}"), what));
        }
        let buffer = last.get_or_insert_default();
        buffer.clear();
        buffer.extend_from_slice(entry.key);
    }
    match entries == tree.count() {
        true => Ok(entries),
        false => {
            let what = format!("it has {entries} entries and counts {}", tree.count());
            Err(Error::corrupt(format!("table {id}"), what))
        }
    }
}

/// Holds off checkpoints while it reads, commits not.
fn verify_file(file: &FileStore, report: &mut VerifyReport) -> Result<()> {
    let newest = file.newest.lock();
    file.poison.check()?;
    let place = file.disk.place();
    let found = report.problems.len();
    let mut used = walk_checkpoint(&file.pager, &newest.superblock, report)?;
    let is_readable = report.problems.len() == found;
    file.releases.with_waiting(|waiting| {
        let space = file.space.lock();
        used.extend_from_slice(newest.to_release());
        used.extend_from_slice(waiting);
        used.extend(space.provisional());
        used.sort_unstable();
        (report.used_bytes, report.free_bytes) = (space.used_bytes(), space.free_bytes());
        let mut problem = |what| report.problems.push(Problem::of_file(Error::corrupt(place, what)));
        if used.iter().any(|extent| space.touches_free(*extent)) {
            problem("something in use is listed as free".to_owned());
        }
        let overlap = used.windows(2).find_map(|pair| match pair {
            [a, b] if a.end() > b.offset => Some((*a, *b)),
            _ => None,
        });
        if let Some((a, b)) = overlap {
            problem(format!("bytes {} and {} belong to things that overlap", a.offset, b.offset));
        }
        let expected = DATA_START_BYTES + used.iter().map(|extent| extent.len_bytes).sum::<u64>();
        // What cannot be read leads to blocks that were not met.
        if is_readable && expected != space.used_bytes() {
            problem(format!("{expected} bytes are in use, and {} are accounted for", space.used_bytes()));
        }
    });
    Ok(())
}
