//! Records: a head, and values that are kept apart from it.
//!
//! A record that was just written is one allocation of key and head, the *cell*, shared by every version of the tree
//! that holds it; later it is a part of a packed leaf. A value is shared by all versions of its record, so that writing
//! a new head does not write the value again.

use crate::block::BlockPointer;
use crate::error::{Error, Result};
use crate::ids::Sequence;
use crate::pages::Pages;
use crate::tree::Found;
use parking_lot::RwLock;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A record to be written. Bytes alone are a record that is only a head.
#[derive(Debug, Clone, Copy)]
pub struct NewRecord<'a> {
    /// What every read of the record sees.
    pub head: &'a [u8],
    /// What is stored out of line, by number from 0.
    pub values: &'a [NewValue<'a>],
}

/// A value of a record to be written.
#[derive(Debug, Clone, Copy)]
pub enum NewValue<'a> {
    /// These bytes.
    New(&'a [u8]),
    /// Value number `n` of the record as it stands, without reading or writing it. Each can be kept once.
    Keep(u32),
}

impl<'a> From<&'a [u8]> for NewRecord<'a> {
    fn from(head: &'a [u8]) -> NewRecord<'a> {
        NewRecord { head, values: &[] }
    }
}

impl<'a> From<&'a Vec<u8>> for NewRecord<'a> {
    fn from(head: &'a Vec<u8>) -> NewRecord<'a> {
        NewRecord { head, values: &[] }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for NewRecord<'a> {
    fn from(head: &'a [u8; N]) -> NewRecord<'a> {
        NewRecord { head, values: &[] }
    }
}

/// The values of one record version; most records have none.
pub(crate) type Values = Option<Arc<[ValueRef]>>;

/// Where a value is: in the file, or still in memory because no checkpoint has written it.
#[derive(Clone, Debug)]
pub(crate) enum ValueRef {
    Stored(BlockPointer),
    Fresh(Arc<FreshValue>),
}

/// A value that was in memory when it was written. Whoever puts it into the file says so here, for all versions of the
/// record that share it, and its bytes go.
#[derive(Debug)]
pub(crate) struct FreshValue {
    bytes: RwLock<Option<Arc<Vec<u8>>>>,
    stored: OnceLock<BlockPointer>,
}

impl FreshValue {
    pub(crate) fn new(bytes: &[u8]) -> Arc<FreshValue> {
        let bytes = RwLock::new(Some(Arc::new(bytes.to_vec())));
        Arc::new(FreshValue { bytes, stored: OnceLock::new() })
    }

    /// The bytes, as long as they are only here.
    pub(crate) fn bytes(&self) -> Option<Arc<Vec<u8>>> {
        self.bytes.read().clone()
    }

    /// How many bytes are only here.
    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.read().as_ref().map_or(0, |bytes| bytes.len())
    }

    pub(crate) fn set_stored(&self, pointer: BlockPointer) {
        // The place first: whoever finds no bytes finds it.
        let _ = self.stored.set(pointer);
        *self.bytes.write() = None;
    }
}

impl ValueRef {
    /// Its block, once it has one.
    pub(crate) fn pointer(&self) -> Option<BlockPointer> {
        match self {
            ValueRef::Stored(pointer) => Some(*pointer),
            ValueRef::Fresh(fresh) => fresh.stored.get().copied(),
        }
    }

    /// Whether both are the same value of the same record, not just equal bytes.
    pub(crate) fn is_same(&self, other: &ValueRef) -> bool {
        match (self, other) {
            (ValueRef::Fresh(a), ValueRef::Fresh(b)) if Arc::ptr_eq(a, b) => true,
            _ => self.pointer().is_some() && self.pointer() == other.pointer(),
        }
    }

    pub(crate) fn load(&self, pages: &Pages, table: u64) -> Result<Value> {
        if let ValueRef::Fresh(fresh) = self
            && let Some(bytes) = fresh.bytes()
        {
            return Ok(Value(bytes));
        }
        let nowhere = Error::Misuse { what: "a value is neither in memory nor in the file" };
        pages.value(&self.pointer().ok_or(nowhere)?, table).map(Value)
    }
}

/// The bytes of a value, shared with the store.
#[derive(Clone)]
pub struct Value(Arc<Vec<u8>>);

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({} bytes)", self.0.len())
    }
}

/// Bytes in front of a cell's key: its length.
const CELL_PREFIX_BYTES: usize = 4;

/// Key and head of a record, in one shared allocation: key length (u32), key, head.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Cell(Arc<[u8]>);

impl Cell {
    /// Builds a cell; `scratch` only saves an allocation. Keys are limited far below 4 GiB before they come here.
    pub(crate) fn new(key: &[u8], head: &[u8], scratch: &mut Vec<u8>) -> Cell {
        scratch.clear();
        scratch.reserve(CELL_PREFIX_BYTES + key.len() + head.len());
        scratch.extend_from_slice(&(key.len() as u32).to_le_bytes());
        scratch.extend_from_slice(key);
        scratch.extend_from_slice(head);
        let cell = Cell(Arc::from(scratch.as_slice()));
        if scratch.capacity() > 1 << 20 {
            *scratch = Vec::new();
        }
        cell
    }

    fn split(&self) -> (&[u8], &[u8]) {
        match self.0.split_first_chunk::<CELL_PREFIX_BYTES>() {
            Some((len, rest)) => rest.split_at_checked(u32::from_le_bytes(*len) as usize).unwrap_or_default(),
            None => Default::default(),
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.split().0
    }

    pub(crate) fn head(&self) -> &[u8] {
        self.split().1
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.0.len()
    }

    /// Writes `bytes` over the key or head, counting from the key's first byte. Copies when the cell is shared.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        if let Some(target) =
            Arc::make_mut(&mut self.0).get_mut(CELL_PREFIX_BYTES + at..CELL_PREFIX_BYTES + at + bytes.len())
        {
            target.copy_from_slice(bytes);
        }
    }
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cell({:02x?})", self.key())
    }
}

/// A record as some snapshot sees it. Cloning it copies no bytes; it keeps the leaf that it stands in in memory.
#[derive(Clone)]
pub struct Record {
    pages: Arc<Pages>,
    table: u64,
    found: Found,
}

impl Record {
    pub(crate) fn new(pages: Arc<Pages>, table: u64, found: Found) -> Record {
        Record { pages, table, found }
    }

    /// The key under which it is stored.
    pub fn key(&self) -> &[u8] {
        self.found.entry().key
    }

    /// The head.
    pub fn head(&self) -> &[u8] {
        self.found.entry().head
    }

    /// How many values are stored out of line.
    pub fn value_count(&self) -> usize {
        self.found.entry().values.len()
    }

    /// Value number `index`, from 0. Fails when its bytes on the disk are damaged.
    pub fn value(&self, index: usize) -> Result<Value> {
        value_of(self.found.entry().values, index, &self.pages, self.table)
    }

    /// The commit that wrote it; [`Sequence::UNCOMMITTED`] for a transaction's own write.
    pub fn version(&self) -> Sequence {
        Sequence::from_u64(self.found.entry().version)
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Record({:02x?})", self.key())
    }
}

/// Value number `index` of `values`.
pub(crate) fn value_of(values: &[ValueRef], index: usize, pages: &Pages, table: u64) -> Result<Value> {
    let found = values.get(index).ok_or(Error::Misuse { what: "the record has no value of that number" })?;
    found.load(pages, table)
}
