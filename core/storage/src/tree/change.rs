//! Changing a tree: descend, copy what is shared, note the change in its leaf, divide what grew too large and join what
//! grew too small.

use super::leaf::{Change, Leaf, Old, fit_together};
use super::node::{
    BRANCH_FILL, BRANCH_MAX_CHILDREN, BlockRole, Body, Branch, Child, Context, Link, Node, misplaced,
};
use super::packed::{EntryRef, Packed, PackedBuilder};
use super::{Tree, key_prefix};
use crate::error::Result;
use crate::record::{FreshValue, ValueRef};
use std::sync::Arc;

/// What a change did to a node.
struct Outcome {
    old: Old,
    /// The node's right parts, when it was divided.
    right: Vec<Child>,
    is_empty: bool,
    is_small: bool,
}

impl Tree {
    /// Makes a change and says what stood there before. `existed` spares reading a leaf when the caller knows.
    pub(crate) fn apply(
        &mut self,
        change: Change,
        existed: Option<bool>,
        context: &Context<'_>,
    ) -> Result<Old> {
        // Looking first keeps a miss from copying the path.
        if !change.is_put() && existed.is_none() && self.get(change.key(), context)?.is_none() {
            return Ok(Old::NONE);
        }
        let epoch = context.pages.epoch;
        let is_put = change.is_put();
        self.has_values |= change.has_values();
        let Some(root) = &mut self.root else {
            let mut leaf = Leaf::empty();
            let old = leaf.apply(change, existed, context)?;
            self.count = leaf.count();
            self.root = Some(Link::Fresh(Node::new(Body::Leaf(Arc::new(leaf)), epoch)));
            return Ok(old);
        };
        let outcome =
            change_below(root, self.height, (self.count, self.has_values), change, existed, true, context)?;
        self.count = (self.count + u64::from(is_put)).saturating_sub(u64::from(outcome.old.existed));
        if !outcome.right.is_empty() {
            self.grow(outcome.right, epoch);
        }
        self.shrink(context)?;
        Ok(outcome.old)
    }

    /// Takes the leaf in which `key` belongs, and its path, into memory as if it had been changed; with `values_from` also
    /// the leaf's values that lie from there on in the file.
    pub(crate) fn renew(
        &mut self,
        key: &[u8],
        values_from: Option<u64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let prefix = key_prefix(key);
        let Some(mut link) = self.root.as_mut() else { return Ok(()) };
        let mut facts = (self.count, self.has_values);
        for level in (1..=self.height).rev() {
            let branch = link.make_own(level, facts, context)?.branch_mut().ok_or_else(misplaced)?;
            let at = branch.child_for(prefix, key);
            let child = branch.children.get_mut(at).ok_or_else(misplaced)?;
            facts = (child.count, child.has_values);
            link = &mut child.link;
        }
        let leaf = link.make_own(0, facts, context)?.leaf_mut().ok_or_else(misplaced)?;
        if let Some(from) = values_from {
            *leaf = Leaf::held(renew_values(&*leaf.merge_whole(context)?, from, context)?);
        }
        Ok(())
    }

    /// A root over the old one and its right parts.
    fn grow(&mut self, right: Vec<Child>, epoch: u64) {
        let Some(old) = self.root.take() else { return };
        let count = self.count.saturating_sub(right.iter().map(|child| child.count).sum::<u64>());
        let mut children = vec![Child::new(&[], count, self.has_values, old)];
        children.extend(right);
        let body = Body::Branch(Arc::new(Branch { children }));
        self.root = Some(Link::Fresh(Node::new(body, epoch)));
        self.height += 1;
    }

    /// Takes levels away that hold one child, and an empty root.
    fn shrink(&mut self, context: &Context<'_>) -> Result<()> {
        while let (Some(root), true) = (&self.root, self.height > 0) {
            let branch = match root {
                // Only a branch that was just changed can have lost children.
                Link::Fresh(node) if node.stored().is_none() => root.branch(context)?,
                _ => return Ok(()),
            };
            let [only] = branch.children.as_slice() else { break };
            let mut child = only.link.clone();
            let gone = root.clone();
            let level = self.height - 1;
            let node = child.make_own(level, (only.count, only.has_values), context)?;
            node.inherit(&gone, BlockRole::Branch);
            self.root = Some(child);
            self.height = level;
        }
        Ok(())
    }
}

/// `at_right_edge`: no key of the tree lies behind this node. Rows are appended there, so a node that overflows
/// there is left full instead of half empty.
fn change_below(
    link: &mut Link,
    level: u8,
    facts: (u64, bool),
    change: Change,
    existed: Option<bool>,
    at_right_edge: bool,
    context: &Context<'_>,
) -> Result<Outcome> {
    let node = link.make_own(level, facts, context)?;
    if level == 0 {
        return change_leaf(node.leaf_mut().ok_or_else(misplaced)?, change, existed, at_right_edge, context);
    }
    let mut gone = None;
    let outcome = {
        let branch = node.branch_mut().ok_or_else(misplaced)?;
        let at = branch.child_for(change.prefix(), change.key());
        let is_last = at + 1 == branch.children.len();
        let (is_put, has_values) = (change.is_put(), change.has_values());
        let child = branch.children.get_mut(at).ok_or_else(misplaced)?;
        child.has_values |= has_values;
        let facts = (child.count, child.has_values);
        let edge = at_right_edge && is_last;
        let below = change_below(&mut child.link, level - 1, facts, change, existed, edge, context)?;
        child.count = (child.count + u64::from(is_put)).saturating_sub(u64::from(below.old.existed));
        if !below.right.is_empty() {
            let moved = below.right.iter().map(|right| right.count).sum::<u64>();
            child.count = child.count.saturating_sub(moved);
            branch.children.splice(at + 1..at + 1, below.right);
        } else if below.is_empty && branch.children.len() > 1 {
            gone = Some((branch.children.remove(at), true));
        } else if below.is_small {
            gone = join_with_neighbour(branch, at, level - 1, context)?.map(|child| (child, false));
        }
        Outcome {
            old: below.old,
            right: divide_branch(branch, edge, context.pages.epoch),
            is_empty: !is_put && branch.count() == 0,
            is_small: branch.children.len() < BRANCH_MAX_CHILDREN / 4,
        }
    };
    match gone {
        Some((gone, true)) => inherit_empty(node, &gone, level - 1, context)?,
        Some((gone, false)) => node.inherit(&gone.link, BlockRole::of(level - 1, gone.has_values)),
        None => {}
    }
    Ok(outcome)
}

/// Takes over what an empty subtree replaces: its root and the empty nodes below.
fn inherit_empty(node: &Node, gone: &Child, level: u8, context: &Context<'_>) -> Result<()> {
    node.inherit(&gone.link, BlockRole::of(level, gone.has_values));
    if level > 0 {
        for child in &gone.link.branch(context)?.children {
            inherit_empty(node, child, level - 1, context)?;
        }
    }
    Ok(())
}

fn change_leaf(
    leaf: &mut Leaf,
    change: Change,
    existed: Option<bool>,
    at_right_edge: bool,
    context: &Context<'_>,
) -> Result<Outcome> {
    let was_delete = !change.is_put();
    let old = leaf.apply(change, existed, context)?;
    let mut right = Vec::new();
    if leaf.count() > 0 && leaf.is_to_be_merged() {
        let mut pieces = leaf.merge(context, at_right_edge)?.into_iter();
        if let Some(first) = pieces.next() {
            let mut last = Arc::clone(&first);
            *leaf = Leaf::held(first);
            for piece in pieces {
                right.push(child_of(&last, &piece, context.pages.epoch));
                last = piece;
            }
        }
    }
    Ok(Outcome { old, right, is_empty: leaf.count() == 0, is_small: was_delete && leaf.is_small() })
}

/// The same leaf, with the values that lie from `from` on in the file taken into memory.
fn renew_values(leaf: &Packed, from: u64, context: &Context<'_>) -> Result<Arc<Packed>> {
    let mut builder = PackedBuilder::with_capacity(leaf.len(), leaf.raw_bytes());
    for entry in leaf.iter() {
        let renewed = entry.values.iter().map(|value| match value.pointer() {
            Some(pointer) if pointer.offset >= from => {
                let bytes = context.pages.value(&pointer, context.table)?;
                Ok(ValueRef::Fresh(FreshValue::new(&bytes)))
            }
            _ => Ok(value.clone()),
        });
        let values = renewed.collect::<Result<Vec<_>>>()?;
        builder.push(EntryRef { values: &values, ..entry });
    }
    Ok(Arc::new(builder.finish()))
}

/// The child over a leaf that follows `left`.
fn child_of(left: &Packed, right: &Arc<Packed>, epoch: u64) -> Child {
    let separator = shortest_separator(left.key(left.len().saturating_sub(1)), right.key(0)).to_vec();
    let has_values = !right.values().is_empty();
    let node = Node::new(Body::Leaf(Arc::new(Leaf::held(Arc::clone(right)))), epoch);
    Child::new(&separator, right.len() as u64, has_values, Link::Fresh(node))
}

/// The shortest beginning of `next` that is greater than `last`.
pub(crate) fn shortest_separator<'k>(last: &[u8], next: &'k [u8]) -> &'k [u8] {
    let common = last.iter().zip(next).take_while(|(a, b)| a == b).count();
    next.get(..=common).unwrap_or(next)
}

/// Cuts a branch that has too many children; filled in order, what is left behind stays full.
fn divide_branch(branch: &mut Branch, at_right_edge: bool, epoch: u64) -> Vec<Child> {
    let all = branch.children.len();
    if all <= BRANCH_MAX_CHILDREN {
        return Vec::new();
    }
    let each =
        if at_right_edge { BRANCH_MAX_CHILDREN } else { all.div_ceil(all.div_ceil(BRANCH_MAX_CHILDREN)) };
    let mut rest = branch.children.split_off(each);
    let mut right = Vec::new();
    while !rest.is_empty() {
        let after = rest.split_off(each.min(rest.len()));
        right.push(branch_child(Branch { children: rest }, epoch));
        rest = after;
    }
    right
}

fn branch_child(branch: Branch, epoch: u64) -> Child {
    let key = branch.children.first().map(|child| child.key.clone()).unwrap_or_default();
    let (count, has_values) = (branch.count(), branch.has_values());
    Child::new(&key, count, has_values, Link::Fresh(Node::new(Body::Branch(Arc::new(branch)), epoch)))
}

/// Joins the child with the one before or behind it, when the two together leave room to grow. Returns the one that is
/// no more.
fn join_with_neighbour(
    branch: &mut Branch,
    at: usize,
    level: u8,
    context: &Context<'_>,
) -> Result<Option<Child>> {
    let candidates = [at.checked_sub(1), Some(at)];
    for left in candidates.into_iter().flatten() {
        let (Some(a), Some(b)) = (branch.children.get(left), branch.children.get(left + 1)) else { continue };
        let joined = match level {
            0 => join_leaves(a, b, context)?,
            _ => join_branches(a, b, context)?,
        };
        let Some(joined) = joined else { continue };
        let gone = branch.children.remove(left + 1);
        let target = branch.children.get_mut(left).ok_or_else(misplaced)?;
        let node = target.link.make_own(level, (target.count, target.has_values), context)?;
        match joined {
            Body::Leaf(leaf) => *node.leaf_mut().ok_or_else(misplaced)? = Leaf::clone(&leaf),
            Body::Branch(branch) => *node.branch_mut().ok_or_else(misplaced)? = Branch::clone(&branch),
        }
        target.count += gone.count;
        target.has_values |= gone.has_values;
        return Ok(Some(gone));
    }
    Ok(None)
}

fn join_leaves(a: &Child, b: &Child, context: &Context<'_>) -> Result<Option<Body>> {
    let (left, right) = (a.link.leaf_unread(a.count)?, b.link.leaf_unread(b.count)?);
    if !fit_together(&left, &right) {
        return Ok(None);
    }
    let (left, right) = (left.merge_whole(context)?, right.merge_whole(context)?);
    let mut builder =
        PackedBuilder::with_capacity(left.len() + right.len(), left.raw_bytes() + right.raw_bytes());
    left.iter().chain(right.iter()).for_each(|entry| builder.push(entry));
    Ok(Some(Body::Leaf(Arc::new(Leaf::held(Arc::new(builder.finish()))))))
}

fn join_branches(a: &Child, b: &Child, context: &Context<'_>) -> Result<Option<Body>> {
    let (left, right) = (a.link.branch(context)?, b.link.branch(context)?);
    if left.children.len() + right.children.len() > BRANCH_MAX_CHILDREN * BRANCH_FILL.0 / BRANCH_FILL.1 {
        return Ok(None);
    }
    // The leftmost child's key was not looked at until now: it takes the key of its parent.
    let mut children = left.children.clone();
    let first = children.len();
    children.extend(right.children.iter().cloned());
    if let Some(child) = children.get_mut(first) {
        child.key = b.key.clone();
        child.prefix = b.prefix;
    }
    Ok(Some(Body::Branch(Arc::new(Branch { children }))))
}
