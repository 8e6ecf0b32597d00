//! What the result of an update must satisfy to be stored.

use multifora_model::limits::{MAX_DOCUMENT_BYTES, MAX_NESTING_DEPTH};
use multifora_model::split::Head;
use multifora_model::{DocumentView, Error, ErrorCode, RawValue, Result};

/// The code of "the updated document is too large".
const UPDATED_DOCUMENT_TOO_LARGE: i32 = 17419;
/// The code of "the document to upsert is too large".
const UPSERTED_DOCUMENT_TOO_LARGE: i32 = 17420;

/// The error for a top-level field whose name begins with a dollar sign.
pub(super) fn dollar_field(name: &str, path: &str) -> Error {
    Error::new(
        ErrorCode::DollarPrefixedFieldName,
        format!(
            "The dollar ($) prefixed field '{name}' in '{path}' is not allowed in the context of an update's \
             replacement document. Consider using an aggregation pipeline with $replaceWith."
        ),
    )
}

/// Checks the size, and where `may_be_deep` the nesting, of the new document whose head this is. What it keeps elsewhere
/// has been checked when it was written.
///
/// # Errors
/// Code 17419 (17420 for an upsert) above 16 MiB, `Overflow` for too deep nesting.
pub(super) fn result(head: &[u8], is_insert: bool, may_be_deep: bool) -> Result<()> {
    let head = Head::parse(head).ok_or_else(|| Error::internal("an update made a document that is none"))?;
    if head.len_bytes() > MAX_DOCUMENT_BYTES {
        return Err(match is_insert {
            true => Error::location(
                UPSERTED_DOCUMENT_TOO_LARGE,
                format!("Document to upsert is larger than {MAX_DOCUMENT_BYTES}"),
            ),
            false => Error::location(
                UPDATED_DOCUMENT_TOO_LARGE,
                format!("Resulting document after update is larger than {MAX_DOCUMENT_BYTES}"),
            ),
        });
    }
    let is_deep =
        || head.elements().any(|(field, _)| depth_below(field.value, MAX_NESTING_DEPTH) >= MAX_NESTING_DEPTH);
    if may_be_deep && is_deep() {
        let message = format!("Document exceeds maximum nesting depth of {MAX_NESTING_DEPTH}");
        return Err(Error::new(ErrorCode::Overflow, message));
    }
    Ok(())
}

/// How many containers are inside one another in a value, itself counted; more than a document may
/// have are not counted to the end.
pub(super) fn depth(value: RawValue<'_>) -> usize {
    depth_below(value, MAX_NESTING_DEPTH + 1)
}

fn depth_below(value: RawValue<'_>, most: usize) -> usize {
    let inside = value.as_doc_or_array().or(value.as_code_with_scope().map(|(_, scope)| scope));
    match (inside, most.checked_sub(1)) {
        (Some(doc), Some(left)) => {
            1 + doc.iter().map(|e| depth_below(e.value, left)).max().unwrap_or_default()
        }
        _ => 0,
    }
}

/// Checks that an update leaves the `_id` what it was.
///
/// # Errors
/// `ImmutableField` when it is gone or another one.
pub(super) fn same_id(before: &DocumentView<'_>, after: &DocumentView<'_>) -> Result<()> {
    let Some(old) = before.get("_id")? else { return Ok(()) };
    match after.get("_id")? {
        Some(new) if multifora_model::compare::equal(old, new) => Ok(()),
        Some(new) => Err(Error::new(
            ErrorCode::ImmutableField,
            format!(
                "After applying the update, the (immutable) field '_id' was found to have been altered to _id: {}",
                multifora_model::text::value(new)
            ),
        )),
        None => Err(Error::new(
            ErrorCode::ImmutableField,
            format!(
                "After applying the update, the '_id' (required and immutable) field was found to have been removed --{}",
                multifora_model::text::document(before.to_doc()?)
            ),
        )),
    }
}
