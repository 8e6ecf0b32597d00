//! Emptying the end of a file that is much larger than what it holds, so that it can be cut off.
//!
//! Before a checkpoint some of what lies in the last part of the file is made new: its nodes are taken into memory as if
//! they had been changed, so that the checkpoint writes them again, lower. Neither versions nor the log know of it.
//! Branches tell where their children are, so a pass over the trees reads branches, and leaves only where records have
//! values out of line. It goes on at the next checkpoint where this one stopped.

use crate::error::Result;
use crate::file_store::FileStore;
use crate::state::State;
use crate::store::Shared;
use crate::tree::{Context, LeafView, Link, Packed, Tree};
use std::sync::Arc;

/// Files below this size are not worth moving anything in.
const MOVE_FROM_BYTES: u64 = 2 << 20;
/// Bytes that are moved at least, if there is something to move.
const MOVE_BYTES: u64 = 256 << 10;
/// Nodes that are looked at before a checkpoint.
const LOOK_AT_NODES: usize = 4096;

/// How far the pass over the trees is.
#[derive(Default)]
pub(super) struct Relocation {
    table: u64,
    key: Vec<u8>,
    /// Bytes that the pass has moved so far.
    moved_bytes: u64,
    /// The file's end after the last whole pass.
    last_end: Option<u64>,
    /// The newest commit when a pass found nothing to move, or did not make the file shorter.
    pub(super) settled_at: Option<u64>,
}

/// A leaf to be made new.
struct Found {
    table: u64,
    key: Vec<u8>,
    has_values: bool,
}

/// One look at the trees.
struct Search<'s> {
    limit: u64,
    budget_bytes: u64,
    looks: usize,
    found: Vec<Found>,
    found_bytes: u64,
    context: Context<'s>,
    /// Where the next search goes on, when this one stopped before the end.
    stopped_at: Option<Vec<u8>>,
}

impl FileStore {
    /// Where the part of the file begins that is to be emptied; `None` while the file is not much larger than what it
    /// holds.
    pub(super) fn loose_from(&self) -> Option<u64> {
        let space = self.space.lock();
        let is_loose = space.end() > MOVE_FROM_BYTES && space.free_bytes() > space.end() * 15 / 100;
        is_loose.then(|| space.used_bytes() + space.used_bytes() / 16)
    }

    /// Takes some of what lies behind `limit` into memory, about as many bytes as a checkpoint writes anyway.
    pub(super) fn relocate(
        &self,
        shared: &Shared,
        pass: &mut Relocation,
        limit: u64,
        written_bytes: u64,
    ) -> Result<()> {
        let state = Arc::clone(&shared.published.read());
        let mut found = Vec::new();
        // Free space as large as the log is promised to what the log holds; what is moved takes some beside it.
        let log_bytes = self.log.writer.lock().log_bytes();
        let spare_bytes = self.space.lock().free_bytes().saturating_sub(log_bytes) / 2;
        let mut budget_bytes = written_bytes.max(MOVE_BYTES).min(spare_bytes);
        let mut looks = LOOK_AT_NODES;
        let mut tables = Vec::new();
        state.tables.for_each(&mut |id, table| {
            if id >= pass.table {
                tables.push((id, table.tree.clone()));
            }
        });
        let mut stopped = None;
        for (id, tree) in tables {
            let from = if id == pass.table { std::mem::take(&mut pass.key) } else { Vec::new() };
            let context = state.context(id);
            let (found_before, stopped_at) = (Vec::new(), None);
            let mut search = Search {
                limit,
                budget_bytes,
                looks,
                found: found_before,
                found_bytes: 0,
                context,
                stopped_at,
            };
            search.tree(&tree, &from)?;
            found.append(&mut search.found);
            pass.moved_bytes += search.found_bytes;
            budget_bytes = budget_bytes.saturating_sub(search.found_bytes);
            looks = search.looks;
            if let Some(key) = search.stopped_at {
                stopped = Some((id, key));
                break;
            }
        }
        match stopped {
            Some((table, key)) => (pass.table, pass.key) = (table, key),
            None => {
                let end = self.space.lock().end();
                let is_settled = pass.moved_bytes == 0 || pass.last_end.is_some_and(|last| end >= last);
                let (last_end, settled_at) = (Some(end), is_settled.then_some(state.sequence));
                *pass = Relocation { last_end, settled_at, ..Relocation::default() };
            }
        }
        drop(state);
        if found.is_empty() { Ok(()) } else { self.make_new(shared, &found, limit) }
    }

    /// Publishes the newest state with these leaves in memory.
    fn make_new(&self, shared: &Shared, found: &[Found], limit: u64) -> Result<()> {
        let _section = shared.section.lock();
        let mut state = State::clone(&shared.published.read());
        let pages = Arc::clone(&state.pages);
        for leaf in found {
            // A table may have been dropped since the search.
            if let Some(table) = state.tables.get_mut(leaf.table) {
                let context = Context { pages: &pages, table: leaf.table };
                let values_from = leaf.has_values.then_some(limit);
                table.tree.renew(&leaf.key, values_from, &context)?;
            }
        }
        let old = std::mem::replace(&mut *shared.published.write(), Arc::new(state));
        drop(_section);
        drop(old);
        Ok(())
    }
}

impl Search<'_> {
    fn tree(&mut self, tree: &Tree, from: &[u8]) -> Result<()> {
        match tree.root() {
            Some(root) => self.below(root, tree.height(), tree.has_values(), &[], from),
            None => Ok(()),
        }
    }

    fn is_behind(&self, link: &Link) -> Option<u64> {
        let pointer = link.pointer()?;
        (pointer.offset >= self.limit).then(|| pointer.extent_bytes())
    }

    /// `key` is the least that may stand below this node; what lies before `from` was looked at already.
    fn below(&mut self, link: &Link, level: u8, has_values: bool, key: &[u8], from: &[u8]) -> Result<()> {
        if self.stopped_at.is_some() {
            return Ok(());
        }
        if self.found_bytes >= self.budget_bytes || self.looks == 0 {
            self.stopped_at = Some(key.to_vec());
            return Ok(());
        }
        let mut behind = self.is_behind(link).unwrap_or(0);
        if level == 0 {
            if has_values {
                self.looks -= 1;
                behind += self.values_behind(&link.leaf(&self.context)?);
            }
            if behind > 0 {
                self.take(key, has_values, behind);
            }
            return Ok(());
        }
        self.looks -= 1;
        let branch = link.branch(&self.context)?;
        let found = self.found.len();
        for (number, child) in branch.children.iter().enumerate() {
            let next = branch.children.get(number + 1);
            if next.is_some_and(|next| next.key.as_slice() <= from) {
                continue;
            }
            let least = if number == 0 { key } else { child.key.as_slice() };
            self.below(&child.link, level - 1, child.has_values, least, from)?;
        }
        // A branch moves with any of its leaves.
        if behind > 0 && self.found.len() == found {
            self.take(key, false, behind);
        }
        Ok(())
    }

    fn values_behind(&self, leaf: &LeafView) -> u64 {
        let in_base = leaf.base.iter().flat_map(|base| Packed::values(base));
        let pointers = in_base.filter_map(|value| value.pointer());
        pointers.filter(|pointer| pointer.offset >= self.limit).map(|pointer| pointer.extent_bytes()).sum()
    }

    fn take(&mut self, key: &[u8], has_values: bool, bytes: u64) {
        self.found_bytes += bytes;
        self.found.push(Found { table: self.context.table, key: key.to_vec(), has_values });
    }
}
