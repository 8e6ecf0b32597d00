//! Writing BSON: one growing buffer, nesting by patching lengths, nothing copied twice.

use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType;
use smallvec::{SmallVec, smallvec};

/// Appends fields to one BSON document in a byte buffer.
///
/// `start_doc` / `start_array` open a nested value and `end` closes the innermost one; `finish`
/// closes everything that is open.
#[derive(Debug, Clone)]
pub struct DocBuilder {
    buf: Vec<u8>,
    /// Where the length prefixes of the open documents stand; arrays also count their elements.
    open: SmallVec<[(usize, Option<u32>); 4]>,
}

impl Default for DocBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl DocBuilder {
    /// An empty document.
    pub fn new() -> Self {
        Self::with_buffer(Vec::with_capacity(128))
    }

    /// Writes the document at the end of `buf` (what is there stays).
    pub fn with_buffer(mut buf: Vec<u8>) -> Self {
        let start = buf.len();
        buf.extend_from_slice(&[0; 4]);
        DocBuilder { buf, open: smallvec![(start, None)] }
    }

    /// An empty array: fill it with `push`, `push_start_doc`, `push_start_array`; `finish` gives the
    /// payload of a value of type `Array`.
    pub fn new_array() -> Self {
        let mut builder = Self::new();
        if let Some(outermost) = builder.open.last_mut() {
            outermost.1 = Some(0);
        }
        builder
    }

    /// Bytes written so far.
    pub fn len_bytes(&self) -> usize {
        self.buf.len()
    }

    fn header(&mut self, ty: ElementType, name: &[u8]) {
        self.buf.push(ty as u8);
        self.buf.extend_from_slice(name);
        self.buf.push(0);
    }

    /// Appends a field with any value. `name` must not contain NUL.
    pub fn append(&mut self, name: &str, value: RawValue<'_>) -> &mut Self {
        self.append_bytes_name(name.as_bytes(), value)
    }

    /// Like [`append`](Self::append), for names that are already bytes.
    pub fn append_bytes_name(&mut self, name: &[u8], value: RawValue<'_>) -> &mut Self {
        self.header(value.ty, name);
        self.buf.extend_from_slice(value.bytes);
        self
    }

    /// Appends type and name of a field whose payload is kept elsewhere; gives the place where the payload belongs.
    pub fn append_without_payload(&mut self, name: &[u8], ty: ElementType) -> usize {
        self.header(ty, name);
        self.buf.len()
    }

    /// Appends the next element of the innermost open array; `write` appends its payload, or fails and appends nothing.
    ///
    /// # Errors
    /// Those of `write`; the array is then as it was.
    pub fn push_with<E>(
        &mut self,
        ty: ElementType,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (len, open) = (self.buf.len(), self.open.last().copied());
        let index = self.next_index();
        self.header(ty, &index);
        let written = write(&mut self.buf);
        if written.is_err() {
            self.buf.truncate(len);
            if let (Some(innermost), Some(before)) = (self.open.last_mut(), open) {
                *innermost = before;
            }
        }
        written
    }

    /// Appends the next element of the innermost open array.
    pub fn push(&mut self, value: RawValue<'_>) -> &mut Self {
        let index = self.next_index();
        self.append_bytes_name(&index, value)
    }

    /// The name of the next element of the innermost open array, as digits.
    fn next_index(&mut self) -> SmallVec<[u8; 16]> {
        let mut rest = 0;
        if let Some((_, Some(count))) = self.open.last_mut() {
            rest = *count;
            *count += 1;
        }
        let mut digits = SmallVec::new();
        loop {
            digits.push(b'0' + u8::try_from(rest % 10).unwrap_or_default());
            rest /= 10;
            if rest == 0 {
                digits.reverse();
                return digits;
            }
        }
    }

    /// Appends an int32.
    pub fn i32(&mut self, name: &str, v: i32) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::Int32, bytes: &v.to_le_bytes() })
    }

    /// Appends an int64.
    pub fn i64(&mut self, name: &str, v: i64) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::Int64, bytes: &v.to_le_bytes() })
    }

    /// Appends an int32 where the value fits, else an int64 (counters in replies).
    pub fn count(&mut self, name: &str, v: u64) -> &mut Self {
        match i32::try_from(v) {
            Ok(small) => self.i32(name, small),
            Err(_) => self.i64(name, i64::try_from(v).unwrap_or(i64::MAX)),
        }
    }

    /// Appends a double.
    pub fn f64(&mut self, name: &str, v: f64) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::Double, bytes: &v.to_le_bytes() })
    }

    /// Appends a bool.
    pub fn bool(&mut self, name: &str, v: bool) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::Bool, bytes: &[u8::from(v)] })
    }

    /// Appends a string.
    pub fn str(&mut self, name: &str, v: &str) -> &mut Self {
        self.header(ElementType::String, name.as_bytes());
        let len = i32::try_from(v.len() + 1).unwrap_or(i32::MAX);
        self.buf.extend_from_slice(&len.to_le_bytes());
        self.buf.extend_from_slice(v.as_bytes());
        self.buf.push(0);
        self
    }

    /// Appends a date (milliseconds since 1970).
    pub fn date_ms(&mut self, name: &str, v: i64) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::Date, bytes: &v.to_le_bytes() })
    }

    /// Appends a timestamp (seconds in the high half).
    pub fn timestamp(&mut self, name: &str, v: u64) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::Timestamp, bytes: &v.to_le_bytes() })
    }

    /// Appends an ObjectId.
    pub fn object_id(&mut self, name: &str, v: &[u8; 12]) -> &mut Self {
        self.append(name, RawValue { ty: ElementType::ObjectId, bytes: v })
    }

    /// Appends binary data.
    pub fn binary(&mut self, name: &str, subtype: u8, v: &[u8]) -> &mut Self {
        self.header(ElementType::Binary, name.as_bytes());
        let len = i32::try_from(v.len()).unwrap_or(i32::MAX);
        self.buf.extend_from_slice(&len.to_le_bytes());
        self.buf.push(subtype);
        self.buf.extend_from_slice(v);
        self
    }

    /// Appends null.
    pub fn null(&mut self, name: &str) -> &mut Self {
        self.append(name, RawValue::NULL)
    }

    /// Appends a document.
    pub fn doc(&mut self, name: &str, v: RawDoc<'_>) -> &mut Self {
        self.append(name, v.as_value())
    }

    /// Appends all fields of `doc` to the innermost open document.
    pub fn extend(&mut self, doc: RawDoc<'_>) -> &mut Self {
        let bytes = doc.as_bytes();
        self.buf.extend_from_slice(bytes.get(4..bytes.len().saturating_sub(1)).unwrap_or_default());
        self
    }

    /// Opens a nested document.
    pub fn start_doc(&mut self, name: &str) -> &mut Self {
        self.start(ElementType::Document, name.as_bytes(), None)
    }

    /// Opens a nested array; fill it with `push`, `push_start_doc`, `push_start_array`.
    pub fn start_array(&mut self, name: &str) -> &mut Self {
        self.start(ElementType::Array, name.as_bytes(), Some(0))
    }

    /// Opens a document as the next element of the innermost array.
    pub fn push_start_doc(&mut self) -> &mut Self {
        let index = self.next_index();
        self.start(ElementType::Document, &index, None)
    }

    /// Opens an array as the next element of the innermost array.
    pub fn push_start_array(&mut self) -> &mut Self {
        let index = self.next_index();
        self.start(ElementType::Array, &index, Some(0))
    }

    fn start(&mut self, ty: ElementType, name: &[u8], count: Option<u32>) -> &mut Self {
        self.header(ty, name);
        self.open.push((self.buf.len(), count));
        self.buf.extend_from_slice(&[0; 4]);
        self
    }

    /// Closes the innermost open document or array.
    pub fn end(&mut self) -> &mut Self {
        if let Some((start, _)) = self.open.pop() {
            self.buf.push(0);
            let len = i32::try_from(self.buf.len() - start).unwrap_or(i32::MAX);
            if let Some(slot) = self.buf.get_mut(start..start + 4) {
                slot.copy_from_slice(&len.to_le_bytes());
            }
        }
        self
    }

    /// Closes everything and gives the buffer back.
    pub fn finish(mut self) -> Vec<u8> {
        while !self.open.is_empty() {
            self.end();
        }
        self.buf
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extjson::{Mode, to_text};
    use crate::value::OwnedValue;

    #[test]
    fn nesting_and_array_names() {
        let mut doc = DocBuilder::new();
        doc.start_array("a");
        for n in 0..101 {
            doc.push(OwnedValue::from(n).as_ref());
        }
        doc.push_start_doc().bool("b", true).end().push_start_array().end().end();
        doc.start_doc("c").null("d").count("n", 1 << 31);
        let bytes = doc.finish();
        let doc = crate::validate::document(&bytes, 1 << 20, 10).unwrap();
        let names: Vec<_> =
            doc.get("a").and_then(RawValue::as_array).unwrap().iter().map(|e| e.name().to_owned()).collect();
        assert_eq!(names, (0..103).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(
            to_text(doc, Mode::Relaxed).ends_with(r#",100,{"b":true},[]],"c":{"d":null,"n":2147483648}}"#)
        );
    }

    #[test]
    fn an_element_that_fails_leaves_no_trace() {
        let mut array = DocBuilder::new_array();
        let null = |_: &mut Vec<u8>| Ok::<_, ()>(());
        array.push_with(ElementType::Null, null).unwrap();
        assert!(array.push_with(ElementType::Int32, |_| Err(())).is_err());
        array.push_with(ElementType::Null, null).unwrap();
        let mut wanted = DocBuilder::new_array();
        wanted.push(RawValue::NULL).push(RawValue::NULL);
        assert_eq!(array.finish(), wanted.finish());
    }

    #[test]
    fn a_document_behind_other_bytes_has_its_own_length() {
        let mut doc = DocBuilder::with_buffer(vec![1, 2, 3]);
        doc.i32("a", 1);
        let bytes = doc.finish();
        assert!(RawDoc::framed(&bytes[3..]).is_some());
        let mut copy = DocBuilder::new();
        copy.extend(RawDoc::framed(&bytes[3..]).unwrap()).doc("b", RawDoc::EMPTY);
        assert_eq!(to_text(RawDoc::framed(&copy.finish()).unwrap(), Mode::Relaxed), r#"{"a":1,"b":{}}"#);
    }
}
