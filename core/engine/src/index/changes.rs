//! What writers change of an index while it is being built.
//!
//! A table of changes says of pairs of key and row whether the entry is to be there: the stored key is the pair, the
//! head is empty for an entry that came and [`REMOVED`] for one that went. Of several changes of one pair the last
//! stands. So the table has no order to keep: writers of different rows never meet in it, and working
//! it in twice does no harm. A pair that it does not mention has not changed since the build began.

use multifora_storage::{EntryKind, Result, RowId, TableId, Transaction};

/// The head of a pair whose entry went.
const REMOVED: [u8; 1] = [0];

/// One change, borrowed from the entry of the table that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'e> {
    /// The entry's key in the index.
    pub key: &'e [u8],
    /// The row that it leads to.
    pub row: RowId,
    /// It is to be there (else: not to be there).
    pub added: bool,
}

impl<'e> Change<'e> {
    /// The change that a stored key and head describe.
    pub fn read(stored_key: &'e [u8], head: &[u8]) -> Option<Self> {
        let (key, row) = stored_key.split_last_chunk::<8>()?;
        Some(Change { key, row: RowId::from_u64(u64::from_be_bytes(*row)), added: head.is_empty() })
    }
}

/// Notes that an entry came.
pub fn note_added(txn: &mut Transaction, changes: TableId, key: &[u8], row: RowId) -> Result<()> {
    txn.put_entry(changes, key, row, EntryKind::Plain)
}

/// Notes that an entry went.
pub fn note_removed(txn: &mut Transaction, changes: TableId, key: &[u8], row: RowId) -> Result<()> {
    if row.is_provisional() {
        // A row that nobody has seen yet: the entry can only have come in this very transaction.
        return txn.delete_entry(changes, key, row, EntryKind::Plain).map(drop);
    }
    txn.put(changes, &[key, &row.to_key()].concat(), &REMOVED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use multifora_storage::{Direction, KeyRange, Location, Options, Read, Store};

    fn all(store: &Store, table: TableId) -> Vec<(Vec<u8>, u64, bool)> {
        let mut scan = store.snapshot().scan(table, KeyRange::all(), Direction::Forward).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = scan.next().unwrap() {
            let change = Change::read(entry.key, entry.head()).unwrap();
            found.push((change.key.to_vec(), change.row.get(), change.added));
        }
        found
    }

    #[test]
    fn the_last_change_of_a_pair_stands() {
        let store = Store::open(&Location::Memory, &Options::default()).unwrap();
        let mut txn = store.begin();
        let (rows, changes) = (txn.create_table().unwrap(), txn.create_table().unwrap());
        // A new row: what came and went again in its own transaction was never there.
        let row = txn.append(rows, b"x").unwrap();
        note_added(&mut txn, changes, b"a", row).unwrap();
        note_added(&mut txn, changes, b"b", row).unwrap();
        note_removed(&mut txn, changes, b"a", row).unwrap();
        let row = txn.commit().unwrap().rows[0];
        assert_eq!(all(&store, changes), [(b"b".to_vec(), row.get(), true)]);
        let mut txn = store.begin();
        note_removed(&mut txn, changes, b"b", row).unwrap();
        note_added(&mut txn, changes, b"c", row).unwrap();
        txn.commit().unwrap();
        let mut txn = store.begin();
        note_added(&mut txn, changes, b"b", row).unwrap();
        note_removed(&mut txn, changes, b"c", row).unwrap();
        txn.commit().unwrap();
        let row = row.get();
        assert_eq!(all(&store, changes), [(b"b".to_vec(), row, true), (b"c".to_vec(), row, false)]);
    }
}
