//! Stored documents: a record's head and the values that storage keeps out of line, as one document.
//!
//! What goes in is cut up by [`write`]; what comes out is read through the view of a [`Stored`], which fetches a value when
//! it is asked for and keeps it for as long as the document is looked at. A record without such values costs
//! nothing more than its head.

use crate::storage_error::{MapStorage, from_storage};
use multifora_model::cut::{CutValue, cut};
use multifora_model::split::{MAX_CUTS, document_len};
use multifora_model::{DocumentView, Error, FetchValue, Result, WholeDocument};
use multifora_storage::{Entry, NewRecord, NewValue, Record, Result as StorageResult, Value};
use smallvec::SmallVec;
use std::cell::{Cell, OnceCell};

/// What the parts of a document are read from: a record, or the entry of a scan.
pub trait StoredRecord {
    /// The head.
    fn head(&self) -> &[u8];

    /// How many values there are.
    fn value_count(&self) -> usize;

    /// A value.
    ///
    /// # Errors
    /// It is damaged or cannot be read.
    fn value(&self, number: usize) -> StorageResult<Value>;
}

impl StoredRecord for Record {
    fn head(&self) -> &[u8] {
        Record::head(self)
    }

    fn value_count(&self) -> usize {
        Record::value_count(self)
    }

    fn value(&self, number: usize) -> StorageResult<Value> {
        Record::value(self, number)
    }
}

impl StoredRecord for Entry<'_> {
    fn head(&self) -> &[u8] {
        Entry::head(self)
    }

    fn value_count(&self) -> usize {
        Entry::value_count(self)
    }

    fn value(&self, number: usize) -> StorageResult<Value> {
        Entry::value(self, number)
    }
}

type Values = [OnceCell<Value>; MAX_CUTS];

/// A document in storage, with what has been fetched of it.
pub struct Stored<R> {
    record: R,
    /// Made when the first value is fetched.
    values: OnceCell<Box<Values>>,
    whole: WholeDocument,
}

impl<R: StoredRecord> Stored<R> {
    /// The document of a record.
    #[inline]
    pub fn new(record: R) -> Self {
        Stored { record, values: OnceCell::new(), whole: WholeDocument::new() }
    }

    /// The record.
    pub fn record(&self) -> &R {
        &self.record
    }

    /// The document, as query code reads it.
    ///
    /// # Errors
    /// The head is damaged.
    #[inline]
    pub fn view(&self) -> Result<DocumentView<'_>> {
        DocumentView::of_head(self.record.head(), self, &self.whole)
    }

    /// The length of the document.
    pub fn len_bytes(&self) -> usize {
        document_len(self.record.head()).unwrap_or_default()
    }
}

impl Stored<Entry<'_>> {
    /// The same to keep when the scan goes on. What was fetched stays.
    pub fn keep(self) -> Stored<Record> {
        Stored { record: self.record.to_record(), values: self.values, whole: self.whole }
    }
}

impl<R: StoredRecord> FetchValue for Stored<R> {
    fn fetch(&self, number: u8) -> Result<&[u8]> {
        let values = self.values.get_or_init(Box::default);
        let place =
            values.get(usize::from(number)).filter(|_| usize::from(number) < self.record.value_count());
        let place =
            place.ok_or_else(|| Error::corrupt(format!("the record has no value number {number}")))?;
        if let Some(value) = place.get() {
            return Ok(value);
        }
        let value = self.record.value(usize::from(number)).map_err(from_storage)?;
        count(|tally| tally.fetched += 1);
        Ok(place.get_or_init(|| value))
    }
}

impl<R: StoredRecord + Clone> Clone for Stored<R> {
    /// The same record; what has been fetched of it is not copied.
    fn clone(&self) -> Self {
        Stored::new(self.record.clone())
    }
}

impl<R: StoredRecord> std::fmt::Debug for Stored<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.view() {
            Ok(view) => view.fmt(f),
            Err(error) => error.fmt(f),
        }
    }
}

/// Hands a document to `write` in the form in which it is stored. What the view has kept out of line stays there: the
/// record that is written must be the one that the view came from.
///
/// # Errors
/// Those of `write`; damaged heads.
pub fn write<T>(view: &DocumentView<'_>, write: impl FnOnce(NewRecord<'_>) -> StorageResult<T>) -> Result<T> {
    let Some(cut) = cut(view)? else { return write(NewRecord::from(view.head().bytes())).mapped() };
    let values: SmallVec<[NewValue<'_>; MAX_CUTS]> = cut
        .values
        .iter()
        .map(|value| match value {
            CutValue::New(bytes) => NewValue::New(bytes),
            CutValue::Kept(number) => NewValue::Keep((*number).into()),
        })
        .collect();
    let kept = values.iter().filter(|value| matches!(value, NewValue::Keep(_))).count();
    count(|tally| {
        tally.kept += kept as u64;
        tally.written += (values.len() - kept) as u64;
    });
    write(NewRecord { head: &cut.head, values: &values }).mapped()
}

/// What a thread has done with values that are kept out of line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueTally {
    /// Values that were read from storage.
    pub fetched: u64,
    /// Values that were handed to storage to be written.
    pub written: u64,
    /// Values that a changed document kept, without their being read or written.
    pub kept: u64,
}

thread_local! {
    /// Counted by thread because a document being read knows of no database; whoever runs the work takes the sum.
    static TALLY: Cell<ValueTally> = const { Cell::new(ValueTally { fetched: 0, written: 0, kept: 0 }) };
}

fn count(change: impl FnOnce(&mut ValueTally)) {
    let mut tally = TALLY.get();
    change(&mut tally);
    TALLY.set(tally);
}

/// What this thread has done since this was last called.
pub fn take_tally() -> ValueTally {
    TALLY.take()
}
