//! Operators that compute with numbers: `$inc`, `$mul`, `$bit`.

use super::operators::{Effect, Modifier, OperandContext, Site};
use multifora_model::number::Number;
use multifora_model::{Element, ElementType, Error, OwnedValue, RawValue, Result, text};

/// `$inc` and `$mul`.
#[derive(Debug)]
struct Arithmetic {
    name: &'static str,
    operand: Number,
    compute: fn(Number, Number) -> Option<Number>,
    /// The value of a missing field.
    initial: Number,
}

pub(super) fn parse_inc(operand: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let number = number_operand(operand, "increment")?;
    Ok(Box::new(Arithmetic { name: "$inc", operand: number, compute: Number::checked_add, initial: number }))
}

pub(super) fn parse_mul(operand: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let number = number_operand(operand, "multiply")?;
    let initial = number.checked_multiply(Number::Int32(0)).unwrap_or(number);
    Ok(Box::new(Arithmetic { name: "$mul", operand: number, compute: Number::checked_multiply, initial }))
}

fn number_operand(operand: &Element<'_>, verb: &str) -> Result<Number> {
    Number::from_value(operand.value).ok_or_else(|| {
        Error::type_mismatch(format!(
            "Cannot {verb} with non-numeric argument: {{{}: {}}}",
            operand.name(),
            text::value(operand.value)
        ))
    })
}

fn put(value: &OwnedValue, out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(value.as_ref().bytes);
    value.ty
}

impl Modifier for Arithmetic {
    fn existing(&self, site: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let Some(number) = Number::from_value(current) else {
            return Err(Error::type_mismatch(format!(
                "Cannot apply {} to a value of non-numeric type. {} has the field '{}' of non-numeric type {}",
                self.name,
                site.id(),
                site.field(),
                current.ty.name()
            )));
        };
        let Some(result) = (self.compute)(number, self.operand) else {
            let ty = if number.ty() == ElementType::Int64 { "NumberLong" } else { "NumberInt" };
            return Err(Error::bad_value(format!(
                "Failed to apply {} operations to current value (({ty}){}) for document {}",
                self.name,
                text::value(current),
                site.id()
            )));
        };
        let result = result.to_owned_value();
        match result.as_ref() == current {
            true => Ok(Effect::Keep),
            false => Ok(Effect::Write(put(&result, out))),
        }
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Ok(Some(put(&self.initial.to_owned_value(), out)))
    }
}

/// One step of `$bit`.
#[derive(Debug)]
struct BitStep {
    apply: fn(i64, i64) -> i64,
    operand: i64,
    is_long: bool,
}

#[derive(Debug)]
struct Bit(Vec<BitStep>);

pub(super) fn parse_bit(operand: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    const FORM: &str = "{$bit: {field: {and/or/xor: #}}";
    let Some(operations) = operand.value.as_doc() else {
        return Err(Error::bad_value(format!(
            "The $bit modifier is not compatible with a {}. You must pass in an embedded document: {FORM}",
            operand.value.ty.name()
        )));
    };
    let mut steps = Vec::new();
    for operation in operations {
        let shown = || format!("{{{}: {}}}", operation.name(), text::value(operation.value));
        let apply: fn(i64, i64) -> i64 = match operation.name() {
            "and" => |a, b| a & b,
            "or" => |a, b| a | b,
            "xor" => |a, b| a ^ b,
            other => {
                return Err(Error::bad_value(format!(
                    "The $bit modifier only supports 'and', 'or', and 'xor', not '{other}' which is an unknown operator: {}",
                    shown()
                )));
            }
        };
        let Some(operand) = integer(operation.value) else {
            return Err(Error::bad_value(format!(
                "The $bit modifier field must be an Integer(32/64 bit); a '{}' is not supported here: {}",
                operation.value.ty.name(),
                shown()
            )));
        };
        steps.push(BitStep { apply, operand, is_long: operation.value.ty == ElementType::Int64 });
    }
    if steps.is_empty() {
        let message = format!("You must pass in at least one bitwise operation. The format is: {FORM}");
        return Err(Error::bad_value(message));
    }
    Ok(Box::new(Bit(steps)))
}

fn integer(value: RawValue<'_>) -> Option<i64> {
    value.as_i32().map(i64::from).or(value.as_i64())
}

impl Bit {
    /// Sign extension makes the operation on int64 right for int32 too.
    fn run(&self, mut value: i64, mut is_long: bool) -> OwnedValue {
        for step in &self.0 {
            value = (step.apply)(value, step.operand);
            is_long |= step.is_long;
        }
        match i32::try_from(value) {
            Ok(small) if !is_long => small.into(),
            _ => value.into(),
        }
    }
}

impl Modifier for Bit {
    fn existing(&self, site: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let Some(value) = integer(current) else {
            return Err(Error::bad_value(format!(
                "Cannot apply $bit to a value of non-integral type.{} has the field '{}' of non-integer type {}",
                site.id(),
                site.field(),
                current.ty.name()
            )));
        };
        let result = self.run(value, current.ty == ElementType::Int64);
        match result.as_ref() == current {
            true => Ok(Effect::Keep),
            false => Ok(Effect::Write(put(&result, out))),
        }
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Ok(Some(put(&self.run(0, false), out)))
    }
}
