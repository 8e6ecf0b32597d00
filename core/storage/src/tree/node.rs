//! Nodes: leaves of entries, branches of children, and finding one's way in them.

use crate::block::Place;
use crate::record::{Cell, Record, Values};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;

/// Most entries of a leaf. Copying a leaf touches each, so it is the price of a commit in one key.
pub(super) const LEAF_MAX_ITEMS: usize = 128;
/// Bytes from which a leaf of several entries is divided: a block's raw size.
pub(super) const LEAF_TARGET_BYTES: usize = 128 << 10;
/// Most children of a branch.
pub(super) const BRANCH_MAX_CHILDREN: usize = 48;

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

fn compare(prefix_a: u64, a: impl FnOnce() -> Ordering, prefix_b: u64) -> Ordering {
    prefix_a.cmp(&prefix_b).then_with(a)
}

/// One entry of a leaf.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    prefix: u64,
    pub(crate) version: u64,
    pub(crate) cell: Cell,
    pub(crate) values: Values,
}

impl Item {
    pub(crate) fn new(cell: Cell, values: Values, version: u64) -> Item {
        Item { prefix: key_prefix(cell.key()), version, cell, values }
    }

    pub(crate) fn record(&self) -> Record {
        Record { cell: self.cell.clone(), values: self.values.clone(), version: self.version }
    }

    /// What it adds to its leaf's block, roughly.
    pub(super) fn weight(&self) -> usize {
        self.cell.len_bytes() + 16
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Leaf {
    pub(crate) items: Vec<Item>,
    /// Sum of the items' weights.
    pub(super) bytes: usize,
}

impl Leaf {
    pub(crate) fn new(items: Vec<Item>) -> Leaf {
        let bytes = items.iter().map(Item::weight).sum();
        Leaf { items, bytes }
    }

    /// Where the key is, or where it belongs.
    pub(super) fn find(&self, prefix: u64, key: &[u8]) -> Result<usize, usize> {
        self.items.binary_search_by(|item| compare(item.prefix, || item.cell.key().cmp(key), prefix))
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.items.len() > LEAF_MAX_ITEMS || (self.bytes > LEAF_TARGET_BYTES && self.items.len() > 1)
    }
}

/// A subtree: every key below is at least `key`, except in the leftmost child, whose `key` is not looked at.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(super) prefix: u64,
    /// Mostly short, and inline then: copying a branch touches nothing else.
    pub(crate) key: SmallVec<[u8; 24]>,
    pub(crate) count: u64,
    pub(crate) node: Arc<Node>,
}

impl Child {
    pub(crate) fn new(key: &[u8], node: Arc<Node>) -> Child {
        Child { prefix: key_prefix(key), key: SmallVec::from_slice(key), count: node.count(), node }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) children: Vec<Child>,
}

impl Branch {
    /// The child that holds `key` if the tree does.
    pub(super) fn child_for(&self, prefix: u64, key: &[u8]) -> usize {
        let later = self.children.get(1..).unwrap_or_default();
        later.partition_point(|child| compare(child.prefix, || child.key.as_slice().cmp(key), prefix).is_le())
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Leaf(Leaf),
    Branch(Branch),
}

/// A node and its place in the file, which a copy does not inherit.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) body: Body,
}

impl Clone for Node {
    fn clone(&self) -> Node {
        Node { place: Place::default(), body: self.body.clone() }
    }
}

impl Node {
    pub(crate) fn new(body: Body) -> Node {
        Node { place: Place::default(), body }
    }

    pub(super) fn empty_leaf() -> Node {
        Node::new(Body::Leaf(Leaf::default()))
    }

    pub(crate) fn count(&self) -> u64 {
        match &self.body {
            Body::Leaf(leaf) => leaf.items.len() as u64,
            Body::Branch(branch) => branch.children.iter().map(|child| child.count).sum(),
        }
    }

    /// The node to change: a copy when anybody else holds it. Either way it has no place in the file any more.
    pub(super) fn to_change(node: &mut Arc<Node>) -> &mut Body {
        let node = Arc::make_mut(node);
        node.place = Place::default();
        &mut node.body
    }
}
