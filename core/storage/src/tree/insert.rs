//! Putting an entry into a tree: descend, copy what is shared, divide what grew too large.

use super::node::{BRANCH_MAX_CHILDREN, Body, Branch, Child, Item, Leaf, Node};
use std::sync::Arc;

/// What an insertion did to a node.
struct Outcome {
    replaced: Option<Item>,
    /// The node's right part, when it was divided.
    right: Option<Child>,
}

/// Inserts into the tree under `root`, which grows by a level when it has to.
pub(super) fn insert(root: &mut Arc<Node>, item: Item) -> Option<Item> {
    let outcome = insert_below(root, item, true);
    if let Some(right) = outcome.right {
        let left = Child::new(&[], Arc::clone(root));
        *root = Arc::new(Node::new(Body::Branch(Branch { children: vec![left, right] })));
    }
    outcome.replaced
}

/// `at_right_edge`: no key of the tree lies behind this node. Rows are appended there, so a node that overflows
/// there is left full instead of half empty.
fn insert_below(node: &mut Arc<Node>, item: Item, at_right_edge: bool) -> Outcome {
    match Node::to_change(node) {
        Body::Leaf(leaf) => insert_into_leaf(leaf, item, at_right_edge),
        Body::Branch(branch) => {
            let at = branch.child_for(super::key_prefix(item.cell.key()), item.cell.key());
            let is_last = at + 1 == branch.children.len();
            let Some(child) = branch.children.get_mut(at) else {
                return Outcome { replaced: None, right: None };
            };
            let below = insert_below(&mut child.node, item, at_right_edge && is_last);
            match below.right {
                None => child.count += u64::from(below.replaced.is_none()),
                Some(right) => {
                    child.count = child.node.count();
                    branch.children.insert(at + 1, right);
                }
            }
            let right = (branch.children.len() > BRANCH_MAX_CHILDREN)
                .then(|| divide_branch(branch, at_right_edge && is_last));
            Outcome { replaced: below.replaced, right }
        }
    }
}

fn insert_into_leaf(leaf: &mut Leaf, item: Item, at_right_edge: bool) -> Outcome {
    leaf.bytes += item.weight();
    let found = leaf.find(super::key_prefix(item.cell.key()), item.cell.key());
    let replaced = match found {
        Ok(at) => leaf.items.get_mut(at).map(|old| std::mem::replace(old, item)),
        Err(at) => {
            leaf.items.insert(at, item);
            None
        }
    };
    leaf.bytes -= replaced.as_ref().map_or(0, Item::weight);
    let appended = at_right_edge && found == Err(leaf.items.len().saturating_sub(1));
    let right = leaf.is_overfull().then(|| divide_leaf(leaf, appended));
    Outcome { replaced, right }
}

fn divide_leaf(leaf: &mut Leaf, appended: bool) -> Child {
    let at = if appended { leaf.items.len() - 1 } else { middle_by_weight(leaf) };
    let right = Leaf::new(leaf.items.split_off(at));
    leaf.bytes -= right.bytes;
    let last = leaf.items.last().map(|item| item.cell.key()).unwrap_or_default();
    let first = right.items.first().map(|item| item.cell.key()).unwrap_or_default();
    let separator = shortest_separator(last, first).to_vec();
    Child::new(&separator, Arc::new(Node::new(Body::Leaf(right))))
}

/// The first position from which on at most half of the weight lies; never an end.
fn middle_by_weight(leaf: &Leaf) -> usize {
    let mut before = 0;
    let found = leaf.items.iter().position(|item| {
        before += item.weight();
        before > leaf.bytes / 2
    });
    found.unwrap_or(0).clamp(1, leaf.items.len().saturating_sub(1).max(1))
}

/// The shortest beginning of `next` that is greater than `last`.
fn shortest_separator<'k>(last: &[u8], next: &'k [u8]) -> &'k [u8] {
    let common = last.iter().zip(next).take_while(|(a, b)| a == b).count();
    next.get(..=common).unwrap_or(next)
}

fn divide_branch(branch: &mut Branch, at_right_edge: bool) -> Child {
    let at = if at_right_edge { branch.children.len() - 2 } else { branch.children.len() / 2 };
    let children = branch.children.split_off(at);
    let key = children.first().map(|child| child.key.clone()).unwrap_or_default();
    Child::new(&key, Arc::new(Node::new(Body::Branch(Branch { children }))))
}
