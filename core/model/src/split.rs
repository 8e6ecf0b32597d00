//! Heads: documents with the payloads of large top-level fields cut out.
//!
//! A record's head is one of two things, told apart by its last byte:
//!
//! - **0**: a BSON document as it is. Small documents pay nothing, and their heads are read as documents.
//! - **1 to 16**: a document with so many payloads cut out. The document's bytes come first, type bytes, names, order and
//!   the length of the whole document as they were; then the table of cuts; then their number, one byte. A cut is
//!   nine bytes: where the payload belongs (u32, counted in the cut document), how long it is (u32), and the
//!   number of the value that holds it (u8). Cuts stand in the order of their places.
//!
//! So the document is restored by splicing, byte for byte, whatever its fields are called and however often. All integers
//! are little-endian.
//!
//! Heads may come damaged from a file: reading checks every bound and never panics.

use crate::limits::MAX_INTERNAL_DOCUMENT_BYTES;
use crate::raw::{Element, RawDoc, RawValue, read_i32, split_header, value_len};
use smallvec::SmallVec;

/// Most payloads that are cut out of one document.
pub const MAX_CUTS: usize = 16;
/// Bytes of a cut in the table.
const CUT_BYTES: usize = 9;
/// Bytes of an empty document: no head has fewer.
const EMPTY_DOCUMENT_BYTES: usize = 5;

/// A payload that was cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where it belongs, counted in the cut document's bytes.
    pub position: u32,
    /// Its length.
    pub len_bytes: u32,
    /// The number of the value that holds it.
    pub number: u8,
}

impl Cut {
    fn read(bytes: &[u8]) -> Option<(Cut, &[u8])> {
        let (position, rest) = bytes.split_first_chunk()?;
        let (len_bytes, rest) = rest.split_first_chunk()?;
        let (&number, rest) = rest.split_first()?;
        let position = u32::from_le_bytes(*position);
        Some((Cut { position, len_bytes: u32::from_le_bytes(*len_bytes), number }, rest))
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(&self.len_bytes.to_le_bytes());
        out.push(self.number);
    }
}

/// The cuts of a head, in the order of their places.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuts<'a>(&'a [u8]);

impl Iterator for Cuts<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        let (cut, rest) = Cut::read(self.0)?;
        self.0 = rest;
        Some(cut)
    }
}

impl Cuts<'_> {
    /// The next one, without going on.
    pub fn peek(&self) -> Option<Cut> {
        Cut::read(self.0).map(|(cut, _)| cut)
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A head, taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    bytes: &'a [u8],
    cuts: Cuts<'a>,
}

impl<'a> Head<'a> {
    /// Takes a head apart; `None` when it is damaged.
    #[inline]
    pub fn parse(head: &'a [u8]) -> Option<Self> {
        match head.last()? {
            0 => {
                let whole = head.len() >= EMPTY_DOCUMENT_BYTES && document_len(head)? == head.len();
                whole.then_some(Head { bytes: head, cuts: Cuts(&[]) })
            }
            count => Self::parse_split(head, (*count).into()),
        }
    }

    /// The head of a document of which nothing was cut out.
    #[inline]
    pub fn of(doc: RawDoc<'a>) -> Self {
        Head { bytes: doc.as_bytes(), cuts: Cuts(&[]) }
    }

    fn parse_split(head: &'a [u8], count: usize) -> Option<Self> {
        let table_bytes = count.checked_mul(CUT_BYTES).filter(|_| count <= MAX_CUTS)?;
        let (bytes, table) = head.split_at_checked(head.len().checked_sub(table_bytes + 1)?)?;
        if bytes.len() < EMPTY_DOCUMENT_BYTES || bytes.last() != Some(&0) {
            return None;
        }
        let cuts = Cuts(table.get(..table_bytes)?);
        let mut len_bytes = bytes.len();
        // Behind the length, and behind the type byte and the end of the name that every cut has in front of it.
        let mut least = 6;
        for cut in cuts {
            let position = cut.position as usize;
            if position < least || position >= bytes.len() {
                return None;
            }
            least = position + 2;
            len_bytes = len_bytes.checked_add(cut.len_bytes as usize)?;
        }
        (document_len(head)? == len_bytes).then_some(Head { bytes, cuts })
    }

    /// The document without what was cut out; a whole one when nothing was.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What was cut out.
    pub fn cuts(&self) -> Cuts<'a> {
        self.cuts
    }

    /// Nothing was cut out.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.cuts.is_empty()
    }

    /// The length of the whole document.
    pub fn len_bytes(&self) -> usize {
        document_len(self.bytes).unwrap_or_default()
    }

    /// The fields in order, each with the cut that its payload is; the payload is empty then. Ends at the first malformed
    /// byte.
    #[inline]
    pub fn elements(&self) -> HeadElements<'a> {
        HeadElements { bytes: self.bytes, rest: self.bytes.get(4..).unwrap_or_default(), cuts: self.cuts }
    }

    /// The head itself at the end of `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
        if !self.is_whole() {
            out.extend_from_slice(self.cuts.0);
            out.push(u8::try_from(self.cuts.0.len() / CUT_BYTES).unwrap_or(u8::MAX));
        }
    }

    /// The whole document at the end of `out`: spans of the head, and between them what `value` appends.
    ///
    /// # Errors
    /// Those of `value`; `out` is then as it was.
    pub fn splice<E>(
        &self,
        out: &mut Vec<u8>,
        mut value: impl FnMut(Cut, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = out.len();
        // What a damaged head says is not believed.
        out.reserve(self.len_bytes().min(MAX_INTERNAL_DOCUMENT_BYTES));
        let mut copied = 0;
        for cut in self.cuts {
            let position = cut.position as usize;
            out.extend_from_slice(self.bytes.get(copied..position).unwrap_or_default());
            copied = position;
            if let Err(error) = value(cut, out) {
                out.truncate(start);
                return Err(error);
            }
        }
        out.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        Ok(())
    }
}

/// Iterator over the fields of a head.
#[derive(Clone, Copy)]
pub struct HeadElements<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    cuts: Cuts<'a>,
}

impl<'a> Iterator for HeadElements<'a> {
    type Item = (Element<'a>, Option<Cut>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let parsed = self.parse();
        if parsed.is_none() {
            self.rest = &[];
        }
        parsed
    }
}

impl<'a> HeadElements<'a> {
    #[inline]
    fn parse(&mut self) -> Option<(Element<'a>, Option<Cut>)> {
        let (ty, name, rest) = split_header(self.rest)?;
        let position = self.bytes.len() - rest.len();
        let cut = self.cuts.peek().filter(|cut| cut.position as usize == position);
        let len = match cut {
            None => value_len(ty, rest)?,
            Some(_) => {
                self.cuts.next();
                0
            }
        };
        let (bytes, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some((Element::new(name, RawValue { ty, bytes }), cut))
    }
}

/// The length of the document whose head this is, which its first bytes say.
pub fn document_len(head: &[u8]) -> Option<usize> {
    read_i32(head, 0).and_then(|len| usize::try_from(len).ok())
}

/// The cuts of a head that is being written.
///
/// The document is written as any other, but with the payloads left out and [`note`](Self::note)d; when it has been
/// framed, [`finish`](Self::finish) makes a head of it. A document without cuts is a head already.
#[derive(Clone, Debug, Default)]
pub struct CutList(SmallVec<[Cut; 2]>);

impl CutList {
    /// Nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes a payload that was left out at `position`, counted from the document's first byte.
    pub fn note(&mut self, position: usize, len_bytes: u32, number: u8) {
        // Documents are far shorter than 4 GiB.
        self.0.push(Cut { position: u32::try_from(position).unwrap_or(u32::MAX), len_bytes, number });
    }

    /// Makes a head of the framed document that begins at `start` and ends with `out`.
    pub fn finish(self, out: &mut Vec<u8>, start: usize) {
        if self.0.is_empty() {
            return;
        }
        let cut_bytes: usize = self.0.iter().map(|cut| cut.len_bytes as usize).sum();
        let len = i32::try_from(out.len() - start + cut_bytes).unwrap_or(i32::MAX);
        if let Some(slot) = out.get_mut(start..start + 4) {
            slot.copy_from_slice(&len.to_le_bytes());
        }
        let count = u8::try_from(self.0.len()).unwrap_or(u8::MAX);
        self.0.into_iter().for_each(|cut| cut.write(out));
        out.push(count);
    }
}
