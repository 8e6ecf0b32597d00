//! What becomes free with a table that was dropped, or with a leaf that was replaced.
//!
//! A block that cannot be read keeps what it alone leads to from being found: those parts of the file stay in use until
//! it is compacted. Nothing that is needed is ever freed for it.

use super::walk::value_extents;
use crate::block::BlockPointer;
use crate::error::{Error, Result};
use crate::space::Extent;
use crate::tree::{BlockRole, Body, Context, Link, Node, Tree};

/// Blocks of nodes, and of values, that nobody reaches any more.
#[derive(Default)]
pub(super) struct Dropped {
    pub(super) nodes: Vec<Extent>,
    pub(super) values: Vec<Extent>,
}

/// What was read, or nothing where it is damaged.
fn unless_damaged<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(Error::Corrupt { .. }) => Ok(None),
        other => other.map(Some),
    }
}

impl Dropped {
    /// What a node in memory replaces in the file.
    pub(super) fn origins(&mut self, node: &Node, context: &Context<'_>) -> Result<()> {
        let mut leaves = Vec::new();
        node.home().for_each_origin(&mut |pointer, role| {
            self.nodes.push(pointer.extent());
            if role == BlockRole::LeafWithValues {
                leaves.push(pointer);
            }
        });
        leaves.iter().try_for_each(|pointer| self.values_of_leaf(pointer, context))
    }

    fn values_of_leaf(&mut self, pointer: &BlockPointer, context: &Context<'_>) -> Result<()> {
        if let Some(packed) = unless_damaged(context.pages.leaf(pointer, context.table))? {
            self.values.extend(value_extents(&packed));
        }
        Ok(())
    }

    /// Everything that a tree reaches in the file, and what its nodes in memory replaced there.
    pub(super) fn tree(&mut self, tree: &Tree, context: &Context<'_>) -> Result<()> {
        match tree.root() {
            Some(root) => self.below(root, tree.height(), tree.has_values(), context),
            None => Ok(()),
        }
    }

    fn below(&mut self, link: &Link, level: u8, has_values: bool, context: &Context<'_>) -> Result<()> {
        let fresh = match link {
            Link::Fresh(node) if node.stored().is_none() => Some(node),
            _ => None,
        };
        match (fresh, link.pointer()) {
            (Some(node), _) => self.origins(node, context)?,
            (None, Some(pointer)) => self.nodes.push(pointer.extent()),
            (None, None) => {}
        }
        if level > 0 {
            let Some(branch) = unless_damaged(link.branch(context))? else { return Ok(()) };
            return branch
                .children
                .iter()
                .try_for_each(|child| self.below(&child.link, level - 1, child.has_values, context));
        }
        match (fresh.and_then(|node| node.body()), link.pointer()) {
            _ if !has_values => Ok(()),
            (Some(Body::Leaf(leaf)), _) => {
                // Not the base as it is: what was changed since may have been freed long ago.
                if let Some(packed) = unless_damaged(leaf.merge_whole(context))? {
                    self.values.extend(value_extents(&packed));
                }
                Ok(())
            }
            (_, Some(pointer)) => self.values_of_leaf(&pointer, context),
            _ => Ok(()),
        }
    }
}
