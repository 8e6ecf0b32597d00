//! Keywords about strings and numbers.

use super::super::explanation::Explanation;
use super::super::node::{CompareOp, Comparison};
use super::super::operands::Operand;
use super::constraint::{Constraint, Specification};
use super::instance::Instance;
use super::parse::{Keywords, Made, must_be};
use multifora_model::{
    Decimal128, DocBuilder, ElementType, Error, Number, OwnedValue, RawValue, Regex, Result,
};

/// A demand on single values of some types, told as a reason and the value.
#[derive(Debug)]
struct OnValue<T> {
    demand: T,
    applies: fn(ElementType) -> bool,
    met: fn(&T, RawValue<'_>) -> Result<bool>,
    reason: &'static str,
}

impl<T: std::fmt::Debug + Send + Sync> Constraint for OnValue<T> {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        match instance.value().filter(|value| (self.applies)(value.ty)) {
            Some(value) => (self.met)(&self.demand, value),
            None => Ok(true),
        }
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        out.str("reason", self.reason);
        instance.with_value(|value| telling.considered_value(value, out))?;
        out.end();
        Ok(())
    }
}

fn is_string(ty: ElementType) -> bool {
    ty == ElementType::String
}

pub(super) fn pattern(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let Some(text) = operand.value.as_str().filter(|_| is_string(operand.value.ty)) else {
        return Err(must_be(operand, "a string"));
    };
    Made::one(OnValue {
        demand: Regex::compile(text, "")?,
        applies: is_string,
        met: |regex, value| value.as_str_bytes().map_or(Ok(true), |text| regex.is_match_bytes(text)),
        reason: "regular expression did not match",
    })
}

pub(super) fn max_length(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    length(operand, |limit, value| Ok(characters(value) <= *limit))
}

pub(super) fn min_length(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    length(operand, |limit, value| Ok(characters(value) >= *limit))
}

fn length(operand: Operand<'_>, met: fn(&i64, RawValue<'_>) -> Result<bool>) -> Result<Made> {
    let reason = "specified string length was not satisfied";
    Made::one(OnValue { demand: operand.non_negative_long()?, applies: is_string, met, reason })
}

/// Code points, not bytes.
fn characters(value: RawValue<'_>) -> i64 {
    let text = value.as_str_bytes().unwrap_or_default();
    i64::try_from(text.iter().filter(|byte| **byte & 0xC0 != 0x80).count()).unwrap_or(i64::MAX)
}

pub(super) fn multiple_of(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let Some(number) = Number::from_value(operand.value) else { return Err(must_be(operand, "a number")) };
    let divisor = number.as_decimal();
    if divisor.is_nan() {
        return Err(Error::bad_value("divisor cannot be NaN"));
    }
    if divisor.is_negative() || divisor.is_zero() {
        return Err(Error::failed_to_parse("$jsonSchema keyword 'multipleOf' must have a positive value"));
    }
    if divisor.is_infinite() {
        return Err(Error::bad_value("divisor cannot be infinite"));
    }
    Made::one(OnValue {
        demand: divisor,
        applies: ElementType::is_number,
        met: |divisor, value| Ok(is_multiple(value, *divisor)),
        reason: "considered value is not a multiple of the specified value",
    })
}

fn is_multiple(value: RawValue<'_>, divisor: Decimal128) -> bool {
    Number::from_value(value).is_some_and(|number| number.as_decimal().remainder(divisor).is_zero())
}

pub(super) fn maximum(keywords: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    bound(keywords, operand, "exclusiveMaximum", [CompareOp::Lte, CompareOp::Lt])
}

pub(super) fn minimum(keywords: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    bound(keywords, operand, "exclusiveMinimum", [CompareOp::Gte, CompareOp::Gt])
}

fn bound(
    keywords: &Keywords<'_>,
    operand: Operand<'_>,
    exclusive: &'static str,
    [inclusive_op, exclusive_op]: [CompareOp; 2],
) -> Result<Made> {
    let is_exclusive = match keywords.get(exclusive) {
        None => false,
        Some(flag) => flag.value.as_bool().ok_or_else(|| must_be(flag, "a boolean"))?,
    };
    if !operand.value.ty.is_number() {
        return Err(must_be(operand, "a number"));
    }
    let op = if is_exclusive { exclusive_op } else { inclusive_op };
    let made = Made::one(OnValue {
        demand: Comparison::new(op, OwnedValue::from(operand.value), None),
        applies: ElementType::is_number,
        met: |comparison, value| Ok(comparison.matches(Some(value))),
        reason: "comparison failed",
    })?;
    Ok(if is_exclusive { made.told_with(exclusive) } else { made })
}

pub(super) fn exclusive_maximum(keywords: &Keywords<'_>, _: Operand<'_>) -> Result<Made> {
    belongs_to(keywords, "maximum", "exclusiveMaximum")
}

pub(super) fn exclusive_minimum(keywords: &Keywords<'_>, _: Operand<'_>) -> Result<Made> {
    belongs_to(keywords, "minimum", "exclusiveMinimum")
}

fn belongs_to(keywords: &Keywords<'_>, bound: &str, exclusive: &str) -> Result<Made> {
    if keywords.get(bound).is_some() {
        return Ok(Made::nothing());
    }
    let text = format!("$jsonSchema keyword '{bound}' must be a present if {exclusive} is present");
    Err(Error::failed_to_parse(text))
}
