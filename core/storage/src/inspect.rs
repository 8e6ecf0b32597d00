//! Walking what a checkpoint has in the file, past the cache and past damage: for verification and for salvage.

use crate::block::{BlockPointer, TABLES_TREE};
use crate::checkpoint::{TableEntry, tables_tree};
use crate::error::{Error, Result};
use crate::ids::RowId;
use crate::pages::Pager;
use crate::record::ValueRef;
use crate::space::Extent;
use crate::superblock::Superblock;
use crate::tree::{Child, Packed};

/// Sees what a walk finds. A problem does not end the walk: what it hides is passed over.
pub(crate) trait Visit {
    /// A block that can be read.
    fn block(&mut self, extent: Extent);
    /// A leaf of a table, in the order of keys; not those of the list of tables.
    fn leaf(&mut self, table: u64, leaf: &Packed) -> Result<()>;
    /// Something that cannot be read or is not as it should be. Of the keys from `lost.0` up to `lost.1` nothing is
    /// known.
    fn problem(&mut self, table: u64, error: Error, lost: (&[u8], Option<&[u8]>));
}

/// Walks everything that a checkpoint reaches.
pub(crate) fn walk(
    pager: &Pager,
    superblock: &Superblock,
    visit: &mut dyn Visit,
) -> Result<Vec<(u64, TableEntry)>> {
    if let Some(map) = &superblock.space_map {
        match pager.read(map, TABLES_TREE) {
            Ok(_) => visit.block(map.extent()),
            Err(error) => visit.problem(TABLES_TREE, error, (&[], Some(&[]))),
        }
    }
    let tree = tables_tree(superblock);
    let mut listed = Listed { tables: Vec::new(), visit };
    if let Some(root) = superblock.tables_root {
        let mut walk = Walk { pager, table: TABLES_TREE, visit: &mut listed, values: false };
        walk.node(&root, tree.height(), &[], None)?;
    }
    let Listed { tables, visit } = listed;
    for (id, entry) in &tables {
        let Some(root) = entry.root else { continue };
        let mut walk = Walk { pager, table: *id, visit, values: true };
        let count = walk.node(&root, entry.height, &[], None)?;
        if count.is_some_and(|count| count != entry.count) {
            let what = format!("it has {} entries and counts {}", count.unwrap_or(0), entry.count);
            visit.problem(*id, Error::corrupt(format!("table {id}"), what), (&[], Some(&[])));
        }
    }
    Ok(tables)
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
                    self.visit.problem(TABLES_TREE, error, (entry.key, Some(entry.key)));
                }
            }
        }
        Ok(())
    }

    fn problem(&mut self, table: u64, error: Error, lost: (&[u8], Option<&[u8]>)) {
        self.visit.problem(table, error, lost);
    }
}

struct Walk<'w> {
    pager: &'w Pager,
    table: u64,
    visit: &'w mut dyn Visit,
    values: bool,
}

impl Walk<'_> {
    /// Walks a subtree whose keys lie from `lower` up to, and without, `upper`; says how many entries it has, unless
    /// something could not be read.
    fn node(
        &mut self,
        pointer: &BlockPointer,
        level: u8,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<Option<u64>> {
        if level > 0 {
            let branch = match self.pager.read_branch(pointer, self.table) {
                Ok(branch) => branch,
                Err(error) => return self.lost(error, lower, upper),
            };
            self.visit.block(pointer.extent());
            return self.children(pointer, &branch.children, level, lower, upper);
        }
        let leaf = match self.pager.read_leaf(pointer, self.table) {
            Ok(leaf) => leaf,
            Err(error) => return self.lost(error, lower, upper),
        };
        self.visit.block(pointer.extent());
        let last = leaf.key(leaf.len().saturating_sub(1));
        if leaf.len() > 0 && (leaf.key(0) < lower || upper.is_some_and(|upper| last >= upper)) {
            let what = "it holds keys that belong elsewhere";
            return self.lost(self.pager.damaged(pointer, self.table, what), lower, upper);
        }
        if self.values {
            self.check_values(&leaf);
        }
        self.visit.leaf(self.table, &leaf)?;
        Ok(Some(leaf.len() as u64))
    }

    fn lost(&mut self, error: Error, lower: &[u8], upper: Option<&[u8]>) -> Result<Option<u64>> {
        self.visit.problem(self.table, error, (lower, upper));
        Ok(None)
    }

    fn children(
        &mut self,
        pointer: &BlockPointer,
        children: &[Child],
        level: u8,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<Option<u64>> {
        let mut total = Some(0);
        for (number, child) in children.iter().enumerate() {
            let Some(place) = child.link.pointer() else { continue };
            let from = if number == 0 { lower } else { child.key.as_slice() };
            let to = children.get(number + 1).map(|next| next.key.as_slice()).or(upper);
            let count = self.node(&place, level - 1, from, to)?;
            if count.is_some_and(|count| count != child.count) {
                let what = "a child has not the number of entries that was noted";
                let error = self.pager.damaged(pointer, self.table, what);
                self.visit.problem(self.table, error, (from, Some(from)));
            }
            total = total.zip(count).map(|(total, count)| total + count);
        }
        Ok(total)
    }

    fn check_values(&mut self, leaf: &Packed) {
        for entry in leaf.iter() {
            for pointer in entry.values.iter().filter_map(ValueRef::pointer) {
                match self.pager.read_value(&pointer, self.table) {
                    Ok(_) => self.visit.block(pointer.extent()),
                    Err(error) => self.visit.problem(self.table, error, (entry.key, Some(entry.key))),
                }
            }
        }
    }
}
