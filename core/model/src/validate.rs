//! Structural validation of BSON from outside: once, at the door.
//!
//! One pass without recursion; the open containers are a stack of bounded size, which usual nesting keeps
//! off the heap.
//! What passes can be walked without surprises: every length fits its container, every terminator
//! is in place, every name and string is UTF-8, every type byte is known, nothing trails behind.
//! Array keys are not looked at: MongoDB takes arrays in their written order whatever they are named.

use crate::error::{Error, ErrorCode, Result};
use crate::raw::{RawDoc, find_zero, read_i32};
use crate::types::ElementType as T;
use smallvec::SmallVec;

/// Deepest nesting that [`document`] can be asked to accept.
pub const MAX_DEPTH: usize = 255;
/// Nesting that needs no allocation.
const INLINE_DEPTH: usize = 16;

/// Checks that `bytes` are exactly one well-formed document of at most `max_bytes`, with at most
/// `max_depth` containers inside one another (the document itself is the first).
///
/// Errors: `InvalidBSON` (22), `Overflow` (15) for nesting, `BSONObjectTooLarge` (10334).
pub fn document(bytes: &[u8], max_bytes: usize, max_depth: usize) -> Result<RawDoc<'_>> {
    let declared = read_i32(bytes, 0).ok_or_else(|| invalid("document shorter than its length prefix", 0))?;
    let len = usize::try_from(declared).ok().filter(|n| *n >= 5);
    let len = len.ok_or_else(|| invalid(&format!("invalid document length {declared}"), 0))?;
    if len > max_bytes {
        let text = format!("BSONObj size: {len} is invalid. Size must be between 0 and {max_bytes} bytes");
        return Err(Error::new(ErrorCode::BSONObjectTooLarge, text));
    }
    if len != bytes.len() {
        return Err(invalid(&format!("document length {len}, but {} bytes were given", bytes.len()), 0));
    }
    let mut cursor = Cursor { bytes, at: 4, max_depth: max_depth.min(MAX_DEPTH) };
    match cursor.walk() {
        Ok(()) => Ok(RawDoc::framed(bytes).unwrap_or(RawDoc::EMPTY)),
        Err(Fault::TooDeep) => {
            let text = format!("BSONObj exceeds maximum nested object depth: {}", cursor.max_depth);
            Err(Error::new(ErrorCode::Overflow, text))
        }
        Err(Fault::Broken(what)) => Err(invalid(what, cursor.at)),
    }
}

#[cold]
fn invalid(what: &str, at: usize) -> Error {
    Error::new(ErrorCode::InvalidBSON, format!("invalid BSON at offset {at}: {what}"))
}

/// Most names and many strings are short ASCII: eight bytes at a time settles them without a call.
#[inline]
fn is_utf8(text: &[u8]) -> bool {
    const SHORT: usize = 32;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    if text.len() <= SHORT {
        let (words, rest) = text.as_chunks();
        let mut seen = words.iter().fold(0, |seen, word| seen | u64::from_le_bytes(*word));
        seen |= u64::from(rest.iter().fold(0, |seen, byte| seen | byte)) & HIGH;
        if seen & HIGH == 0 {
            return true;
        }
    }
    std::str::from_utf8(text).is_ok()
}

enum Fault {
    Broken(&'static str),
    TooDeep,
}

impl From<&'static str> for Fault {
    fn from(what: &'static str) -> Self {
        Fault::Broken(what)
    }
}

type Step<V = ()> = Result<V, Fault>;

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    max_depth: usize,
}

impl<'a> Cursor<'a> {
    fn walk(&mut self) -> Step {
        // Where the enclosing containers end, the outermost first.
        let mut enclosing: SmallVec<[usize; INLINE_DEPTH]> = SmallVec::new();
        if self.max_depth == 0 {
            return Err(Fault::TooDeep);
        }
        let mut end = self.bytes.len();
        loop {
            let tag = *self.bytes.get(self.at).ok_or("document ends without its terminator")?;
            if tag == 0 {
                self.at += 1;
                if self.at != end {
                    return Err("document terminator before its end".into());
                }
                match enclosing.pop() {
                    Some(outer) => end = outer,
                    None => return Ok(()),
                }
                continue;
            }
            let ty = T::from_byte(tag).ok_or("unknown type byte")?;
            self.at += 1;
            self.skip_cstring(end)?;
            if let Some(container_end) = self.value(ty, end)? {
                if enclosing.len() + 1 >= self.max_depth {
                    return Err(Fault::TooDeep);
                }
                enclosing.push(end);
                end = container_end;
            }
        }
    }

    /// Checks a value; for a container, enters it and gives its end.
    fn value(&mut self, ty: T, end: usize) -> Step<Option<usize>> {
        let fixed = match ty {
            T::Undefined | T::Null | T::MinKey | T::MaxKey => 0,
            T::Int32 => 4,
            T::Double | T::Date | T::Timestamp | T::Int64 => 8,
            T::ObjectId => 12,
            T::Decimal128 => 16,
            T::Bool => {
                if self.take(1, end)? > &[1] {
                    return Err("bool is neither 0 nor 1".into());
                }
                return Ok(None);
            }
            T::String | T::JavaScript | T::Symbol => return self.string(end).map(|()| None),
            T::Document | T::Array => return self.container(end).map(Some),
            T::Binary => return self.binary(end).map(|()| None),
            T::DbPointer => {
                self.string(end)?;
                12
            }
            T::Regex => {
                self.skip_cstring(end)?;
                return self.skip_cstring(end).map(|()| None);
            }
            T::JavaScriptWithScope => return self.code_with_scope(end).map(Some),
        };
        self.take(fixed, end).map(|_| None)
    }

    fn take(&mut self, len: usize, end: usize) -> Step<&'a [u8]> {
        let stop = self.at.checked_add(len).filter(|stop| *stop < end).ok_or("value exceeds its document")?;
        let taken = self.bytes.get(self.at..stop).ok_or("value exceeds its document")?;
        self.at = stop;
        Ok(taken)
    }

    fn length(&mut self, end: usize, at_least: i32) -> Step<usize> {
        let n = read_i32(self.take(4, end)?, 0).filter(|n| *n >= at_least);
        n.and_then(|n| usize::try_from(n).ok()).ok_or(Fault::Broken("invalid length"))
    }

    fn skip_cstring(&mut self, end: usize) -> Step {
        let rest = self.bytes.get(self.at..end).unwrap_or_default();
        let len = find_zero(rest).ok_or("name without terminator")?;
        self.at += len + 1;
        if rest.get(..len).is_some_and(is_utf8) { Ok(()) } else { Err("name is not UTF-8".into()) }
    }

    fn string(&mut self, end: usize) -> Step {
        let len = self.length(end, 1)?;
        match self.take(len, end)?.split_last() {
            Some((0, text)) if is_utf8(text) => Ok(()),
            Some((0, _)) => Err("string is not UTF-8".into()),
            _ => Err("string without terminator".into()),
        }
    }

    fn container(&mut self, end: usize) -> Step<usize> {
        let start = self.at;
        let len = self.length(end, 5)?;
        start.checked_add(len).filter(|stop| *stop < end).ok_or(Fault::Broken("document exceeds its parent"))
    }

    fn binary(&mut self, end: usize) -> Step {
        let len = self.length(end, 0)?;
        let subtype = self.take(1, end)?;
        let payload = self.take(len, end)?;
        if subtype == [2] {
            let nested = read_i32(payload, 0).and_then(|n| usize::try_from(n).ok());
            if nested.is_none() || nested != payload.len().checked_sub(4) {
                return Err("binary of subtype 2 with a wrong inner length".into());
            }
        }
        Ok(())
    }

    /// The scope is the last part, so that entering it as a container also checks where the value ends.
    fn code_with_scope(&mut self, end: usize) -> Step<usize> {
        let start = self.at;
        let len = self.length(end, 4 + 5 + 5)?;
        let stop = start.checked_add(len).filter(|stop| *stop < end);
        let stop = stop.ok_or("code with scope exceeds its document")?;
        self.string(stop)?;
        // One byte more than the scope may use: a container ends before the end of its parent.
        let scope_end = self.container(stop + 1)?;
        if scope_end == stop { Ok(stop) } else { Err("code with scope has a wrong length".into()) }
    }
}

#[cfg(test)]
mod tests;
