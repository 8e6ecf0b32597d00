//! Comparison of values in which the order of fields does not count, at any depth: what `enum` and `uniqueItems`
//! mean by equal. Everything else is as in MongoDB's comparison order.

use multifora_model::{RawDoc, RawValue, compare};
use std::cmp::Ordering;

/// Compares two values; equal when they differ in nothing but the order of fields.
pub(super) fn compare_unordered(a: RawValue<'_>, b: RawValue<'_>) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_doc(), b.as_doc()) {
        let (a, b) = (sorted_fields(a), sorted_fields(b));
        let pairs = a.iter().zip(&b);
        return pairs
            .map(|((a_name, a), (b_name, b))| a_name.cmp(b_name).then_with(|| compare_unordered(*a, *b)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len()));
    }
    if let (Some(a), Some(b)) = (a.as_array(), b.as_array()) {
        let (mut a, mut b) = (a.iter(), b.iter());
        loop {
            match (a.next(), b.next()) {
                (Some(a), Some(b)) => match compare_unordered(a.value, b.value) {
                    Ordering::Equal => {}
                    order => return order,
                },
                (a, b) => return a.is_some().cmp(&b.is_some()),
            }
        }
    }
    compare(a, b)
}

fn sorted_fields(doc: RawDoc<'_>) -> Vec<(&[u8], RawValue<'_>)> {
    let mut fields: Vec<_> = doc.iter().map(|field| (field.name_bytes(), field.value)).collect();
    fields.sort_by(|a, b| a.0.cmp(b.0));
    fields
}

/// The first element that is equal to an earlier one.
pub(super) fn first_duplicate(array: RawDoc<'_>) -> Option<RawValue<'_>> {
    let mut items: Vec<(usize, RawValue<'_>)> = array.iter().map(|item| item.value).enumerate().collect();
    items.sort_by(|a, b| compare_unordered(a.1, b.1).then(a.0.cmp(&b.0)));
    let pairs = items.iter().zip(items.iter().skip(1));
    let repeated = pairs.filter(|(a, b)| compare_unordered(a.1, b.1).is_eq()).map(|(_, later)| *later);
    repeated.min_by_key(|(at, _)| *at).map(|(_, value)| value)
}
