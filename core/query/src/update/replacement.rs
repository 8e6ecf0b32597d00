//! An update that puts another document in the place of the old one, which keeps its `_id`.

use super::validate;
use crate::CompileContext;
use crate::write::{begin, frame, put, put_field};
use multifora_model::split::CutList;
use multifora_model::{DocumentView, ElementType, RawDoc, RawValue, Result, WholeDocument};

/// A replacement document.
#[derive(Debug)]
pub(super) struct Replacement {
    /// The document, its empty timestamps filled in.
    doc: Vec<u8>,
    /// The first field whose name begins with a dollar sign.
    dollar_field: Option<String>,
}

impl Replacement {
    /// Takes the document in; empty timestamps at its top level become the current time.
    pub(super) fn compile(doc: RawDoc<'_>, context: &CompileContext) -> Self {
        let now = current_timestamp(context);
        let mut filled = Vec::with_capacity(doc.as_bytes().len());
        let start = begin(&mut filled);
        for field in doc {
            let is_empty_timestamp = field.value.as_timestamp() == Some(0) && field.name() != "_id";
            let value = match is_empty_timestamp {
                true => RawValue { ty: ElementType::Timestamp, bytes: &now },
                false => field.value,
            };
            put(&mut filled, field.name_bytes(), value);
        }
        frame(&mut filled, start);
        let dollar_field = doc.iter().map(|field| field.name()).find(|name| name.starts_with('$'));
        Replacement { doc: filled, dollar_field: dollar_field.map(str::to_owned) }
    }

    /// The document after the update; nothing when it stays as it is.
    pub(super) fn apply(&self, doc: &DocumentView<'_>, is_insert: bool) -> Result<Option<Vec<u8>>> {
        if let Some(name) = self.dollar_field.as_ref().filter(|_| !is_insert) {
            return Err(validate::dollar_field(name, name));
        }
        put_in_place(doc, &RawDoc::framed(&self.doc).unwrap_or(RawDoc::EMPTY).into(), is_insert)
    }
}

/// The head of the document `after` in the place of `before`, from which it may have kept values: its `_id` first, or
/// else that of `before`. Nothing when the two are the same.
///
/// # Errors
/// `ImmutableField` for another `_id`; those of [`validate::result`] and of fetching.
pub(super) fn put_in_place(
    before: &DocumentView<'_>,
    after: &DocumentView<'_>,
    is_insert: bool,
) -> Result<Option<Vec<u8>>> {
    let own_id = after.get("_id")?;
    let mut out = Vec::with_capacity(after.head().bytes().len() + 32);
    let mut cuts = CutList::default();
    let start = begin(&mut out);
    if let Some(id) = own_id.or(before.get("_id")?) {
        put(&mut out, b"_id", id);
    }
    for field in after.fields().filter(|field| field.name_bytes() != b"_id") {
        put_field(&mut out, start, &field, &mut cuts);
    }
    frame(&mut out, start);
    cuts.finish(&mut out, start);
    let is_same = match before.is_whole() {
        true => out == before.head().bytes(),
        false => before.derived(&out, &WholeDocument::new())?.is_same(before)?,
    };
    if is_same {
        return Ok(None);
    }
    if own_id.is_some() {
        validate::same_id(before, after)?;
    }
    validate::result(&out, is_insert, true)?;
    Ok(Some(out))
}

/// The time at which the command began, as a timestamp.
pub(super) fn current_timestamp(context: &CompileContext) -> [u8; 8] {
    let cluster_time = context.constant("CLUSTER_TIME").and_then(|v| v.as_ref().as_timestamp());
    let now = || {
        let ms = context.constant("NOW").and_then(|v| v.as_ref().as_date_ms()).unwrap_or(0);
        u64::try_from(ms.div_euclid(1000)).unwrap_or(0) << 32 | 1
    };
    cluster_time.unwrap_or_else(now).to_le_bytes()
}
