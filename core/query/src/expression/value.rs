//! Small things that operators share: truth, null, whole numbers, results.

use super::Evaluated;
use multifora_model::{
    DocBuilder, ElementType as T, Error, ErrorCode, Number, OwnedValue, RawValue, Result, Val,
};

/// Longest value that an expression may build: room for what is taken apart again before it is
/// stored, and a bound for expressions that multiply their input.
pub(crate) const MAX_VALUE_BYTES: usize = 64 * 1024 * 1024;

/// Refuses to build a value of more than [`MAX_VALUE_BYTES`]. To be asked while building.
pub(crate) fn check_size(len_bytes: usize) -> Result<()> {
    if len_bytes <= MAX_VALUE_BYTES {
        return Ok(());
    }
    let message = format!("a value of more than {MAX_VALUE_BYTES} bytes would be built");
    Err(Error::new(ErrorCode::BSONObjectTooLarge, message))
}

/// BSON's truth: everything but false, null, undefined and the zeros. (NaN is true.)
pub(crate) fn is_truthy(value: RawValue<'_>) -> bool {
    match value.ty {
        T::Bool => value.as_bool() == Some(true),
        T::Null | T::Undefined => false,
        _ => Number::from_value(value).is_none_or(|n| !n.is_zero()),
    }
}

/// Missing, null or undefined.
pub(super) fn is_nullish(value: Option<&Val<'_>>) -> bool {
    value.is_none_or(|v| v.as_ref().is_nullish())
}

/// The value, unless it is missing, null or undefined.
pub(super) fn present(value: Option<Val<'_>>) -> Option<Val<'_>> {
    value.filter(|v| !v.as_ref().is_nullish())
}

/// The type's name for messages; a missing value is called `missing`.
pub(super) fn type_name(value: Option<&Val<'_>>) -> &'static str {
    value.map_or("missing", |v| v.as_ref().ty.name())
}

/// A computed result.
pub(super) fn give<'e>(value: impl Into<OwnedValue>) -> Evaluated<'e> {
    Ok(Some(Val::Owned(value.into())))
}

/// Null as a result.
pub(super) fn null<'e>() -> Evaluated<'e> {
    Ok(Some(Val::Borrowed(RawValue::NULL)))
}

/// A number as a result.
pub(super) fn number<'e>(number: Number) -> Evaluated<'e> {
    give(number.to_owned_value())
}

/// A count or position as a result: an int where it fits.
pub(super) fn count<'e>(n: usize) -> Evaluated<'e> {
    number(Number::int_or_long(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// A string as a result.
pub(super) fn string<'e>(text: &str) -> Evaluated<'e> {
    give(OwnedValue::string(text))
}

/// A finished array as a result.
pub(super) fn array<'e>(items: DocBuilder) -> Evaluated<'e> {
    check_size(items.len_bytes())?;
    give(OwnedValue::from_vec(T::Array, items.finish()))
}

/// A finished document as a result.
pub(super) fn document<'e>(fields: DocBuilder) -> Evaluated<'e> {
    check_size(fields.len_bytes())?;
    give(OwnedValue::document(fields.finish()))
}

/// The elements of an array.
pub(super) fn elements<'v>(array: &'v Val<'_>) -> impl Iterator<Item = RawValue<'v>> {
    array.as_ref().as_array().into_iter().flatten().map(|e| e.value)
}

/// A number that fits an int, for arguments that count or point.
pub(super) fn as_int(value: RawValue<'_>) -> Option<i32> {
    Number::from_value(value).and_then(Number::as_i32_exact)
}
