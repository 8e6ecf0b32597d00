//! Which values of a document are stored out of line, and the document in that form.
//!
//! Top-level values from 2 KiB up are, the largest first, at most 16 of a document; an `_id` never is. What is
//! kept elsewhere already stays there, so that storing a changed document writes what changed and nothing else.

use crate::error::Result;
use crate::split::{CutList, MAX_CUTS};
use crate::view::{DocumentView, Field};
use smallvec::SmallVec;

/// The smallest value that is stored out of line.
pub const MIN_CUT_BYTES: usize = 2048;

/// A value that is stored out of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutValue<'a> {
    /// These bytes, to be written.
    New(&'a [u8]),
    /// What the view knows by this number, which need not be written again.
    Kept(u8),
}

/// A document as it is stored, with at least one value out of line.
#[derive(Clone, Debug)]
pub struct CutDocument<'a> {
    /// The head; its cuts are numbered in the order of `values`.
    pub head: Vec<u8>,
    /// The values.
    pub values: SmallVec<[CutValue<'a>; MAX_CUTS]>,
}

/// Cuts a document for storing. `None`: nothing is to be cut out, the document is its own head.
///
/// Fetches nothing.
///
/// # Errors
/// `DataCorruptionDetected` for a damaged head.
pub fn cut<'a>(view: &DocumentView<'a>) -> Result<Option<CutDocument<'a>>> {
    if view.is_whole() && view.len_bytes() < MIN_CUT_BYTES {
        return Ok(None);
    }
    let chosen = choose(view);
    if chosen.is_empty() {
        return Ok(None);
    }
    let cut_bytes: usize = chosen.iter().map(|field| field.len_bytes).sum();
    let mut head = Vec::with_capacity(view.len_bytes().saturating_sub(cut_bytes) + 10 * chosen.len() + 1);
    let mut values = SmallVec::new();
    let mut cuts = CutList::default();
    head.extend_from_slice(&[0; 4]);
    let mut next = chosen.iter().map(|field| field.place).peekable();
    for (place, field) in view.fields().enumerate() {
        head.push(field.ty() as u8);
        head.extend_from_slice(field.name_bytes());
        head.push(0);
        if next.next_if_eq(&place).is_none() {
            head.extend_from_slice(field.value()?.bytes);
            continue;
        }
        let number = u8::try_from(values.len()).unwrap_or(u8::MAX);
        cuts.note(head.len(), u32::try_from(field.len_bytes()).unwrap_or(u32::MAX), number);
        values.push(match field.cut() {
            Some(cut) => CutValue::Kept(cut.number),
            None => CutValue::New(field.value()?.bytes),
        });
    }
    head.push(0);
    cuts.finish(&mut head, 0);
    Ok(Some(CutDocument { head, values }))
}

/// A field that may be cut out.
#[derive(Clone, Copy)]
struct Candidate {
    place: usize,
    len_bytes: usize,
    is_kept: bool,
}

/// The fields to cut out, in their order in the document.
fn choose(view: &DocumentView<'_>) -> SmallVec<[Candidate; MAX_CUTS]> {
    let is_large = |field: &Field<'_>| field.len_bytes() >= MIN_CUT_BYTES && field.name_bytes() != b"_id";
    let mut large: SmallVec<[Candidate; MAX_CUTS]> = view
        .fields()
        .enumerate()
        .filter(|(_, field)| field.cut().is_some() || is_large(field))
        .map(|(place, field)| Candidate {
            place,
            len_bytes: field.len_bytes(),
            is_kept: field.cut().is_some(),
        })
        .collect();
    if large.len() > MAX_CUTS {
        // What is out of line already costs nothing there; of the rest, the largest.
        large.sort_by_key(|field| (!field.is_kept, std::cmp::Reverse(field.len_bytes)));
        large.truncate(MAX_CUTS);
        large.sort_by_key(|field| field.place);
    }
    large
}

#[cfg(test)]
mod tests;
