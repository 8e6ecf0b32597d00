//! A persistent B+tree: keys in byte order, each with a record.
//!
//! Nodes are immutable once two trees share them: a change copies the path from the root and shares the rest, so a
//! snapshot is a clone of the root. Every child carries the number of entries below it, so that counting a range
//! reads two paths. Nodes that the last checkpoint wrote know their place in the file; a copy forgets it, which is
//! how a checkpoint finds what it has to write.

mod cursor;
mod insert;
mod node;
mod remove;

pub(crate) use cursor::Cursor;
pub(crate) use node::{Body, Branch, Child, Item, Leaf, Node};

use crate::range::KeyRange;
use node::key_prefix;
use std::ops::Bound;
use std::sync::Arc;

/// A tree at one moment. Cloning it is cheap and gives a snapshot.
#[derive(Clone)]
pub(crate) struct Tree {
    root: Arc<Node>,
    count: u64,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree { root: Arc::new(Node::empty_leaf()), count: 0 }
    }

    /// The tree over a root that was read from the file.
    pub(crate) fn from_root(root: Arc<Node>) -> Tree {
        let count = root.count();
        Tree { root, count }
    }

    pub(crate) fn root(&self) -> &Arc<Node> {
        &self.root
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Item> {
        let prefix = key_prefix(key);
        let mut node = &self.root;
        loop {
            match &node.body {
                Body::Branch(branch) => node = &branch.children.get(branch.child_for(prefix, key))?.node,
                Body::Leaf(leaf) => return leaf.items.get(leaf.find(prefix, key).ok()?),
            }
        }
    }

    /// How many keys lie before `bound`, taken as the lower end of a range.
    fn count_before(&self, bound: Bound<&[u8]>) -> u64 {
        let (Bound::Included(key) | Bound::Excluded(key)) = bound else { return 0 };
        let prefix = key_prefix(key);
        let mut before = 0;
        let mut node = &self.root;
        loop {
            match &node.body {
                Body::Branch(branch) => {
                    let at = branch.child_for(prefix, key);
                    before += branch.children.iter().take(at).map(|child| child.count).sum::<u64>();
                    match branch.children.get(at) {
                        Some(child) => node = &child.node,
                        None => return before,
                    }
                }
                Body::Leaf(leaf) => {
                    let at = match (leaf.find(prefix, key), bound) {
                        (Ok(at), Bound::Excluded(_)) => at + 1,
                        (Ok(at) | Err(at), _) => at,
                    };
                    return before + at as u64;
                }
            }
        }
    }

    pub(crate) fn count_range(&self, range: &KeyRange) -> u64 {
        let upper = match &range.upper {
            Bound::Unbounded => self.count,
            // What lies before the end is what lies before a range that would begin just there.
            Bound::Included(key) => self.count_before(Bound::Excluded(key)),
            Bound::Excluded(key) => self.count_before(Bound::Included(key)),
        };
        upper.saturating_sub(self.count_before(range.lower.as_ref().map(Vec::as_slice)))
    }

    /// Adds or replaces an entry; returns what stood there.
    pub(crate) fn insert(&mut self, item: Item) -> Option<Item> {
        let replaced = insert::insert(&mut self.root, item);
        self.count += u64::from(replaced.is_none());
        replaced
    }

    /// Removes an entry; returns it.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Item> {
        // Looking first keeps a miss from copying the path.
        self.get(key)?;
        let removed = remove::remove(&mut self.root, key);
        self.count -= u64::from(removed.is_some());
        removed
    }
}

#[cfg(test)]
mod tests;
