//! `$and $or $not`, evaluated no further than needed.

use super::registry::{Args, MANY, Operator, list};
use super::value::give;
use super::{EvalContext, Evaluated};

pub(super) const ROWS: &[Operator] = &[
    list("$and", (0, MANY), and, "are all true?"),
    list("$or", (0, MANY), or, "is one true?"),
    list("$not", (1, 1), |a, cx| give(!a.expr(0).is_true(cx)?), "is it false?"),
];

fn and<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    for arg in args.iter() {
        if !arg.is_true(cx)? {
            return give(false);
        }
    }
    give(true)
}

fn or<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    for arg in args.iter() {
        if arg.is_true(cx)? {
            return give(true);
        }
    }
    give(false)
}
