//! Records: a head, and values that are kept apart from it.
//!
//! A record's key and head are one allocation, the *cell*, shared by every version of the tree that holds it. A
//! value is shared by all versions of its record, so that writing a new head does not write the value again.

use crate::block::Place;
use crate::error::{Error, Result};
use crate::ids::Sequence;
use std::ops::Deref;
use std::sync::Arc;

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
    /// Value number `n` of the record as it stands, without reading or writing it.
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
pub(crate) type Values = Option<Arc<Vec<Arc<StoredValue>>>>;

/// A value, and where the last checkpoint put it.
#[derive(Debug)]
pub(crate) struct StoredValue {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) place: Place,
}

impl StoredValue {
    pub(crate) fn new(bytes: &[u8]) -> Arc<StoredValue> {
        Arc::new(StoredValue { bytes: bytes.into(), place: Place::default() })
    }
}

/// The bytes of a value, shared with the store.
#[derive(Clone)]
pub struct Value(Arc<StoredValue>);

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({} bytes)", self.0.bytes.len())
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

/// A record as some snapshot sees it. Cloning it copies no bytes.
#[derive(Debug, Clone)]
pub struct Record {
    pub(crate) cell: Cell,
    pub(crate) values: Values,
    pub(crate) version: u64,
}

impl Record {
    /// The key under which it is stored.
    pub fn key(&self) -> &[u8] {
        self.cell.key()
    }

    /// The head.
    pub fn head(&self) -> &[u8] {
        self.cell.head()
    }

    /// How many values are stored out of line.
    pub fn value_count(&self) -> usize {
        self.values.as_ref().map_or(0, |values| values.len())
    }

    /// Value number `index`, from 0. Fails when its bytes on the disk are damaged.
    pub fn value(&self, index: usize) -> Result<Value> {
        value_of(&self.values, index)
    }

    /// The commit that wrote it; [`Sequence::UNCOMMITTED`] for a transaction's own write.
    pub fn version(&self) -> Sequence {
        Sequence::from_u64(self.version)
    }
}

/// Value number `index` of `values`.
pub(crate) fn value_of(values: &Values, index: usize) -> Result<Value> {
    let found = values.as_ref().and_then(|values| values.get(index));
    found.cloned().map(Value).ok_or(Error::Misuse { what: "the record has no value of that number" })
}
