//! `$eq $ne $gt $gte $lt $lte $cmp`: the order of all values, missing before everything but MinKey.

use super::registry::{Args, Operator, list};
use super::value::give;
use super::{EvalContext, Evaluated};
use multifora_model::compare::{Collator, compare_with};
use multifora_model::{ElementType as T, Result, Val};
use std::cmp::Ordering;

const TWO: (usize, usize) = (2, 2);

pub(super) const ROWS: &[Operator] = &[
    list("$eq", TWO, |a, cx| give(order(a, cx)?.is_eq()), "are the values equal?"),
    list("$ne", TWO, |a, cx| give(order(a, cx)?.is_ne()), "are the values different?"),
    list("$gt", TWO, |a, cx| give(order(a, cx)?.is_gt()), "is the first value greater?"),
    list("$gte", TWO, |a, cx| give(order(a, cx)?.is_ge()), "is the first value greater or equal?"),
    list("$lt", TWO, |a, cx| give(order(a, cx)?.is_lt()), "is the first value less?"),
    list("$lte", TWO, |a, cx| give(order(a, cx)?.is_le()), "is the first value less or equal?"),
    list("$cmp", TWO, cmp, "-1, 0 or 1 by the order of the values"),
];

fn cmp<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    give(order(args, cx)? as i32)
}

fn order<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Result<Ordering> {
    let (a, b) = (args.eval(0, cx)?, args.eval(1, cx)?);
    Ok(compare_optional(a.as_ref(), b.as_ref(), cx.collator()))
}

/// The order of values that may be missing: missing is of the class of undefined.
fn compare_optional(a: Option<&Val<'_>>, b: Option<&Val<'_>>, collator: Option<&dyn Collator>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare_with(a.as_ref(), b.as_ref(), collator),
        (None, None) => Ordering::Equal,
        (None, Some(b)) => missing_before(b),
        (Some(a), None) => missing_before(a).reverse(),
    }
}

fn missing_before(other: &Val<'_>) -> Ordering {
    match other.as_ref().ty {
        T::MinKey => Ordering::Greater,
        T::Undefined => Ordering::Equal,
        _ => Ordering::Less,
    }
}
