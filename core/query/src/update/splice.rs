//! A changed copy of one document or array: what stays is copied in spans as long as possible, and what was kept
//! elsewhere and stays is kept there.

use super::operators::Effect;
use crate::write::{begin, frame, push_element};
use multifora_model::split::{CutList, Cuts, Head};
use multifora_model::{ElementType, RawValue};

/// Writes a changed copy of one document or array, copying what is not changed in long spans.
pub(super) struct Splice<'d> {
    source: &'d [u8],
    /// What was cut out of the source, from where it has been copied to.
    source_cuts: Cuts<'d>,
    /// What is cut out of the copy.
    cuts: CutList,
    /// Where the copy begins in the output.
    start: usize,
    /// What has been copied (or replaced) of the source.
    copied: usize,
    /// Where the walk stands in the source.
    at: usize,
    pub(super) changed: bool,
}

impl<'d> Splice<'d> {
    pub(super) fn new(head: Head<'d>, out: &mut Vec<u8>) -> Self {
        let start = begin(out);
        Splice {
            source: head.bytes(),
            source_cuts: head.cuts(),
            cuts: CutList::default(),
            start,
            copied: 4,
            at: 4,
            changed: false,
        }
    }

    /// An element of so many bytes that stays as it is.
    pub(super) fn pass(&mut self, len_bytes: usize) {
        self.at += len_bytes;
    }

    fn copy_to(&mut self, end: usize, out: &mut Vec<u8>) {
        while let Some(cut) = self.source_cuts.peek().filter(|cut| cut.position as usize <= end) {
            self.source_cuts.next();
            // A cut stands behind the name of its field: right where copying goes on, it belonged to a field that is gone.
            if let Some(from_here) = (cut.position as usize).checked_sub(self.copied).filter(|n| *n > 0) {
                self.cuts.note(out.len() - self.start + from_here, cut.len_bytes, cut.number);
            }
        }
        out.extend_from_slice(self.source.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }

    /// Writes the header of a field whose type is not known yet.
    pub(super) fn header(&mut self, name: &[u8], out: &mut Vec<u8>) -> usize {
        let at = out.len();
        out.push(0);
        out.extend_from_slice(name);
        out.push(0);
        at
    }

    /// Begins an element that may change.
    pub(super) fn open(&mut self, name: &[u8], out: &mut Vec<u8>) -> usize {
        self.copy_to(self.at, out);
        self.header(name, out)
    }

    /// Ends an element that `open` began, of so many bytes in the source.
    pub(super) fn close(&mut self, header: usize, effect: Effect, len_bytes: usize, out: &mut Vec<u8>) {
        self.pass(len_bytes);
        match effect {
            Effect::Keep => return out.truncate(header),
            Effect::Remove => out.truncate(header),
            Effect::Write(ty) => set_type(out, header, ty),
        }
        self.copied = self.at;
        self.changed = true;
    }

    /// Copies what is left of the source.
    pub(super) fn rest(&mut self, out: &mut Vec<u8>) {
        self.copy_to(self.source.len().saturating_sub(1), out);
    }

    /// Ends a new field that `header` began.
    pub(super) fn finish_new(&mut self, header: usize, created: Option<ElementType>, out: &mut Vec<u8>) {
        match created {
            Some(ty) => {
                set_type(out, header, ty);
                self.changed = true;
            }
            None => out.truncate(header),
        }
    }

    pub(super) fn push_index(&mut self, index: usize, value: RawValue<'_>, out: &mut Vec<u8>) {
        push_element(out, index, value);
        self.changed = true;
    }

    /// Frames the copy, or takes it back when nothing changed.
    pub(super) fn finish(self, out: &mut Vec<u8>) -> bool {
        if self.changed {
            frame(out, self.start);
            self.cuts.finish(out, self.start);
        } else {
            out.truncate(self.start);
        }
        self.changed
    }
}

fn set_type(out: &mut [u8], header: usize, ty: ElementType) {
    if let Some(tag) = out.get_mut(header) {
        *tag = ty as u8;
    }
}
