//! The whole state of the store after one commit, as one immutable value.
//!
//! A reader takes it by cloning an `Arc`; the commit section makes the next one from it. Tables hang in a radix
//! tree over their numbers, so that changing one copies a short path however many there are.

use crate::pages::Pages;
use crate::tree::{Context, Tree};
use std::sync::Arc;

/// One table at one moment.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) tree: Tree,
    /// The row number that the next append gets. Only grows.
    pub(crate) next_row: u64,
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { tree: Tree::default(), next_row: 1 }
    }
}

/// All tables after the commit `sequence`.
#[derive(Clone)]
pub(crate) struct State {
    /// The file as this state's epoch sees it.
    pub(crate) pages: Arc<Pages>,
    pub(crate) sequence: u64,
    /// The number that the next table gets. Only grows.
    pub(crate) next_table: u64,
    pub(crate) tables: TableMap,
}

impl State {
    /// The empty store: the catalogue table and nothing in it.
    pub(crate) fn empty(pages: Arc<Pages>) -> State {
        let mut tables = TableMap::default();
        tables.insert(0, Table::new());
        State { pages, sequence: 0, next_table: 1, tables }
    }

    /// What one has to know to read table `table`.
    pub(crate) fn context(&self, table: u64) -> Context<'_> {
        Context { pages: &self.pages, table }
    }
}

const FANOUT_BITS: u32 = 5;
const FANOUT: usize = 1 << FANOUT_BITS;

#[derive(Clone)]
enum Slot {
    Empty,
    Table(Arc<Table>),
    Slots(Arc<[Slot; FANOUT]>),
}

/// A persistent map from table numbers to tables.
#[derive(Clone)]
pub(crate) struct TableMap {
    root: Slot,
    /// Levels of slots above the tables.
    height: u32,
    len: usize,
}

impl Default for TableMap {
    fn default() -> TableMap {
        TableMap { root: Slot::Empty, height: 0, len: 0 }
    }
}

fn empty_slots() -> Arc<[Slot; FANOUT]> {
    Arc::new([const { Slot::Empty }; FANOUT])
}

/// Which of a slot's children leads to table `id`, `level` levels above it.
fn digit(id: u64, level: u32) -> usize {
    (id >> (FANOUT_BITS * level)) as usize & (FANOUT - 1)
}

impl TableMap {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn covers(&self, id: u64) -> bool {
        self.height * FANOUT_BITS >= u64::BITS || id >> (self.height * FANOUT_BITS) == 0
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Arc<Table>> {
        if !self.covers(id) {
            return None;
        }
        let mut slot = &self.root;
        for level in (0..self.height).rev() {
            match slot {
                Slot::Slots(slots) => slot = slots.get(digit(id, level))?,
                _ => return None,
            }
        }
        match slot {
            Slot::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The place of table `id`, with the path to it made this map's own.
    fn slot_to_change(&mut self, id: u64) -> Option<&mut Slot> {
        while !self.covers(id) {
            let below = std::mem::replace(&mut self.root, Slot::Empty);
            if !matches!(below, Slot::Empty) {
                let mut slots = empty_slots();
                if let Some(first) = Arc::get_mut(&mut slots).and_then(|slots| slots.first_mut()) {
                    *first = below;
                }
                self.root = Slot::Slots(slots);
            }
            self.height += 1;
        }
        let mut slot = &mut self.root;
        for level in (0..self.height).rev() {
            if matches!(slot, Slot::Empty) {
                *slot = Slot::Slots(empty_slots());
            }
            match slot {
                Slot::Slots(slots) => slot = Arc::make_mut(slots).get_mut(digit(id, level))?,
                _ => return None,
            }
        }
        Some(slot)
    }

    /// The table, to change: a copy when anybody else holds it.
    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut Table> {
        self.get(id)?;
        match self.slot_to_change(id)? {
            Slot::Table(table) => Some(Arc::make_mut(table)),
            _ => None,
        }
    }

    pub(crate) fn insert(&mut self, id: u64, table: Table) {
        if let Some(slot) = self.slot_to_change(id) {
            let old = std::mem::replace(slot, Slot::Table(Arc::new(table)));
            self.len += usize::from(matches!(old, Slot::Empty));
        }
    }

    pub(crate) fn remove(&mut self, id: u64) -> bool {
        if self.get(id).is_none() {
            return false;
        }
        if let Some(slot) = self.slot_to_change(id) {
            *slot = Slot::Empty;
            self.len -= 1;
        }
        true
    }

    /// Calls `visit` with every table, in the order of their numbers.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(u64, &Arc<Table>)) {
        fn walk(slot: &Slot, id: u64, visit: &mut dyn FnMut(u64, &Arc<Table>)) {
            match slot {
                Slot::Empty => {}
                Slot::Table(table) => visit(id, table),
                Slot::Slots(slots) => {
                    slots
                        .iter()
                        .zip(0..)
                        .for_each(|(slot, digit)| walk(slot, id << FANOUT_BITS | digit, visit));
                }
            }
        }
        walk(&self.root, 0, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_by_number() {
        let mut map = TableMap::default();
        let ids = [0, 1, 31, 32, 33, 1023, 1024, 1 << 20, u64::MAX];
        for id in ids {
            assert!(map.get(id).is_none());
            map.insert(id, Table { tree: Tree::default(), next_row: id });
        }
        let before = map.clone();
        map.get_mut(33).unwrap().next_row = 5;
        assert!(map.remove(1) && !map.remove(1) && !map.remove(2));
        let rows = |map: &TableMap| {
            let mut rows = Vec::new();
            map.for_each(&mut |id, table| rows.push((id, table.next_row)));
            rows
        };
        assert_eq!(rows(&before), ids.map(|id| (id, id)).to_vec());
        assert_eq!(map.len(), 8);
        assert_eq!(map.get(33).unwrap().next_row, 5);
        assert_eq!(rows(&map).len(), 8);
    }
}
