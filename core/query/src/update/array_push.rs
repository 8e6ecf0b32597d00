//! `$push` with `$each`, `$position`, `$sort` and `$slice`: insert, then sort, then cut.

use super::operators::{Effect, Modifier, OperandContext, Site, array_or};
use crate::write::{begin, frame, push_element};
use multifora_model::compare::{Collator, compare_with};
use multifora_model::key::{self, KeyDirection};
use multifora_model::number::Number;
use multifora_model::path::FieldPath;
use multifora_model::{Collation, Element, ElementType, Error, OwnedValue, RawDoc, RawValue, Result};
use std::sync::Arc;

#[derive(Debug)]
struct Push {
    values: Vec<OwnedValue>,
    /// Before which element; negative counts from the end.
    position: Option<i64>,
    /// How many elements stay: the first ones, or with a negative number the last ones.
    slice: Option<i64>,
    sort: Option<ElementOrder>,
    /// By which strings are sorted.
    collation: Option<Arc<Collation>>,
}

/// What `$sort` says.
#[derive(Debug)]
enum ElementOrder {
    Whole(KeyDirection),
    ByFields(Vec<(FieldPath, KeyDirection)>),
}

pub(super) fn parse(operand: &Element<'_>, context: &OperandContext<'_>) -> Result<Box<dyn Modifier>> {
    let collation = context.context.collation().cloned();
    let modifiers = operand.value.as_doc().filter(|doc| doc.get("$each").is_some());
    let Some(modifiers) = modifiers else {
        let values = vec![operand.value.into()];
        return Ok(Box::new(Push { values, position: None, slice: None, sort: None, collation }));
    };
    let mut push = Push { values: Vec::new(), position: None, slice: None, sort: None, collation };
    let mut seen: Vec<&str> = Vec::new();
    for modifier in modifiers {
        if seen.contains(&modifier.name()) {
            return Err(Error::bad_value(format!("Only one {} is supported.", modifier.name())));
        }
        seen.push(modifier.name());
        match modifier.name() {
            "$each" => push.values = each(modifier.value)?,
            "$position" => push.position = Some(whole_number(modifier.value, POSITION_REFUSAL)?),
            "$slice" => push.slice = Some(whole_number(modifier.value, SLICE_REFUSAL)?),
            "$sort" => push.sort = Some(ElementOrder::parse(modifier.value)?),
            other => return Err(Error::bad_value(format!("Unrecognized clause in $push: {other}"))),
        }
    }
    Ok(Box::new(push))
}

fn each(value: RawValue<'_>) -> Result<Vec<OwnedValue>> {
    let Some(values) = value.as_array() else {
        return Err(Error::bad_value(format!(
            "The argument to $each in $push must be an array but it was of type: {}",
            value.ty.name()
        )));
    };
    Ok(values.iter().map(|e| e.value.into()).collect())
}

const POSITION_REFUSAL: &str = "The value for $position must be an integer value, not of type: ";
const SLICE_REFUSAL: &str = "The value for $slice must be an integer value but was given type: ";

fn whole_number(value: RawValue<'_>, refusal: &str) -> Result<i64> {
    let number = Number::from_value(value).and_then(Number::as_i64_exact);
    number.ok_or_else(|| Error::bad_value(format!("{refusal}{}", value.ty.name())))
}

impl ElementOrder {
    fn parse(value: RawValue<'_>) -> Result<Self> {
        if let Some(pattern) = value.as_doc() {
            return Self::parse_fields(pattern);
        }
        if Number::from_value(value).is_none() {
            return Err(Error::bad_value(
                "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
            ));
        }
        Ok(ElementOrder::Whole(direction(value)?))
    }

    fn parse_fields(pattern: RawDoc<'_>) -> Result<Self> {
        let mut fields = Vec::new();
        for field in pattern {
            let direction = direction(field.value)?;
            let name = field.name();
            if name.is_empty() {
                return Err(Error::bad_value("The $sort field cannot be empty"));
            }
            if name.split('.').any(str::is_empty) {
                let message = format!("The $sort field is a dotted field but has an empty part: {name}");
                return Err(Error::bad_value(message));
            }
            fields.push((FieldPath::parse(name), direction));
        }
        match fields.is_empty() {
            true => Err(Error::bad_value("The $sort pattern is empty when it should be a set of fields.")),
            false => Ok(ElementOrder::ByFields(fields)),
        }
    }

    /// Sorts, equal elements staying in order.
    fn sort(&self, elements: &mut [RawValue<'_>], collator: Option<&dyn Collator>) {
        match self {
            ElementOrder::Whole(KeyDirection::Ascending) => {
                elements.sort_by(|a, b| compare_with(*a, *b, collator));
            }
            ElementOrder::Whole(KeyDirection::Descending) => {
                elements.sort_by(|a, b| compare_with(*b, *a, collator));
            }
            ElementOrder::ByFields(fields) => elements.sort_by_cached_key(|element| {
                let mut key = Vec::new();
                for (path, direction) in fields {
                    let value = field_of(*element, path).unwrap_or(RawValue::NULL);
                    key::encode_with(value, *direction, collator, &mut key);
                }
                key
            }),
        }
    }
}

/// The value at a path, positions in arrays being names, arrays not looked into.
fn field_of<'v>(element: RawValue<'v>, path: &FieldPath) -> Option<RawValue<'v>> {
    element.as_doc()?;
    path.parts().iter().try_fold(element, |value, part| value.as_doc_or_array()?.get(part.name()))
}

fn direction(value: RawValue<'_>) -> Result<KeyDirection> {
    match Number::from_value(value).map(Number::as_f64) {
        Some(1.0) => Ok(KeyDirection::Ascending),
        Some(-1.0) => Ok(KeyDirection::Descending),
        _ => Err(Error::bad_value("The $sort element value must be either 1 or -1")),
    }
}

impl Push {
    /// Only adds at the end.
    fn appends(&self) -> bool {
        self.position.is_none() && self.slice.is_none() && self.sort.is_none()
    }

    /// The elements as they will be, and whether MongoDB counts that as a modification.
    fn elements<'v>(&'v self, current: RawDoc<'v>) -> (Vec<RawValue<'v>>, bool) {
        let mut elements: Vec<RawValue<'v>> = current.iter().map(|e| e.value).collect();
        let len = elements.len();
        let at = match self.position {
            None => len,
            Some(n) => {
                let distance = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
                if n < 0 { len.saturating_sub(distance) } else { distance.min(len) }
            }
        };
        elements.splice(at..at, self.values.iter().map(OwnedValue::as_ref));
        let mut modified = !self.values.is_empty();
        if let Some(order) = &self.sort {
            order.sort(&mut elements, Collation::collator(self.collation.as_ref()));
            modified = true;
        }
        if let Some(slice) = self.slice {
            let keep = usize::try_from(slice.unsigned_abs()).unwrap_or(usize::MAX);
            if elements.len() > keep {
                modified = true;
                match slice < 0 {
                    true => drop(elements.drain(..elements.len() - keep)),
                    false => elements.truncate(keep),
                }
            }
        }
        (elements, modified)
    }

    fn write(elements: &[RawValue<'_>], out: &mut Vec<u8>) {
        let start = begin(out);
        for (at, value) in elements.iter().enumerate() {
            push_element(out, at, *value);
        }
        frame(out, start);
    }
}

impl Modifier for Push {
    fn existing(&self, site: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        let array = array_or(current, || {
            Error::bad_value(format!(
                "The field '{}' must be an array but is of type {} in document {}",
                site.path,
                current.ty.name(),
                site.id()
            ))
        })?;
        if self.appends() {
            if self.values.is_empty() {
                return Ok(Effect::Keep);
            }
            let start = out.len();
            let body = current.bytes.len().saturating_sub(1);
            out.extend_from_slice(current.bytes.get(..body).unwrap_or_default());
            for (at, value) in (array.iter().count()..).zip(&self.values) {
                push_element(out, at, value.as_ref());
            }
            frame(out, start);
            return Ok(Effect::Write(ElementType::Array));
        }
        let (elements, modified) = self.elements(array);
        if !modified {
            return Ok(Effect::Keep);
        }
        Self::write(&elements, out);
        Ok(Effect::Write(ElementType::Array))
    }

    fn missing(&self, _: &Site<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Self::write(&self.elements(RawDoc::EMPTY).0, out);
        Ok(Some(ElementType::Array))
    }
}
