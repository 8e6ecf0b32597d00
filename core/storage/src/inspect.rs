//! Walking what a checkpoint has in the file, past the cache and past damage: for verification, for salvage, and where
//! the list of free space cannot be read.

use crate::block::{BlockKind, BlockPointer, TABLES_TREE};
use crate::checkpoint::{TableEntry, tables_tree};
use crate::error::{Error, Result};
use crate::ids::RowId;
use crate::pages::Pager;
use crate::record::ValueRef;
use crate::space::{Extent, Space};
use crate::superblock::Superblock;
use crate::tree::{Child, Packed};

/// Sees what a walk finds. A problem does not end the walk: what it hides is passed over.
pub(crate) trait Visit {
    /// A block that can be read, or of a value that is not read, one that is in use.
    fn block(&mut self, extent: Extent);
    /// A leaf of a table, in the order of keys; not those of the list of tables.
    fn leaf(&mut self, table: u64, leaf: &Packed) -> Result<()>;
    /// Something that cannot be read or is not as it should be. Comes where the keys that are lost would have come.
    fn problem(&mut self, table: u64, error: Error, lost: Lost<'_>) -> Result<()>;
    /// Of a block that is written twice and can be read, one copy is bad.
    fn bad_copy(&mut self, table: u64, _: &BlockPointer, error: Error) -> Result<()> {
        self.problem(table, error, Lost::Nothing)
    }
}

/// Of what nothing is known, because of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lost<'l> {
    /// Everything can be read.
    Nothing,
    /// The entry of this key.
    Entry(&'l [u8]),
    /// All keys from `lower` up to, and without, `upper`; of so many entries, where that is noted. What cannot be read
    /// stands so many levels above the leaves.
    Range { lower: &'l [u8], upper: Option<&'l [u8]>, entries: Option<u64>, level: u8 },
}

/// What a walk does about values out of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Reads and checks each.
    Read,
    /// Says where they are.
    Note,
    /// Nothing.
    Skip,
}

/// Walks everything that a checkpoint reaches.
pub(crate) fn walk(
    pager: &Pager,
    superblock: &Superblock,
    values: Values,
    visit: &mut dyn Visit,
) -> Result<Vec<(u64, TableEntry)>> {
    list_of_free_space(pager, superblock, visit)?;
    let tables = tables(pager, superblock, visit)?;
    for (id, entry) in &tables {
        table(pager, *id, entry, values, visit)?;
    }
    Ok(tables)
}

/// Looks at the list of free space.
pub(crate) fn list_of_free_space(
    pager: &Pager,
    superblock: &Superblock,
    visit: &mut dyn Visit,
) -> Result<()> {
    let Some(map) = &superblock.space_map else { return Ok(()) };
    match space_map(pager, map) {
        Ok(_) => {
            visit.block(map.extent());
            check_copies(pager, map, TABLES_TREE, visit)
        }
        Err(error) => visit.problem(TABLES_TREE, error, Lost::Nothing),
    }
}

/// Reads the list of free space.
pub(crate) fn space_map(pager: &Pager, map: &BlockPointer) -> Result<Space> {
    let raw = match pager.read(map, TABLES_TREE)? {
        (BlockKind::SpaceMap, raw) => raw,
        _ => return Err(pager.damaged(map, TABLES_TREE, "it is not the list of free extents")),
    };
    let damaged = || pager.damaged(map, TABLES_TREE, "the list of free extents cannot be read");
    Space::decode(&raw).ok_or_else(damaged)
}

/// Walks the list of tables; gives what it says of each, as far as it can be read.
pub(crate) fn tables(
    pager: &Pager,
    superblock: &Superblock,
    visit: &mut dyn Visit,
) -> Result<Vec<(u64, TableEntry)>> {
    let tree = tables_tree(superblock);
    let mut listed = Listed { tables: Vec::new(), visit };
    if let Some(root) = superblock.tables_root {
        let mut walk = Walk { pager, table: TABLES_TREE, visit: &mut listed, values: Values::Skip };
        walk.node(&root, tree.height(), Expected { entries: None, lower: &[], upper: None })?;
    }
    Ok(listed.tables)
}

/// Walks one table.
pub(crate) fn table(
    pager: &Pager,
    id: u64,
    entry: &TableEntry,
    values: Values,
    visit: &mut dyn Visit,
) -> Result<()> {
    let Some(root) = entry.root else { return Ok(()) };
    let mut walk = Walk { pager, table: id, visit, values };
    let expected = Expected { entries: Some(entry.count), lower: &[], upper: None };
    let count = walk.node(&root, entry.height, expected)?;
    if count.is_some_and(|count| count != entry.count) {
        let what = format!("it has {} entries and counts {}", count.unwrap_or(0), entry.count);
        let error = Error::corrupt(format!("{}, table {id}", pager.disk().place()), what);
        visit.problem(id, error, Lost::Nothing)?;
    }
    Ok(())
}

/// Of a block that is written twice and can be read, both copies should be good.
fn check_copies(pager: &Pager, pointer: &BlockPointer, table: u64, visit: &mut dyn Visit) -> Result<()> {
    match pager.bad_copy(pointer, table) {
        Some(error) => visit.bad_copy(table, pointer, error),
        None => Ok(()),
    }
}

/// Takes the list of tables for itself and hands everything else on.
struct Listed<'v> {
    tables: Vec<(u64, TableEntry)>,
    visit: &'v mut dyn Visit,
}

impl Visit for Listed<'_> {
    fn block(&mut self, extent: Extent) {
        self.visit.block(extent);
    }

    fn leaf(&mut self, _: u64, leaf: &Packed) -> Result<()> {
        for entry in leaf.iter() {
            match RowId::from_key(entry.key).zip(TableEntry::decode(entry.head)) {
                Some((id, noted)) => self.tables.push((id.get(), noted)),
                None => {
                    let error = Error::corrupt("the list of tables", "an entry cannot be read");
                    self.visit.problem(TABLES_TREE, error, Lost::Entry(entry.key))?;
                }
            }
        }
        Ok(())
    }

    fn problem(&mut self, table: u64, error: Error, lost: Lost<'_>) -> Result<()> {
        self.visit.problem(table, error, lost)
    }

    fn bad_copy(&mut self, table: u64, pointer: &BlockPointer, error: Error) -> Result<()> {
        self.visit.bad_copy(table, pointer, error)
    }
}

struct Walk<'w> {
    pager: &'w Pager,
    table: u64,
    visit: &'w mut dyn Visit,
    values: Values,
}

/// What a subtree should hold: so many entries, where that is noted, and keys from `lower` up to, and without, `upper`.
#[derive(Clone, Copy)]
struct Expected<'k> {
    entries: Option<u64>,
    lower: &'k [u8],
    upper: Option<&'k [u8]>,
}

impl Walk<'_> {
    /// Walks a subtree; says how many entries it has, unless something could not be read.
    fn node(&mut self, pointer: &BlockPointer, level: u8, expected: Expected<'_>) -> Result<Option<u64>> {
        if level > 0 {
            let branch = match self.pager.read_branch(pointer, self.table) {
                Ok(branch) => branch,
                Err(error) => return self.lost(error, level, expected),
            };
            self.visit.block(pointer.extent());
            check_copies(self.pager, pointer, self.table, self.visit)?;
            return self.children(pointer, &branch.children, level, expected);
        }
        let leaf = match self.pager.read_leaf(pointer, self.table) {
            Ok(leaf) => leaf,
            Err(error) => return self.lost(error, level, expected),
        };
        self.visit.block(pointer.extent());
        check_copies(self.pager, pointer, self.table, self.visit)?;
        let last = leaf.key(leaf.len().saturating_sub(1));
        let is_elsewhere = leaf.key(0) < expected.lower || expected.upper.is_some_and(|upper| last >= upper);
        if leaf.len() > 0 && is_elsewhere {
            let what = "it holds keys that belong elsewhere";
            return self.lost(self.pager.damaged(pointer, self.table, what), level, expected);
        }
        if self.values != Values::Skip {
            self.check_values(&leaf)?;
        }
        self.visit.leaf(self.table, &leaf)?;
        Ok(Some(leaf.len() as u64))
    }

    fn lost(&mut self, error: Error, level: u8, expected: Expected<'_>) -> Result<Option<u64>> {
        let Expected { entries, lower, upper } = expected;
        self.visit.problem(self.table, error, Lost::Range { lower, upper, entries, level })?;
        Ok(None)
    }

    fn children(
        &mut self,
        pointer: &BlockPointer,
        children: &[Child],
        level: u8,
        expected: Expected<'_>,
    ) -> Result<Option<u64>> {
        let mut total = Some(0);
        for (number, child) in children.iter().enumerate() {
            let Some(place) = child.link.pointer() else { continue };
            let lower = if number == 0 { expected.lower } else { child.key.as_slice() };
            let upper = children.get(number + 1).map(|next| next.key.as_slice()).or(expected.upper);
            // Nobody counts the tables by their tree.
            let entries = expected.entries.map(|_| child.count);
            let count = self.node(&place, level - 1, Expected { entries, lower, upper })?;
            if count.is_some_and(|count| count != child.count) {
                let what = "a child has not the number of entries that was noted";
                let error = self.pager.damaged(pointer, self.table, what);
                self.visit.problem(self.table, error, Lost::Nothing)?;
            }
            total = total.zip(count).map(|(total, count)| total + count);
        }
        Ok(total)
    }

    fn check_values(&mut self, leaf: &Packed) -> Result<()> {
        for entry in leaf.iter() {
            for pointer in entry.values.iter().filter_map(ValueRef::pointer) {
                if self.values == Values::Note {
                    self.visit.block(pointer.extent());
                    continue;
                }
                match self.pager.read_value(&pointer, self.table) {
                    Ok(_) => {
                        self.visit.block(pointer.extent());
                        check_copies(self.pager, &pointer, self.table, self.visit)?;
                    }
                    Err(error) => self.visit.problem(self.table, error, Lost::Entry(entry.key))?,
                }
            }
        }
        Ok(())
    }
}
