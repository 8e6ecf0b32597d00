//! What a document goes through before it is stored for the first time: `_id` first (made when
//! missing), empty timestamps filled in, names, depth and size checked.

use multifora_model::limits::{MAX_DOCUMENT_BYTES, MAX_NESTING_DEPTH};
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, RawDoc, RawValue, Result, object_id};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What becomes of timestamps that are all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyTimestamps {
    /// Those at the top level get the present time (MongoDB's rule).
    #[default]
    Fill,
    /// They stay (`bypassEmptyTsReplacement`).
    Keep,
}

impl EmptyTimestamps {
    /// What a command's `bypassEmptyTsReplacement` asks for.
    pub fn from_bypass(bypass: Option<bool>) -> Self {
        if bypass == Some(true) { EmptyTimestamps::Keep } else { EmptyTimestamps::Fill }
    }
}

/// The document as it will be stored; borrowed when the client's bytes can stay as they are.
///
/// # Errors
/// `BadValue` (size, type of `_id`, more than one `_id`), `Overflow` (depth),
/// `DollarPrefixedFieldName` (inside `_id`).
pub fn prepare(doc: RawDoc<'_>, timestamps: EmptyTimestamps) -> Result<Cow<'_, [u8]>> {
    let fills = timestamps == EmptyTimestamps::Fill;
    let mut id: Option<RawValue<'_>> = None;
    let mut id_is_first = false;
    let mut has_empty_timestamp = false;
    for (position, field) in doc.iter().enumerate() {
        if field.name_bytes() == b"_id" {
            if id.is_some() {
                return Err(Error::bad_value("can't have multiple _id fields in one document"));
            }
            check_inserted_id(field.value)?;
            id = Some(field.value);
            id_is_first = position == 0;
        } else if fills && is_empty_timestamp(field.value) {
            has_empty_timestamp = true;
        }
    }
    check_depth(doc, MAX_NESTING_DEPTH)?;
    let prepared = if id_is_first && !has_empty_timestamp {
        Cow::Borrowed(doc.as_bytes())
    } else {
        Cow::Owned(rewrite(doc, id, fills))
    };
    if prepared.len() > MAX_DOCUMENT_BYTES {
        return Err(too_large(prepared.len()));
    }
    Ok(prepared)
}

fn rewrite(doc: RawDoc<'_>, id: Option<RawValue<'_>>, fills_timestamps: bool) -> Vec<u8> {
    let mut out = DocBuilder::with_buffer(Vec::with_capacity(doc.as_bytes().len() + 17));
    match id {
        Some(id) => out.append("_id", id),
        None => out.object_id("_id", &object_id::generate()),
    };
    for field in doc {
        if field.name_bytes() == b"_id" {
            continue;
        }
        if fills_timestamps && is_empty_timestamp(field.value) {
            out.timestamp(field.name(), next_timestamp());
        } else {
            out.append_bytes_name(field.name_bytes(), field.value);
        }
    }
    out.finish()
}

fn is_empty_timestamp(value: RawValue<'_>) -> bool {
    value.ty == ElementType::Timestamp && value.as_timestamp() == Some(0)
}

/// A timestamp later than every one given before in this process.
pub fn next_timestamp() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = seconds_since_1970() << 32 | 1;
    let later = |last: u64| now.max(last + 1);
    let update = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
    update.map_or(now, later)
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

fn check_inserted_id(id: RawValue<'_>) -> Result<()> {
    match id.ty {
        ElementType::Regex => Err(Error::bad_value("can't use a regex for _id")),
        ElementType::Undefined => Err(Error::bad_value("can't use a undefined for _id")),
        ElementType::Array => Err(Error::bad_value("can't use an array for _id")),
        ElementType::Document => check_id_fields(id),
        _ => Ok(()),
    }
}

/// Checks the `_id` of a document that an update or a replacement made.
///
/// # Errors
/// `InvalidIdField` for arrays, regular expressions and undefined.
pub fn check_updated_id(id: RawValue<'_>) -> Result<()> {
    match id.ty {
        ElementType::Regex | ElementType::Undefined | ElementType::Array => Err(Error::new(
            ErrorCode::InvalidIdField,
            format!("The '_id' value cannot be of type {}", id.ty.name()),
        )),
        ElementType::Document => check_id_fields(id),
        _ => Ok(()),
    }
}

fn check_id_fields(id: RawValue<'_>) -> Result<()> {
    let fields = id.as_doc().unwrap_or(RawDoc::EMPTY);
    let is_reference = fields.iter().next().is_some_and(|f| f.name_bytes() == b"$ref");
    match fields.iter().find(|f| f.name_bytes().first() == Some(&b'$')) {
        Some(field) if !is_reference => Err(Error::new(
            ErrorCode::DollarPrefixedFieldName,
            format!(
                "_id fields may not contain '$'-prefixed fields: {} is not valid for storage.",
                field.name()
            ),
        )),
        _ => Ok(()),
    }
}

/// Refuses documents nested deeper than `max` levels (the document itself is level 1).
pub fn check_depth(doc: RawDoc<'_>, max: usize) -> Result<()> {
    if deeper_than(doc, max) {
        return Err(Error::new(
            ErrorCode::Overflow,
            format!("cannot insert document because it exceeds {max} levels of nesting"),
        ));
    }
    Ok(())
}

fn deeper_than(doc: RawDoc<'_>, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    doc.iter().any(|field| match field.value.as_doc_or_array() {
        Some(inner) => deeper_than(inner, below),
        None => field.value.as_code_with_scope().is_some_and(|(_, scope)| deeper_than(scope, below)),
    })
}

fn too_large(len_bytes: usize) -> Error {
    Error::bad_value(format!(
        "object to insert too large. size in bytes: {len_bytes}, max size: {MAX_DOCUMENT_BYTES}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use multifora_model::OwnedValue;

    fn build(fill: impl FnOnce(&mut DocBuilder)) -> Vec<u8> {
        let mut doc = DocBuilder::new();
        fill(&mut doc);
        doc.finish()
    }

    fn prepared(bytes: &[u8]) -> Result<Vec<u8>> {
        prepare(RawDoc::framed(bytes).unwrap(), EmptyTimestamps::Fill).map(Cow::into_owned)
    }

    #[test]
    fn a_document_with_its_id_first_stays_as_it_is() {
        let bytes = build(|d| {
            d.i32("_id", 1).i32("a", 2).i32("a", 3);
        });
        assert!(matches!(
            prepare(RawDoc::framed(&bytes).unwrap(), EmptyTimestamps::Fill).unwrap(),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn the_id_is_moved_to_the_front_or_made() {
        let moved = prepared(&build(|d| {
            d.i32("a", 2).i32("_id", 1);
        }));
        let wanted = build(|d| {
            d.i32("_id", 1).i32("a", 2);
        });
        assert_eq!(moved.unwrap(), wanted);
        let made = prepared(&build(|d| {
            d.i32("a", 2);
        }))
        .unwrap();
        let first = RawDoc::framed(&made).unwrap().iter().next().unwrap();
        assert_eq!((first.name(), first.value.ty), ("_id", ElementType::ObjectId));
    }

    #[test]
    fn empty_timestamps_are_filled_in_at_the_top_only() {
        let bytes = prepared(&build(|d| {
            d.timestamp("_id", 0).timestamp("t", 0).timestamp("u", 0).timestamp("v", 5);
            d.start_doc("n").timestamp("t", 0).end();
        }))
        .unwrap();
        let doc = RawDoc::framed(&bytes).unwrap();
        let at = |name: &str| doc.get(name).unwrap().as_timestamp().unwrap();
        assert_eq!((at("_id"), at("v")), (0, 5));
        assert!(at("t") > 0 && at("u") > at("t"));
        assert_eq!(doc.get("n").unwrap().as_doc().unwrap().get("t").unwrap().as_timestamp(), Some(0));
    }

    #[test]
    fn empty_timestamps_can_be_kept() {
        let bytes = build(|d| {
            d.timestamp("t", 0).i32("_id", 1);
        });
        let kept = prepare(RawDoc::framed(&bytes).unwrap(), EmptyTimestamps::Keep).unwrap();
        assert_eq!(RawDoc::framed(&kept).unwrap().get("t").unwrap().as_timestamp(), Some(0));
    }

    #[test]
    fn ids_that_are_refused() {
        let bad = [
            OwnedValue::new(ElementType::Array, RawDoc::EMPTY.as_bytes()),
            OwnedValue::new(ElementType::Regex, b"a\0\0"),
            OwnedValue::new(ElementType::Undefined, b""),
        ];
        for id in bad {
            let bytes = build(|d| {
                d.append("_id", id.as_ref());
            });
            assert_eq!(prepared(&bytes).unwrap_err().code(), ErrorCode::BadValue);
            assert_eq!(check_updated_id(id.as_ref()).unwrap_err().code(), ErrorCode::InvalidIdField);
        }
        let twice = build(|d| {
            d.i32("_id", 1).i32("_id", 2);
        });
        assert_eq!(prepared(&twice).unwrap_err().code(), ErrorCode::BadValue);
        let dollar = build(|d| {
            d.start_doc("_id").i32("$a", 1).end();
        });
        assert_eq!(prepared(&dollar).unwrap_err().code(), ErrorCode::DollarPrefixedFieldName);
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |levels: usize| {
            let mut doc = DocBuilder::new();
            doc.i32("_id", 1);
            for _ in 1..levels {
                doc.start_doc("a");
            }
            doc.finish()
        };
        assert!(prepared(&nested(MAX_NESTING_DEPTH)).is_ok());
        assert_eq!(prepared(&nested(MAX_NESTING_DEPTH + 1)).unwrap_err().code(), ErrorCode::Overflow);
    }
}
