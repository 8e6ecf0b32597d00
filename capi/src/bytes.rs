//! Bytes the library hands out.

use crate::guard::quietly;

/// Bytes that the library allocated. Free them with `mf_bytes_free`, never with `free`.
/// One NUL byte stands behind the data (not counted in `len`), so that text can be printed as it is.
#[repr(C)]
pub struct Bytes {
    /// The bytes, NULL when there are none.
    pub data: *mut u8,
    /// How many.
    pub len: usize,
}

impl Bytes {
    /// No bytes.
    pub(crate) const NONE: Bytes = Bytes { data: std::ptr::null_mut(), len: 0 };

    /// Hands `bytes` to C.
    pub(crate) fn from_vec(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        bytes.push(0);
        let data = Box::into_raw(bytes.into_boxed_slice()).cast::<u8>();
        Bytes { data, len }
    }
}

/// Sets `*out` to no bytes, where `out` is given: the state in which a failing call leaves it.
///
/// # Safety
/// `out` is NULL or writable.
pub(crate) unsafe fn clear(out: *mut Bytes) {
    // SAFETY: the caller promises that a non-NULL pointer is writable.
    if let Some(slot) = unsafe { out.as_mut() } {
        *slot = Bytes::NONE;
    }
}

/// Frees bytes from this library and sets them to none. NULL, all zero, and bytes already freed through
/// the same structure are no-ops.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_bytes_free(bytes: *mut Bytes) {
    quietly(|| {
        // SAFETY: the caller promises a live structure behind a non-NULL pointer.
        let Some(slot) = (unsafe { bytes.as_mut() }) else { return };
        let taken = std::mem::replace(slot, Bytes::NONE);
        if !taken.data.is_null() {
            let whole = std::ptr::slice_from_raw_parts_mut(taken.data, taken.len + 1);
            // SAFETY: `from_vec` made this allocation, `len` bytes and the NUL, and it is freed once:
            // the slot no longer points to it.
            drop(unsafe { Box::from_raw(whole) });
        }
    });
}
