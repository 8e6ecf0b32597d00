//! Walking a tree in order, in both directions, without allocating per entry.
//!
//! The cursor owns the root and the path to its leaf. On entering a leaf it cuts the window of entries that lie in
//! the range, once, so that giving an entry is an index step.

use super::node::{Body, Item, Leaf, Node, key_prefix};
use crate::range::{Direction, KeyRange};
use std::ops::Bound;
use std::sync::Arc;

pub(crate) struct Cursor {
    root: Arc<Node>,
    range: KeyRange,
    direction: Direction,
    /// Branches from the root down, each with the child that was taken.
    path: Vec<(Arc<Node>, usize)>,
    leaf: Option<Arc<Node>>,
    /// Entries of the leaf that are still to come: forward from `low`, backward from `high`.
    low: usize,
    high: usize,
}

impl Cursor {
    pub(crate) fn new(root: Arc<Node>, range: KeyRange, direction: Direction) -> Cursor {
        let mut cursor = Cursor { root, range, direction, path: Vec::new(), leaf: None, low: 0, high: 0 };
        cursor.start(None);
        cursor
    }

    /// Goes on at the first entry from `key` on in the cursor's direction, which stays in its range.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        self.start(Some(key));
    }

    /// The next entry.
    pub(crate) fn next(&mut self) -> Option<&Item> {
        while self.low >= self.high {
            self.enter_next_leaf()?;
        }
        let at = match self.direction {
            Direction::Forward => {
                self.low += 1;
                self.low - 1
            }
            Direction::Backward => {
                self.high -= 1;
                self.high
            }
        };
        items(self.leaf.as_ref()?).get(at)
    }

    fn start(&mut self, from: Option<&[u8]>) {
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
        let mut node = Arc::clone(&self.root);
        loop {
            let next = match &node.body {
                Body::Leaf(leaf) => {
                    let (low, high) = window(leaf, &self.range);
                    (self.low, self.high) = match self.direction {
                        Direction::Forward => (low.max(position(leaf, start, true)), high),
                        Direction::Backward => (low, high.min(position(leaf, start, false))),
                    };
                    break;
                }
                Body::Branch(branch) => {
                    let at = match (start, self.direction) {
                        (Bound::Included(key) | Bound::Excluded(key), _) => {
                            branch.child_for(key_prefix(key), key)
                        }
                        (Bound::Unbounded, Direction::Forward) => 0,
                        (Bound::Unbounded, Direction::Backward) => branch.children.len().saturating_sub(1),
                    };
                    branch.children.get(at).map(|child| (Arc::clone(&child.node), at))
                }
            };
            let Some((next, at)) = next else { break };
            self.path.push((std::mem::replace(&mut node, next), at));
        }
        self.leaf = Some(node);
    }

    /// Moves on to the next leaf and its window; `None` at the end of the range.
    fn enter_next_leaf(&mut self) -> Option<()> {
        let leaf_items = items(self.leaf.as_ref()?);
        // A window that ends inside its leaf ends the range.
        let edge = match self.direction {
            Direction::Forward => leaf_items.last(),
            Direction::Backward => leaf_items.first(),
        };
        if edge.is_some_and(|item| self.is_past_end(item.cell.key())) {
            self.leaf = None;
            return None;
        }
        let mut node = loop {
            let Some((branch_node, at)) = self.path.last_mut() else {
                self.leaf = None;
                return None;
            };
            let moved = match self.direction {
                Direction::Forward => at.checked_add(1),
                Direction::Backward => at.checked_sub(1),
            };
            let child = moved.and_then(|to| child_at(branch_node, to).map(|child| (child, to)));
            match child {
                Some((child, to)) => {
                    *at = to;
                    break child;
                }
                None => {
                    self.path.pop();
                }
            }
        };
        loop {
            let next = match &node.body {
                Body::Leaf(leaf) => {
                    (self.low, self.high) = window(leaf, &self.range);
                    break;
                }
                Body::Branch(branch) => {
                    let at = if self.direction == Direction::Forward {
                        0
                    } else {
                        branch.children.len().saturating_sub(1)
                    };
                    branch.children.get(at).map(|child| (Arc::clone(&child.node), at))
                }
            };
            let (next, at) = next?;
            self.path.push((std::mem::replace(&mut node, next), at));
        }
        self.leaf = Some(node);
        Some(())
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

fn child_at(node: &Node, at: usize) -> Option<Arc<Node>> {
    match &node.body {
        Body::Branch(branch) => branch.children.get(at).map(|child| Arc::clone(&child.node)),
        Body::Leaf(_) => None,
    }
}

fn items(node: &Node) -> &[Item] {
    match &node.body {
        Body::Leaf(leaf) => &leaf.items,
        Body::Branch(_) => &[],
    }
}

/// The entries of a leaf that lie in the range, as positions.
fn window(leaf: &Leaf, range: &KeyRange) -> (usize, usize) {
    let low = position(leaf, range.lower.as_ref().map(Vec::as_slice), true);
    let high = position(leaf, range.upper.as_ref().map(Vec::as_slice), false);
    (low, high)
}

/// How many entries lie before the bound, as the lower or as the upper end of a range.
fn position(leaf: &Leaf, bound: Bound<&[u8]>, is_lower: bool) -> usize {
    let (key, counts_itself) = match bound {
        Bound::Unbounded => return if is_lower { 0 } else { leaf.items.len() },
        Bound::Included(key) => (key, !is_lower),
        Bound::Excluded(key) => (key, is_lower),
    };
    match leaf.find(key_prefix(key), key) {
        Ok(at) => at + usize::from(counts_itself),
        Err(at) => at,
    }
}
