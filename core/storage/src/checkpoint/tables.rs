//! The tree that lists the tables: table number → root, height, number of entries, next row number.

use crate::block::BlockPointer;
use crate::bytes::{Reader, put_u64};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::ids::RowId;
use crate::pages::Pages;
use crate::state::{State, Table};
use crate::superblock::Superblock;
use crate::tree::{Context, Cursor, Tree};
use crate::{Direction, KeyRange};
use std::sync::Arc;

/// Highest tree that is read: far beyond any real one.
const MAX_HEIGHT: u8 = 32;

/// What is noted about a table.
#[derive(Clone)]
pub(crate) struct TableEntry {
    pub(crate) root: Option<BlockPointer>,
    pub(crate) height: u8,
    pub(crate) has_values: bool,
    pub(crate) count: u64,
    pub(crate) next_row: u64,
}

impl TableEntry {
    pub(crate) fn empty() -> TableEntry {
        TableEntry { root: None, height: 0, has_values: false, count: 0, next_row: 1 }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(42);
        BlockPointer::encode(self.root, &mut out);
        out.extend_from_slice(&[self.height, u8::from(self.has_values)]);
        put_u64(&mut out, self.count);
        put_u64(&mut out, self.next_row);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<TableEntry> {
        let mut reader = Reader::new(bytes);
        Some(TableEntry {
            root: BlockPointer::decode(&mut reader)?,
            height: reader.u8().filter(|height| *height <= MAX_HEIGHT)?,
            has_values: reader.u8()? == 1,
            count: reader.u64()?,
            next_row: reader.u64()?,
        })
    }

    fn table(&self) -> Table {
        let tree = match self.root {
            Some(root) => Tree::from_root(root, self.height, self.count, self.has_values),
            None => Tree::default(),
        };
        Table { tree, next_row: self.next_row }
    }
}

/// The tree of tables of a checkpoint.
pub(crate) fn tables_tree(superblock: &Superblock) -> Tree {
    match superblock.tables_root {
        // How many tables there are is not noted: nobody counts them by the tree.
        Some(root) => Tree::from_root(root, superblock.tables_height.min(MAX_HEIGHT), 0, false),
        None => Tree::default(),
    }
}

/// The state that a checkpoint holds. Reads the list of tables, and nothing of them.
pub(crate) fn load(disk: &dyn Disk, superblock: &Superblock, pages: &Arc<Pages>) -> Result<(State, Tree)> {
    let mut state = State::empty(Arc::clone(pages));
    state.sequence = superblock.sequence;
    state.next_table = superblock.next_table.max(1);
    if superblock.tables_root.is_none() {
        return Ok((state, Tree::default()));
    }
    let context = Context { pages, table: crate::block::TABLES_TREE };
    let tree = tables_tree(superblock);
    let mut cursor = Cursor::new(&tree, KeyRange::all(), Direction::Forward, &context)?;
    let (mut count, mut has_catalog) = (0, false);
    while let Some(found) = cursor.next()? {
        let damaged = || Error::corrupt(disk.place(), "the list of tables cannot be read");
        let entry = found.entry();
        let id = RowId::from_key(entry.key).ok_or_else(damaged)?.get();
        let noted = TableEntry::decode(entry.head).ok_or_else(damaged)?;
        state.tables.insert(id, noted.table());
        state.next_table = state.next_table.max(id.saturating_add(1));
        count += 1;
        has_catalog |= id == 0;
    }
    if !has_catalog {
        return Err(Error::corrupt(disk.place(), "the catalogue table is missing"));
    }
    let root = superblock.tables_root.unwrap_or(BlockPointer::NOWHERE);
    Ok((state, Tree::from_root(root, tree.height(), count, false)))
}
