//! Nodes, and the links between them.
//!
//! A link leads to a block in the file or to a node that is still in memory only. Nodes are immutable once two trees
//! share them. A node remembers what it replaces in the file (its *origins*), so that a checkpoint that writes it knows
//! what nobody reaches any more, without looking at anything that did not change.

use super::key_prefix;
use super::leaf::Leaf;
use super::packed::{Packed, compare_keys};
use crate::block::BlockPointer;
use crate::error::{Error, Result};
use crate::pages::Pages;
use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// Most children of a branch. Copying a branch touches each.
pub(crate) const BRANCH_MAX_CHILDREN: usize = 96;
/// How full two neighbours may be together to be joined.
pub(super) const BRANCH_FILL: (usize, usize) = (3, 4);

/// What one has to know to follow links of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub(crate) pages: &'c Arc<Pages>,
    pub(crate) table: u64,
}

/// Leads to a node.
#[derive(Clone)]
pub(crate) enum Link {
    /// A block in the file.
    Stored(BlockPointer),
    /// A node that was made in memory, and may have been written since.
    Fresh(Arc<Node>),
}

/// What a node replaces in the file.
#[derive(Clone)]
pub(crate) enum Origin {
    /// A block of the last checkpoint; of a leaf its values are looked at, too.
    Block(BlockPointer, BlockRole),
    /// Another node that was in memory then: its block, once it has one, else its own origins.
    Node(Arc<Home>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRole {
    Leaf,
    LeafWithValues,
    Branch,
}

impl BlockRole {
    pub(crate) fn of(level: u8, has_values: bool) -> BlockRole {
        match (level, has_values) {
            (0, true) => BlockRole::LeafWithValues,
            (0, false) => BlockRole::Leaf,
            _ => BlockRole::Branch,
        }
    }
}

/// Where a node stands between the file and memory.
pub(crate) struct Home {
    epoch: u64,
    role: OnceLock<BlockRole>,
    stored: OnceLock<BlockPointer>,
    origins: Mutex<Vec<Origin>>,
}

impl Home {
    fn new(epoch: u64, origins: Vec<Origin>) -> Arc<Home> {
        Arc::new(Home { epoch, role: OnceLock::new(), stored: OnceLock::new(), origins: Mutex::new(origins) })
    }

    /// The blocks that it replaces.
    pub(crate) fn for_each_origin(&self, visit: &mut dyn FnMut(BlockPointer, BlockRole)) {
        for origin in self.origins.lock().iter() {
            match origin {
                Origin::Block(pointer, role) => visit(*pointer, *role),
                Origin::Node(home) => match (home.stored.get(), home.role.get()) {
                    (Some(pointer), Some(role)) => visit(*pointer, *role),
                    _ => home.for_each_origin(visit),
                },
            }
        }
    }
}

/// A node in memory.
pub(crate) struct Node {
    home: Arc<Home>,
    /// None once it was written: then it is read through the cache.
    body: RwLock<Option<Body>>,
}

#[derive(Clone)]
pub(crate) enum Body {
    Leaf(Arc<Leaf>),
    Branch(Arc<Branch>),
}

impl Node {
    fn with(home: Arc<Home>, body: Body) -> Arc<Node> {
        Arc::new(Node { home, body: RwLock::new(Some(body)) })
    }

    /// A node that replaces nothing.
    pub(super) fn new(body: Body, epoch: u64) -> Arc<Node> {
        Node::with(Home::new(epoch, Vec::new()), body)
    }

    pub(crate) fn stored(&self) -> Option<BlockPointer> {
        self.home.stored.get().copied()
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// What it holds, as long as it is in memory.
    pub(crate) fn body(&self) -> Option<Body> {
        self.body.read().clone()
    }

    /// Notes that the checkpoint that wrote it is the newest. Its content goes.
    pub(crate) fn set_stored(&self, pointer: BlockPointer, role: BlockRole) {
        // The place first: whoever finds no content finds it.
        let _ = self.home.role.set(role);
        let _ = self.home.stored.set(pointer);
        self.home.origins.lock().clear();
        *self.body.write() = None;
    }

    /// What a copy of it replaces and holds; no content when it is in the file by now.
    fn copy(&self, role: BlockRole, context: &Context<'_>) -> Result<(Vec<Origin>, Option<Body>)> {
        let body = match self.stored() {
            Some(_) => None,
            None => self.body(),
        };
        let Some(mut body) = body else {
            let pointer = self.stored().unwrap_or(BlockPointer::NOWHERE);
            return Ok((vec![Origin::Block(pointer, role)], None));
        };
        if self.home.epoch == context.pages.epoch {
            return Ok((self.home.origins.lock().clone(), Some(body)));
        }
        // A checkpoint may be writing it at this moment. Then what lies under the leaf's changes is going to be free
        // long before the copy is written.
        if let (Body::Leaf(leaf), true) = (&mut body, self.home.epoch <= context.pages.cut_epoch) {
            Arc::make_mut(leaf).hold(context)?;
        }
        Ok((vec![Origin::Node(Arc::clone(&self.home))], Some(body)))
    }

    /// Takes over what another node replaces, which goes without being written.
    pub(super) fn inherit(&self, gone: &Link, role: BlockRole) {
        let mut origins = self.home.origins.lock();
        match gone {
            Link::Stored(pointer) => origins.push(Origin::Block(*pointer, role)),
            Link::Fresh(node) => match node.stored() {
                Some(pointer) => origins.push(Origin::Block(pointer, role)),
                None => origins.push(Origin::Node(Arc::clone(&node.home))),
            },
        }
    }

    pub(super) fn leaf_mut(&mut self) -> Option<&mut Leaf> {
        match self.body.get_mut() {
            Some(Body::Leaf(leaf)) => Some(Arc::make_mut(leaf)),
            _ => None,
        }
    }

    pub(super) fn branch_mut(&mut self) -> Option<&mut Branch> {
        match self.body.get_mut() {
            Some(Body::Branch(branch)) => Some(Arc::make_mut(branch)),
            _ => None,
        }
    }
}

/// A leaf as a reader sees it.
#[derive(Clone)]
pub(crate) struct LeafView {
    pub(crate) base: Option<Arc<Packed>>,
    /// The leaf with its changes; none when the base is all.
    pub(crate) changed: Option<Arc<Leaf>>,
}

impl LeafView {
    pub(crate) fn delta(&self) -> &[super::leaf::Change] {
        self.changed.as_ref().map_or(&[], |leaf| &leaf.delta)
    }
}

pub(super) fn misplaced() -> Error {
    Error::Misuse { what: "a node of another height stands in a tree" }
}

impl Link {
    /// Where it leads, as far as the file has it.
    pub(crate) fn pointer(&self) -> Option<BlockPointer> {
        match self {
            Link::Stored(pointer) => Some(*pointer),
            Link::Fresh(node) => node.stored(),
        }
    }

    fn body(&self) -> std::result::Result<Body, BlockPointer> {
        match self {
            Link::Stored(pointer) => Err(*pointer),
            Link::Fresh(node) => match node.body() {
                Some(body) => Ok(body),
                None => node.stored().map_or(Err(BlockPointer::NOWHERE), Err),
            },
        }
    }

    pub(crate) fn branch(&self, context: &Context<'_>) -> Result<Arc<Branch>> {
        match self.body() {
            Ok(Body::Branch(branch)) => Ok(branch),
            Ok(Body::Leaf(_)) => Err(misplaced()),
            Err(pointer) => context.pages.branch(&pointer, context.table),
        }
    }

    pub(crate) fn leaf(&self, context: &Context<'_>) -> Result<LeafView> {
        match self.body() {
            Ok(Body::Leaf(leaf)) => {
                let base = leaf.packed(context)?;
                let changed = (!leaf.delta.is_empty()).then_some(leaf);
                Ok(LeafView { base, changed })
            }
            Ok(Body::Branch(_)) => Err(misplaced()),
            Err(pointer) => {
                let base = context.pages.leaf(&pointer, context.table)?;
                Ok(LeafView { base: Some(base), changed: None })
            }
        }
    }

    /// The leaf as it is, without reading a base; `count` entries stand in it.
    pub(super) fn leaf_unread(&self, count: u64) -> Result<Leaf> {
        match self.body() {
            Ok(Body::Leaf(leaf)) => Ok(Leaf::clone(&leaf)),
            Ok(Body::Branch(_)) => Err(misplaced()),
            Err(pointer) => Ok(Leaf::over(pointer, count)),
        }
    }

    /// The node to change: a copy, unless it belongs to nobody else and to this epoch. Of a leaf nothing is read.
    pub(super) fn make_own(
        &mut self,
        level: u8,
        (count, has_values): (u64, bool),
        context: &Context<'_>,
    ) -> Result<&mut Node> {
        let epoch = context.pages.epoch;
        let role = BlockRole::of(level, has_values);
        let is_own = match self {
            Link::Stored(_) => false,
            Link::Fresh(node) => {
                node.home.epoch == epoch && Arc::get_mut(node).is_some() && node.stored().is_none()
            }
        };
        if !is_own {
            let (origins, body) = match self {
                Link::Stored(pointer) => (vec![Origin::Block(*pointer, role)], None),
                Link::Fresh(node) => node.copy(role, context)?,
            };
            let body = match body {
                Some(body) => body,
                None if level == 0 => Body::Leaf(Arc::new(self.leaf_unread(count)?)),
                None => Body::Branch(self.branch(context)?),
            };
            *self = Link::Fresh(Node::with(Home::new(epoch, origins), body));
        }
        match self {
            Link::Fresh(node) => Arc::get_mut(node).ok_or_else(misplaced),
            Link::Stored(_) => Err(misplaced()),
        }
    }
}

/// A subtree: every key below is at least `key`, except in the leftmost child, whose `key` is not looked at.
#[derive(Clone)]
pub(crate) struct Child {
    pub(crate) prefix: u64,
    /// Mostly short, and inline then: copying a branch touches nothing else.
    pub(crate) key: SmallVec<[u8; 24]>,
    pub(crate) count: u64,
    /// Whether any record below may have values out of line.
    pub(crate) has_values: bool,
    pub(crate) link: Link,
}

impl Child {
    pub(crate) fn new(key: &[u8], count: u64, has_values: bool, link: Link) -> Child {
        Child { prefix: key_prefix(key), key: SmallVec::from_slice(key), count, has_values, link }
    }
}

#[derive(Clone, Default)]
pub(crate) struct Branch {
    pub(crate) children: Vec<Child>,
}

impl Branch {
    /// The child that holds `key` if the tree does.
    pub(crate) fn child_for(&self, prefix: u64, key: &[u8]) -> usize {
        let later = self.children.get(1..).unwrap_or_default();
        later.partition_point(|child| compare_keys(child.prefix, &child.key, prefix, key).is_le())
    }

    pub(crate) fn count(&self) -> u64 {
        self.children.iter().map(|child| child.count).sum()
    }

    pub(crate) fn has_values(&self) -> bool {
        self.children.iter().any(|child| child.has_values)
    }

    /// What it takes in memory.
    pub(crate) fn weight_bytes(&self) -> usize {
        let spilled = self.children.iter().filter(|child| child.key.spilled()).map(|child| child.key.len());
        self.children.capacity() * size_of::<Child>() + spilled.sum::<usize>()
    }
}
