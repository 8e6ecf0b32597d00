//! Building a table from the bottom up: entries in order become full leaves, written as they fill, and branches over
//! them. Nothing of it is in the log but where it is.

use crate::block::{BlockKind, BlockPointer, Sealed};
use crate::block_writer::BlockWriter;
use crate::error::{Error, Result};
use crate::ids::TableId;
use crate::node_block::{encode_branch, encode_leaf};
use crate::record::{Cell, ValueRef};
use crate::space::Extent;
use crate::store::{Medium, Store};
use crate::tree::{
    BRANCH_MAX_CHILDREN, Branch, Change, Child, Context, EntryRef, LEAF_TARGET_BYTES, Link, PackedBuilder,
    Tree, shortest_separator,
};
use std::borrow::Cow;

/// The version of all entries: older than any that a transaction could still be waiting to compare.
const VERSION: u64 = 1;

/// Takes entries in ascending order of their keys.
pub struct TableBuilder {
    store: Store,
    table: u64,
    /// None in memory, where the tree is built at once.
    writer: Option<BlockWriter>,
    tree: Tree,
    leaf: PackedBuilder,
    leaf_values: Vec<BlockPointer>,
    /// The last key of the leaf before: what its follower's separator has to be greater than.
    last_key: Option<Vec<u8>>,
    /// Branches being filled, from the lowest up.
    levels: Vec<Vec<Child>>,
    count: u64,
    next_row: u64,
}

/// A table whose blocks are on the disk, and which is not one of the store's yet. Dropping it gives them back.
pub struct BuiltTable {
    pub(crate) store: Store,
    pub(crate) table: u64,
    pub(crate) tree: Tree,
    pub(crate) next_row: u64,
    pub(crate) extents: Vec<Extent>,
    /// Set by the commit that attaches it.
    pub(crate) is_attached: bool,
}

impl BuiltTable {
    /// The number that it is going to have.
    pub fn id(&self) -> TableId {
        TableId::from_u64(self.table)
    }

    /// Entries.
    pub fn count(&self) -> u64 {
        self.tree.count()
    }
}

impl Drop for BuiltTable {
    fn drop(&mut self) {
        if let (false, Medium::File(file)) = (self.is_attached, &self.store.shared().medium)
            && file.poison.check().is_ok()
        {
            let mut space = file.space.lock();
            self.extents.drain(..).for_each(|extent| space.release(extent));
        }
    }
}

impl Store {
    /// Begins a table that is built outside any transaction. [`Transaction::attach`](crate::Transaction::attach) makes
    /// it one of the store's.
    pub fn build_table(&self) -> Result<TableBuilder> {
        let table = self.next_table_number()?;
        self.build_table_as(TableId::from_u64(table))
    }

    pub(crate) fn build_table_as(&self, table: TableId) -> Result<TableBuilder> {
        self.shared().check_writable()?;
        let writer =
            matches!(self.shared().medium, Medium::File(_)).then(|| BlockWriter::for_commit(u64::MAX));
        Ok(TableBuilder {
            store: self.clone(),
            table: table.get(),
            writer,
            tree: Tree::default(),
            leaf: PackedBuilder::default(),
            leaf_values: Vec::new(),
            last_key: None,
            levels: Vec::new(),
            count: 0,
            next_row: 1,
        })
    }
}

impl TableBuilder {
    /// Adds an entry without values. Its key must be greater than all before.
    pub fn push(&mut self, key: &[u8], head: &[u8]) -> Result<()> {
        self.push_with_values(key, head, &[])
    }

    /// Adds an entry with values out of line.
    pub fn push_with_values(&mut self, key: &[u8], head: &[u8], values: &[&[u8]]) -> Result<()> {
        let last = self.leaf.last_key().or(self.last_key.as_deref());
        if last.is_some_and(|last| last >= key) {
            return Err(Error::Misuse { what: "entries of a table that is built must come in order" });
        }
        if self.writer.is_none() {
            return self.push_in_memory(key, head, values);
        }
        let refs = values.iter().map(|value| self.write_value(value)).collect::<Result<Vec<_>>>()?;
        let entry = EntryRef { key, head, version: VERSION, values: &refs };
        if !self.leaf.is_empty() && self.leaf.raw_bytes() + entry.weight_bytes() > LEAF_TARGET_BYTES {
            self.cut_leaf(Some(key))?;
        }
        self.leaf.push(entry);
        self.leaf_values.extend(refs.iter().filter_map(ValueRef::pointer));
        self.count += 1;
        Ok(())
    }

    fn push_in_memory(&mut self, key: &[u8], head: &[u8], values: &[&[u8]]) -> Result<()> {
        use crate::record::FreshValue;
        let snapshot = self.store.snapshot();
        let context = Context { pages: &snapshot.state.pages, table: self.table };
        let refs: Vec<ValueRef> =
            values.iter().map(|value| ValueRef::Fresh(FreshValue::new(value))).collect();
        let cell = Cell::new(key, head, &mut Vec::new());
        let change = Change::put(cell, (!refs.is_empty()).then(|| refs.into()), VERSION);
        self.tree.apply(change, Some(false), &context)?;
        self.last_key = Some(key.to_vec());
        Ok(())
    }

    /// What the table's next append is going to get.
    pub(crate) fn set_next_row(&mut self, next_row: u64) {
        self.next_row = next_row;
    }

    fn write_block(&mut self, kind: BlockKind, raw: Cow<'_, [u8]>) -> Result<BlockPointer> {
        let shared = self.store.shared();
        let (Medium::File(file), Some(writer)) = (&shared.medium, &mut self.writer) else {
            return Err(Error::Misuse { what: "a store in memory has no blocks" });
        };
        writer.write(file, &Sealed::new(kind, self.table, raw, file.may_compress))
    }

    fn write_value(&mut self, value: &[u8]) -> Result<ValueRef> {
        self.write_block(BlockKind::Value, Cow::Borrowed(value)).map(ValueRef::Stored)
    }

    /// Writes the leaf; `next` is the key that follows it.
    fn cut_leaf(&mut self, next: Option<&[u8]>) -> Result<()> {
        let leaf = std::mem::take(&mut self.leaf).finish();
        let values = std::mem::take(&mut self.leaf_values);
        let pointer = self.write_block(BlockKind::Leaf, Cow::Owned(encode_leaf(&leaf, &values)))?;
        let first = leaf.key(0);
        let separator = match &self.last_key {
            Some(last) => shortest_separator(last, first).to_vec(),
            None => Vec::new(),
        };
        let child = Child::new(&separator, leaf.len() as u64, !values.is_empty(), Link::Stored(pointer));
        self.last_key = next.is_some().then(|| leaf.key(leaf.len().saturating_sub(1)).to_vec());
        self.add_child(0, child)
    }

    fn add_child(&mut self, level: usize, child: Child) -> Result<()> {
        if self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        let is_full = self.levels.get(level).is_some_and(|children| children.len() >= BRANCH_MAX_CHILDREN);
        if is_full {
            let parent = self.cut_branch(level)?;
            self.add_child(level + 1, parent)?;
        }
        if let Some(children) = self.levels.get_mut(level) {
            children.push(child);
        }
        Ok(())
    }

    /// Writes the branch of a level.
    fn cut_branch(&mut self, level: usize) -> Result<Child> {
        let children = self.levels.get_mut(level).map(std::mem::take).unwrap_or_default();
        let branch = Branch { children };
        let pointers: Vec<BlockPointer> =
            branch.children.iter().filter_map(|child| child.link.pointer()).collect();
        let pointer = self.write_block(BlockKind::Branch, Cow::Owned(encode_branch(&branch, &pointers)))?;
        let key = branch.children.first().map(|child| child.key.clone()).unwrap_or_default();
        Ok(Child::new(&key, branch.count(), branch.has_values(), Link::Stored(pointer)))
    }

    /// Writes what is left; when this returns, everything is on the disk.
    pub fn finish(mut self) -> Result<BuiltTable> {
        let mut extents = Vec::new();
        if self.writer.is_some() {
            if !self.leaf.is_empty() {
                self.cut_leaf(None)?;
            }
            self.tree = self.cut_levels()?;
            let shared = self.store.shared();
            if let (Medium::File(file), Some(writer)) = (&shared.medium, &mut self.writer) {
                extents = writer.finish(file)?.to_vec();
            }
            // From here on they belong to what is returned.
            self.writer = None;
        }
        Ok(BuiltTable {
            store: self.store.clone(),
            table: self.table,
            tree: std::mem::take(&mut self.tree),
            next_row: self.next_row,
            extents,
            is_attached: false,
        })
    }

    fn cut_levels(&mut self) -> Result<Tree> {
        let mut level = 0;
        loop {
            let is_top = level + 1 >= self.levels.len();
            let children = self.levels.get(level).map_or(0, Vec::len);
            if is_top && children <= 1 {
                let only = self.levels.get_mut(level).and_then(Vec::pop);
                let pointer = only.as_ref().and_then(|child| child.link.pointer());
                return Ok(match (only, pointer) {
                    (Some(child), Some(root)) => {
                        Tree::from_root(root, level as u8, self.count, child.has_values)
                    }
                    _ => Tree::default(),
                });
            }
            if children > 0 {
                let parent = self.cut_branch(level)?;
                self.add_child(level + 1, parent)?;
            }
            level += 1;
        }
    }
}

impl Drop for TableBuilder {
    fn drop(&mut self) {
        if let (Some(writer), Medium::File(file)) = (self.writer.take(), &self.store.shared().medium) {
            writer.abandon(file);
        }
    }
}
