//! Nodes as bytes: what a leaf's and a branch's block holds.
//!
//! Keys are stored without what they have in common with the key before them, versions as their distance from the
//! leaf's newest. Layout: `docs/file-format.md`.

use crate::block::BlockPointer;
use crate::bytes::{Reader, put_prefixed, put_varint};
use crate::record::ValueRef;
use crate::tree::{Branch, Child, Link, Packed, PackedBuilder};

/// Appends `key` as the length it shares with `previous`, and the rest.
fn put_key(out: &mut Vec<u8>, previous: &[u8], key: &[u8]) {
    let shared = previous.iter().zip(key).take_while(|(a, b)| a == b).count();
    put_varint(out, shared as u64);
    put_prefixed(out, key.get(shared..).unwrap_or_default());
}

/// Writes a leaf; `values` are the places of all entries' values, in order.
pub(crate) fn encode_leaf(leaf: &Packed, values: &[BlockPointer]) -> Vec<u8> {
    let mut out = Vec::with_capacity(leaf.raw_bytes() + 16);
    let mut values = values.iter();
    let newest = leaf.iter().map(|entry| entry.version).max().unwrap_or(0);
    put_varint(&mut out, leaf.len() as u64);
    put_varint(&mut out, newest);
    let mut previous: &[u8] = &[];
    for entry in leaf.iter() {
        put_key(&mut out, previous, entry.key);
        previous = entry.key;
        put_varint(&mut out, newest - entry.version);
        put_prefixed(&mut out, entry.head);
        put_varint(&mut out, entry.values.len() as u64);
        let count = entry.values.len();
        values.by_ref().take(count).for_each(|pointer| BlockPointer::encode(Some(*pointer), &mut out));
    }
    out
}

/// Reads a leaf; `None` when the bytes are not one.
pub(crate) fn decode_leaf(raw: &[u8]) -> Option<Packed> {
    let mut reader = Reader::new(raw);
    let count = usize::try_from(reader.varint()?).ok()?;
    // An entry takes five bytes at least: no count allocates more than the block's own length.
    if count > raw.len() / 5 {
        return None;
    }
    let newest = reader.varint()?;
    let mut builder = PackedBuilder::with_capacity(count, raw.len());
    for number in 0..count {
        let shared = usize::try_from(reader.varint()?).ok()?;
        let rest = reader.prefixed()?;
        let version = newest.checked_sub(reader.varint()?)?;
        let head = reader.prefixed()?;
        let values = usize::try_from(reader.varint()?).ok()?;
        if values > reader.left() / 24 {
            return None;
        }
        // The key has to be greater than the one before: longer, or greater where the two part.
        if number > 0 {
            let previous = builder.last_key()?;
            let parts = (previous.get(shared), rest.first());
            if !matches!(parts, (None, Some(_))) && !matches!(parts, (Some(a), Some(b)) if a < b) {
                return None;
            }
        }
        let mut pointers = Vec::with_capacity(values);
        for _ in 0..values {
            pointers.push(ValueRef::Stored(BlockPointer::decode(&mut reader).flatten()?));
        }
        builder.push_shared(shared, rest, head, version, pointers.into_iter())?;
    }
    reader.is_empty().then(|| builder.finish())
}

/// Writes a branch over the places of its children.
pub(crate) fn encode_branch(branch: &Branch, pointers: &[BlockPointer]) -> Vec<u8> {
    let mut out = Vec::with_capacity(branch.children.len() * 48 + 16);
    put_varint(&mut out, branch.children.len() as u64);
    let mut previous: &[u8] = &[];
    for (child, pointer) in branch.children.iter().zip(pointers) {
        put_key(&mut out, previous, &child.key);
        previous = &child.key;
        put_varint(&mut out, child.count << 1 | u64::from(child.has_values));
        BlockPointer::encode(Some(*pointer), &mut out);
    }
    out
}

/// Reads a branch; `None` when the bytes are not one.
pub(crate) fn decode_branch(raw: &[u8]) -> Option<Branch> {
    let mut reader = Reader::new(raw);
    let count = usize::try_from(reader.varint()?).ok()?;
    if count == 0 || count > raw.len() / 26 {
        return None;
    }
    let mut children: Vec<Child> = Vec::with_capacity(count);
    let mut key = Vec::new();
    for number in 0..count {
        let shared = usize::try_from(reader.varint()?).ok()?;
        let rest = reader.prefixed()?;
        if shared > key.len() {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(rest);
        // The leftmost child's key is not looked at.
        if number > 1 && children.last().is_some_and(|last| last.key.as_slice() >= key.as_slice()) {
            return None;
        }
        let count = reader.varint()?;
        let pointer = BlockPointer::decode(&mut reader)??;
        children.push(Child::new(&key, count >> 1, count & 1 == 1, Link::Stored(pointer)));
    }
    reader.is_empty().then_some(Branch { children })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::EntryRef;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn leaves_there_and_back(keys in proptest::collection::btree_set(proptest::collection::vec(any::<u8>(), 0..20), 0..50)) {
            let mut builder = PackedBuilder::default();
            for (key, version) in keys.iter().zip(1u64..) {
                builder.push(EntryRef { key, head: &key[key.len() / 2..], version, values: &[] });
            }
            let leaf = builder.finish();
            let decoded = decode_leaf(&encode_leaf(&leaf, &[])).unwrap();
            prop_assert_eq!(decoded.len(), keys.len());
            for (a, b) in decoded.iter().zip(leaf.iter()) {
                prop_assert!(a.key == b.key && a.head == b.head && a.version == b.version && a.values.is_empty());
            }
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode_leaf(&bytes);
            decode_branch(&bytes);
        }
    }
}
