//! Which library this is.

use std::ffi::{CStr, c_char};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => c"",
};

/// The version of the library that is loaded, "MAJOR.MINOR.PATCH"; `MF_VERSION` is that of the header.
/// Never NULL, never freed.
#[unsafe(no_mangle)]
pub extern "C" fn mf_version() -> *const c_char {
    VERSION.as_ptr()
}
