//! Extended JSON to BSON and back, for programs without a BSON library.

use crate::bytes::{self, Bytes};
use crate::guard::call;
use crate::input;
use crate::status::{Failure, MF_OK, MfError};
use multiforadb::extjson;
use std::ffi::c_char;

/// Relaxed Extended JSON: numbers as plain as JSON allows.
pub const MF_JSON_RELAXED: i32 = 0;
/// Canonical Extended JSON: every number with its type, nothing lost.
pub const MF_JSON_CANONICAL: i32 = 1;

/// Turns one Extended JSON (v2, relaxed or canonical) object into a BSON document. `json` need not be
/// NUL-terminated.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_json_to_bson(
    json: *const c_char,
    json_len: usize,
    bson: *mut Bytes,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        bytes::clear(bson);
        call(error, || {
            let slot = bson.as_mut().ok_or_else(|| Failure::misuse("bson is NULL"))?;
            let text = std::str::from_utf8(input::bytes(json.cast(), json_len, "json")?)
                .map_err(|_| Failure::misuse("json is not valid UTF-8"))?;
            *slot = Bytes::from_vec(extjson::parse_document(text)?);
            Ok(MF_OK)
        })
    }
}

/// Turns a BSON document into Extended JSON text: `MF_JSON_RELAXED` or `MF_JSON_CANONICAL`.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_bson_to_json(
    bson: *const u8,
    bson_len: usize,
    mode: i32,
    json: *mut Bytes,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        bytes::clear(json);
        call(error, || {
            let slot = json.as_mut().ok_or_else(|| Failure::misuse("json is NULL"))?;
            let doc = input::document(bson, bson_len, "bson")?;
            let mode = match mode {
                MF_JSON_RELAXED => extjson::Mode::Relaxed,
                MF_JSON_CANONICAL => extjson::Mode::Canonical,
                other => return Err(Failure::misuse(format!("mode is {other}: not a JSON mode"))),
            };
            let text = extjson::to_text(multiforadb::check_bytes(doc.as_bytes())?, mode);
            *slot = Bytes::from_vec(text.into_bytes());
            Ok(MF_OK)
        })
    }
}
