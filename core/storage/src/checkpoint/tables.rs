//! The tree that lists the tables: table number → root, number of entries, next row number.

use crate::block::BlockPointer;
use crate::bytes::{Reader, put_u64};

/// What is noted about a table.
pub(super) struct TableEntry {
    pub(super) root: Option<BlockPointer>,
    pub(super) count: u64,
    pub(super) next_row: u64,
}

impl TableEntry {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40);
        BlockPointer::encode(self.root, &mut out);
        put_u64(&mut out, self.count);
        put_u64(&mut out, self.next_row);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<TableEntry> {
        let mut reader = Reader::new(bytes);
        Some(TableEntry {
            root: BlockPointer::decode(&mut reader)?,
            count: reader.u64()?,
            next_row: reader.u64()?,
        })
    }
}
