//! Deciding a test by a field's type alone, where its value would have to be fetched.

use super::node::{FieldTest, Test};
use multifora_model::compare::canonical_class;
use multifora_model::{DocumentView, ElementType as T};

/// Whether the test holds, if that can be told without fetching the value; `None` also where nothing needs fetching.
/// With `wants_position` it must be found out which element of an array it is.
#[inline]
pub(super) fn decide(test: &FieldTest, view: &DocumentView<'_>, wants_position: bool) -> Option<bool> {
    if view.is_whole() || !test.path.is_top_level() {
        return None;
    }
    let field = view.field(test.path.first()).filter(|field| field.cut().is_some())?;
    by_type(&test.test, field.ty(), wants_position)
}

fn by_type(test: &Test, ty: T, wants_position: bool) -> Option<bool> {
    match test {
        Test::Exists => Some(true),
        Test::Type(types) if ty == T::Array => (types.contains(ty) && !wants_position).then_some(true),
        // Every other test looks into arrays.
        _ if ty == T::Array => None,
        Test::Type(types) => Some(types.contains(ty)),
        Test::Compare(comparison) if canonical_class(ty) != canonical_class(comparison.value.ty) => {
            Some(comparison.holds_for_other_types())
        }
        Test::Size(_) | Test::ElemMatchObject(_) | Test::ElemMatchValue(_) => Some(false),
        Test::Regex(_) if !matches!(ty, T::String | T::Symbol | T::Regex) => Some(false),
        Test::Mod(_) if !ty.is_number() => Some(false),
        _ => None,
    }
}
