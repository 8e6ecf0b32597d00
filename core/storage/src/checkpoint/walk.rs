//! The walk over the state that finds what has to be written, writes it, and lists what stays.

use super::node_block::{encode_branch, encode_leaf};
use super::tables::TableEntry;
use super::writer::BlockWriter;
use crate::block::{BlockKind, BlockPointer, Sealed, TABLES_TREE};
use crate::error::Result;
use crate::fault::{Fault, planted};
use crate::file_store::FileStore;
use crate::record::{Cell, StoredValue};
use crate::space::Extent;
use crate::state::State;
use crate::tree::{Body, Branch, Cursor, Item, Leaf, Node, Tree};
use crate::{Direction, KeyRange};
use std::sync::Arc;

/// Bytes that may be moved down beyond what the checkpoint writes anyway.
const MOVE_BYTES: u64 = 256 << 10;

/// A node or value and the place that it has once the checkpoint is the newest.
pub(super) enum Placed {
    Node(Arc<Node>, BlockPointer),
    Value(Arc<StoredValue>, BlockPointer),
}

impl Placed {
    pub(super) fn remember(self) {
        match self {
            Placed::Node(node, pointer) => node.place.set(pointer),
            Placed::Value(value, pointer) => value.place.set(pointer),
        }
    }
}

/// A state whose blocks are on the disk, not named by a superblock yet.
pub(super) struct Written {
    pub(super) tables_root: BlockPointer,
    pub(super) tables_tree: Tree,
    /// Every extent that it reaches, sorted.
    pub(super) used: Vec<Extent>,
    pub(super) placed: Vec<Placed>,
}

/// Writes what the state has beyond the last checkpoint and returns when that is on the disk. What lies behind `limit`
/// is moved below it where there is room. After an error everything is as it was before.
pub(super) fn write(
    file: &FileStore,
    state: &State,
    tables_tree: &Tree,
    checkpoint: u64,
    limit: u64,
) -> Result<Written> {
    let mut walk = Walk {
        writer: BlockWriter::new(&*file.disk, &file.space, &file.poison, checkpoint, limit),
        may_compress: file.may_compress,
        table: 0,
        used: Vec::new(),
        placed: Vec::new(),
        limit,
        moved_bytes: 0,
    };
    let result = walk.state(state, tables_tree.clone(), checkpoint);
    match result {
        Ok((tables_tree, tables_root)) => {
            walk.used.sort_unstable();
            Ok(Written { tables_root, tables_tree, used: walk.used, placed: walk.placed })
        }
        Err(error) => {
            let mut space = file.space.lock();
            walk.writer.allocated.into_iter().for_each(|extent| space.release(extent));
            // What it would have added to the file is not there.
            space.cut_to(file.disk.len().unwrap_or(0));
            Err(error)
        }
    }
}

struct Walk<'w> {
    writer: BlockWriter<'w>,
    may_compress: bool,
    table: u64,
    used: Vec<Extent>,
    placed: Vec<Placed>,
    limit: u64,
    moved_bytes: u64,
}

/// A place, and whether it is a new one.
type Settled = (BlockPointer, bool);

impl Walk<'_> {
    fn state(
        &mut self,
        state: &State,
        mut tables_tree: Tree,
        checkpoint: u64,
    ) -> Result<(Tree, BlockPointer)> {
        let mut tables = Vec::new();
        state.tables.for_each(&mut |id, table| tables.push((id, Arc::clone(table))));
        let mut scratch = Vec::new();
        for (id, table) in tables {
            self.table = id;
            let (root, _) = self.node(table.tree.root())?;
            let next_row = if planted(Fault::RowNumbersForgotten) { 1 } else { table.next_row };
            let head = TableEntry { root: Some(root), count: table.tree.count(), next_row }.encode();
            let key = id.to_be_bytes();
            if tables_tree.get(&key).is_none_or(|item| item.cell.head() != head) {
                tables_tree.insert(Item::new(Cell::new(&key, &head, &mut scratch), None, checkpoint));
            }
        }
        for key in dropped_tables(state, &tables_tree) {
            tables_tree.remove(&key);
        }
        self.table = TABLES_TREE;
        let (root, _) = self.node(tables_tree.root())?;
        self.writer.finish()?;
        Ok((tables_tree, root))
    }

    fn node(&mut self, node: &Arc<Node>) -> Result<Settled> {
        let old = node.place.get();
        let settled = match &node.body {
            Body::Leaf(leaf) => self.leaf(leaf, old)?,
            Body::Branch(branch) => self.branch(branch, old)?,
        };
        if settled.1 {
            self.placed.push(Placed::Node(Arc::clone(node), settled.0));
        }
        Ok(settled)
    }

    fn leaf(&mut self, leaf: &Leaf, old: Option<BlockPointer>) -> Result<Settled> {
        let mut pointers = Vec::new();
        let mut has_changed = false;
        for value in
            leaf.items.iter().filter_map(|item| item.values.as_ref()).flat_map(|values| values.iter())
        {
            let (pointer, is_new) = self.value(value)?;
            pointers.push(pointer);
            has_changed |= is_new;
        }
        self.settle(old, has_changed, BlockKind::Leaf, || encode_leaf(&leaf.items, &pointers))
    }

    fn value(&mut self, value: &Arc<StoredValue>) -> Result<Settled> {
        let old = value.place.get();
        let settled = self.settle(old, false, BlockKind::Value, || value.bytes.to_vec())?;
        if settled.1 {
            self.placed.push(Placed::Value(Arc::clone(value), settled.0));
        } else if planted(Fault::ValueFreedEarly) {
            self.used.pop();
        }
        Ok(settled)
    }

    fn branch(&mut self, branch: &Branch, old: Option<BlockPointer>) -> Result<Settled> {
        let mut pointers = Vec::with_capacity(branch.children.len());
        let mut has_changed = false;
        for child in &branch.children {
            let (pointer, is_new) = self.node(&child.node)?;
            pointers.push(pointer);
            has_changed |= is_new;
        }
        let children = branch.children.iter().zip(pointers);
        let entries = children.map(|(child, pointer)| (child.key.as_slice(), child.count, pointer));
        self.settle(old, has_changed, BlockKind::Branch, || encode_branch(entries))
    }

    /// Leaves a block where it is, moves it, or writes it for the first time.
    fn settle(
        &mut self,
        old: Option<BlockPointer>,
        has_changed: bool,
        kind: BlockKind,
        encode: impl FnOnce() -> Vec<u8>,
    ) -> Result<Settled> {
        let seal = |this: &Self| Sealed::new(kind, this.table, encode(), this.may_compress);
        let pointer = match old {
            Some(old) if !has_changed => {
                let moved = if self.is_to_move(&old) { self.move_down(&seal(self))? } else { None };
                let pointer = moved.unwrap_or(old);
                self.used.push(Extent { offset: pointer.offset, len_bytes: pointer.extent_bytes() });
                return Ok((pointer, moved.is_some()));
            }
            _ => self.writer.write(&seal(self))?,
        };
        self.used.push(Extent { offset: pointer.offset, len_bytes: pointer.extent_bytes() });
        Ok((pointer, true))
    }

    fn is_to_move(&self, old: &BlockPointer) -> bool {
        let written_anyway = self.writer.written_bytes - self.moved_bytes;
        old.offset >= self.limit && self.moved_bytes < written_anyway + MOVE_BYTES
    }

    fn move_down(&mut self, sealed: &Sealed) -> Result<Option<BlockPointer>> {
        let moved = self.writer.write_below(sealed, self.limit)?;
        self.moved_bytes += moved.map_or(0, |pointer| pointer.extent_bytes());
        Ok(moved)
    }
}

/// Keys of tables that are listed and do not exist any more.
fn dropped_tables(state: &State, tables_tree: &Tree) -> Vec<Vec<u8>> {
    let mut cursor = Cursor::new(Arc::clone(tables_tree.root()), KeyRange::all(), Direction::Forward);
    let mut dropped = Vec::new();
    while let Some(item) = cursor.next() {
        let id = item.cell.key().try_into().map_or(0, u64::from_be_bytes);
        if state.tables.get(id).is_none() {
            dropped.push(item.cell.key().to_vec());
        }
    }
    dropped
}

/// Every extent that nodes and values of the state remember as their place, sorted.
pub(crate) fn placed_extents(state: &State, tables_tree: &Tree) -> Vec<Extent> {
    let mut extents = Vec::new();
    let mut roots = vec![Arc::clone(tables_tree.root())];
    state.tables.for_each(&mut |_, table| roots.push(Arc::clone(table.tree.root())));
    roots.iter().for_each(|root| collect_places(root, &mut extents));
    extents.sort_unstable();
    extents
}

fn collect_places(node: &Node, extents: &mut Vec<Extent>) {
    let mut push = |place: Option<BlockPointer>| {
        extents.extend(
            place.map(|pointer| Extent { offset: pointer.offset, len_bytes: pointer.extent_bytes() }),
        );
    };
    push(node.place.get());
    match &node.body {
        Body::Leaf(leaf) => {
            let values =
                leaf.items.iter().filter_map(|item| item.values.as_ref()).flat_map(|values| values.iter());
            values.for_each(|value| push(value.place.get()));
        }
        Body::Branch(branch) => branch.children.iter().for_each(|child| collect_places(&child.node, extents)),
    }
}
