//! Walking a tree in order, in both directions, without allocating per entry.
//!
//! The cursor owns the root and the path to its leaf. On entering a leaf it cuts the windows of base entries and of
//! changes that lie in the range, once, so that giving an entry is an index step, or a comparison where there are changes.

use super::leaf::{Change, Found};
use super::node::{Branch, Context, LeafView, Link};
use super::packed::{EntryRef, Packed};
use super::{Tree, key_prefix};
use crate::error::Result;
use crate::pages::Pages;
use crate::range::{Direction, KeyRange};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// A position from `low` up to, and without, `high`.
#[derive(Clone, Copy, Default)]
struct Window {
    low: usize,
    high: usize,
}

impl Window {
    fn is_empty(self) -> bool {
        self.low >= self.high
    }

    /// The end from which it is read.
    fn front(self, direction: Direction) -> usize {
        match direction {
            Direction::Forward => self.low,
            Direction::Backward => self.high.saturating_sub(1),
        }
    }

    fn take(&mut self, direction: Direction) {
        match direction {
            Direction::Forward => self.low += 1,
            Direction::Backward => self.high = self.high.saturating_sub(1),
        }
    }
}

pub(crate) struct Cursor {
    pages: Arc<Pages>,
    table: u64,
    root: Option<Link>,
    height: u8,
    range: KeyRange,
    direction: Direction,
    /// Branches from the root down, each with the child that was taken.
    path: Vec<(Arc<Branch>, usize)>,
    leaf: Option<LeafView>,
    /// What is still to come of the leaf's base and of its changes.
    base: Window,
    delta: Window,
    current: Option<Side>,
}

/// An entry, borrowed from the cursor.
#[derive(Clone, Copy)]
pub(crate) enum FoundRef<'c> {
    Packed(&'c Arc<Packed>, usize),
    Changed(&'c Change),
}

impl<'c> FoundRef<'c> {
    pub(crate) fn entry(self) -> EntryRef<'c> {
        match self {
            FoundRef::Packed(leaf, at) => {
                leaf.get(at).unwrap_or(EntryRef { key: &[], head: &[], version: 0, values: &[] })
            }
            FoundRef::Changed(change) => change.entry(),
        }
    }

    pub(crate) fn to_found(self) -> Found {
        match self {
            FoundRef::Packed(leaf, at) => Found::Packed(Arc::clone(leaf), at),
            FoundRef::Changed(change) => Found::Changed(change.clone()),
        }
    }
}

/// Which of the two sides gives the next entry.
#[derive(Clone, Copy)]
enum Side {
    Base(usize),
    Delta(usize),
}

impl Cursor {
    /// A cursor before the first entry of the range. Reads nothing yet.
    pub(crate) fn new(
        tree: &Tree,
        range: KeyRange,
        direction: Direction,
        context: &Context<'_>,
    ) -> Result<Cursor> {
        let mut cursor = Cursor {
            pages: Arc::clone(context.pages),
            table: context.table,
            root: tree.root().cloned(),
            height: tree.height(),
            range,
            direction,
            path: Vec::new(),
            leaf: None,
            base: Window::default(),
            delta: Window::default(),
            current: None,
        };
        cursor.start(None)?;
        Ok(cursor)
    }

    pub(crate) fn pages(&self) -> &Arc<Pages> {
        &self.pages
    }

    pub(crate) fn table(&self) -> u64 {
        self.table
    }

    /// Goes on at the first entry from `key` on in the cursor's direction, which stays in its range.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.start(Some(key))
    }

    /// Moves on to the next entry; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.current = loop {
            match self.step() {
                Some(side) => break Some(side),
                None if self.enter_next_leaf(&mut 0)? => {}
                None => break None,
            }
        };
        Ok(self.current.is_some())
    }

    /// The entry to which [`advance`](Cursor::advance) moved.
    pub(crate) fn current(&self) -> Option<FoundRef<'_>> {
        let leaf = self.leaf.as_ref()?;
        match self.current? {
            Side::Base(at) => leaf.base.as_ref().map(|base| FoundRef::Packed(base, at)),
            Side::Delta(at) => leaf.delta().get(at).map(FoundRef::Changed),
        }
    }

    /// The next entry.
    pub(crate) fn next(&mut self) -> Result<Option<FoundRef<'_>>> {
        self.advance()?;
        Ok(self.current())
    }

    /// Passes over `n` entries; whole subtrees are counted, not read.
    pub(crate) fn skip(&mut self, mut n: u64) -> Result<()> {
        loop {
            let left = self.left_in_leaf();
            if n < left {
                (0..n).for_each(|_| {
                    self.step();
                });
                return Ok(());
            }
            n -= left;
            (self.base, self.delta) = (Window::default(), Window::default());
            if !self.enter_next_leaf(&mut n)? {
                return Ok(());
            }
        }
    }

    /// Takes the next entry of the leaf.
    fn step(&mut self) -> Option<Side> {
        loop {
            if self.delta.is_empty() {
                if self.base.is_empty() {
                    return None;
                }
                let at = self.base.front(self.direction);
                self.base.take(self.direction);
                return Some(Side::Base(at));
            }
            let leaf = self.leaf.as_ref()?;
            let at = self.delta.front(self.direction);
            let change = leaf.delta().get(at)?;
            let base_at = self.base.front(self.direction);
            let order = match &leaf.base {
                Some(base) if !self.base.is_empty() => match self.direction {
                    Direction::Forward => base.key(base_at).cmp(change.key()),
                    Direction::Backward => change.key().cmp(base.key(base_at)),
                },
                _ => Ordering::Greater,
            };
            let is_put = change.is_put();
            if order == Ordering::Less {
                self.base.take(self.direction);
                return Some(Side::Base(base_at));
            }
            if order == Ordering::Equal {
                self.base.take(self.direction);
            }
            self.delta.take(self.direction);
            if is_put {
                return Some(Side::Delta(at));
            }
        }
    }

    fn left_in_leaf(&self) -> u64 {
        let base = self.base.high.saturating_sub(self.base.low) as i64;
        let delta = self.leaf.as_ref().map_or(&[][..], |leaf| leaf.delta());
        let changes = delta.get(self.delta.low..self.delta.high.max(self.delta.low)).unwrap_or_default();
        (base + changes.iter().map(Change::adds).sum::<i64>()).max(0) as u64
    }

    fn start(&mut self, from: Option<&[u8]>) -> Result<()> {
        let range_start = match self.direction {
            Direction::Forward => self.range.lower.as_ref().map(Vec::as_slice),
            Direction::Backward => self.range.upper.as_ref().map(Vec::as_slice),
        };
        let beyond_start = |key: &[u8]| match (range_start, self.direction) {
            (Bound::Unbounded, _) => true,
            (Bound::Included(start) | Bound::Excluded(start), Direction::Forward) => key > start,
            (Bound::Included(start) | Bound::Excluded(start), Direction::Backward) => key < start,
        };
        let start = match from {
            Some(key) if beyond_start(key) => Bound::Included(key),
            _ => range_start,
        };
        self.path.clear();
        self.leaf = None;
        self.current = None;
        (self.base, self.delta) = (Window::default(), Window::default());
        let Some(mut link) = self.root.clone() else { return Ok(()) };
        let context = Context { pages: &self.pages, table: self.table };
        for _ in 0..self.height {
            let branch = link.branch(&context)?;
            let at = match (start, self.direction) {
                (Bound::Included(key) | Bound::Excluded(key), _) => branch.child_for(key_prefix(key), key),
                (Bound::Unbounded, Direction::Forward) => 0,
                (Bound::Unbounded, Direction::Backward) => branch.children.len().saturating_sub(1),
            };
            let Some(child) = branch.children.get(at) else { return Ok(()) };
            link = child.link.clone();
            self.path.push((branch, at));
        }
        let leaf = link.leaf(&context)?;
        (self.base, self.delta) = windows(&leaf, &self.range);
        let (base, delta) = match self.direction {
            Direction::Forward => positions(&leaf, start, true),
            Direction::Backward => positions(&leaf, start, false),
        };
        match self.direction {
            Direction::Forward => {
                self.base.low = self.base.low.max(base);
                self.delta.low = self.delta.low.max(delta);
            }
            Direction::Backward => {
                self.base.high = self.base.high.min(base);
                self.delta.high = self.delta.high.min(delta);
            }
        }
        self.leaf = Some(leaf);
        Ok(())
    }

    /// Moves on to the next leaf and its windows, over as many subtrees as `skip` entries cover; false at the end of
    /// the range.
    fn enter_next_leaf(&mut self, skip: &mut u64) -> Result<bool> {
        let Some(leaf) = &self.leaf else { return Ok(false) };
        // A window that ends inside its leaf ends the range.
        if edge_keys(leaf, self.direction).into_iter().flatten().any(|key| self.is_past_end(key)) {
            self.leaf = None;
            return Ok(false);
        }
        let context = Context { pages: &self.pages, table: self.table };
        let mut link = None;
        'up: while let Some((branch, at)) = self.path.last_mut() {
            loop {
                let moved = match self.direction {
                    Direction::Forward => at.checked_add(1),
                    Direction::Backward => at.checked_sub(1),
                };
                match moved.and_then(|to| branch.children.get(to).map(|child| (to, child))) {
                    Some((to, child)) => {
                        *at = to;
                        if child.count > *skip {
                            link = Some(child.link.clone());
                            break 'up;
                        }
                        *skip -= child.count;
                    }
                    None => {
                        self.path.pop();
                        break;
                    }
                }
            }
        }
        let Some(mut link) = link else {
            self.leaf = None;
            return Ok(false);
        };
        while self.path.len() < usize::from(self.height) {
            let branch = link.branch(&context)?;
            let last = branch.children.len().saturating_sub(1);
            let mut at = if self.direction == Direction::Forward { 0 } else { last };
            while let Some(child) = branch.children.get(at)
                && child.count <= *skip
            {
                *skip -= child.count;
                let to = if self.direction == Direction::Forward { Some(at + 1) } else { at.checked_sub(1) };
                match to.filter(|to| *to <= last) {
                    Some(to) => at = to,
                    None => break,
                }
            }
            let Some(child) = branch.children.get(at) else { return Ok(false) };
            link = child.link.clone();
            self.path.push((branch, at));
        }
        let leaf = link.leaf(&context)?;
        (self.base, self.delta) = windows(&leaf, &self.range);
        self.leaf = Some(leaf);
        Ok(true)
    }

    fn is_past_end(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => match &self.range.upper {
                Bound::Unbounded => false,
                Bound::Included(upper) | Bound::Excluded(upper) => key >= upper.as_slice(),
            },
            Direction::Backward => match &self.range.lower {
                Bound::Unbounded => false,
                Bound::Included(lower) | Bound::Excluded(lower) => key <= lower.as_slice(),
            },
        }
    }
}

/// The last keys of a leaf in a direction: of its base and of its changes.
fn edge_keys(leaf: &LeafView, direction: Direction) -> [Option<&[u8]>; 2] {
    let base = leaf.base.as_ref().filter(|base| base.len() > 0);
    match direction {
        Direction::Forward => {
            [base.map(|base| base.key(base.len() - 1)), leaf.delta().last().map(|change| change.key())]
        }
        Direction::Backward => {
            [base.map(|base| base.key(0)), leaf.delta().first().map(|change| change.key())]
        }
    }
}

/// The entries of a leaf that lie in the range.
fn windows(leaf: &LeafView, range: &KeyRange) -> (Window, Window) {
    let low = positions(leaf, range.lower.as_ref().map(Vec::as_slice), true);
    let high = positions(leaf, range.upper.as_ref().map(Vec::as_slice), false);
    (Window { low: low.0, high: high.0 }, Window { low: low.1, high: high.1 })
}

/// How many base entries and how many changes lie before the bound, as the lower or as the upper end of a range.
fn positions(leaf: &LeafView, bound: Bound<&[u8]>, is_lower: bool) -> (usize, usize) {
    let base_len = leaf.base.as_ref().map_or(0, |base| base.len());
    let (key, counts_itself) = match bound {
        Bound::Unbounded if is_lower => return (0, 0),
        Bound::Unbounded => return (base_len, leaf.delta().len()),
        Bound::Included(key) => (key, !is_lower),
        Bound::Excluded(key) => (key, is_lower),
    };
    let place = |found: std::result::Result<usize, usize>| match found {
        Ok(at) => at + usize::from(counts_itself),
        Err(at) => at,
    };
    let base = leaf.base.as_ref().map_or(0, |base| place(base.find(key)));
    (base, place(super::leaf::find_change(leaf.delta(), key_prefix(key), key)))
}

/// How many entries of a leaf lie before `key`, or up to it when it counts itself.
pub(super) fn count_in_leaf(leaf: &LeafView, key: &[u8], counts_itself: bool) -> u64 {
    let bound = if counts_itself { Bound::Excluded(key) } else { Bound::Included(key) };
    let (base, delta) = positions(leaf, bound, true);
    let changes = leaf.delta().get(..delta).unwrap_or_default();
    (base as i64 + changes.iter().map(Change::adds).sum::<i64>()).max(0) as u64
}
