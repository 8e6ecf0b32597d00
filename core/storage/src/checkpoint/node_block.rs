//! Nodes as bytes: what a leaf's and a branch's block holds.
//!
//! Keys are stored without what they have in common with the key before them. Layout: `docs/file-format.md`.

use crate::block::BlockPointer;
use crate::bytes::{Reader, put_prefixed, put_varint};
use crate::record::Cell;
use crate::tree::Item;

/// Appends `key` as the length it shares with `previous`, and the rest.
fn put_key(out: &mut Vec<u8>, previous: &[u8], key: &[u8]) {
    let shared = previous.iter().zip(key).take_while(|(a, b)| a == b).count();
    put_varint(out, shared as u64);
    put_prefixed(out, key.get(shared..).unwrap_or_default());
}

/// Reads [`put_key`] over the previous key, which it replaces.
fn read_key(reader: &mut Reader<'_>, key: &mut Vec<u8>) -> Option<()> {
    let shared = usize::try_from(reader.varint()?).ok()?;
    let rest = reader.prefixed()?;
    if shared > key.len() {
        return None;
    }
    key.truncate(shared);
    key.extend_from_slice(rest);
    Some(())
}

/// One entry of a leaf's block.
pub(super) struct LeafEntry {
    pub(super) cell: Cell,
    pub(super) version: u64,
    /// Where the record's values are.
    pub(super) values: Vec<BlockPointer>,
}

/// Writes a leaf; `values` are the places of all items' values, in order.
pub(super) fn encode_leaf(items: &[Item], values: &[BlockPointer]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut values = values.iter();
    put_varint(&mut out, items.len() as u64);
    let mut previous: &[u8] = &[];
    for item in items {
        let key = item.cell.key();
        put_key(&mut out, previous, key);
        previous = key;
        put_varint(&mut out, item.version);
        put_prefixed(&mut out, item.cell.head());
        let count = item.values.as_ref().map_or(0, |values| values.len());
        put_varint(&mut out, count as u64);
        values.by_ref().take(count).for_each(|pointer| BlockPointer::encode(Some(*pointer), &mut out));
    }
    out
}

/// Reads a leaf; `None` when the bytes are not one.
pub(super) fn decode_leaf(raw: &[u8]) -> Option<Vec<LeafEntry>> {
    let mut reader = Reader::new(raw);
    let count = usize::try_from(reader.varint()?).ok()?;
    // An entry takes five bytes at least: no count allocates more than the block's own length.
    if count > raw.len() / 5 {
        return None;
    }
    let mut entries: Vec<LeafEntry> = Vec::with_capacity(count);
    let (mut key, mut scratch) = (Vec::new(), Vec::new());
    for _ in 0..count {
        read_key(&mut reader, &mut key)?;
        if entries.last().is_some_and(|last| last.cell.key() >= key.as_slice()) {
            return None;
        }
        let version = reader.varint()?;
        let head = reader.prefixed()?;
        let values = usize::try_from(reader.varint()?).ok()?;
        if values > reader.left() / 24 {
            return None;
        }
        let values =
            (0..values).map(|_| BlockPointer::decode(&mut reader).flatten()).collect::<Option<Vec<_>>>()?;
        entries.push(LeafEntry { cell: Cell::new(&key, head, &mut scratch), version, values });
    }
    reader.is_empty().then_some(entries)
}

/// One child in a branch's block.
pub(super) struct BranchEntry {
    pub(super) key: Vec<u8>,
    pub(super) count: u64,
    pub(super) pointer: BlockPointer,
}

/// Writes a branch of children, given as separator, number of entries and place.
pub(super) fn encode_branch<'k>(
    children: impl ExactSizeIterator<Item = (&'k [u8], u64, BlockPointer)>,
) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, children.len() as u64);
    let mut previous: &[u8] = &[];
    for (key, count, pointer) in children {
        put_key(&mut out, previous, key);
        previous = key;
        put_varint(&mut out, count);
        BlockPointer::encode(Some(pointer), &mut out);
    }
    out
}

/// Reads a branch; `None` when the bytes are not one.
pub(super) fn decode_branch(raw: &[u8]) -> Option<Vec<BranchEntry>> {
    let mut reader = Reader::new(raw);
    let count = usize::try_from(reader.varint()?).ok()?;
    if count == 0 || count > raw.len() / 26 {
        return None;
    }
    let mut entries = Vec::with_capacity(count);
    let mut key = Vec::new();
    for _ in 0..count {
        read_key(&mut reader, &mut key)?;
        let count = reader.varint()?;
        let pointer = BlockPointer::decode(&mut reader)??;
        entries.push(BranchEntry { key: key.clone(), count, pointer });
    }
    reader.is_empty().then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn leaves_there_and_back(keys in proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..20), 0..50)) {
            let item = |(key, version): (&Vec<u8>, u64)| Item::new(Cell::new(key, &key[key.len() / 2..], &mut Vec::new()), None, version);
            let items: Vec<Item> = keys.iter().zip(1u64..).map(item).collect();
            let decoded = decode_leaf(&encode_leaf(&items, &[])).unwrap();
            prop_assert_eq!(decoded.len(), items.len());
            for (entry, item) in decoded.iter().zip(&items) {
                prop_assert!(entry.cell == item.cell && entry.version == item.version && entry.values.is_empty());
            }
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode_leaf(&bytes);
            decode_branch(&bytes);
        }
    }
}
