//! Operators that put a given value: `$set`, `$setOnInsert`, `$unset`, `$min`, `$max`, `$currentDate`.

use super::operators::{Effect, Modifier, OperandContext, Site};
use super::replacement::current_timestamp;
use multifora_model::compare::compare_with;
use multifora_model::{Collation, Element, ElementType, Error, OwnedValue, RawValue, Result};
use std::cmp::Ordering;
use std::sync::Arc;

#[derive(Debug)]
struct Set(OwnedValue);

pub(super) fn parse_set(operand: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    Ok(Box::new(Set(operand.value.into())))
}

fn write(value: RawValue<'_>, out: &mut Vec<u8>) -> ElementType {
    out.extend_from_slice(value.bytes);
    value.ty
}

impl Modifier for Set {
    fn existing(&self, _: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        match self.0.as_ref() == current {
            true => Ok(Effect::Keep),
            false => Ok(Effect::Write(write(self.0.as_ref(), out))),
        }
    }

    fn unread(&self, ty: ElementType, len_bytes: usize, out: &mut Vec<u8>) -> Option<Effect> {
        let value = self.0.as_ref();
        let differs = value.ty != ty || value.bytes.len() != len_bytes;
        differs.then(|| Effect::Write(write(value, out)))
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Ok(Some(write(self.0.as_ref(), out)))
    }
}

#[derive(Debug)]
struct Unset;

pub(super) fn parse_unset(_: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    Ok(Box::new(Unset))
}

impl Modifier for Unset {
    fn existing(&self, _: &Site<'_>, _: RawValue<'_>, _: &mut Vec<u8>) -> Result<Effect> {
        Ok(Effect::Remove)
    }

    fn unread(&self, _: ElementType, _: usize, _: &mut Vec<u8>) -> Option<Effect> {
        Some(Effect::Remove)
    }

    fn creates(&self) -> bool {
        false
    }

    fn tolerates_blocked_path(&self) -> bool {
        true
    }
}

/// `$min` and `$max`.
#[derive(Debug)]
struct Extreme {
    operand: OwnedValue,
    /// How the operand must compare with the current value to take its place.
    wins: Ordering,
    collation: Option<Arc<Collation>>,
}

impl Extreme {
    fn parse(operand: &Element<'_>, wins: Ordering, context: &OperandContext<'_>) -> Box<dyn Modifier> {
        let collation = context.context.collation().cloned();
        Box::new(Extreme { operand: operand.value.into(), wins, collation })
    }
}

pub(super) fn parse_min(operand: &Element<'_>, context: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    Ok(Extreme::parse(operand, Ordering::Less, context))
}

pub(super) fn parse_max(operand: &Element<'_>, context: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    Ok(Extreme::parse(operand, Ordering::Greater, context))
}

impl Modifier for Extreme {
    fn existing(&self, _: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let collator = Collation::collator(self.collation.as_ref());
        match compare_with(self.operand.as_ref(), current, collator) == self.wins {
            true => Ok(Effect::Write(write(self.operand.as_ref(), out))),
            false => Ok(Effect::Keep),
        }
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Ok(Some(write(self.operand.as_ref(), out)))
    }
}

/// The operand of `$currentDate` turned into the time at which the command began.
pub(super) fn parse_current_date(
    operand: &Element<'_>,
    context: &OperandContext<'_>,
) -> Result<Box<dyn Modifier>> {
    let ty = current_date_type(operand.value)?;
    let now = match ty {
        ElementType::Timestamp => OwnedValue::new(ty, &current_timestamp(context.context)),
        _ => {
            let now = context.context.constant("NOW").filter(|now| now.ty == ElementType::Date);
            now.cloned().unwrap_or_else(|| OwnedValue::date_ms(0))
        }
    };
    Ok(Box::new(CurrentDate(now)))
}

fn current_date_type(operand: RawValue<'_>) -> Result<ElementType> {
    if operand.ty == ElementType::Bool {
        return Ok(ElementType::Date);
    }
    let Some(options) = operand.as_doc() else {
        return Err(Error::bad_value(format!(
            "{} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression \
             ({{$type: 'timestamp/date'}}).",
            operand.ty.name()
        )));
    };
    let mut found = None;
    for option in options {
        if option.name() != "$type" {
            return Err(Error::bad_value(format!("Unrecognized $currentDate option: {}", option.name())));
        }
        found = match option.value.as_str().filter(|_| option.value.ty == ElementType::String) {
            Some("date") => Some(ElementType::Date),
            Some("timestamp") => Some(ElementType::Timestamp),
            _ => None,
        };
        if found.is_none() {
            break;
        }
    }
    found.ok_or_else(|| {
        Error::bad_value(
            "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}",
        )
    })
}

/// Always a modification, even within one millisecond.
#[derive(Debug)]
struct CurrentDate(OwnedValue);

impl Modifier for CurrentDate {
    fn existing(&self, _: &Site<'_>, _: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        Ok(Effect::Write(write(self.0.as_ref(), out)))
    }

    fn unread(&self, _: ElementType, _: usize, out: &mut Vec<u8>) -> Option<Effect> {
        Some(Effect::Write(write(self.0.as_ref(), out)))
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Ok(Some(write(self.0.as_ref(), out)))
    }
}
