//! Arguments from C: every pointer and every length is looked at before it is used.

use crate::status::Failure;
use multiforadb::RawDoc;
use std::ffi::{CStr, c_char};

/// Longest document accepted as an argument: what the wire takes as one message.
pub(crate) const MAX_INPUT_BYTES: usize = 48_000_000;

/// A NUL-terminated UTF-8 string that must be there.
///
/// # Safety
/// `text` is NULL or points to a NUL-terminated string that lives as long as `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: passed on.
    unsafe { optional_text(text, what) }?.ok_or_else(|| Failure::misuse(format!("{what} is NULL")))
}

/// A NUL-terminated UTF-8 string, or NULL.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn optional_text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and the caller promises a NUL-terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Failure::misuse(format!("{what} is not valid UTF-8")))
}

/// `len` bytes at `data`; NULL is only allowed with length 0.
///
/// # Safety
/// `data` is NULL or points to `len` readable bytes that live as long as `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize, what: &str) -> Result<&'a [u8], Failure> {
    if len > MAX_INPUT_BYTES {
        return Err(Failure::misuse(format!(
            "{what} has a length of {len} bytes; at most {MAX_INPUT_BYTES} are allowed"
        )));
    }
    match data.is_null() {
        true if len == 0 => Ok(&[]),
        true => Err(Failure::misuse(format!("{what} is NULL with a length of {len} bytes"))),
        // SAFETY: not NULL, the length is bounded, and the caller promises that the bytes are readable.
        false => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// A BSON document whose length prefix agrees with `len`. The engine validates what is inside.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn document<'a>(data: *const u8, len: usize, what: &str) -> Result<RawDoc<'a>, Failure> {
    // SAFETY: passed on.
    let bytes = unsafe { bytes(data, len, what) }?;
    if bytes.is_empty() {
        return Err(Failure::misuse(format!("{what} is missing (NULL or no bytes)")));
    }
    RawDoc::framed(bytes).ok_or_else(|| {
        Failure::not_bson(format!(
            "{what} is not a BSON document: {len} bytes that do not begin with that length and end with a zero byte"
        ))
    })
}

/// Like [`document`]; NULL with length 0 stands for `{}`.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn optional_document<'a>(
    data: *const u8,
    len: usize,
    what: &str,
) -> Result<RawDoc<'a>, Failure> {
    match data.is_null() && len == 0 {
        true => Ok(RawDoc::EMPTY),
        // SAFETY: passed on.
        false => unsafe { document(data, len, what) },
    }
}

/// A handle or an out parameter that must not be NULL.
///
/// # Safety
/// `pointer` is NULL or points to a live `T`.
pub(crate) unsafe fn required<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller promises that a non-NULL pointer points to a live value.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::misuse(format!("{what} is NULL")))
}

/// Where a function puts the handle it makes: set to NULL at once, so that it is NULL when the call fails.
///
/// # Safety
/// `slot` is NULL or writable.
pub(crate) unsafe fn out_handle<'a, T>(slot: *mut *mut T, what: &str) -> Result<&'a mut *mut T, Failure> {
    // SAFETY: the caller promises that a non-NULL pointer is writable.
    let slot = unsafe { slot.as_mut() }.ok_or_else(|| Failure::misuse(format!("{what} is NULL")))?;
    *slot = std::ptr::null_mut();
    Ok(slot)
}

/// An options structure that may grow: `size`, its first field, says how much of it the caller knows.
///
/// Fields the caller does not know stay at zero, their default. Bytes this library does not know must
/// be zero: an option it cannot honour is refused, not ignored.
///
/// # Safety
/// `options` is NULL or points to a structure that begins with its own size in bytes as `size_t`, all of
/// it readable. `T` is such a structure, `repr(C)`, for which all-zero bytes are a valid value.
pub(crate) unsafe fn sized_options<T: Copy>(options: *const T, what: &str) -> Result<T, Failure> {
    // SAFETY: the caller promises that zero bytes are a valid `T`.
    let mut known = unsafe { std::mem::zeroed::<T>() };
    if options.is_null() {
        return Ok(known);
    }
    // SAFETY: not NULL; the structure begins with its size.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    if size < size_of::<usize>() || size > MAX_OPTIONS_BYTES {
        return Err(Failure::misuse(format!("{what}.size is {size}: set it to sizeof the structure")));
    }
    // SAFETY: the caller promises that `size` bytes are readable.
    let given = unsafe { std::slice::from_raw_parts(options.cast::<u8>(), size) };
    let shared = size.min(size_of::<T>());
    if given.iter().skip(shared).any(|b| *b != 0) {
        return Err(Failure::misuse(format!("{what} sets an option that this version does not know")));
    }
    // SAFETY: both sides have at least `shared` bytes and do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(given.as_ptr(), (&raw mut known).cast::<u8>(), shared) };
    Ok(known)
}

/// No options structure will ever be larger; catches an uninitialised `size`.
const MAX_OPTIONS_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::MF_MISUSE;
    use std::ptr::null;

    #[test]
    fn lengths_and_null() {
        let doc = [5u8, 0, 0, 0, 0];
        // SAFETY: every pointer is NULL or comes from `doc` with at most its length; lengths beyond it
        // are refused before they are used.
        unsafe {
            assert!(document(doc.as_ptr(), 5, "x").is_ok());
            for (data, len) in
                [(null(), 0), (null(), 5), (doc.as_ptr(), 0), (doc.as_ptr(), 4), (doc.as_ptr(), usize::MAX)]
            {
                assert_eq!(document(data, len, "x").unwrap_err().status, MF_MISUSE);
            }
            assert!(optional_document(null(), 0, "x").unwrap().is_empty());
            assert!(text(null(), "x").is_err());
            assert!(text(c"\xff".as_ptr(), "x").is_err());
            assert_eq!(text(c"a".as_ptr(), "x").unwrap(), "a");
        }
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Known {
        size: usize,
        first: i64,
        second: i64,
    }

    #[test]
    fn options_of_older_and_newer_callers() {
        let read = |words: &[usize]| {
            // SAFETY: the first word is the size and no larger than the slice where it is valid.
            unsafe { sized_options(words.as_ptr().cast::<Known>(), "o") }
        };
        let old = read(&[16, 7]).unwrap();
        assert_eq!((old.first, old.second), (7, 0));
        assert_eq!(read(&[24, 7, 8]).unwrap().second, 8);
        assert_eq!(read(&[32, 7, 8, 0]).unwrap().second, 8);
        assert!(read(&[32, 7, 8, 1]).is_err(), "an unknown option is set");
        assert!(read(&[0, 7, 8]).is_err());
        assert!(read(&[usize::MAX, 7, 8]).is_err());
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { sized_options(null::<Known>(), "o") }.unwrap().first, 0);
    }
}
