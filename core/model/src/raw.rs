//! Borrowed BSON: documents and values as the bytes they are.
//!
//! Bytes from outside pass [`crate::validate`] once, at the door. Walking is defensive all the
//! same: on malformed bytes an iterator ends and an accessor gives `None`; nothing here panics.

use crate::types::ElementType;

/// A BSON document (or the body of an array) as borrowed bytes, length prefix and end included.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawDoc<'a>(&'a [u8]);

/// One field of a document.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    name: &'a [u8],
    /// The field's value.
    pub value: RawValue<'a>,
}

/// A BSON value: its type and its payload bytes, exactly as they stand in a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawValue<'a> {
    /// The type tag.
    pub ty: ElementType,
    /// The payload, without type byte and name.
    pub bytes: &'a [u8],
}

const EMPTY: &[u8] = &[5, 0, 0, 0, 0];

impl<'a> RawDoc<'a> {
    /// The document `{}`.
    pub const EMPTY: RawDoc<'static> = RawDoc(EMPTY);

    /// Frames a document: the length prefix must equal the length of `bytes` and the last byte be 0.
    /// Says nothing about what is inside.
    pub fn framed(bytes: &'a [u8]) -> Option<Self> {
        let len = read_i32(bytes, 0)?;
        (usize::try_from(len) == Ok(bytes.len()) && bytes.len() >= 5 && bytes.last() == Some(&0))
            .then_some(RawDoc(bytes))
    }

    /// Takes bytes as a document without looking at them.
    pub(crate) fn unframed(bytes: &'a [u8]) -> Self {
        RawDoc(bytes)
    }

    /// The bytes, length prefix and final zero included.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The fields in order.
    pub fn iter(self) -> Elements<'a> {
        Elements { rest: self.0.get(4..).unwrap_or_default() }
    }

    /// The first field with this name.
    #[inline]
    pub fn get(self, name: &str) -> Option<RawValue<'a>> {
        self.get_bytes(name.as_bytes())
    }

    /// [`get`](Self::get) for names that are already bytes.
    #[inline]
    pub fn get_bytes(self, name: &[u8]) -> Option<RawValue<'a>> {
        self.iter().find(|e| e.name == name).map(|e| e.value)
    }

    /// Has no fields.
    pub fn is_empty(self) -> bool {
        self.0.len() <= 5
    }

    /// The document as a value of type `Document`.
    pub fn as_value(self) -> RawValue<'a> {
        RawValue { ty: ElementType::Document, bytes: self.0 }
    }
}

impl<'a> IntoIterator for RawDoc<'a> {
    type Item = Element<'a>;
    type IntoIter = Elements<'a>;
    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// Iterator over a document's fields; ends at the first malformed byte.
#[derive(Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        let parsed = split_element(self.rest);
        self.rest = parsed.map_or(&[], |(_, rest)| rest);
        parsed.map(|(element, _)| element)
    }
}

/// The element at the start of `bytes` and what follows it. `None` at the document's end, which is no type byte.
#[inline]
fn split_element(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (ty, name, rest) = split_header(bytes)?;
    let (bytes, rest) = rest.split_at_checked(value_len(ty, rest)?)?;
    Some((Element { name, value: RawValue { ty, bytes } }, rest))
}

/// Type and name at the start of `bytes` and what follows them.
#[inline]
pub(crate) fn split_header(bytes: &[u8]) -> Option<(ElementType, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let ty = ElementType::from_byte(tag)?;
    let (name, rest) = rest.split_at_checked(find_zero(rest)?)?;
    Some((ty, name, rest.get(1..)?))
}

impl<'a> Element<'a> {
    /// An element from parts (for views that splice documents).
    pub fn new(name: &'a [u8], value: RawValue<'a>) -> Self {
        Element { name, value }
    }

    /// The name (validated documents hold UTF-8 only; other bytes read as empty).
    pub fn name(&self) -> &'a str {
        std::str::from_utf8(self.name).unwrap_or_default()
    }

    /// The name as bytes: for comparisons on hot paths.
    pub fn name_bytes(&self) -> &'a [u8] {
        self.name
    }
}

/// How the length of a type's values is found.
#[derive(Clone, Copy)]
enum Layout {
    /// Always this long.
    Fixed(u8),
    /// A length prefix of at least `least`, which leaves `beside` bytes uncounted.
    Prefixed { least: u8, beside: u8 },
    /// Two zero-terminated strings.
    TwoStrings,
}

/// The layouts by type byte: one load on the hottest path there is.
static LAYOUT: [Layout; 256] = {
    use ElementType as T;
    let mut layout = [Layout::Fixed(0); 256];
    layout[T::Bool as usize] = Layout::Fixed(1);
    layout[T::Int32 as usize] = Layout::Fixed(4);
    layout[T::Double as usize] = Layout::Fixed(8);
    layout[T::Date as usize] = Layout::Fixed(8);
    layout[T::Timestamp as usize] = Layout::Fixed(8);
    layout[T::Int64 as usize] = Layout::Fixed(8);
    layout[T::ObjectId as usize] = Layout::Fixed(12);
    layout[T::Decimal128 as usize] = Layout::Fixed(16);
    layout[T::String as usize] = Layout::Prefixed { least: 1, beside: 4 };
    layout[T::JavaScript as usize] = Layout::Prefixed { least: 1, beside: 4 };
    layout[T::Symbol as usize] = Layout::Prefixed { least: 1, beside: 4 };
    layout[T::DbPointer as usize] = Layout::Prefixed { least: 1, beside: 4 + 12 };
    layout[T::Binary as usize] = Layout::Prefixed { least: 0, beside: 5 };
    layout[T::Document as usize] = Layout::Prefixed { least: 5, beside: 0 };
    layout[T::Array as usize] = Layout::Prefixed { least: 5, beside: 0 };
    layout[T::JavaScriptWithScope as usize] = Layout::Prefixed { least: 14, beside: 0 };
    layout[T::Regex as usize] = Layout::TwoStrings;
    layout
};

/// How many bytes the value of type `ty` at the start of `bytes` takes (it may be more than there are).
#[inline]
pub(crate) fn value_len(ty: ElementType, bytes: &[u8]) -> Option<usize> {
    match LAYOUT[ty as usize] {
        Layout::Fixed(len) => Some(len.into()),
        Layout::Prefixed { least, beside } => {
            let len = read_i32(bytes, 0).filter(|n| *n >= i32::from(least))?;
            usize::try_from(len).ok()?.checked_add(beside.into())
        }
        Layout::TwoStrings => {
            let first = find_zero(bytes)? + 1;
            Some(first + find_zero(bytes.get(first..)?)? + 1)
        }
    }
}

/// Where the first zero byte is. Names are short, so eight bytes at a time beat a call into `memchr`.
#[inline]
pub(crate) fn find_zero(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    let mut rest = bytes;
    while let Some((chunk, tail)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
        rest = tail;
    }
    rest.iter().position(|b| *b == 0).map(|i| at + i)
}

/// A little-endian i32 at `at`.
pub fn read_i32(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn read_u64(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.first_chunk()?))
}

impl<'a> RawValue<'a> {
    /// BSON null.
    pub const NULL: RawValue<'static> = RawValue { ty: ElementType::Null, bytes: &[] };

    /// Null or undefined.
    pub fn is_nullish(self) -> bool {
        matches!(self.ty, ElementType::Null | ElementType::Undefined)
    }

    /// The bool, for type `Bool`.
    pub fn as_bool(self) -> Option<bool> {
        (self.ty == ElementType::Bool).then(|| self.bytes.first().is_some_and(|b| *b != 0))
    }

    /// The i32, for type `Int32`.
    pub fn as_i32(self) -> Option<i32> {
        if self.ty != ElementType::Int32 {
            return None;
        }
        read_i32(self.bytes, 0)
    }

    /// The i64, for type `Int64` only.
    pub fn as_i64(self) -> Option<i64> {
        if self.ty != ElementType::Int64 {
            return None;
        }
        read_u64(self.bytes).map(|n| n as i64)
    }

    /// The f64, for type `Double` only.
    pub fn as_f64(self) -> Option<f64> {
        if self.ty != ElementType::Double {
            return None;
        }
        read_u64(self.bytes).map(f64::from_bits)
    }

    /// Milliseconds since 1970, for type `Date`.
    pub fn as_date_ms(self) -> Option<i64> {
        if self.ty != ElementType::Date {
            return None;
        }
        read_u64(self.bytes).map(|n| n as i64)
    }

    /// Seconds in the high half, increment in the low half, for type `Timestamp`.
    pub fn as_timestamp(self) -> Option<u64> {
        if self.ty != ElementType::Timestamp {
            return None;
        }
        read_u64(self.bytes)
    }

    /// The text of a `String`, `Symbol` or `JavaScript`.
    pub fn as_str(self) -> Option<&'a str> {
        std::str::from_utf8(self.as_str_bytes()?).ok()
    }

    /// The bytes of a `String`, `Symbol` or `JavaScript`, without length and final zero.
    pub fn as_str_bytes(self) -> Option<&'a [u8]> {
        match self.ty {
            ElementType::String | ElementType::Symbol | ElementType::JavaScript => {
                self.bytes.get(4..self.bytes.len().checked_sub(1)?)
            }
            _ => None,
        }
    }

    /// The document, for type `Document`.
    pub fn as_doc(self) -> Option<RawDoc<'a>> {
        (self.ty == ElementType::Document).then_some(RawDoc(self.bytes))
    }

    /// The elements of an array as a document, for type `Array`.
    pub fn as_array(self) -> Option<RawDoc<'a>> {
        (self.ty == ElementType::Array).then_some(RawDoc(self.bytes))
    }

    /// The elements of a document or array.
    pub fn as_doc_or_array(self) -> Option<RawDoc<'a>> {
        matches!(self.ty, ElementType::Document | ElementType::Array).then_some(RawDoc(self.bytes))
    }

    /// The twelve bytes of an `ObjectId`.
    pub fn as_object_id(self) -> Option<&'a [u8; 12]> {
        if self.ty != ElementType::ObjectId {
            return None;
        }
        self.bytes.first_chunk()
    }

    /// Subtype and payload of a `Binary` (subtype 2 keeps its inner length).
    pub fn as_binary(self) -> Option<(u8, &'a [u8])> {
        if self.ty != ElementType::Binary {
            return None;
        }
        Some((*self.bytes.get(4)?, self.bytes.get(5..)?))
    }

    /// Pattern and options of a `Regex`.
    pub fn as_regex(self) -> Option<(&'a str, &'a str)> {
        if self.ty != ElementType::Regex {
            return None;
        }
        let end = self.bytes.iter().position(|b| *b == 0)?;
        let options = self.bytes.get(end + 1..self.bytes.len().checked_sub(1)?)?;
        Some((std::str::from_utf8(self.bytes.get(..end)?).ok()?, std::str::from_utf8(options).ok()?))
    }

    /// Code and scope of a `JavaScriptWithScope`.
    pub fn as_code_with_scope(self) -> Option<(&'a str, RawDoc<'a>)> {
        if self.ty != ElementType::JavaScriptWithScope {
            return None;
        }
        let text_len = usize::try_from(read_i32(self.bytes, 4)?).ok()?;
        let text = self.bytes.get(8..8usize.checked_add(text_len)?.checked_sub(1)?)?;
        let scope = RawDoc::framed(self.bytes.get(8 + text_len..)?)?;
        Some((std::str::from_utf8(text).ok()?, scope))
    }

    /// Namespace and id of a `DbPointer`.
    pub fn as_db_pointer(self) -> Option<(&'a str, &'a [u8])> {
        if self.ty != ElementType::DbPointer {
            return None;
        }
        let (text, id) = self.bytes.split_at_checked(self.bytes.len().checked_sub(12)?)?;
        Some((std::str::from_utf8(text.get(4..text.len().checked_sub(1)?)?).ok()?, id))
    }

    /// The sixteen bytes (BID, little-endian) of a `Decimal128`.
    pub fn as_decimal_bytes(self) -> Option<[u8; 16]> {
        if self.ty != ElementType::Decimal128 {
            return None;
        }
        self.bytes.first_chunk().copied()
    }
}

impl std::fmt::Debug for RawDoc<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter().map(|e| (e.name(), e.value))).finish()
    }
}

impl std::fmt::Debug for RawValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(doc) = self.as_doc() {
            return doc.fmt(f);
        }
        if let Some(array) = self.as_array() {
            return f.debug_list().entries(array.iter().map(|e| e.value)).finish();
        }
        if let Some(s) = self.as_str() {
            return write!(f, "{s:?}");
        }
        let number = (self.as_i32().map(f64::from)).or(self.as_f64()).or(self.as_i64().map(|n| n as f64));
        match number {
            Some(n) => write!(f, "{}({n})", self.ty.name()),
            None => write!(f, "{}({:02x?})", self.ty.name(), self.bytes),
        }
    }
}

#[cfg(test)]
mod tests;
