//! `$addToSet`: values are added unless an equal one is there.

use super::operators::{Effect, Modifier, OperandContext, Site, array_or};
use crate::write::{begin, frame, push_element};
use multifora_model::compare::equal_with;
use multifora_model::key::ValueKey;
use multifora_model::{Collation, Element, ElementType, Error, OwnedValue, RawDoc, RawValue, Result, text};
use std::collections::HashSet;
use std::sync::Arc;

/// From this many comparisons on, values are looked up by their keys.
const COMPARISONS_WITHOUT_INDEX: usize = 256;

/// The operator with its operand.
#[derive(Debug)]
struct AddToSet {
    /// The values, each once.
    values: Vec<OwnedValue>,
    collation: Option<Arc<Collation>>,
}

pub(super) fn parse(operand: &Element<'_>, context: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let collation = context.context.collation().cloned();
    let each = operand
        .value
        .as_doc()
        .and_then(|doc| Some((doc, doc.iter().next().filter(|first| first.name() == "$each")?)));
    let Some((modifiers, each)) = each else {
        return Ok(Box::new(AddToSet { values: vec![operand.value.into()], collation }));
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
    let collator = Collation::collator(collation.as_ref());
    let is_new = |value: &RawValue<'_>| seen.insert(ValueKey::with_collator(*value, collator));
    let distinct: Vec<RawValue<'_>> = values.iter().map(|e| e.value).filter(is_new).collect();
    Ok(Box::new(AddToSet { values: distinct.into_iter().map(OwnedValue::from).collect(), collation }))
}

impl AddToSet {
    /// Which of the values the array lacks.
    fn lacking<'s>(&'s self, array: RawDoc<'_>, len: usize) -> Vec<RawValue<'s>> {
        let collator = Collation::collator(self.collation.as_ref());
        let values = self.values.iter().map(OwnedValue::as_ref);
        if len.saturating_mul(self.values.len()) <= COMPARISONS_WITHOUT_INDEX {
            return values.filter(|v| !array.iter().any(|e| equal_with(e.value, *v, collator))).collect();
        }
        let key = |value: RawValue<'_>| ValueKey::with_collator(value, collator);
        let mut keys: HashSet<ValueKey> = values.clone().map(key).collect();
        for element in array {
            keys.remove(&key(element.value));
        }
        values.filter(|v| keys.contains(&key(*v))).collect()
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
        for (at, value) in self.values.iter().enumerate() {
            push_element(out, at, value.as_ref());
        }
        frame(out, start);
        Ok(Some(ElementType::Array))
    }
}
