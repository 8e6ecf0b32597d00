//! Taking an entry out of a tree: descend, copy what is shared, join what grew too small.

use super::node::{
    BRANCH_MAX_CHILDREN, Body, Branch, Item, LEAF_MAX_ITEMS, LEAF_TARGET_BYTES, Leaf, Node, key_prefix,
};
use std::sync::Arc;

/// Removes from the tree under `root`, which loses a level when one child is left.
pub(super) fn remove(root: &mut Arc<Node>, key: &[u8]) -> Option<Item> {
    let removed = remove_below(root, key_prefix(key), key);
    loop {
        let only = match &root.body {
            Body::Branch(branch) if branch.children.len() == 1 => {
                branch.children.first().map(|child| Arc::clone(&child.node))
            }
            Body::Branch(branch) if branch.children.is_empty() => Some(Arc::new(Node::empty_leaf())),
            _ => None,
        };
        match only {
            Some(node) => *root = node,
            None => return removed,
        }
    }
}

fn remove_below(node: &mut Arc<Node>, prefix: u64, key: &[u8]) -> Option<Item> {
    match Node::to_change(node) {
        Body::Leaf(leaf) => {
            let at = leaf.find(prefix, key).ok()?;
            let item = leaf.items.remove(at);
            leaf.bytes -= item.weight();
            Some(item)
        }
        Body::Branch(branch) => {
            let at = branch.child_for(prefix, key);
            let child = branch.children.get_mut(at)?;
            let removed = remove_below(&mut child.node, prefix, key)?;
            child.count -= 1;
            if child.count == 0 {
                branch.children.remove(at);
            } else if is_small(&child.node) {
                join_with_neighbour(branch, at);
            }
            Some(removed)
        }
    }
}

/// A node under a quarter full looks for a neighbour.
fn is_small(node: &Node) -> bool {
    match &node.body {
        Body::Leaf(leaf) => leaf.items.len() < LEAF_MAX_ITEMS / 4 && leaf.bytes < LEAF_TARGET_BYTES / 4,
        Body::Branch(branch) => branch.children.len() < BRANCH_MAX_CHILDREN / 4,
    }
}

/// Joins the child with the one before or behind it, when the two together leave room to grow.
fn join_with_neighbour(branch: &mut Branch, at: usize) {
    let fits = |left: usize| match (branch.children.get(left), branch.children.get(left + 1)) {
        (Some(a), Some(b)) => fit_together(&a.node, &b.node),
        _ => false,
    };
    let left = match at.checked_sub(1) {
        Some(before) if fits(before) => before,
        _ if fits(at) => at,
        _ => return,
    };
    let right = branch.children.remove(left + 1);
    let Some(target) = branch.children.get_mut(left) else { return };
    match (Node::to_change(&mut target.node), &right.node.body) {
        (Body::Leaf(a), Body::Leaf(b)) => {
            a.items.extend(b.items.iter().cloned());
            *a = Leaf::new(std::mem::take(&mut a.items));
        }
        (Body::Branch(a), Body::Branch(b)) => {
            // The leftmost child's key was not looked at until now: it takes the key of its parent.
            let mut children = b.children.clone();
            if let Some(first) = children.first_mut() {
                first.key = right.key.clone();
                first.prefix = right.prefix;
            }
            a.children.append(&mut children);
        }
        // Children of one branch are of one height.
        _ => {}
    }
    target.count += right.count;
}

fn fit_together(a: &Node, b: &Node) -> bool {
    match (&a.body, &b.body) {
        (Body::Leaf(a), Body::Leaf(b)) => {
            a.items.len() + b.items.len() <= LEAF_MAX_ITEMS * 3 / 4
                && a.bytes + b.bytes <= LEAF_TARGET_BYTES * 3 / 4
        }
        (Body::Branch(a), Body::Branch(b)) => {
            a.children.len() + b.children.len() <= BRANCH_MAX_CHILDREN * 3 / 4
        }
        _ => false,
    }
}
