//! Log frames: what one sync makes durable.
//!
//! A frame begins on a 4 KiB boundary, so that writing one never touches acknowledged bytes. Its header is seeded by
//! the region's salt and the frame's position: what the place held before, or a copy of a frame inside somebody's
//! data, is never taken for a frame. Each names the hash of the one before it. Layout: `docs/file-format.md`.

use crate::block::{UNIT_BYTES, compress, decompress};
use crate::bytes::{Reader, put_u32, put_u64};
use crate::fault::{Fault, checksum_fits, planted};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a frame's header.
pub(crate) const HEADER_BYTES: usize = 96;
const MAGIC: u32 = u32::from_le_bytes(*b"MFLF");
const HASHED_HEADER_BYTES: usize = HEADER_BYTES - 8;

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Commits.
    Commits = 1,
    /// "The checkpoint of this number is durable": what it drops may be used again after this.
    Checkpoint = 2,
    /// Nothing but "all before this is durable", so that damage to the last commits is seen as damage.
    Seal = 3,
    /// The region ends here; the payload names the next.
    Extension = 4,
}

/// A frame's header, without what follows from the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) kind: FrameKind,
    /// The first and the last commit in it; of a frame without commits, both are the last commit before it.
    pub(crate) first_sequence: u64,
    pub(crate) last_sequence: u64,
    /// The newest commit that was durable when the frame was made.
    pub(crate) durable_sequence: u64,
    /// The newest checkpoint at that time.
    pub(crate) checkpoint: u64,
    /// Which opening of the file wrote it.
    pub(crate) generation: u64,
    /// Hash of the frame before it, or the salt in the first of a region.
    pub(crate) previous_hash: u64,
}

/// A header that was read, with the lengths and hashes that lead to its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundHeader {
    pub(crate) header: FrameHeader,
    is_compressed: bool,
    pub(crate) stored_len_bytes: u64,
    raw_len_bytes: u64,
    payload_hash: u64,
    /// Hash of this frame, for the next one to name.
    pub(crate) hash: u64,
}

/// Bytes of the log that a payload of this length takes at most.
pub(crate) fn frame_bytes(payload_len: u64) -> u64 {
    (HEADER_BYTES as u64 + payload_len).next_multiple_of(UNIT_BYTES)
}

fn header_seed(salt: u64, offset: u64) -> u64 {
    if planted(Fault::UnsaltedFrames) { 0 } else { salt ^ offset.rotate_left(32) }
}

fn payload_seed(salt: u64) -> u64 {
    if planted(Fault::UnsaltedFrames) { 0 } else { salt }
}

/// Writes the frame into `out`, which it replaces, padded to whole units. Returns the frame's hash.
pub(crate) fn encode(
    header: &FrameHeader,
    payload: &[u8],
    salt: u64,
    offset: u64,
    may_compress: bool,
    out: &mut Vec<u8>,
) -> u64 {
    let packed = if may_compress { compress(payload, HEADER_BYTES, UNIT_BYTES) } else { None };
    let stored = packed.as_deref().unwrap_or(payload);
    out.clear();
    out.reserve(frame_bytes(stored.len() as u64) as usize);
    put_u32(out, MAGIC);
    out.extend_from_slice(&[header.kind as u8, u8::from(packed.is_some()), 0, 0]);
    for number in [
        stored.len() as u64,
        payload.len() as u64,
        header.first_sequence,
        header.last_sequence,
        header.durable_sequence,
        header.checkpoint,
        header.generation,
        header.previous_hash,
        xxh3_64_with_seed(stored, payload_seed(salt)),
        0,
    ] {
        put_u64(out, number);
    }
    let hash = xxh3_64_with_seed(out, header_seed(salt, offset));
    put_u64(out, hash);
    out.extend_from_slice(stored);
    out.resize(out.len().next_multiple_of(UNIT_BYTES as usize), 0);
    hash
}

/// Reads a header; `None` when there is no valid one.
pub(crate) fn decode_header(bytes: &[u8], salt: u64, offset: u64) -> Option<FoundHeader> {
    let mut reader = Reader::new(bytes);
    if reader.u32()? != MAGIC {
        return None;
    }
    let kind = match reader.u8()? {
        1 => FrameKind::Commits,
        2 => FrameKind::Checkpoint,
        3 => FrameKind::Seal,
        4 => FrameKind::Extension,
        _ => return None,
    };
    let is_compressed = reader.u8()? == 1;
    reader.bytes(2)?;
    let (stored_len_bytes, raw_len_bytes) = (reader.u64()?, reader.u64()?);
    let header = FrameHeader {
        kind,
        first_sequence: reader.u64()?,
        last_sequence: reader.u64()?,
        durable_sequence: reader.u64()?,
        checkpoint: reader.u64()?,
        generation: reader.u64()?,
        previous_hash: reader.u64()?,
    };
    let payload_hash = reader.u64()?;
    reader.u64()?;
    let hash = reader.u64()?;
    let expected = xxh3_64_with_seed(bytes.get(..HASHED_HEADER_BYTES)?, header_seed(salt, offset));
    checksum_fits(expected, hash).then_some(FoundHeader {
        header,
        is_compressed,
        stored_len_bytes,
        raw_len_bytes,
        payload_hash,
        hash,
    })
}

impl FoundHeader {
    /// Checks the stored payload and undoes its compression.
    pub(crate) fn payload(&self, stored: &[u8], salt: u64) -> Option<Vec<u8>> {
        let is_good = checksum_fits(xxh3_64_with_seed(stored, payload_seed(salt)), self.payload_hash);
        if stored.len() as u64 != self.stored_len_bytes || !is_good {
            return None;
        }
        let raw_len = usize::try_from(self.raw_len_bytes).ok()?;
        match self.is_compressed {
            true => decompress(stored, raw_len),
            false => (raw_len == stored.len()).then(|| stored.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> FrameHeader {
        FrameHeader {
            kind: FrameKind::Commits,
            first_sequence: 3,
            last_sequence: 5,
            durable_sequence: 2,
            checkpoint: 1,
            generation: 9,
            previous_hash: 77,
        }
    }

    #[test]
    fn frames_there_and_back_in_their_place_only() {
        for payload in [vec![], b"short".to_vec(), vec![b'z'; 100_000]] {
            let mut out = Vec::new();
            let hash = encode(&header(), &payload, 42, 8192, true, &mut out);
            assert_eq!(out.len() % 4096, 0);
            assert!(out.len() <= 4096, "{} bytes for a run of one byte", out.len());
            let found = decode_header(&out, 42, 8192).unwrap();
            assert_eq!((found.header, found.hash), (header(), hash));
            let stored = &out[HEADER_BYTES..HEADER_BYTES + found.stored_len_bytes as usize];
            assert_eq!(found.payload(stored, 42).unwrap(), payload);
            assert!(decode_header(&out, 43, 8192).is_none());
            assert!(decode_header(&out, 42, 12288).is_none());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_no_frame(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..96) {
            prop_assert!(decode_header(&bytes, 1, 4096).is_none());
            let mut out = Vec::new();
            encode(&header(), &bytes, 1, 4096, true, &mut out);
            out[at] ^= 1;
            prop_assert!(decode_header(&out, 1, 4096).is_none());
        }
    }
}
