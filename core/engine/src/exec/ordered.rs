//! Rows in the order of a sort that no index gives.
//!
//! Keys and row numbers are sorted, not documents. As long as they fit into [`SORT_BUDGET_BYTES`] that is
//! one pass over the rows; beyond, each pass keeps the smallest keys above the last one given,
//! as many as fit, so that memory stays bounded without a file to spill to.

use super::Row;
use crate::interrupt::Interrupt;
use multifora_model::{Error, Result};
use multifora_query::sort::{SortSpec, Sorted, Sorter};
use multifora_storage::RowId;
use std::collections::BinaryHeap;

/// Most bytes of keys that one sort holds.
pub const SORT_BUDGET_BYTES: usize = 64 * 1024 * 1024;
/// What an entry costs besides its key.
const ENTRY_BYTES: usize = 48;

/// A place in the order: rows with equal keys follow their numbers.
type Place = (Box<[u8]>, RowId);

/// Gives the rows that are to be sorted, from the beginning each time it is called.
pub trait Rescan {
    /// Goes back to the first row.
    ///
    /// # Errors
    /// Storage errors.
    fn restart(&mut self) -> Result<()>;

    /// The next row.
    ///
    /// # Errors
    /// Interruption, storage errors, errors of the filter.
    fn next(&mut self) -> Result<Option<Row>>;
}

/// Row numbers in order.
pub struct OrderedRows {
    spec: SortSpec,
    state: State,
    budget_bytes: usize,
}

enum State {
    /// Everything in one pass.
    Whole(Sorted),
    /// What the last pass kept, largest first; and whether there is more above it.
    Pass { kept: Vec<Place>, last: Option<Place>, more: bool },
}

impl OrderedRows {
    /// Sorts the rows that `rows` gives; with a limit only the first ones are kept.
    ///
    /// # Errors
    /// Those of `rows` and of the sort keys.
    pub fn sort(spec: SortSpec, limit: Option<u64>, rows: &mut dyn Rescan) -> Result<Self> {
        Self::sort_within(SORT_BUDGET_BYTES, spec, limit, rows)
    }

    fn sort_within(
        budget_bytes: usize,
        spec: SortSpec,
        limit: Option<u64>,
        rows: &mut dyn Rescan,
    ) -> Result<Self> {
        let mut sorter = Sorter::new(spec.clone(), limit);
        while let Some(row) = rows.next()? {
            if sorter.len_bytes() > budget_bytes {
                let state = State::Pass { kept: Vec::new(), last: None, more: true };
                return Ok(OrderedRows { spec, state, budget_bytes });
            }
            sorter.add(&row.view()?, &row.id.to_key())?;
        }
        Ok(OrderedRows { spec, state: State::Whole(sorter.finish()), budget_bytes })
    }

    /// The next row in order; `rows` is asked again when another pass is needed.
    ///
    /// # Errors
    /// Those of `rows`, of the sort keys, interruption.
    pub fn next(&mut self, rows: &mut dyn Rescan, interrupt: &Interrupt) -> Result<Option<RowId>> {
        interrupt.check()?;
        loop {
            match &mut self.state {
                State::Whole(sorted) => {
                    let Some(key) = sorted.next_record() else { return Ok(None) };
                    let row = RowId::from_key(key);
                    return row.map(Some).ok_or_else(|| Error::internal("a sorted row has no number"));
                }
                State::Pass { kept, last, more } => match kept.pop() {
                    Some(place) => {
                        let row = place.1;
                        *last = Some(place);
                        return Ok(Some(row));
                    }
                    None if !*more => return Ok(None),
                    None => (*kept, *more) = pass(&self.spec, self.budget_bytes, last.as_ref(), rows)?,
                },
            }
        }
    }

    /// No row is left.
    pub fn is_empty(&self) -> bool {
        match &self.state {
            State::Whole(sorted) => sorted.is_empty(),
            State::Pass { kept, more, .. } => kept.is_empty() && !more,
        }
    }
}

/// The smallest places above `last` that fit, largest first; and whether others did not.
fn pass(
    spec: &SortSpec,
    budget_bytes: usize,
    last: Option<&Place>,
    rows: &mut dyn Rescan,
) -> Result<(Vec<Place>, bool)> {
    rows.restart()?;
    let mut heap: BinaryHeap<Place> = BinaryHeap::new();
    let (mut held_bytes, mut more) = (0, false);
    let mut key = Vec::new();
    while let Some(row) = rows.next()? {
        spec.key(&row.view()?, &mut key)?;
        let row = row.id;
        let place = (key.as_slice(), row);
        let given = last.is_some_and(|(last_key, last_row)| place <= (&**last_key, *last_row));
        // Once something did not fit, nothing above what is kept can be wanted.
        let too_large = more && heap.peek().is_some_and(|(top, top_row)| place > (&**top, *top_row));
        if given || too_large {
            continue;
        }
        held_bytes += key.len() + ENTRY_BYTES;
        heap.push((key.as_slice().into(), row));
        while held_bytes > budget_bytes && heap.len() > 1 {
            if let Some((top, _)) = heap.pop() {
                held_bytes -= top.len() + ENTRY_BYTES;
                more = true;
            }
        }
    }
    let mut kept = heap.into_sorted_vec();
    kept.reverse();
    Ok((kept, more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use multifora_model::{DocBuilder, RawDoc};
    use multifora_storage::{KeyRange, Location, Options, Read, Scan, Snapshot, Store, TableId};
    use proptest::prelude::*;

    struct Table {
        snapshot: Snapshot,
        table: TableId,
        scan: Scan,
    }

    impl Table {
        fn with(values: &[i32]) -> Self {
            let store = Store::open(&Location::Memory, &Options::default()).unwrap();
            let mut txn = store.begin();
            let table = txn.create_table().unwrap();
            for value in values {
                let mut doc = DocBuilder::new();
                doc.i32("a", *value);
                txn.append(table, &doc.finish()).unwrap();
            }
            txn.commit().unwrap();
            let snapshot = store.snapshot();
            let scan = snapshot.scan(table, KeyRange::all(), multifora_storage::Direction::Forward).unwrap();
            Table { snapshot, table, scan }
        }
    }

    impl Rescan for Table {
        fn restart(&mut self) -> Result<()> {
            let forward = multifora_storage::Direction::Forward;
            self.scan = self.snapshot.scan(self.table, KeyRange::all(), forward).unwrap();
            Ok(())
        }

        fn next(&mut self) -> Result<Option<Row>> {
            Ok(self.scan.next().unwrap().map(|e| Row::new(RowId::from_key(e.key).unwrap(), e.to_record())))
        }
    }

    fn by_a() -> SortSpec {
        let mut doc = DocBuilder::new();
        doc.i32("a", -1);
        SortSpec::compile(RawDoc::framed(&doc.finish()).unwrap()).unwrap()
    }

    fn order(values: &[i32], budget_bytes: usize) -> Vec<RowId> {
        let mut table = Table::with(values);
        let mut rows = OrderedRows::sort_within(budget_bytes, by_a(), None, &mut table).unwrap();
        let interrupt = Interrupt::new();
        let mut found = Vec::new();
        while let Some(row) = rows.next(&mut table, &interrupt).unwrap() {
            found.push(row);
        }
        assert!(rows.is_empty());
        found
    }

    proptest! {
        #[test]
        fn passes_give_what_one_sort_gives(values in prop::collection::vec(0i32..9, 0..60)) {
            let whole = order(&values, usize::MAX);
            prop_assert_eq!(whole.len(), values.len());
            for budget in [0, 100, 700] {
                prop_assert_eq!(&order(&values, budget), &whole);
            }
        }
    }
}
