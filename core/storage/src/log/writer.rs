//! Writing frames: where they go, and the chain of hashes that holds them together.

use super::Log;
use super::queue::Batch;
use super::region::{LiveRegion, encode_extension};
use crate::block::UNIT_BYTES;
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::frame::{self, FrameHeader, FrameKind};
use crate::space::Extent;
use std::collections::VecDeque;

/// The end of the log; whoever holds it writes.
pub(crate) struct Writer {
    /// Regions from the oldest that is still needed, through the one being written, to those made ready behind it.
    pub(crate) regions: VecDeque<LiveRegion>,
    /// The region being written.
    pub(crate) active: u64,
    /// A region that a checkpoint handed back, to be used again as it is.
    pub(crate) spare: Option<Extent>,
    /// A small part of the file for the day on which the disk is full.
    pub(crate) kept_for_deletes: Option<Extent>,
    /// Where the next frame goes.
    position: u64,
    previous_hash: u64,
    last_sequence: u64,
    /// The newest checkpoint, named in every frame.
    pub(crate) checkpoint: u64,
    generation: u64,
    /// Whether the last frame says that everything before it is durable.
    pub(crate) is_sealed: bool,
    frame: Vec<u8>,
}

impl Writer {
    /// A writer that begins `region`.
    pub(crate) fn new(
        older: Vec<LiveRegion>,
        region: LiveRegion,
        last_sequence: u64,
        checkpoint: u64,
        generation: u64,
    ) -> Writer {
        let mut regions = VecDeque::from(older);
        regions.push_back(region);
        Writer {
            regions,
            active: region.ordinal,
            spare: None,
            kept_for_deletes: None,
            position: region.extent.offset,
            previous_hash: region.salt,
            last_sequence,
            checkpoint,
            generation,
            is_sealed: true,
            frame: Vec::new(),
        }
    }

    /// The region of that number.
    fn region(&mut self, ordinal: u64) -> Result<&mut LiveRegion> {
        let found = self.regions.iter_mut().find(|region| region.ordinal == ordinal);
        found.ok_or(Error::Misuse { what: "a log region is missing" })
    }

    /// Bytes of all regions.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.regions
            .iter()
            .map(|region| region.extent.len_bytes)
            .chain(self.spare.iter().chain(&self.kept_for_deletes).map(|kept| kept.len_bytes))
            .sum()
    }
}

impl Log {
    /// Bytes of the regions that the log has left behind since the last checkpoint.
    pub(crate) fn old_bytes(&self) -> u64 {
        let writer = self.writer.lock();
        let old = writer.regions.iter().take_while(|region| region.ordinal < writer.active);
        old.map(|region| region.extent.len_bytes).sum()
    }

    /// Writes a batch as one frame and returns when it is on the disk; says how many bytes of the region it took.
    pub(super) fn write_batch(&self, writer: &mut Writer, batch: &Batch) -> Result<u64> {
        while writer.active != batch.region {
            self.enter_next_region(writer)?;
        }
        let has_commits = batch.kind == FrameKind::Commits;
        let header = FrameHeader {
            kind: batch.kind,
            first_sequence: if has_commits { batch.first_sequence } else { writer.last_sequence },
            last_sequence: if has_commits { batch.last_sequence } else { writer.last_sequence },
            durable_sequence: self.durable_sequence(),
            checkpoint: writer.checkpoint,
            generation: writer.generation,
            previous_hash: writer.previous_hash,
        };
        let (salt, position) = (writer.region(batch.region)?.salt, writer.position);
        let hash =
            frame::encode(&header, &batch.payload, salt, position, self.may_compress, &mut writer.frame);
        self.write_synced(position, &writer.frame, Fault::LogNotSynced)?;
        writer.position += writer.frame.len() as u64;
        writer.previous_hash = hash;
        writer.last_sequence = header.last_sequence;
        writer.region(batch.region)?.last_sequence = header.last_sequence;
        writer.is_sealed = !has_commits;
        let written = writer.frame.len() as u64;
        if writer.frame.capacity() > 1 << 20 {
            writer.frame = Vec::new();
        }
        Ok(written)
    }

    fn write_synced(&self, position: u64, bytes: &[u8], unless: Fault) -> Result<()> {
        let written = match planted(unless) {
            true => self.disk.write_at(position, bytes),
            false => self.disk.write_durable_at(position, bytes),
        };
        written.map_err(|error| Error::io("write the log", self.disk.place(), &error))
    }

    /// Ends the region being written with a frame that names the next one, in two copies at fixed places, so that
    /// damage to one of them does not hide the next region.
    fn enter_next_region(&self, writer: &mut Writer) -> Result<()> {
        let (active, position) = (writer.active, writer.position);
        let following = writer.regions.iter().find(|region| region.ordinal == active + 1);
        let next = *following.ok_or(Error::Misuse { what: "no log region was prepared" })?;
        let header = FrameHeader {
            kind: FrameKind::Extension,
            first_sequence: writer.last_sequence,
            last_sequence: writer.last_sequence,
            durable_sequence: self.durable_sequence(),
            checkpoint: writer.checkpoint,
            generation: writer.generation,
            previous_hash: writer.previous_hash,
        };
        let payload = encode_extension(position, &next);
        let region = writer.region(active)?;
        region.end = position;
        let (salt, end) = (region.salt, region.extent.end());
        for copy in [2, 1] {
            let at = end - copy * UNIT_BYTES;
            frame::encode(&header, &payload, salt, at, false, &mut writer.frame);
            self.write_synced(at, &writer.frame, Fault::RegionNotNamed)?;
        }
        writer.active = next.ordinal;
        writer.position = next.extent.offset;
        writer.previous_hash = next.salt;
        Ok(())
    }
}
