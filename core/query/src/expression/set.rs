//! Arrays as sets: order and repetition do not count, numbers are equal across types.

use super::array::array_of;
use super::registry::{Args, MANY, Operator, list};
use super::value::{elements, give, is_nullish, is_truthy, null, present, type_name};
use super::{EvalContext, Evaluated};
use multifora_model::{ElementType as T, Error, RawValue, Result, Val, ValueKey};
use std::collections::{BTreeMap, HashSet};

const ONE: (usize, usize) = (1, 1);
const TWO: (usize, usize) = (2, 2);

pub(super) const ROWS: &[Operator] = &[
    list("$setUnion", (0, MANY), union, "what is in one of the sets"),
    list("$setIntersection", (0, MANY), intersection, "what is in all sets"),
    list("$setDifference", TWO, difference, "what is in the first set only"),
    list("$setEquals", (2, MANY), equals, "have the sets the same members?"),
    list("$setIsSubset", TWO, is_subset, "is the first set contained in the second?"),
    list("$anyElementTrue", ONE, any_true, "is one element true?"),
    list("$allElementsTrue", ONE, all_true, "are all elements true?"),
];

fn refuse(code: i32, message: &str, found: &Val<'_>) -> Error {
    Error::location(code, format!("{message}{}", found.as_ref().ty.name()))
}

fn keys(items: &Val<'_>, cx: &EvalContext<'_>) -> HashSet<ValueKey> {
    elements(items).map(|value| cx.value_key(value)).collect()
}

fn union<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut inputs = Vec::new();
    for arg in args.iter() {
        let Some(items) = present(arg.eval(cx)?) else { return null() };
        if items.as_ref().ty != T::Array {
            let message = "All operands of $setUnion must be arrays. One argument is of type: ";
            return Err(refuse(17043, message, &items));
        }
        inputs.push(items);
    }
    let mut members: BTreeMap<ValueKey, RawValue<'_>> = BTreeMap::new();
    for value in inputs.iter().flat_map(elements) {
        members.entry(cx.value_key(value)).or_insert(value);
    }
    array_of(members.into_values())
}

fn intersection<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut inputs = Vec::new();
    for arg in args.iter() {
        let Some(items) = present(arg.eval(cx)?) else { return null() };
        if items.as_ref().ty != T::Array {
            let message = "All operands of $setIntersection must be arrays. One argument is of type: ";
            return Err(refuse(17047, message, &items));
        }
        inputs.push(items);
    }
    let Some((first, others)) = inputs.split_first() else { return array_of(std::iter::empty()) };
    let mut members: BTreeMap<ValueKey, RawValue<'_>> = BTreeMap::new();
    for value in elements(first) {
        members.entry(cx.value_key(value)).or_insert(value);
    }
    for other in others {
        let other = keys(other, cx);
        members.retain(|key, _| other.contains(key));
    }
    array_of(members.into_values())
}

fn difference<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (a, b) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(a), Some(b)) = (present(a), present(b)) else { return null() };
    for (value, code, which) in [(&a, 17048, "First"), (&b, 17049, "Second")] {
        if value.as_ref().ty != T::Array {
            let message =
                format!("both operands of $setDifference must be arrays. {which} argument is of type: ");
            return Err(refuse(code, &message, value));
        }
    }
    let mut seen = keys(&b, cx);
    array_of(elements(&a).filter(|value| seen.insert(cx.value_key(*value))))
}

fn equals<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut first: Option<HashSet<ValueKey>> = None;
    for (arg, at) in args.iter().zip(1..) {
        let value = arg.eval(cx)?;
        let items = value.as_ref().filter(|v| v.as_ref().ty == T::Array).ok_or_else(|| {
            let found = type_name(value.as_ref());
            let message =
                format!("All operands of $setEquals must be arrays. {at}-th argument is of type: {found}");
            Error::location(17044, message)
        })?;
        let members = keys(items, cx);
        match &first {
            None => first = Some(members),
            Some(first) if *first != members => return give(false),
            Some(_) => {}
        }
    }
    give(true)
}

fn is_subset<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (a, b) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let array = |value: &Option<Val<'e>>, code: i32, which: &str| -> Result<HashSet<ValueKey>> {
        let items = value.as_ref().filter(|v| v.as_ref().ty == T::Array).ok_or_else(|| {
            let found = type_name(value.as_ref());
            let message =
                format!("both operands of $setIsSubset must be arrays. {which} argument is of type: {found}");
            Error::location(code, message)
        })?;
        Ok(keys(items, cx))
    };
    let (a, b) = (array(&a, 17046, "First")?, array(&b, 17042, "Second")?);
    give(a.is_subset(&b))
}

fn any_true<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let value = args.eval(0, cx)?;
    give(truths(value.as_ref(), 17041, "$anyElementTrue")?.contains(&true))
}

fn all_true<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let value = args.eval(0, cx)?;
    give(!truths(value.as_ref(), 17040, "$allElementsTrue")?.contains(&false))
}

fn truths(value: Option<&Val<'_>>, code: i32, name: &str) -> Result<Vec<bool>> {
    let items = value.filter(|v| !is_nullish(Some(v)) && v.as_ref().ty == T::Array).ok_or_else(|| {
        let found = type_name(value);
        Error::location(code, format!("{name}'s argument must be an array, but is {found}"))
    })?;
    Ok(elements(items).map(is_truthy).collect())
}
