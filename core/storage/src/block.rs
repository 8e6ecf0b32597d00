//! Blocks: the checked pieces of which a checkpoint is made, and pointers to them.
//!
//! A pointer says where a block is, how long it is and the hash of what is stored there; the block's header says the
//! same and adds the table and its own position. A block that was lost, or written somewhere else, is seen by one
//! or the other. Layout: `docs/file-format.md`.
//!
//! Blocks begin on units of 512 bytes, so that packed leaves and large values waste little of the file; the log, whose
//! acknowledged sectors must never be written again, keeps to units of 4 KiB.

use crate::bytes::{Reader, put_u32, put_u64};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::space::Extent;
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Blocks begin on units of this many bytes and take whole ones.
pub(crate) const BLOCK_UNIT_BYTES: u64 = 512;
/// Log regions, superblocks and frames begin on units of this many bytes.
pub(crate) const UNIT_BYTES: u64 = 4096;
/// Bytes of a block's header.
pub(crate) const HEADER_BYTES: usize = 64;
/// The table number of the tree that lists the tables.
pub(crate) const TABLES_TREE: u64 = u64::MAX;

const MAGIC: u32 = u32::from_le_bytes(*b"MFBK");
const ENCODED_POINTER_BYTES: usize = 24;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Leaf = 1,
    Branch = 2,
    Value = 3,
    /// The list of free extents.
    SpaceMap = 4,
}

/// Where a block is and what is there; everything that points to a block says all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPointer {
    /// Position in the file, in bytes.
    pub(crate) offset: u64,
    /// Bytes of the payload as stored, without the header.
    pub(crate) stored_len_bytes: u32,
    /// Bytes of the payload before compression.
    pub(crate) raw_len_bytes: u32,
    /// XXH3 of the stored payload.
    pub(crate) hash: u64,
}

impl BlockPointer {
    /// Leads nowhere: reading it fails.
    pub(crate) const NOWHERE: BlockPointer =
        BlockPointer { offset: 0, stored_len_bytes: u32::MAX, raw_len_bytes: 0, hash: 0 };

    /// Bytes of the file that the block takes.
    pub(crate) fn extent_bytes(&self) -> u64 {
        (HEADER_BYTES as u64 + u64::from(self.stored_len_bytes)).next_multiple_of(BLOCK_UNIT_BYTES)
    }

    /// The part of the file that the block takes.
    pub(crate) fn extent(&self) -> Extent {
        Extent { offset: self.offset, len_bytes: self.extent_bytes() }
    }

    /// 24 bytes; no pointer is all zeros.
    pub(crate) fn encode(pointer: Option<BlockPointer>, out: &mut Vec<u8>) {
        let Some(pointer) = pointer else {
            out.extend_from_slice(&[0; ENCODED_POINTER_BYTES]);
            return;
        };
        put_u64(out, pointer.offset);
        put_u32(out, pointer.stored_len_bytes);
        put_u32(out, pointer.raw_len_bytes);
        put_u64(out, pointer.hash);
    }

    /// The outer `None` is the end of the bytes, the inner one a pointer to nothing.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Option<BlockPointer>> {
        let (offset, stored_len_bytes, raw_len_bytes, hash) =
            (reader.u64()?, reader.u32()?, reader.u32()?, reader.u64()?);
        Some((offset != 0).then_some(BlockPointer { offset, stored_len_bytes, raw_len_bytes, hash }))
    }
}

/// Compresses `raw` when that saves at least one of the units that it takes behind its header.
pub(crate) fn compress(raw: &[u8], header_bytes: usize, unit_bytes: u64) -> Option<Vec<u8>> {
    let units = |len: usize| (header_bytes + len).div_ceil(unit_bytes as usize);
    if units(raw.len()) == 1 {
        return None;
    }
    let packed = lz4_flex::block::compress(raw);
    (units(packed.len()) < units(raw.len())).then_some(packed)
}

/// Undoes [`compress`]. LZ4 makes at most 255 bytes of one, so a length that promises more is refused before anything
/// is allocated for it.
pub(crate) fn decompress(stored: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    if raw_len > stored.len().saturating_mul(255).saturating_add(64) {
        return None;
    }
    let mut raw = vec![0; raw_len];
    let len = lz4_flex::block::decompress_into(stored, &mut raw).ok()?;
    (len == raw_len).then_some(raw)
}

/// A payload made ready to be written: its place is not known yet.
pub(crate) struct Sealed {
    kind: BlockKind,
    table: u64,
    raw_len_bytes: u32,
    is_compressed: bool,
    stored: Vec<u8>,
    hash: u64,
}

impl Sealed {
    pub(crate) fn new(kind: BlockKind, table: u64, raw: Cow<'_, [u8]>, may_compress: bool) -> Sealed {
        let raw_len_bytes = raw.len() as u32;
        let packed = if may_compress { compress(&raw, HEADER_BYTES, BLOCK_UNIT_BYTES) } else { None };
        let is_compressed = packed.is_some();
        let stored = packed.unwrap_or_else(|| raw.into_owned());
        let hash = xxh3_64(&stored);
        Sealed { kind, table, raw_len_bytes, is_compressed, stored, hash }
    }

    pub(crate) fn pointer(&self, offset: u64) -> BlockPointer {
        let stored_len_bytes = self.stored.len() as u32;
        BlockPointer { offset, stored_len_bytes, raw_len_bytes: self.raw_len_bytes, hash: self.hash }
    }

    /// Appends header, payload and zeros up to the end of its last unit.
    pub(crate) fn write_to(&self, offset: u64, checkpoint: u64, out: &mut Vec<u8>) {
        let start = out.len();
        put_u32(out, MAGIC);
        out.extend_from_slice(&[self.kind as u8, u8::from(self.is_compressed), 0, 0]);
        put_u64(out, self.table);
        put_u64(out, offset);
        put_u32(out, self.stored.len() as u32);
        put_u32(out, self.raw_len_bytes);
        put_u64(out, checkpoint);
        put_u64(out, self.hash);
        put_u64(out, 0);
        put_u64(out, xxh3_64(out.get(start..).unwrap_or_default()));
        out.extend_from_slice(&self.stored);
        out.resize(start + (out.len() - start).next_multiple_of(BLOCK_UNIT_BYTES as usize), 0);
    }
}

/// Reads a block and checks everything that its pointer and header say; returns the raw payload.
pub(crate) fn read(
    disk: &dyn Disk,
    file_len: u64,
    pointer: &BlockPointer,
    table: u64,
) -> Result<(BlockKind, Vec<u8>)> {
    let damaged = |what: &str| {
        let owner =
            if table == TABLES_TREE { "the list of tables".to_owned() } else { format!("table {table}") };
        Error::corrupt(format!("{}, {owner}, block at byte {}", disk.place(), pointer.offset), what)
    };
    let end = pointer.offset.checked_add(pointer.extent_bytes());
    if !pointer.offset.is_multiple_of(BLOCK_UNIT_BYTES) || end.is_none_or(|end| end > file_len) {
        return Err(damaged("its pointer leads out of the file"));
    }
    let mut bytes = vec![0; HEADER_BYTES + pointer.stored_len_bytes as usize];
    disk.read_at(pointer.offset, &mut bytes)
        .map_err(|error| Error::io("read a block", disk.place(), &error))?;
    let (header, stored) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(|| damaged("it is cut short"))?;
    if xxh3_64(stored) != pointer.hash {
        return Err(damaged("its content does not match the hash in its pointer"));
    }
    let (kind, is_compressed) = check_header(header, pointer, table)
        .ok_or_else(|| damaged("its header does not match its pointer"))?;
    let raw_len = pointer.raw_len_bytes as usize;
    let raw = match is_compressed {
        true => decompress(stored, raw_len).ok_or_else(|| damaged("it cannot be decompressed"))?,
        false if stored.len() == raw_len => {
            bytes.drain(..HEADER_BYTES);
            return Ok((kind, bytes));
        }
        false => return Err(damaged("its lengths do not agree")),
    };
    Ok((kind, raw))
}

fn check_header(header: &[u8], pointer: &BlockPointer, table: u64) -> Option<(BlockKind, bool)> {
    let mut reader = Reader::new(header);
    let magic = reader.u32()?;
    let kind = match reader.u8()? {
        1 => BlockKind::Leaf,
        2 => BlockKind::Branch,
        3 => BlockKind::Value,
        4 => BlockKind::SpaceMap,
        _ => return None,
    };
    let is_compressed = reader.u8()? == 1;
    reader.bytes(2)?;
    let fields = (reader.u64()?, reader.u64()?, reader.u32()?, reader.u32()?);
    reader.u64()?;
    let hash = reader.u64()?;
    reader.u64()?;
    let is_good = magic == MAGIC
        && fields == (table, pointer.offset, pointer.stored_len_bytes, pointer.raw_len_bytes)
        && hash == pointer.hash
        && reader.u64()? == xxh3_64(header.get(..HEADER_BYTES - 8)?);
    is_good.then_some((kind, is_compressed))
}
