//! Values that were computed rather than found: owned bytes, and "borrowed or owned".

use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType;
use smallvec::SmallVec;

/// A BSON value that owns its payload; numbers, dates and ids stay on the stack.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedValue {
    /// The type tag.
    pub ty: ElementType,
    bytes: SmallVec<[u8; 16]>,
}

impl OwnedValue {
    /// A value from its type and payload.
    pub fn new(ty: ElementType, bytes: &[u8]) -> Self {
        OwnedValue { ty, bytes: SmallVec::from_slice(bytes) }
    }

    /// A value that takes over a buffer (documents, arrays, strings built elsewhere).
    pub fn from_vec(ty: ElementType, bytes: Vec<u8>) -> Self {
        OwnedValue { ty, bytes: SmallVec::from_vec(bytes) }
    }

    /// BSON null.
    pub fn null() -> Self {
        Self::new(ElementType::Null, &[])
    }

    /// A string.
    pub fn string(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 5);
        bytes.extend_from_slice(&i32::try_from(text.len() + 1).unwrap_or(i32::MAX).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        Self::from_vec(ElementType::String, bytes)
    }

    /// A document from finished document bytes.
    pub fn document(bytes: Vec<u8>) -> Self {
        Self::from_vec(ElementType::Document, bytes)
    }

    /// A date (milliseconds since 1970).
    pub fn date_ms(ms: i64) -> Self {
        Self::new(ElementType::Date, &ms.to_le_bytes())
    }

    /// The value, borrowed.
    pub fn as_ref(&self) -> RawValue<'_> {
        RawValue { ty: self.ty, bytes: &self.bytes }
    }
}

impl std::fmt::Debug for OwnedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl From<RawValue<'_>> for OwnedValue {
    fn from(v: RawValue<'_>) -> Self {
        Self::new(v.ty, v.bytes)
    }
}
impl From<i32> for OwnedValue {
    fn from(v: i32) -> Self {
        Self::new(ElementType::Int32, &v.to_le_bytes())
    }
}
impl From<i64> for OwnedValue {
    fn from(v: i64) -> Self {
        Self::new(ElementType::Int64, &v.to_le_bytes())
    }
}
impl From<f64> for OwnedValue {
    fn from(v: f64) -> Self {
        Self::new(ElementType::Double, &v.to_le_bytes())
    }
}
impl From<bool> for OwnedValue {
    fn from(v: bool) -> Self {
        Self::new(ElementType::Bool, &[u8::from(v)])
    }
}
impl From<RawDoc<'_>> for OwnedValue {
    fn from(v: RawDoc<'_>) -> Self {
        v.as_value().into()
    }
}

/// A value that is borrowed from a document where possible and owned where it was computed.
#[derive(Clone, Debug)]
pub enum Val<'a> {
    /// Found in a document.
    Borrowed(RawValue<'a>),
    /// Computed.
    Owned(OwnedValue),
}

impl Val<'_> {
    /// The value, borrowed from wherever it lives.
    pub fn as_ref(&self) -> RawValue<'_> {
        match self {
            Val::Borrowed(v) => *v,
            Val::Owned(v) => v.as_ref(),
        }
    }

    /// The value with its own bytes.
    pub fn into_owned(self) -> OwnedValue {
        match self {
            Val::Borrowed(v) => v.into(),
            Val::Owned(v) => v,
        }
    }
}

impl<'a> From<RawValue<'a>> for Val<'a> {
    fn from(v: RawValue<'a>) -> Self {
        Val::Borrowed(v)
    }
}
impl From<OwnedValue> for Val<'_> {
    fn from(v: OwnedValue) -> Self {
        Val::Owned(v)
    }
}
