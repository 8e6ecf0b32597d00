//! Writing documents at the end of a buffer, where [`multifora_model::DocBuilder`] does not fit: parts that
//! are taken back when they turn out empty, types that are known only after the payload.

use multifora_model::split::CutList;
use multifora_model::view::{Content, Field};
use multifora_model::{DocBuilder, ElementType, RawValue};

/// Begins a document or array; gives the place that [`frame`] wants.
pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    start
}

/// Appends a field.
pub(crate) fn put(out: &mut Vec<u8>, name: &[u8], value: RawValue<'_>) {
    out.push(value.ty as u8);
    out.extend_from_slice(name);
    out.push(0);
    out.extend_from_slice(value.bytes);
}

/// Appends the type, name and end of name of a field whose payload follows.
pub(crate) fn put_header(out: &mut Vec<u8>, name: &[u8], ty: ElementType) {
    out.push(ty as u8);
    out.extend_from_slice(name);
    out.push(0);
}

/// Appends an array element.
pub(crate) fn push_element(out: &mut Vec<u8>, index: usize, value: RawValue<'_>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut n = index;
    loop {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + u8::try_from(n % 10).unwrap_or(0);
        }
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.push(value.ty as u8);
    out.extend_from_slice(digits.get(at..).unwrap_or_default());
    out.push(0);
    out.extend_from_slice(value.bytes);
}

/// Ends the document that begins at `start` and writes its length.
pub(crate) fn frame(out: &mut Vec<u8>, start: usize) {
    out.push(0);
    let len = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    if let Some(slot) = out.get_mut(start..start + 4) {
        slot.copy_from_slice(&len.to_le_bytes());
    }
}

/// Appends a field of a view to the head that begins at `start`. A value that is kept elsewhere stays there.
pub(crate) fn put_field(out: &mut Vec<u8>, start: usize, field: &Field<'_>, cuts: &mut CutList) {
    put_header(out, field.name_bytes(), field.ty());
    match field.content() {
        Content::Here(bytes) => out.extend_from_slice(bytes),
        Content::Elsewhere(cut) => cuts.note(out.len() - start, cut.len_bytes, cut.number),
    }
}

/// The same with a builder.
pub(crate) fn append_field(out: &mut DocBuilder, start: usize, field: &Field<'_>, cuts: &mut CutList) {
    match field.content() {
        Content::Here(bytes) => {
            out.append_bytes_name(field.name_bytes(), RawValue { ty: field.ty(), bytes });
        }
        Content::Elsewhere(cut) => {
            let position = out.append_without_payload(field.name_bytes(), field.ty());
            cuts.note(position - start, cut.len_bytes, cut.number);
        }
    }
}
