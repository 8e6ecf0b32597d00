//! Operators that take elements out of an array: `$pull`, `$pullAll`, `$pop`.

use super::operators::{Effect, Modifier, OperandContext, Site, array_or};
use crate::filter::{Filter, field_operators};
use crate::resources::NoResources;
use crate::write::{begin, frame, push_element, put};
use multifora_model::compare::equal_with;
use multifora_model::key::ValueKey;
use multifora_model::number::Number;
use multifora_model::{
    Collation, DocumentView, Element, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result,
    text,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Which elements go.
#[derive(Debug)]
enum Condition {
    /// Those equal to the value.
    Equal(OwnedValue),
    /// Documents that the query matches.
    Document(Filter),
    /// Values for which the operators hold: a query on the field without name, so that a nested
    /// array is looked into as a filter would.
    Value(Filter),
    /// Those equal to one of the values.
    OneOf(HashSet<ValueKey>),
}

/// `$pull` and `$pullAll`.
#[derive(Debug)]
struct Cull {
    condition: Condition,
    collation: Option<Arc<Collation>>,
}

pub(super) fn parse_pull(operand: &Element<'_>, context: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let value = operand.value;
    let is_query = value.as_doc().filter(|doc| !begins_with_field_operator(*doc));
    let condition = match is_query {
        Some(query) => Condition::Document(Filter::compile_restricted(query, context.context)?),
        None if matches!(value.ty, ElementType::Document | ElementType::Regex) => {
            let mut query = Vec::new();
            wrap(value, &mut query);
            let query = RawDoc::framed(&query).unwrap_or(RawDoc::EMPTY);
            Condition::Value(Filter::compile_restricted(query, context.context)?)
        }
        None => Condition::Equal(value.into()),
    };
    Ok(Box::new(Cull { condition, collation: context.context.collation().cloned() }))
}

fn begins_with_field_operator(doc: RawDoc<'_>) -> bool {
    let first = doc.iter().next();
    first.is_some_and(|first| field_operators().iter().any(|row| row.name == first.name()))
}

/// The value as the only field, without a name, of a document.
fn wrap(value: RawValue<'_>, wrapper: &mut Vec<u8>) {
    wrapper.clear();
    let start = begin(wrapper);
    put(wrapper, b"", value);
    frame(wrapper, start);
}

pub(super) fn parse_pull_all(
    operand: &Element<'_>,
    context: &OperandContext<'_>,
) -> Result<Box<dyn Modifier>> {
    let Some(values) = operand.value.as_array() else {
        return Err(Error::bad_value(format!(
            "$pullAll requires an array argument but was given a {}",
            operand.value.ty.name()
        )));
    };
    let collation = context.context.collation();
    let collator = Collation::collator(collation);
    let keys = values.iter().map(|e| ValueKey::with_collator(e.value, collator)).collect();
    Ok(Box::new(Cull { condition: Condition::OneOf(keys), collation: collation.cloned() }))
}

impl Cull {
    fn takes(&self, value: RawValue<'_>, wrapper: &mut Vec<u8>) -> Result<bool> {
        let collator = Collation::collator(self.collation.as_ref());
        match &self.condition {
            Condition::Equal(wanted) => Ok(equal_with(wanted.as_ref(), value, collator)),
            Condition::OneOf(wanted) => Ok(wanted.contains(&ValueKey::with_collator(value, collator))),
            Condition::Document(filter) => match value.as_doc() {
                Some(doc) => filter.matches(&DocumentView::whole(doc), &NoResources),
                None => Ok(false),
            },
            Condition::Value(filter) => {
                wrap(value, wrapper);
                let doc = RawDoc::framed(wrapper).unwrap_or(RawDoc::EMPTY);
                filter.matches(&DocumentView::whole(doc), &NoResources)
            }
        }
    }
}

impl Modifier for Cull {
    fn existing(&self, _: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let array = array_or(current, || Error::bad_value("Cannot apply $pull to a non-array value"))?;
        let mut wrapper = Vec::new();
        let mut taken = 0;
        let start = begin(out);
        for (at, element) in array.iter().enumerate() {
            match self.takes(element.value, &mut wrapper)? {
                true => taken += 1,
                false => push_element(out, at - taken, element.value),
            }
        }
        if taken == 0 {
            out.truncate(start);
            return Ok(Effect::Keep);
        }
        frame(out, start);
        Ok(Effect::Write(ElementType::Array))
    }

    fn creates(&self) -> bool {
        false
    }
}

/// `$pop`.
#[derive(Debug)]
struct Pop {
    from_front: bool,
}

pub(super) fn parse_pop(operand: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let number = Number::from_value(operand.value).ok_or_else(|| {
        let shown = text::value(operand.value);
        Error::failed_to_parse(format!("Expected a number in: {}: {shown}", operand.name()))
    })?;
    match number.as_i64_exact() {
        Some(1) => Ok(Box::new(Pop { from_front: false })),
        Some(-1) => Ok(Box::new(Pop { from_front: true })),
        Some(other) => Err(Error::failed_to_parse(format!("$pop expects 1 or -1, found: {other}"))),
        None => Err(Error::failed_to_parse(format!(
            "Expected an integer: {}: {}",
            operand.name(),
            text::value(operand.value)
        ))),
    }
}

impl Modifier for Pop {
    fn existing(&self, site: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let array = array_or(current, || {
            Error::new(
                ErrorCode::TypeMismatch,
                format!("Path '{}' contains an element of non-array type '{}'", site.path, current.ty.name()),
            )
        })?;
        let len = array.iter().count();
        if len == 0 {
            return Ok(Effect::Keep);
        }
        let start = begin(out);
        let kept = array.iter().skip(usize::from(self.from_front)).take(len - 1);
        for (at, element) in kept.enumerate() {
            push_element(out, at, element.value);
        }
        frame(out, start);
        Ok(Effect::Write(ElementType::Array))
    }

    fn creates(&self) -> bool {
        false
    }
}
