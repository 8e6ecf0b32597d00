//! Reading a checkpoint back: from the superblock's root to every node and value, all of it checked.
//!
//! The first stage holds the whole state in memory, so opening reads everything; each node remembers its place, so
//! that the next checkpoint writes only what changed.

use super::node_block::{decode_branch, decode_leaf};
use super::tables::TableEntry;
use crate::block::{self, BlockKind, BlockPointer, Place, TABLES_TREE};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::ids::RowId;
use crate::record::{Cell, StoredValue};
use crate::space::Extent;
use crate::state::{State, Table, TableMap};
use crate::superblock::Superblock;
use crate::tree::{Body, Branch, Child, Item, Leaf, Node, Tree};
use std::sync::Arc;

/// Deepest tree that is read: far beyond any real one, it ends circles.
const MAX_DEPTH: u32 = 32;

/// A checkpoint in memory.
pub(crate) struct Loaded {
    pub(crate) state: State,
    /// The tree that lists the tables.
    pub(crate) tables_tree: Tree,
    /// Every extent that it reaches, unsorted.
    pub(crate) used: Vec<Extent>,
}

/// Reads the checkpoint that a superblock names.
pub(crate) fn load(disk: &dyn Disk, file_len: u64, superblock: &Superblock) -> Result<Loaded> {
    let mut state = State::empty();
    state.sequence = superblock.sequence;
    state.next_table = superblock.next_table.max(1);
    let Some(root) = superblock.tables_root else {
        return Ok(Loaded { state, tables_tree: Tree::new(), used: Vec::new() });
    };
    let mut loader = Loader { disk, file_len, table: TABLES_TREE, used: Vec::new(), last: None };
    let tables_tree = Tree::from_root(loader.node(&root, 0)?);
    let mut tables = TableMap::default();
    let mut cursor = crate::tree::Cursor::new(
        Arc::clone(tables_tree.root()),
        crate::KeyRange::all(),
        crate::Direction::Forward,
    );
    while let Some(item) = cursor.next() {
        let damaged = || Error::corrupt(disk.place(), "the list of tables cannot be read");
        let id = RowId::from_key(item.cell.key()).ok_or_else(damaged)?.get();
        let entry = TableEntry::decode(item.cell.head()).ok_or_else(damaged)?;
        (loader.table, loader.last) = (id, None);
        let tree = match entry.root {
            Some(root) => Tree::from_root(loader.node(&root, 0)?),
            None => Tree::new(),
        };
        if tree.count() != entry.count {
            return Err(loader.damaged(0, "the number of its entries is not the one that was noted"));
        }
        tables.insert(id, Table { tree, next_row: entry.next_row });
        state.next_table = state.next_table.max(id.saturating_add(1));
    }
    if tables.get(0).is_none() {
        return Err(Error::corrupt(disk.place(), "the catalogue table is missing"));
    }
    state.tables = tables;
    Ok(Loaded { state, tables_tree, used: loader.used })
}

struct Loader<'d> {
    disk: &'d dyn Disk,
    file_len: u64,
    table: u64,
    used: Vec<Extent>,
    /// The last key that was read of the table: the next one must be greater.
    last: Option<Cell>,
}

impl Loader<'_> {
    fn damaged(&self, offset: u64, what: &str) -> Error {
        Error::corrupt(format!("{}, table {}, block at byte {offset}", self.disk.place(), self.table), what)
    }

    fn read(&mut self, pointer: &BlockPointer) -> Result<(BlockKind, Vec<u8>)> {
        let read = block::read(self.disk, self.file_len, pointer, self.table)?;
        self.used.push(Extent { offset: pointer.offset, len_bytes: pointer.extent_bytes() });
        Ok(read)
    }

    fn node(&mut self, pointer: &BlockPointer, depth: u32) -> Result<Arc<Node>> {
        if depth > MAX_DEPTH {
            return Err(self.damaged(pointer.offset, "the tree is deeper than any tree grows"));
        }
        let body = match self.read(pointer)? {
            (BlockKind::Leaf, raw) => Body::Leaf(self.leaf(pointer, &raw)?),
            (BlockKind::Branch, raw) => Body::Branch(self.branch(pointer, &raw, depth)?),
            (BlockKind::Value, _) => {
                return Err(self.damaged(pointer.offset, "a value stands where a node belongs"));
            }
        };
        Ok(Arc::new(Node { place: Place::at(*pointer), body }))
    }

    fn leaf(&mut self, pointer: &BlockPointer, raw: &[u8]) -> Result<Leaf> {
        let entries =
            decode_leaf(raw).ok_or_else(|| self.damaged(pointer.offset, "its entries cannot be read"))?;
        if let (Some(last), Some(first)) = (&self.last, entries.first())
            && last.key() >= first.cell.key()
        {
            return Err(self.damaged(pointer.offset, "its keys are out of order"));
        }
        if let Some(last) = entries.last() {
            self.last = Some(last.cell.clone());
        }
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            let values =
                entry.values.iter().map(|pointer| self.value(pointer)).collect::<Result<Vec<_>>>()?;
            items.push(Item::new(entry.cell, (!values.is_empty()).then(|| Arc::new(values)), entry.version));
        }
        Ok(Leaf::new(items))
    }

    fn value(&mut self, pointer: &BlockPointer) -> Result<Arc<StoredValue>> {
        match self.read(pointer)? {
            (BlockKind::Value, raw) => {
                Ok(Arc::new(StoredValue { bytes: raw.into(), place: Place::at(*pointer) }))
            }
            _ => Err(self.damaged(pointer.offset, "a node stands where a value belongs")),
        }
    }

    fn branch(&mut self, pointer: &BlockPointer, raw: &[u8], depth: u32) -> Result<Branch> {
        let entries =
            decode_branch(raw).ok_or_else(|| self.damaged(pointer.offset, "its children cannot be read"))?;
        let mut children = Vec::with_capacity(entries.len());
        for (number, entry) in entries.into_iter().enumerate() {
            if number > 0 && self.last.as_ref().is_some_and(|last| last.key() >= entry.key.as_slice()) {
                return Err(self.damaged(pointer.offset, "its children are out of order"));
            }
            let child = Child::new(&entry.key, self.node(&entry.pointer, depth + 1)?);
            if child.count != entry.count {
                return Err(
                    self.damaged(pointer.offset, "a child has not the number of entries that was noted")
                );
            }
            children.push(child);
        }
        Ok(Branch { children })
    }
}
