//! Blocks: the checked pieces of which a checkpoint is made, and pointers to them.
//!
//! A pointer says where a block is, how long it is and the hash of what is stored there; the block's header says the
//! same and adds the table and its own position. A block that was lost, or written somewhere else, is seen by one
//! or the other. Layout: `docs/file-format.md`.
//!
//! Blocks begin on units of 128 bytes, so that packed leaves and large values waste little of the file; the log, whose
//! acknowledged sectors must never be written again, keeps to units of 4 KiB. Two blocks may share a sector of the disk,
//! which is written as a whole: what a neighbour holds there is written again as it is.
//!
//! What everything else is found by, the list of tables, the catalogue and the list of free space, is written twice: a
//! *twin* block's pointer covers both copies, which never share a sector, and the second is read where the first is bad.

use crate::bytes::{Reader, put_u32, put_u64};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::fault::checksum_fits;
use crate::ids::TableId;
use crate::space::Extent;
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Blocks begin on units of this many bytes and take whole ones.
pub(crate) const BLOCK_UNIT_BYTES: u64 = 128;
/// Log regions, superblocks and frames begin on units of this many bytes.
pub(crate) const UNIT_BYTES: u64 = 4096;
/// Bytes of a block's header.
pub(crate) const HEADER_BYTES: usize = 64;
/// The table number of the tree that lists the tables.
pub(crate) const TABLES_TREE: u64 = u64::MAX;
/// The table number of changes outside the log.
pub(crate) const OUTSIDE_LOG: u64 = u64::MAX - 1;

const MAGIC: u32 = u32::from_le_bytes(*b"MFBK");
/// In a pointer's stored length: there are two copies.
const TWIN_BIT: u32 = 1 << 31;
const ENCODED_POINTER_BYTES: usize = 24;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Leaf = 1,
    Branch = 2,
    Value = 3,
    /// The list of free extents.
    SpaceMap = 4,
    /// The changes of a large commit.
    Changes = 5,
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
    /// Whether there are two copies.
    pub(crate) is_twin: bool,
}

impl BlockPointer {
    /// Leads nowhere: reading it fails.
    pub(crate) const NOWHERE: BlockPointer =
        BlockPointer { offset: 0, stored_len_bytes: u32::MAX, raw_len_bytes: 0, hash: 0, is_twin: false };

    /// Bytes that one copy takes.
    fn copy_bytes(&self) -> u64 {
        (HEADER_BYTES as u64 + u64::from(self.stored_len_bytes)).next_multiple_of(BLOCK_UNIT_BYTES)
    }

    /// From the start of the first copy to that of the second: no sector of the disk holds parts of both.
    fn twin_distance_bytes(&self) -> u64 {
        self.copy_bytes().max(UNIT_BYTES)
    }

    /// Where the copies are.
    fn copies(&self) -> impl Iterator<Item = u64> {
        let second = self.is_twin.then(|| self.offset.saturating_add(self.twin_distance_bytes()));
        std::iter::once(self.offset).chain(second)
    }

    /// Bytes of the file that the block takes.
    pub(crate) fn extent_bytes(&self) -> u64 {
        let twin_bytes = if self.is_twin { self.twin_distance_bytes() } else { 0 };
        twin_bytes + self.copy_bytes()
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
        put_u32(out, pointer.stored_len_bytes | if pointer.is_twin { TWIN_BIT } else { 0 });
        put_u32(out, pointer.raw_len_bytes);
        put_u64(out, pointer.hash);
    }

    /// The outer `None` is the end of the bytes, the inner one a pointer to nothing.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Option<BlockPointer>> {
        let (offset, stored, raw_len_bytes, hash) =
            (reader.u64()?, reader.u32()?, reader.u32()?, reader.u64()?);
        let (stored_len_bytes, is_twin) = (stored & !TWIN_BIT, stored & TWIN_BIT != 0);
        Some((offset != 0).then_some(BlockPointer { offset, stored_len_bytes, raw_len_bytes, hash, is_twin }))
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
        BlockPointer {
            offset,
            stored_len_bytes: self.stored.len() as u32,
            raw_len_bytes: self.raw_len_bytes,
            hash: self.hash,
            is_twin: is_twin(self.table),
        }
    }

    /// Appends everything from `offset` to the end of the last copy's last unit.
    pub(crate) fn write_to(&self, offset: u64, checkpoint: u64, out: &mut Vec<u8>) {
        let start = out.len();
        for copy in self.pointer(offset).copies() {
            out.resize(start + (copy - offset) as usize, 0);
            self.write_copy(copy, checkpoint, out);
        }
    }

    /// Appends header, payload and zeros up to the end of its last unit.
    fn write_copy(&self, offset: u64, checkpoint: u64, out: &mut Vec<u8>) {
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

    fn unpack(self) -> Option<Vec<u8>> {
        let raw_len = self.raw_len_bytes as usize;
        match self.is_compressed {
            true => decompress(&self.stored, raw_len),
            false => (self.stored.len() == raw_len).then_some(self.stored),
        }
    }
}

/// Whether a table's blocks are written twice.
pub(crate) fn is_twin(table: u64) -> bool {
    table == TABLES_TREE || table == TableId::CATALOG.get()
}

/// What an error says of where a block belongs.
pub(crate) fn owner_of(table: u64) -> String {
    match table {
        TABLES_TREE => "the list of tables".to_owned(),
        table => format!("table {table}"),
    }
}

/// A block's damage.
pub(crate) fn damaged(disk: &dyn Disk, offset: u64, table: u64, what: &str) -> Error {
    Error::corrupt(format!("{}, {}, block at byte {offset}", disk.place(), owner_of(table)), what)
}

/// Reads a block and checks everything that its pointer and header say; returns the raw payload.
pub(crate) fn read(
    disk: &dyn Disk,
    file_len: u64,
    pointer: &BlockPointer,
    table: u64,
) -> Result<(BlockKind, Vec<u8>)> {
    let mut first_error = None;
    for at in pointer.copies() {
        let unpacked = read_copy(disk, file_len, pointer, at, table).and_then(|(sealed, _)| {
            let kind = sealed.kind;
            let raw = sealed.unpack().ok_or_else(|| damaged(disk, at, table, "it cannot be decompressed"))?;
            Ok((kind, raw))
        });
        match unpacked {
            Ok(block) => return Ok(block),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| damaged(disk, pointer.offset, table, "it has no copies")))
}

/// Of a block that is written twice and can be read: what is wrong with one of its copies.
pub(crate) fn bad_copy(
    disk: &dyn Disk,
    file_len: u64,
    pointer: &BlockPointer,
    table: u64,
) -> Option<(u64, Error)> {
    let second = pointer.is_twin.then(|| pointer.copies());
    second.into_iter().flatten().find_map(|at| {
        let what =
            "one of its two copies is bad; the other is used, and opening the file for writing repairs it";
        match read_copy(disk, file_len, pointer, at, table) {
            Ok(_) => None,
            Err(Error::Corrupt { .. }) => Some((at, damaged(disk, at, table, what))),
            Err(other) => Some((at, other)),
        }
    })
}

/// Writes a bad copy again from the good one. Both say the same, so nothing can be lost by it.
pub(crate) fn mend(disk: &dyn Disk, file_len: u64, pointer: &BlockPointer, table: u64) -> Result<bool> {
    let Some((bad, _)) = bad_copy(disk, file_len, pointer, table) else { return Ok(false) };
    let good = pointer.copies().find_map(|at| read_copy(disk, file_len, pointer, at, table).ok());
    let Some((sealed, checkpoint)) = good else { return Ok(false) };
    let mut bytes = Vec::with_capacity(pointer.copy_bytes() as usize);
    sealed.write_copy(bad, checkpoint, &mut bytes);
    disk.write_at(bad, &bytes).map_err(|error| Error::io("repair a block", disk.place(), &error))?;
    Ok(true)
}

/// One copy as it is stored, and the checkpoint that wrote it.
fn read_copy(
    disk: &dyn Disk,
    file_len: u64,
    pointer: &BlockPointer,
    at: u64,
    table: u64,
) -> Result<(Sealed, u64)> {
    let damaged = |what: &str| damaged(disk, at, table, what);
    let end = at.checked_add(pointer.copy_bytes());
    if !at.is_multiple_of(BLOCK_UNIT_BYTES) || end.is_none_or(|end| end > file_len) {
        return Err(damaged("its pointer leads out of the file"));
    }
    let mut bytes = vec![0; HEADER_BYTES + pointer.stored_len_bytes as usize];
    disk.read_at(at, &mut bytes).map_err(|error| Error::io("read a block", disk.place(), &error))?;
    let (header, stored) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(|| damaged("it is cut short"))?;
    if !checksum_fits(xxh3_64(stored), pointer.hash) {
        return Err(damaged("its content does not match the hash in its pointer"));
    }
    let header = Header::decode(header)
        .filter(|header| header.fits(pointer, at, table))
        .ok_or_else(|| damaged("its header does not match its pointer"))?;
    bytes.drain(..HEADER_BYTES);
    let sealed = Sealed {
        kind: header.kind,
        table,
        raw_len_bytes: header.raw_len_bytes,
        is_compressed: header.is_compressed,
        stored: bytes,
        hash: header.hash,
    };
    Ok((sealed, header.checkpoint))
}

/// What a block says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) kind: BlockKind,
    is_compressed: bool,
    pub(crate) table: u64,
    offset: u64,
    stored_len_bytes: u32,
    raw_len_bytes: u32,
    /// The checkpoint that wrote it; 0 when a commit did.
    pub(crate) checkpoint: u64,
    hash: u64,
}

impl Header {
    /// Reads a header; `None` when it is none, or not as it was written.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Header> {
        let mut reader = Reader::new(bytes);
        let magic = reader.u32()?;
        let kind = match reader.u8()? {
            1 => BlockKind::Leaf,
            2 => BlockKind::Branch,
            3 => BlockKind::Value,
            4 => BlockKind::SpaceMap,
            5 => BlockKind::Changes,
            _ => return None,
        };
        let is_compressed = reader.u8()? == 1;
        reader.bytes(2)?;
        let header = Header {
            kind,
            is_compressed,
            table: reader.u64()?,
            offset: reader.u64()?,
            stored_len_bytes: reader.u32()?,
            raw_len_bytes: reader.u32()?,
            checkpoint: reader.u64()?,
            hash: reader.u64()?,
        };
        reader.u64()?;
        let is_good = magic == MAGIC && checksum_fits(xxh3_64(bytes.get(..HEADER_BYTES - 8)?), reader.u64()?);
        is_good.then_some(header)
    }

    fn fits(&self, pointer: &BlockPointer, at: u64, table: u64) -> bool {
        (self.table, self.offset) == (table, at)
            && self.stored_len_bytes == pointer.stored_len_bytes
            && self.raw_len_bytes == pointer.raw_len_bytes
            && checksum_fits(self.hash, pointer.hash)
    }

    /// A pointer to the block, if it says that it stands at `at`: of a twin to just that copy.
    pub(crate) fn pointer_at(&self, at: u64) -> Option<BlockPointer> {
        (self.offset == at && self.stored_len_bytes < TWIN_BIT).then_some(BlockPointer {
            offset: at,
            stored_len_bytes: self.stored_len_bytes,
            raw_len_bytes: self.raw_len_bytes,
            hash: self.hash,
            is_twin: false,
        })
    }
}
