//! `$addToSet`: values are added unless an equal one is there.

use super::operators::{Effect, Modifier, OperandContext, Site, array_or};
use crate::write::{begin, frame, push_element};
use multifora_model::compare::equal;
use multifora_model::key::ValueKey;
use multifora_model::{Element, ElementType, Error, OwnedValue, RawDoc, RawValue, Result, text};
use std::collections::HashSet;

/// From this many comparisons on, values are looked up by their keys.
const COMPARISONS_WITHOUT_INDEX: usize = 256;

/// The values, each once.
#[derive(Debug)]
struct AddToSet(Vec<OwnedValue>);

pub(super) fn parse(operand: &Element<'_>, _: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let each = operand
        .value
        .as_doc()
        .and_then(|doc| Some((doc, doc.iter().next().filter(|first| first.name() == "$each")?)));
    let Some((modifiers, each)) = each else {
        return Ok(Box::new(AddToSet(vec![operand.value.into()])));
    };
    let Some(values) = each.value.as_array() else {
        return Err(Error::type_mismatch(format!(
            "The argument to $each in $addToSet must be an array but it was of type {}",
            each.value.ty.name()
        )));
    };
    if modifiers.iter().count() > 1 {
        return Err(Error::bad_value(format!(
            "Found unexpected fields after $each in $addToSet: {}",
            text::document(modifiers)
        )));
    }
    let mut seen = HashSet::new();
    let distinct = values.iter().map(|e| e.value).filter(|v| seen.insert(ValueKey::new(*v)));
    Ok(Box::new(AddToSet(distinct.map(OwnedValue::from).collect())))
}

impl AddToSet {
    /// Which of the values the array lacks.
    fn lacking<'s>(&'s self, array: RawDoc<'_>, len: usize) -> Vec<RawValue<'s>> {
        let values = self.0.iter().map(OwnedValue::as_ref);
        if len.saturating_mul(self.0.len()) <= COMPARISONS_WITHOUT_INDEX {
            return values.filter(|v| !array.iter().any(|e| equal(e.value, *v))).collect();
        }
        let mut keys: HashSet<ValueKey> = self.0.iter().map(|v| ValueKey::new(v.as_ref())).collect();
        for element in array {
            keys.remove(&ValueKey::new(element.value));
        }
        values.filter(|v| keys.contains(&ValueKey::new(*v))).collect()
    }
}

impl Modifier for AddToSet {
    fn existing(&self, site: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let array = array_or(current, || {
            Error::bad_value(format!(
                "Cannot apply $addToSet to non-array field. Field named '{}' has non-array type {}",
                site.field(),
                current.ty.name()
            ))
        })?;
        let len = array.iter().count();
        let lacking = self.lacking(array, len);
        if lacking.is_empty() {
            return Ok(Effect::Keep);
        }
        let start = out.len();
        out.extend_from_slice(current.bytes.get(..current.bytes.len().saturating_sub(1)).unwrap_or_default());
        for (at, value) in (len..).zip(lacking) {
            push_element(out, at, value);
        }
        frame(out, start);
        Ok(Effect::Write(ElementType::Array))
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        let start = begin(out);
        for (at, value) in self.0.iter().enumerate() {
            push_element(out, at, value.as_ref());
        }
        frame(out, start);
        Ok(Some(ElementType::Array))
    }
}
