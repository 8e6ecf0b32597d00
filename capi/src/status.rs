//! Status values, the caller-owned error, and how a failure inside becomes both.

use multiforadb::{Error, ErrorCode};
use std::ffi::c_char;

/// The call did what it says.
pub const MF_OK: i32 = 0;
/// The cursor has no further document.
pub const MF_DONE: i32 = 1;
/// The database refused or failed; `mf_error.code` is MongoDB's error code.
pub const MF_ERROR: i32 = 2;
/// An argument breaks this header's rules (NULL, wrong length, not UTF-8, malformed BSON framing).
pub const MF_MISUSE: i32 = 3;
/// The library broke a promise of its own; the database handle is poisoned: close it.
pub const MF_INTERNAL: i32 = 4;

/// Bytes in `mf_error.code_name`, final NUL included.
pub const MF_CODE_NAME_SIZE: usize = 64;
/// Bytes in `mf_error.message`, final NUL included.
pub const MF_MESSAGE_SIZE: usize = 1024;

/// What went wrong. Owned by the caller; written by a call that fails and cleared by one that does
/// not. Pass NULL where it is not wanted.
#[repr(C)]
pub struct MfError {
    /// MongoDB's error code (11000 for a duplicate key), 0 when there is no error.
    pub code: i32,
    /// MongoDB's name of the code ("DuplicateKey"), NUL-terminated.
    pub code_name: [c_char; MF_CODE_NAME_SIZE],
    /// The text, NUL-terminated UTF-8, cut at a character when it is too long.
    pub message: [c_char; MF_MESSAGE_SIZE],
}

/// A failure on its way to the caller.
#[derive(Debug)]
pub(crate) struct Failure {
    /// `MF_ERROR`, `MF_MISUSE` or `MF_INTERNAL`.
    pub status: i32,
    /// The error it reports.
    pub code: i32,
    pub code_name: String,
    pub message: String,
}

impl Failure {
    /// An argument that breaks the header's rules.
    pub fn misuse(message: impl Into<String>) -> Self {
        Failure::new(MF_MISUSE, ErrorCode::BadValue, message)
    }

    /// Bytes that are not a BSON document.
    pub fn not_bson(message: impl Into<String>) -> Self {
        Failure::new(MF_MISUSE, ErrorCode::InvalidBSON, message)
    }

    /// A broken promise of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Failure::new(MF_INTERNAL, ErrorCode::InternalError, message)
    }

    fn new(status: i32, code: ErrorCode, message: impl Into<String>) -> Self {
        Failure { status, code: code.code(), code_name: code.name(), message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::new(MF_ERROR, error.code(), error.message())
    }
}

impl MfError {
    /// No error.
    pub(crate) const CLEAR: MfError =
        MfError { code: 0, code_name: [0; MF_CODE_NAME_SIZE], message: [0; MF_MESSAGE_SIZE] };

    /// Takes over what `failure` says.
    pub(crate) fn fill(&mut self, failure: &Failure) {
        self.code = failure.code;
        copy_text(&mut self.code_name, &failure.code_name);
        copy_text(&mut self.message, &failure.message);
    }
}

/// Copies `text` with a final NUL, cut at a character boundary; a NUL inside ends it for C, so it is
/// shown as a space.
fn copy_text(into: &mut [c_char], text: &str) {
    into.fill(0);
    let room = into.len().saturating_sub(1);
    let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    for (slot, byte) in into.iter_mut().zip(text.bytes().take(end)) {
        *slot = c_char::from_ne_bytes([if byte == 0 { b' ' } else { byte }]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn text(from: &[c_char]) -> &str {
        // SAFETY: `copy_text` always leaves a final NUL inside the slice.
        unsafe { CStr::from_ptr(from.as_ptr()) }.to_str().unwrap()
    }

    #[test]
    fn text_is_cut_at_a_character() {
        let mut slot = [1; 6];
        copy_text(&mut slot, "aäöü");
        assert_eq!(text(&slot), "aäö");
        copy_text(&mut slot, "a\0b");
        assert_eq!(text(&slot), "a b");
        copy_text(&mut slot, "");
        assert_eq!(text(&slot), "");
    }

    #[test]
    fn a_failure_carries_the_code_and_its_name() {
        let mut error = MfError::CLEAR;
        error.fill(&Failure::from(Error::new(ErrorCode::DuplicateKey, "E11000")));
        assert_eq!(
            (error.code, text(&error.code_name), text(&error.message)),
            (11000, "DuplicateKey", "E11000")
        );
    }
}
