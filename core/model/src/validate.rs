//! Structural validation of BSON from outside: once, at the door.
//!
//! One pass without recursion and without allocation: the open containers are a stack of fixed size.
//! What passes can be walked without surprises: every length fits its container, every terminator
//! is in place, every name and string is UTF-8, every type byte is known, nothing trails behind.
//! Array keys are not looked at: MongoDB takes arrays in their written order whatever they are named.

use crate::error::{Error, ErrorCode, Result};
use crate::raw::{RawDoc, read_i32};
use crate::types::ElementType as T;

/// Deepest nesting that [`document`] can be asked to accept.
pub const MAX_DEPTH: usize = 255;

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
        // Where each open container ends, and whether it is the scope of a code value.
        let mut ends = [0usize; MAX_DEPTH];
        let mut depth = 1usize;
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
                depth -= 1;
                let Some(enclosing) = depth.checked_sub(1) else { return Ok(()) };
                end = *ends.get(enclosing).ok_or("unbalanced document")?;
                continue;
            }
            let ty = T::from_byte(tag).ok_or("unknown type byte")?;
            self.at += 1;
            self.skip_cstring(end)?;
            if let Some(container_end) = self.value(ty, end)? {
                if depth >= self.max_depth {
                    return Err(Fault::TooDeep);
                }
                *ends.get_mut(depth - 1).ok_or(Fault::TooDeep)? = end;
                depth += 1;
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
        let len = crate::raw::find_zero(rest).ok_or("name without terminator")?;
        let text = rest.get(..len).unwrap_or_default();
        if !text.is_ascii() && std::str::from_utf8(text).is_err() {
            return Err("name is not UTF-8".into());
        }
        self.at += len + 1;
        Ok(())
    }

    fn string(&mut self, end: usize) -> Step {
        let len = self.length(end, 1)?;
        match self.take(len, end)?.split_last() {
            Some((0, text)) if std::str::from_utf8(text).is_ok() => Ok(()),
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
