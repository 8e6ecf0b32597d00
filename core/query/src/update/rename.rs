//! `$rename`: where a value comes from and where it goes.
//!
//! The value is looked up in the document as it was before the update; the tree holds a leaf at each
//! end. Neither end may be inside an array.

use super::apply::position;
use super::tree::array_identifier;
use multifora_model::{DocumentView, Element, ElementType, Error, ErrorCode, RawValue, Result, text};

/// One field of a `$rename`.
#[derive(Clone, Debug)]
pub(super) struct Rename {
    pub(super) from: Box<str>,
    pub(super) to: Box<str>,
}

/// What a rename moves in one document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'d> {
    pub(super) value: RawValue<'d>,
}

impl Rename {
    /// Reads the new name.
    ///
    /// # Errors
    /// `BadValue` when it is no string.
    pub(super) fn target<'f>(field: &Element<'f>) -> Result<&'f str> {
        let text = field.value.as_str().filter(|_| field.value.ty == ElementType::String);
        let Some(to) = text else {
            return Err(Error::bad_value(format!(
                "The 'to' field for $rename must be a string: {}: {}",
                field.name(),
                text::value(field.value)
            )));
        };
        match to.contains('\0') {
            true => Err(Error::bad_value("The 'to' field for $rename cannot contain an embedded null byte")),
            false => Ok(to),
        }
    }

    /// Checks the pair of paths.
    ///
    /// # Errors
    /// `BadValue` for paths that are equal, one inside the other, or have positional parts.
    pub(super) fn new(from: &str, to: &str) -> Result<Self> {
        let shown = format!("{from}: \"{to}\"");
        if from == to {
            let message = format!("The source and target field for $rename must differ: {shown}");
            return Err(Error::bad_value(message));
        }
        if is_above(from, to) || is_above(to, from) {
            let message =
                format!("The source and target field for $rename must not be on the same path: {shown}");
            return Err(Error::bad_value(message));
        }
        for (path, end) in [(from, "source"), (to, "destination")] {
            if path.split('.').any(|part| part == "$" || array_identifier(part).is_some()) {
                let message = format!("The {end} field for $rename may not be dynamic: {path}");
                return Err(Error::bad_value(message));
            }
        }
        Ok(Rename { from: from.into(), to: to.into() })
    }

    /// Finds the value to move, if there is one.
    ///
    /// # Errors
    /// `PathNotViable` when the source path leads through a scalar; `BadValue` when an end is inside an array.
    pub(super) fn source<'d>(&self, doc: &DocumentView<'d>) -> Result<Option<Source<'d>>> {
        let mut parts = self.from.split('.');
        let mut holder = parts.next().unwrap_or_default();
        let Some(mut value) = doc.get(holder)? else { return Ok(None) };
        let mut array = None;
        for part in parts {
            let next = match (value.as_doc(), value.as_array()) {
                (Some(doc), _) => doc.get(part),
                (_, Some(elements)) => {
                    array = array.or(Some(holder));
                    let Some(at) = position(part) else { return Err(self.blocked(holder, value)) };
                    elements.iter().nth(at).map(|e| e.value)
                }
                _ => return Err(self.blocked(holder, value)),
            };
            let Some(next) = next else { return Ok(None) };
            value = next;
            holder = part;
        }
        if let Some(name) = array {
            return Err(inside_array("source", &self.from, doc, name));
        }
        self.check_target(doc)?;
        Ok(Some(Source { value }))
    }

    fn check_target(&self, doc: &DocumentView<'_>) -> Result<()> {
        let Some((mut holder, rest)) = self.to.split_once('.') else { return Ok(()) };
        let Some(mut value) = doc.get_container(holder)? else { return Ok(()) };
        for part in rest.split('.') {
            if value.ty == ElementType::Array {
                return Err(inside_array("destination", &self.to, doc, holder));
            }
            let Some(next) = value.as_doc().and_then(|doc| doc.get(part)) else { break };
            value = next;
            holder = part;
        }
        Ok(())
    }

    fn blocked(&self, holder: &str, value: RawValue<'_>) -> Error {
        let value = text::value(value);
        let message = format!(
            "Cannot use the part ({holder}) of ({}) to traverse the element ({{{holder}: {value}}})",
            self.from
        );
        Error::new(ErrorCode::PathNotViable, message)
    }
}

fn is_above(above: &str, below: &str) -> bool {
    below.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

fn inside_array(end: &str, path: &str, doc: &DocumentView<'_>, array: &str) -> Error {
    let id = doc.get("_id").ok().flatten();
    let id = id.map_or_else(|| String::from("no id"), |id| format!("_id: {}", text::value(id)));
    Error::bad_value(format!(
        "The {end} field cannot be an array element, '{path}' in doc with {id} has an array field called '{array}'"
    ))
}
