//! Changes of a large commit, written outside the log before the commit, compressed by the thread that commits.
//!
//! The log then holds where they are, and the first row numbers, which only the commit section knows. Log regions are
//! filled with zeros ahead and given worst-case room; for a commit of megabytes that would be to write everything twice.
//! The block goes when a checkpoint holds the commit, as a log region does.

use crate::block::{self, BlockKind, BlockPointer, OUTSIDE_LOG, Sealed};
use crate::block_writer::BlockWriter;
use crate::bytes::{Reader, put_u64, put_varint};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::file_store::{FileStore, len_of};
use crate::space::Extent;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// First byte of a commit whose changes are elsewhere; no change begins with it.
pub(crate) const OUTSIDE: u8 = 0xff;

/// Changes with holes, and what is needed to fill them.
pub(crate) struct Unnumbered<'c> {
    pub(crate) bytes: &'c [u8],
    /// The table of every append, by ordinal.
    pub(crate) appends: &'c [u64],
    /// Where row numbers belong: position, and the ordinal of the append.
    pub(crate) row_holes: &'c [(usize, u64)],
    /// Where next row numbers of tables belong: position and table.
    pub(crate) next_row_holes: &'c [(usize, u64)],
}

/// Writes changes outside the log; they are on the disk when this returns.
pub(crate) fn write(file: &FileStore, changes: &Unnumbered<'_>) -> Result<BlockPointer> {
    let mut raw = Vec::with_capacity(changes.bytes.len() + 8 * changes.row_holes.len() + 64);
    put_varint(&mut raw, changes.appends.len() as u64);
    changes.appends.iter().for_each(|table| put_varint(&mut raw, *table));
    for holes in [changes.row_holes, changes.next_row_holes] {
        put_varint(&mut raw, holes.len() as u64);
        let mut last = 0;
        for &(at, number) in holes {
            put_varint(&mut raw, (at - last) as u64);
            put_varint(&mut raw, number);
            last = at;
        }
    }
    raw.extend_from_slice(changes.bytes);
    let len_bytes = raw.len() as u64;
    let sealed = Sealed::new(BlockKind::Changes, OUTSIDE_LOG, Cow::Owned(raw), file.may_compress);
    let mut writer = BlockWriter::for_commit(len_bytes);
    let written = writer.write(file, &sealed).and_then(|pointer| writer.finish(file).map(|_| pointer));
    written.inspect_err(|_| writer.abandon(file))
}

/// What the log holds instead: the place, and for every table with appends a hole for its first row, of which the
/// positions are returned.
pub(crate) fn encode(pointer: BlockPointer, appends: &[u64], out: &mut Vec<u8>) -> Vec<(usize, u64)> {
    out.push(OUTSIDE);
    BlockPointer::encode(Some(pointer), out);
    let mut first = BTreeMap::new();
    for (table, ordinal) in appends.iter().zip(0u64..) {
        first.entry(*table).or_insert(ordinal);
    }
    put_varint(out, first.len() as u64);
    let mut holes = Vec::with_capacity(first.len());
    for (table, ordinal) in first {
        put_varint(out, table);
        holes.push((out.len(), ordinal));
        put_u64(out, 0);
    }
    holes
}

/// Changes that were read back, and where they were.
pub(crate) struct Found {
    pub(crate) changes: Vec<u8>,
    pub(crate) extent: Extent,
}

/// Reads the changes of a commit that the log only names; `None` when it holds them itself.
pub(crate) fn read(disk: &dyn Disk, logged: &[u8]) -> Result<Option<Found>> {
    if logged.first() != Some(&OUTSIDE) {
        return Ok(None);
    }
    let damaged = || Error::corrupt(disk.place(), "a commit names its changes in a way that cannot be read");
    let (pointer, first_rows) = decode(logged).ok_or_else(damaged)?;
    let (kind, raw) = block::read(disk, len_of(disk)?, &pointer, OUTSIDE_LOG)?;
    let changes = if kind == BlockKind::Changes { fill(&raw, first_rows) } else { None };
    let changes = changes.ok_or_else(damaged)?;
    Ok(Some(Found { changes, extent: pointer.extent() }))
}

fn decode(logged: &[u8]) -> Option<(BlockPointer, BTreeMap<u64, u64>)> {
    let mut reader = Reader::new(logged);
    reader.u8()?;
    let pointer = BlockPointer::decode(&mut reader).flatten()?;
    let count = reader.varint()?;
    let mut first_rows = BTreeMap::new();
    for _ in 0..count {
        first_rows.insert(reader.varint()?, reader.u64()?);
    }
    reader.is_empty().then_some((pointer, first_rows))
}

/// Fills the holes as the commit section would have.
fn fill(raw: &[u8], mut next_rows: BTreeMap<u64, u64>) -> Option<Vec<u8>> {
    let mut reader = Reader::new(raw);
    let appends = usize::try_from(reader.varint()?).ok().filter(|count| *count <= raw.len())?;
    let mut rows = Vec::with_capacity(appends);
    for _ in 0..appends {
        let next = next_rows.get_mut(&reader.varint()?)?;
        rows.push(*next);
        *next = next.checked_add(1)?;
    }
    let row_holes = read_holes(&mut reader)?;
    let next_row_holes = read_holes(&mut reader)?;
    let mut changes = reader.bytes(reader.left())?.to_vec();
    let mut put = |at: usize, number: [u8; 8]| {
        changes.get_mut(at..at.checked_add(8)?)?.copy_from_slice(&number);
        Some(())
    };
    for (at, ordinal) in row_holes {
        put(at, rows.get(usize::try_from(ordinal).ok()?)?.to_be_bytes())?;
    }
    for (at, table) in next_row_holes {
        put(at, next_rows.get(&table)?.to_le_bytes())?;
    }
    Some(changes)
}

fn read_holes(reader: &mut Reader<'_>) -> Option<Vec<(usize, u64)>> {
    let count = usize::try_from(reader.varint()?).ok().filter(|count| *count <= reader.left())?;
    let mut last = 0usize;
    (0..count)
        .map(|_| {
            last = last.checked_add(usize::try_from(reader.varint()?).ok()?)?;
            Some((last, reader.varint()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(0u8..12, 0..60)) {
            fill(&bytes, BTreeMap::from([(0, 1), (1, u64::MAX)]));
            decode(&bytes);
        }
    }
}
