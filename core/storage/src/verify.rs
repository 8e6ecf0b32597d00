//! Looking at a store: figures, and whether everything is as it should be.

use crate::checkpoint::{load, placed_extents};
use crate::error::{Error, Result};
use crate::file_store::FileStore;
use crate::range::{Direction, KeyRange};
use crate::space::{Extent, Space};
use crate::state::State;
use crate::store::{Medium, Store};
use crate::tree::{Cursor, Tree};
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
    pub problems: Vec<Error>,
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
                stats.log_bytes = file.log_bytes;
                stats.free_bytes = file.free_bytes;
                if let Some(superblock) = &file.superblock {
                    stats.checkpoint = superblock.checkpoint;
                    stats.checkpoint_sequence = superblock.sequence;
                }
            }
            Medium::File(file) => {
                stats.file_bytes = file.disk.len().unwrap_or(0);
                stats.durable_sequence = file.log.durable_sequence();
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
            Medium::ReadOnly(file) => {
                report.problems.extend(file.damage.clone());
                if let Some(superblock) = &file.superblock {
                    let len_bytes = file
                        .disk
                        .len()
                        .map_err(|error| Error::io("read the length of", file.disk.place(), &error))?;
                    report.free_bytes = file.free_bytes;
                    report.used_bytes = len_bytes.saturating_sub(file.free_bytes);
                    match load(&*file.disk, len_bytes, superblock) {
                        Ok(loaded) => report.blocks = loaded.used.len() as u64,
                        Err(error) => report.problems.push(error),
                    }
                }
            }
            Medium::File(file) => verify_file(file, &mut report)?,
        }
        let state = Arc::clone(&shared.published.read());
        verify_state(&state, &mut report);
        Ok(report)
    }
}

fn verify_state(state: &State, report: &mut VerifyReport) {
    state.tables.for_each(&mut |id, table| {
        report.tables += 1;
        let mut cursor = Cursor::new(Arc::clone(table.tree.root()), KeyRange::all(), Direction::Forward);
        let mut entries = 0;
        let mut last: Option<Vec<u8>> = None;
        while let Some(item) = cursor.next() {
            entries += 1;
            let key = item.cell.key();
            if last.as_ref().is_some_and(|last| last.as_slice() >= key) || item.version > state.sequence {
                report.problems.push(Error::corrupt(
                    format!("table {id}"),
                    format!("the entry of key {key:02x?} is out of order"),
                ));
            }
            let buffer = last.get_or_insert_default();
            buffer.clear();
            buffer.extend_from_slice(key);
        }
        report.entries += entries;
        if entries != table.tree.count() {
            let what = format!("it has {entries} entries and counts {}", table.tree.count());
            report.problems.push(Error::corrupt(format!("table {id}"), what));
        }
    });
}

/// Holds off checkpoints while it reads, commits not.
fn verify_file(file: &FileStore, report: &mut VerifyReport) -> Result<()> {
    let newest = file.newest.lock();
    file.poison.check()?;
    let place = file.disk.place();
    let len_bytes = file.disk.len().map_err(|error| Error::io("read the length of", place, &error))?;
    match load(&*file.disk, len_bytes, &newest.superblock) {
        Err(error) => report.problems.push(error),
        Ok(mut loaded) => {
            report.blocks = loaded.used.len() as u64;
            loaded.used.sort_unstable();
            if loaded.used != newest.used {
                report.problems.push(Error::corrupt(
                    place,
                    "the checkpoint does not reach the blocks that it is known to have",
                ));
            }
            verify_places(&loaded.state, &loaded.tables_tree, &newest.used, place, report);
        }
    }
    let regions: Vec<Extent> = {
        let writer = file.log.writer.lock();
        writer
            .regions
            .iter()
            .map(|region| region.extent)
            .chain(writer.spare)
            .chain(writer.kept_for_deletes)
            .collect()
    };
    let space = file.space.lock();
    (report.used_bytes, report.free_bytes) = (space.used_bytes(), space.free_bytes());
    let used: Vec<Extent> = [newest.used.as_slice(), &regions, newest.to_release()].concat();
    if used.iter().any(|extent| space.touches_free(*extent)) {
        report.problems.push(Error::corrupt(place, "something in use is listed as free"));
    }
    match Space::from_used(used) {
        Err((a, b)) => {
            let what = format!("bytes {} and {} belong to things that overlap", a.offset, b.offset);
            report.problems.push(Error::corrupt(place, what));
        }
        // A region that is just being prepared belongs to neither for a moment.
        Ok(expected) if expected.used_bytes() > space.used_bytes() || space.end() < expected.end() => {
            report.problems.push(Error::corrupt(place, "used and free bytes do not add up to the file"));
        }
        Ok(_) => {}
    }
    Ok(())
}

fn verify_places(state: &State, tables_tree: &Tree, used: &[Extent], place: &str, report: &mut VerifyReport) {
    if placed_extents(state, tables_tree) != used {
        report
            .problems
            .push(Error::corrupt(place, "nodes remember other places than the checkpoint gave them"));
    }
}
