//! What becomes free with a table that was dropped, or with a leaf that was replaced.
//!
//! A block that cannot be read keeps what it alone leads to from being found: those parts of the file stay in use until
//! it is compacted. Nothing that is needed is ever freed for it.

use super::walk::value_extents;
use crate::block::BlockPointer;
use crate::space::Extent;
use crate::tree::{BlockRole, Body, Context, Link, Tree, stored_values};

/// The values of a leaf in the file.
pub(super) fn values_of_leaf(pointer: &BlockPointer, context: &Context<'_>, values: &mut Vec<Extent>) {
    if let Ok(packed) = context.pages.leaf(pointer, context.table) {
        values.extend(value_extents(&packed));
    }
}

/// Everything that a tree reaches in the file, and what its nodes in memory replaced there.
pub(super) fn blocks_of_tree(
    tree: &Tree,
    context: &Context<'_>,
    nodes: &mut Vec<Extent>,
    values: &mut Vec<Extent>,
) {
    if let Some(root) = tree.root() {
        blocks_below(root, tree.height(), tree.has_values(), context, nodes, values);
    }
}

fn blocks_below(
    link: &Link,
    level: u8,
    has_values: bool,
    context: &Context<'_>,
    nodes: &mut Vec<Extent>,
    values: &mut Vec<Extent>,
) {
    let fresh = match link {
        Link::Fresh(node) if node.stored().is_none() => Some(node),
        _ => None,
    };
    match (fresh, link.pointer()) {
        (Some(node), _) => node.home().for_each_origin(&mut |pointer, role| {
            nodes.push(pointer.extent());
            if role == BlockRole::LeafWithValues {
                values_of_leaf(&pointer, context, values);
            }
        }),
        (None, Some(pointer)) => nodes.push(pointer.extent()),
        (None, None) => {}
    }
    if level > 0 {
        let Ok(branch) = link.branch(context) else { return };
        for child in &branch.children {
            blocks_below(&child.link, level - 1, child.has_values, context, nodes, values);
        }
        return;
    }
    if !has_values {
        return;
    }
    match fresh.and_then(|node| node.body()) {
        Some(Body::Leaf(leaf)) => {
            for change in &leaf.delta {
                values.extend(stored_values(change.entry().values).map(|pointer| pointer.extent()));
            }
            if let Ok(Some(packed)) = leaf.packed(context) {
                values.extend(value_extents(&packed));
            }
        }
        _ => {
            if let Some(pointer) = link.pointer() {
                values_of_leaf(&pointer, context, values);
            }
        }
    }
}
