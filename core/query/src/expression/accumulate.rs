//! Accumulators as operators: over the arguments, or over the elements of one array.

use super::registry::{Args, MANY, NamedCodes, Operator, list, named};
use super::value::{elements, null, present};
use super::{EvalContext, Evaluated};
use crate::accumulator::{Accumulate, Kind, accumulator};
use multifora_model::{ElementType as T, Error, Number, OwnedValue, RawValue, Val, text};

const N: &[(&str, bool)] = &[("n", true), ("input", true)];
const N_CODES: NamedCodes = NamedCodes { not_a_document: 5_787_900, unknown: 5_787_901, missing: 5_787_906 };

pub(super) const ROWS: &[Operator] = &[
    list("$sum", (0, MANY), fold, "the sum of the numbers"),
    list("$avg", (0, MANY), fold, "the mean of the numbers"),
    list("$min", (0, MANY), fold, "the smallest value"),
    list("$max", (0, MANY), fold, "the greatest value"),
    list("$stdDevPop", (0, MANY), fold, "standard deviation of a population"),
    list("$stdDevSamp", (0, MANY), fold, "standard deviation of a sample"),
    named("$firstN", N, N_CODES, several, "the first elements"),
    named("$lastN", N, N_CODES, several, "the last elements"),
    named("$minN", N, N_CODES, several, "the smallest elements"),
    named("$maxN", N, N_CODES, several, "the greatest elements"),
];

fn fold<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(Kind::Plain(new)) = accumulator(args.name()).map(|row| row.kind) else {
        return Err(Error::internal("an accumulator without a row"));
    };
    let mut running = new(cx.collation());
    if args.len() == 1 {
        let value = args.eval(0, cx)?;
        match &value {
            Some(items) if items.as_ref().ty == T::Array => {
                for element in elements(items) {
                    running.add(Some(element))?;
                }
            }
            _ => running.add(value.as_ref().map(Val::as_ref))?,
        }
    } else {
        for arg in args.iter() {
            running.add(arg.eval(cx)?.as_ref().map(Val::as_ref))?;
        }
    }
    finished(running.as_ref())
}

fn finished<'e>(running: &dyn Accumulate) -> Evaluated<'e> {
    Ok(running.result().map(Val::<'e>::Owned))
}

fn several<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(Kind::Several(new)) = accumulator(args.name()).map(|row| row.kind) else {
        return Err(Error::internal("an accumulator without a row"));
    };
    let Some(input) = present(args.eval(1, cx)?) else { return null() };
    if input.as_ref().ty != T::Array {
        return Err(Error::location(5_788_200, "Input must be an array"));
    }
    let n = args.eval(0, cx)?;
    let n: OwnedValue = n.map_or_else(OwnedValue::null, Val::into_owned);
    let whole = Number::from_value(n.as_ref()).and_then(Number::as_i64_exact).ok_or_else(|| {
        let shown = text::value(n.as_ref());
        Error::location(5_787_902, format!("Value for 'n' must be of integral type, but found {shown}"))
    })?;
    let n = usize::try_from(whole)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| Error::location(5_787_908, format!("'n' must be greater than 0, found {whole}")))?;
    let mut running = new(n, cx.collation());
    for element in elements(&input) {
        running.add(Some(element).filter(|v: &RawValue<'_>| !v.is_nullish() || keeps_null(args.name())))?;
    }
    finished(running.as_ref())
}

/// Nulls are elements like others for the first and the last ones.
fn keeps_null(operator: &str) -> bool {
    operator == "$firstN" || operator == "$lastN"
}
