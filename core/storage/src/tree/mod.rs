//! A persistent B+tree: keys in byte order, each with a record.
//!
//! A change copies the path from the root and shares the rest, so a snapshot is a clone of the root. What the last
//! checkpoint wrote is read from the file when it is needed; what was made since hangs in memory. Every child carries
//! the number of entries below it, so that counting a range reads two paths.

mod change;
mod cursor;
mod leaf;
mod node;
mod packed;

pub(crate) use change::shortest_separator;
pub(crate) use cursor::{Cursor, FoundRef};
pub(crate) use leaf::{Change, Found, LEAF_TARGET_BYTES, stored_values};
pub(crate) use node::{BRANCH_MAX_CHILDREN, BlockRole, Body, Branch, Child, Context, LeafView, Link, Node};
pub(crate) use packed::{EntryRef, Packed, PackedBuilder};

use crate::block::BlockPointer;
use crate::error::Result;
use crate::range::KeyRange;
use std::ops::Bound;

/// The first eight bytes of a key as a number that orders as they do. Where two differ, they order the keys.
pub(crate) fn key_prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut padded = [0; 8];
            padded.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(padded)
        }
    }
}

/// A tree at one moment. Cloning it is cheap and gives a snapshot.
#[derive(Clone, Default)]
pub(crate) struct Tree {
    /// None while there are no entries.
    root: Option<Link>,
    /// Levels of branches above the leaves.
    height: u8,
    count: u64,
    has_values: bool,
}

impl Tree {
    /// The tree over a root in the file.
    pub(crate) fn from_root(root: BlockPointer, height: u8, count: u64, has_values: bool) -> Tree {
        Tree { root: Some(Link::Stored(root)), height, count, has_values }
    }

    pub(crate) fn root(&self) -> Option<&Link> {
        self.root.as_ref()
    }

    pub(crate) fn height(&self) -> u8 {
        self.height
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether any record may have values out of line.
    pub(crate) fn has_values(&self) -> bool {
        self.has_values
    }

    pub(crate) fn get(&self, key: &[u8], context: &Context<'_>) -> Result<Option<Found>> {
        let Some(root) = &self.root else { return Ok(None) };
        let prefix = key_prefix(key);
        let mut link = root.clone();
        for _ in 0..self.height {
            let branch = link.branch(context)?;
            let Some(child) = branch.children.get(branch.child_for(prefix, key)) else { return Ok(None) };
            link = child.link.clone();
        }
        let leaf = link.leaf(context)?;
        if let Some(changed) = &leaf.changed
            && let Ok(at) = changed.find_change(prefix, key)
        {
            let change = changed.delta.get(at).filter(|change| change.is_put());
            return Ok(change.cloned().map(Found::Changed));
        }
        Ok(leaf.base.and_then(|base| base.find(key).ok().map(|at| Found::Packed(base, at))))
    }

    /// The version of the record under `key`, 0 when there is none.
    pub(crate) fn version(&self, key: &[u8], context: &Context<'_>) -> Result<u64> {
        Ok(self.get(key, context)?.map_or(0, |found| found.version()))
    }

    /// How many keys lie before `bound`, taken as the lower end of a range.
    fn count_before(&self, bound: Bound<&[u8]>, context: &Context<'_>) -> Result<u64> {
        let (Bound::Included(key) | Bound::Excluded(key)) = bound else { return Ok(0) };
        let Some(root) = &self.root else { return Ok(0) };
        let prefix = key_prefix(key);
        let mut before = 0;
        let mut link = root.clone();
        for _ in 0..self.height {
            let branch = link.branch(context)?;
            let at = branch.child_for(prefix, key);
            before += branch.children.iter().take(at).map(|child| child.count).sum::<u64>();
            let Some(child) = branch.children.get(at) else { return Ok(before) };
            link = child.link.clone();
        }
        Ok(before + cursor::count_in_leaf(&link.leaf(context)?, key, matches!(bound, Bound::Excluded(_))))
    }

    pub(crate) fn count_range(&self, range: &KeyRange, context: &Context<'_>) -> Result<u64> {
        let upper = match &range.upper {
            Bound::Unbounded => self.count,
            // What lies before the end is what lies before a range that would begin just there.
            Bound::Included(key) => self.count_before(Bound::Excluded(key), context)?,
            Bound::Excluded(key) => self.count_before(Bound::Included(key), context)?,
        };
        let lower = self.count_before(range.lower.as_ref().map(Vec::as_slice), context)?;
        Ok(upper.saturating_sub(lower))
    }
}

#[cfg(test)]
mod tests;
