//! The walk over the state that finds what has to be written, writes it, and finds out what nobody reaches any more.
//!
//! It goes from the roots down to what is in memory only; a link into the file ends it. So it costs what changed. What
//! a written node replaces in the file it knows itself; of values, those that the replaced leaves had and the written
//! ones have not are gone.

use super::dropped::Dropped;
use super::tables::TableEntry;
use crate::block::{BlockKind, BlockPointer, Sealed, TABLES_TREE};
use crate::block_writer::BlockWriter;
use crate::error::Result;
use crate::fault::{Fault, planted};
use crate::file_store::FileStore;
use crate::node_block::{encode_branch, encode_leaf};
use crate::pending::Pending;
use crate::record::{Cell, FreshValue, ValueRef};
use crate::space::Extent;
use crate::state::State;
use crate::tree::{
    BlockRole, Body, Branch, Change, Child, Context, Cursor, Link, Node, Packed, Tree, stored_values,
};
use crate::{Direction, KeyRange};
use std::borrow::Cow;
use std::sync::Arc;

/// A node or value and the place that it has once the checkpoint is the newest.
pub(super) enum Placed {
    Leaf(Arc<Node>, BlockPointer, BlockRole, Arc<Packed>),
    Branch(Arc<Node>, BlockPointer, Arc<Branch>),
    Value(Arc<FreshValue>, BlockPointer),
}

impl Placed {
    pub(super) fn remember(self, file: &FileStore) {
        match self {
            Placed::Leaf(node, pointer, role, leaf) => {
                file.pager.keep_leaf(&pointer, leaf);
                node.set_stored(pointer, role);
            }
            Placed::Branch(node, pointer, branch) => {
                file.pager.keep_branch(&pointer, branch);
                node.set_stored(pointer, BlockRole::Branch);
            }
            Placed::Value(value, pointer) => value.set_stored(pointer),
        }
    }
}

/// A state whose blocks are written, not named by a superblock yet.
pub(super) struct Written {
    pub(super) tables_tree: Tree,
    pub(super) tables_root: BlockPointer,
    pub(super) placed: Vec<Placed>,
    /// What the checkpoint before reached and this one does not.
    pub(super) dropped: Vec<Extent>,
}

pub(super) struct Walk<'w> {
    file: &'w FileStore,
    pub(super) writer: BlockWriter,
    placed: Vec<Placed>,
    /// Nodes that were replaced, and values of leaves that were replaced.
    old: Dropped,
    /// Values of leaves that were written.
    new_values: Vec<Extent>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(file: &'w FileStore, writer: BlockWriter) -> Walk<'w> {
        Walk { file, writer, placed: Vec::new(), old: Dropped::default(), new_values: Vec::new() }
    }

    /// Writes what the state has beyond the last checkpoint; `tables_tree` is that one's.
    pub(super) fn state(
        &mut self,
        state: &State,
        mut tables_tree: Tree,
        pending: &Pending,
    ) -> Result<Written> {
        let mut tables = Vec::new();
        state.tables.for_each(&mut |id, table| tables.push((id, Arc::clone(table))));
        let in_tables = Context { pages: &state.pages, table: TABLES_TREE };
        for (id, table) in tables {
            let context = state.context(id);
            let root = match table.tree.root() {
                Some(root) => {
                    Some(self.node(root, table.tree.height(), table.tree.has_values(), &context)?)
                }
                None => None,
            };
            let next_row = if planted(Fault::RowNumbersForgotten) { 1 } else { table.next_row };
            let (height, has_values) = (table.tree.height(), table.tree.has_values());
            let count = table.tree.count();
            let head = TableEntry { root, height, has_values, count, next_row }.encode();
            set_entry(&mut tables_tree, id, &head, state.sequence, &in_tables)?;
        }
        for key in dropped_tables(state, &tables_tree, &in_tables)? {
            let change = Change::delete(Cell::new(&key, &[], &mut Vec::new()), state.sequence);
            tables_tree.apply(change, None, &in_tables)?;
        }
        let root = tables_tree.root().cloned();
        let tables_root = match &root {
            Some(root) => self.node(root, tables_tree.height(), false, &in_tables)?,
            None => BlockPointer::NOWHERE,
        };
        for (id, tree) in &pending.dropped {
            self.old.tree(tree, &state.context(*id))?;
        }
        self.old.values.extend_from_slice(&pending.values);
        Ok(Written {
            tables_tree,
            tables_root,
            placed: std::mem::take(&mut self.placed),
            dropped: self.take_dropped(),
        })
    }

    fn take_dropped(&mut self) -> Vec<Extent> {
        self.new_values.sort_unstable();
        let Dropped { nodes: mut dropped, mut values } = std::mem::take(&mut self.old);
        if !planted(Fault::KeptValueFreed) {
            values.retain(|extent| self.new_values.binary_search(extent).is_err());
        }
        if planted(Fault::ValueFreedEarly) {
            let mut space = self.file.space.lock();
            values.drain(..).for_each(|extent| space.release(extent));
        }
        dropped.append(&mut values);
        dropped.sort_unstable();
        dropped.dedup();
        dropped
    }

    fn write(&mut self, kind: BlockKind, table: u64, raw: Cow<'_, [u8]>) -> Result<BlockPointer> {
        let sealed = Sealed::new(kind, table, raw, self.file.may_compress);
        self.writer.write(self.file, &sealed)
    }

    /// Where the node is, once it was written.
    fn node(
        &mut self,
        link: &Link,
        level: u8,
        has_values: bool,
        context: &Context<'_>,
    ) -> Result<BlockPointer> {
        let (node, body) = match link {
            Link::Stored(pointer) => return Ok(*pointer),
            Link::Fresh(node) => match (node.stored(), node.body()) {
                (Some(pointer), _) => return Ok(pointer),
                (None, Some(body)) => (node, body),
                (None, None) => return Ok(BlockPointer::NOWHERE),
            },
        };
        if !planted(Fault::OriginsForgotten) {
            self.old.origins(node, context)?;
        }
        match body {
            Body::Leaf(leaf) => {
                let packed = leaf.merge_whole(context)?;
                self.leaf(node, &packed, has_values, context.table)
            }
            Body::Branch(branch) => self.branch(node, &branch, level, context),
        }
    }

    fn leaf(
        &mut self,
        node: &Arc<Node>,
        packed: &Arc<Packed>,
        has_values: bool,
        table: u64,
    ) -> Result<BlockPointer> {
        let mut pointers = Vec::with_capacity(packed.values().len());
        for value in packed.values() {
            pointers.push(self.value(value, table)?);
        }
        self.new_values.extend(pointers.iter().map(BlockPointer::extent));
        let pointer = self.write(BlockKind::Leaf, table, Cow::Owned(encode_leaf(packed, &pointers)))?;
        let role = BlockRole::of(0, has_values);
        self.placed.push(Placed::Leaf(Arc::clone(node), pointer, role, Arc::clone(packed)));
        Ok(pointer)
    }

    fn value(&mut self, value: &ValueRef, table: u64) -> Result<BlockPointer> {
        let fresh = match (value.pointer(), value) {
            (Some(pointer), _) => return Ok(pointer),
            (None, ValueRef::Fresh(fresh)) => fresh,
            (None, ValueRef::Stored(pointer)) => return Ok(*pointer),
        };
        let bytes = fresh.bytes().unwrap_or_default();
        let pointer = self.write(BlockKind::Value, table, Cow::Borrowed(&bytes))?;
        self.placed.push(Placed::Value(Arc::clone(fresh), pointer));
        Ok(pointer)
    }

    fn branch(
        &mut self,
        node: &Arc<Node>,
        branch: &Branch,
        level: u8,
        context: &Context<'_>,
    ) -> Result<BlockPointer> {
        let mut pointers = Vec::with_capacity(branch.children.len());
        for child in &branch.children {
            pointers.push(self.node(&child.link, level.saturating_sub(1), child.has_values, context)?);
        }
        let raw = encode_branch(branch, &pointers);
        let pointer = self.write(BlockKind::Branch, context.table, Cow::Owned(raw))?;
        // What readers find in the cache leads into the file.
        let children = branch.children.iter().zip(pointers);
        let children =
            children.map(|(child, pointer)| Child { link: Link::Stored(pointer), ..child.clone() }).collect();
        self.placed.push(Placed::Branch(Arc::clone(node), pointer, Arc::new(Branch { children })));
        Ok(pointer)
    }
}

fn set_entry(tree: &mut Tree, id: u64, head: &[u8], version: u64, context: &Context<'_>) -> Result<()> {
    let key = id.to_be_bytes();
    if tree.get(&key, context)?.is_none_or(|found| found.entry().head != head) {
        tree.apply(Change::put(Cell::new(&key, head, &mut Vec::new()), None, version), None, context)?;
    }
    Ok(())
}

/// Keys of tables that are listed and do not exist any more.
fn dropped_tables(state: &State, tables_tree: &Tree, context: &Context<'_>) -> Result<Vec<Vec<u8>>> {
    if tables_tree.count() == state.tables.len() as u64 {
        return Ok(Vec::new());
    }
    let mut cursor = Cursor::new(tables_tree, KeyRange::all(), Direction::Forward, context)?;
    let mut dropped = Vec::new();
    while let Some(found) = cursor.next()? {
        let key = found.entry().key;
        let id = key.try_into().map_or(0, u64::from_be_bytes);
        if state.tables.get(id).is_none() {
            dropped.push(key.to_vec());
        }
    }
    Ok(dropped)
}

/// All places of values in a leaf.
pub(super) fn value_extents(packed: &Packed) -> impl Iterator<Item = Extent> {
    stored_values(packed.values()).map(|pointer| pointer.extent())
}
