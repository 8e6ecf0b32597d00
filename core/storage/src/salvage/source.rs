//! What is to be found in a damaged file: which tables there are, and what the log has beyond the checkpoint.

use super::Work;
use super::log_changes::LogChanges;
use super::scan::{Scan, Segment};
use crate::block::TABLES_TREE;
use crate::checkpoint::TableEntry;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::file_store;
use crate::ids::RowId;
use crate::inspect::{self, Lost, Visit};
use crate::log;
use crate::pages::Pager;
use crate::problem::Problem;
use crate::space::{Extent, Space};
use crate::superblock::{self, Found, Superblock};
use crate::tree::Packed;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of memory for blocks: each is read once, past the cache.
const CACHE_BYTES: usize = 1 << 20;

/// A damaged file.
pub(super) struct Source {
    disk: Arc<dyn Disk>,
    pub(super) pager: Arc<Pager>,
    file_len: u64,
    /// What is free as of the checkpoint, where that can be read.
    space: Option<Space>,
    /// The tables of the checkpoint. None as an entry: only a scan found leaves of it.
    pub(super) tables: BTreeMap<u64, Option<TableEntry>>,
    /// Whether these are all.
    is_list_whole: bool,
    pub(super) changes: LogChanges,
    scan: OnceCell<Scan>,
}

impl Source {
    pub(super) fn find(disk: Arc<dyn Disk>, work: &mut Work<'_>) -> Result<Source> {
        let file_len = disk.len().map_err(|error| Error::io("read the length of", disk.place(), &error))?;
        let pager = Pager::new(Arc::clone(&disk), CACHE_BYTES);
        let mut source = Source {
            disk,
            pager,
            file_len,
            space: None,
            tables: BTreeMap::new(),
            is_list_whole: true,
            changes: LogChanges::default(),
            scan: OnceCell::new(),
        };
        match superblock::find(&*source.disk, file_len, file_store::INITIAL_BYTES, false) {
            Ok(Found::New) => {}
            Ok(Found::Database { superblock, damage: None }) => source.use_checkpoint(*superblock, work)?,
            Ok(Found::Database { superblock, damage: Some(error) }) => {
                work.report.problems.push(Problem::of_file(error));
                source.use_newest(*superblock, work)?;
            }
            Err(error @ Error::Corrupt { .. }) => {
                source.use_scan(work)?;
                if source.tables.is_empty() {
                    return Err(error);
                }
                work.report.problems.push(unknown_extent(error));
            }
            Err(error) => return Err(error),
        }
        Ok(source)
    }

    /// The checkpoint of a superblock that is beyond doubt.
    fn use_checkpoint(&mut self, superblock: Superblock, work: &mut Work<'_>) -> Result<()> {
        if let Some(map) = &superblock.space_map {
            match inspect::space_map(&self.pager, map) {
                Ok(space) => self.space = Some(space),
                Err(error) => work.report.problems.push(Problem::new(TABLES_TREE, error, Lost::Nothing)),
            }
        }
        let mut seen = ListProblems { problems: Vec::new(), is_whole: true };
        let listed = inspect::tables(&self.pager, &superblock, &mut seen)?;
        self.tables = listed.into_iter().map(|(id, entry)| (id, Some(entry))).collect();
        work.report.problems.append(&mut seen.problems);
        self.use_log(&superblock, superblock.sequence, work)?;
        self.is_list_whole = seen.is_whole;
        if !seen.is_whole {
            let (list, _) = self.scanned_list(work)?;
            for (id, entry) in list {
                self.tables.entry(id).or_insert(Some(entry));
            }
            self.add_unlisted(work)?;
        }
        Ok(())
    }

    /// The older superblock is left: what the newer one said of the tables may be in the file all the same.
    fn use_newest(&mut self, superblock: Superblock, work: &mut Work<'_>) -> Result<()> {
        self.use_scanned_map(work)?;
        let (list, sequence) = self.scanned_list(work)?;
        if sequence <= superblock.sequence {
            self.space = None;
            return self.use_checkpoint(superblock, work);
        }
        self.tables = list.into_iter().map(|(id, entry)| (id, Some(entry))).collect();
        let newest = Superblock { sequence, checkpoint: u64::MAX, ..superblock };
        self.use_log(&newest, sequence, work)
    }

    /// No superblock is left, and so no log can be found.
    fn use_scan(&mut self, work: &mut Work<'_>) -> Result<()> {
        self.use_scanned_map(work)?;
        self.is_list_whole = false;
        let (list, sequence) = self.scanned_list(work)?;
        self.tables = list.into_iter().map(|(id, entry)| (id, Some(entry))).collect();
        self.changes.sequence = sequence;
        match self.tables.is_empty() {
            true => self.add_unlisted(work),
            false => Ok(()),
        }
    }

    /// A checkpoint writes its list of free space last, so the newest one tells what the newest checkpoint reaches.
    fn use_scanned_map(&mut self, work: &mut Work<'_>) -> Result<()> {
        let map = self.scan(work)?.newest_map().copied();
        self.space = map.and_then(|map| inspect::space_map(&self.pager, &map).ok());
        Ok(())
    }

    fn use_log(&mut self, superblock: &Superblock, sequence: u64, work: &mut Work<'_>) -> Result<()> {
        self.changes.sequence = sequence;
        let replayed = log::replay_into(&*self.disk, superblock, &mut self.changes)?;
        work.report.problems.extend(replayed.damage.map(unknown_extent));
        for id in &self.changes.dropped {
            self.tables.remove(id);
        }
        Ok(())
    }

    /// What the leaves of the list of tables say that are in the file, and the newest commit that they know of.
    fn scanned_list(&self, work: &mut Work<'_>) -> Result<(BTreeMap<u64, TableEntry>, u64)> {
        let mut list = BTreeMap::new();
        let mut sequence = 0;
        let segments = self.segments(TABLES_TREE, work)?;
        for segment in &segments {
            let Ok(leaf) = self.pager.read_leaf(&segment.pointer, TABLES_TREE) else { continue };
            sequence = leaf.iter().map(|entry| entry.version).max().unwrap_or(0).max(sequence);
            let is_part = |key: &[u8]| segment.first.as_slice() <= key && key <= segment.last.as_slice();
            for entry in leaf.iter().filter(|entry| is_part(entry.key)) {
                if let Some((id, noted)) = RowId::from_key(entry.key).zip(TableEntry::decode(entry.head)) {
                    list.insert(id.get(), noted);
                }
            }
        }
        Ok((list, sequence))
    }

    /// Adds tables that no list names and of which there are leaves.
    fn add_unlisted(&mut self, work: &mut Work<'_>) -> Result<()> {
        let found = self.scan(work)?.tables(&|extent| self.is_in_use(extent));
        for id in found {
            let is_known = id == TABLES_TREE || self.changes.dropped.contains(&id);
            let is_new = self.changes.tables.get(&id).is_some_and(|changes| changes.is_new);
            if !is_known && !is_new {
                self.tables.entry(id).or_insert(None);
            }
        }
        Ok(())
    }

    fn scan(&self, work: &mut Work<'_>) -> Result<&Scan> {
        if self.scan.get().is_none() {
            let scan = Scan::of(&*self.disk, self.file_len, &mut || work.tick())?;
            let _ = self.scan.set(scan);
        }
        self.scan.get().ok_or(Error::Misuse { what: "a scan was made and is not there" })
    }

    /// What a scan of the file finds of a table.
    pub(super) fn segments(&self, table: u64, work: &mut Work<'_>) -> Result<Vec<Segment>> {
        self.scan(work)?.segments(&self.pager, table, &|extent| self.is_in_use(extent))
    }

    /// Whether a scan tells leaves in use from old ones for sure.
    pub(super) fn knows_free_space(&self) -> bool {
        self.space.is_some()
    }

    fn is_in_use(&self, extent: Extent) -> bool {
        let contains = |run: &Extent| run.offset <= extent.offset && extent.end() <= run.end();
        self.space.as_ref().is_none_or(|space| !space.touches_free(extent))
            || self.changes.attached.iter().any(contains)
    }

    /// Tables to be copied: those of the checkpoint, and those that the log knows.
    pub(super) fn table_numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.tables.keys().chain(self.changes.tables.keys()).copied().collect();
        // The catalogue always exists.
        numbers.push(0);
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// What is noted of a table of the checkpoint; none where only its leaves may be found.
    pub(super) fn entry_of(&self, table: u64) -> Option<TableEntry> {
        match self.tables.get(&table) {
            Some(entry) => entry.clone(),
            // The catalogue always exists, and is listed once it was written.
            None => (table == 0 && self.is_list_whole).then(TableEntry::empty),
        }
    }

    pub(super) fn expected_entries(&self) -> u64 {
        let in_checkpoint = self.tables.values().flatten();
        let attached = self.changes.tables.values().filter_map(|changes| changes.attached.as_ref());
        in_checkpoint.chain(attached).map(|entry| entry.count).sum()
    }
}

/// A problem that hides nobody knows what.
fn unknown_extent(error: Error) -> Problem {
    Problem::new(TABLES_TREE, error, Lost::Range { lower: &[], upper: None, entries: None, level: 0 })
}

struct ListProblems {
    problems: Vec<Problem>,
    is_whole: bool,
}

impl Visit for ListProblems {
    fn block(&mut self, _: Extent) {}

    fn leaf(&mut self, _: u64, _: &Packed) -> Result<()> {
        Ok(())
    }

    fn problem(&mut self, table: u64, error: Error, lost: Lost<'_>) -> Result<()> {
        self.is_whole &= matches!(lost, Lost::Nothing);
        // What the tables lose by it is told with each of them.
        self.problems.push(Problem::new(table, error, Lost::Nothing));
        Ok(())
    }
}
