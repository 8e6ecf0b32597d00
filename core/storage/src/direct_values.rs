//! Large values that a commit brings: written and synced in place before the commit, so that the log only names them.
//!
//! Whoever loads much would otherwise write everything twice, to the log and at the checkpoint. Small commits do not: an
//! extra sync costs more than the bytes.

use crate::block::{BLOCK_UNIT_BYTES, BlockKind, HEADER_BYTES, Sealed};
use crate::block_writer::BlockWriter;
use crate::error::Result;
use crate::file_store::FileStore;
use crate::pending::Pending;
use crate::record::FreshValue;
use crate::space::Extent;
use crate::transaction::Transaction;
use std::borrow::Cow;
use std::sync::Arc;

/// What was written for a commit.
pub(crate) struct DirectValues {
    runs: Vec<Extent>,
    values: Vec<Extent>,
}

impl DirectValues {
    /// The commit is visible.
    pub(crate) fn note(&self, pending: &mut Pending) {
        pending.provisional.extend_from_slice(&self.runs);
        pending.values.extend_from_slice(&self.values);
    }

    /// The commit did not happen.
    pub(crate) fn give_back(self, file: &FileStore) {
        let mut space = file.space.lock();
        self.runs.into_iter().for_each(|run| space.release(run));
    }
}

/// Writes the new values of a transaction that brings at least `from_bytes` of them.
pub(crate) fn write(
    file: &FileStore,
    transaction: &Transaction,
    from_bytes: usize,
) -> Result<Option<DirectValues>> {
    let puts = || {
        let tables = transaction.tables.iter();
        tables.flat_map(|(&table, writes)| {
            writes.writes.values().filter_map(move |write| write.put.as_ref().map(|put| (table, put)))
        })
    };
    let bytes: usize = puts().flat_map(|(_, put)| put.fresh_values()).map(|value| value.len_bytes()).sum();
    if bytes == 0 || bytes < from_bytes {
        return Ok(None);
    }
    let room = |value: &Arc<FreshValue>| (value.len_bytes() + HEADER_BYTES) as u64 + BLOCK_UNIT_BYTES;
    let mut writer = BlockWriter::for_commit(puts().flat_map(|(_, put)| put.fresh_values()).map(room).sum());
    let mut placed = Vec::new();
    let written = (|| {
        for (table, put) in puts() {
            for value in put.fresh_values() {
                let Some(bytes) = value.bytes() else { continue };
                let sealed = Sealed::new(BlockKind::Value, table, Cow::Borrowed(&bytes), file.may_compress);
                placed.push((value, writer.write(file, &sealed)?));
            }
        }
        writer.finish(file).map(<[Extent]>::to_vec)
    })();
    match written {
        Ok(runs) => {
            let values = placed.iter().map(|(_, pointer)| pointer.extent()).collect();
            // Only now: nobody reads from a place that may still come to nothing.
            placed.into_iter().for_each(|(value, pointer)| value.set_stored(pointer));
            Ok(Some(DirectValues { runs, values }))
        }
        Err(error) => {
            writer.abandon(file);
            Err(error)
        }
    }
}
