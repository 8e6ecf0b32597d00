//! The sort document, compiled, and the key of a document.

use crate::expression::check_path;
use multifora_model::compare::Collator;
use multifora_model::key::{self, KeyDirection};
use multifora_model::number::Number;
use multifora_model::path::{FieldPath, extract_keys};
use multifora_model::{
    Collation, DocumentView, Element, ElementType, Error, ErrorCode, RawDoc, RawValue, Result, text,
};
use std::sync::Arc;

/// Most fields of a sort (and of an index).
pub const MAX_SORT_FIELDS: usize = 32;

/// A compiled sort document. Cheap to clone.
#[derive(Clone)]
pub struct SortSpec {
    paths: Arc<[FieldPath]>,
    directions: Arc<[KeyDirection]>,
    collation: Option<Arc<Collation>>,
}

/// One field of a sort.
#[derive(Clone, Copy, Debug)]
pub struct SortField<'s> {
    /// The path.
    pub path: &'s FieldPath,
    /// The direction.
    pub direction: KeyDirection,
}

impl SortSpec {
    /// Compiles a sort document. `{$natural: …}` is no sort: the caller looks for it first.
    ///
    /// # Errors
    /// Codes 15974 (a direction that is no number), 15975 (neither 1 nor -1), 15976 (no field), 17312 and 31138
    /// (`$meta`), 7472500 (a field named twice), 13103 (too many fields) and those of field paths.
    pub fn compile(spec: RawDoc<'_>) -> Result<Self> {
        let mut paths: Vec<FieldPath> = Vec::new();
        let mut directions = Vec::new();
        for field in spec {
            let direction = direction(&field)?;
            let name = field.name();
            check_path(name)?;
            if paths.iter().any(|known| known.as_str() == name) {
                let message = format!("$sort key must not contain duplicate keys (field: '{name}')");
                return Err(Error::location(7_472_500, message));
            }
            paths.push(FieldPath::parse(name));
            directions.push(direction);
        }
        if paths.is_empty() {
            return Err(Error::location(15976, "$sort stage must have at least one sort key"));
        }
        if paths.len() > MAX_SORT_FIELDS {
            return Err(Error::location(13103, "too many compound keys"));
        }
        Ok(SortSpec { paths: paths.into(), directions: directions.into(), collation: None })
    }

    /// The same sort with strings compared by a collation.
    #[must_use]
    pub fn with_collation(mut self, collation: Option<&Arc<Collation>>) -> Self {
        self.collation = collation.cloned();
        self
    }

    /// How strings compare.
    pub fn collation(&self) -> Option<&Arc<Collation>> {
        self.collation.as_ref()
    }

    fn collator(&self) -> Option<&dyn Collator> {
        Collation::collator(self.collation.as_ref())
    }

    /// The fields in order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = SortField<'_>> + Clone {
        self.paths
            .iter()
            .zip(self.directions.iter())
            .map(|(path, direction)| SortField { path, direction: *direction })
    }

    /// Writes the document's key to `key` (which is emptied first).
    ///
    /// # Errors
    /// `BadValue` when two paths run through different arrays; code 16746 for an ambiguous position;
    /// those of reading the document.
    pub fn key(&self, view: &DocumentView<'_>, key: &mut Vec<u8>) -> Result<()> {
        key.clear();
        if self.plain_key(view, key)? {
            return Ok(());
        }
        key.clear();
        let mut candidate = Vec::new();
        let mut any = false;
        extract_keys(&self.paths, view, &mut |tuple| {
            candidate.clear();
            for (value, direction) in tuple.values.iter().zip(self.directions.iter()) {
                key::encode_with(*value, *direction, self.collator(), &mut candidate);
            }
            if !any || *candidate < **key {
                std::mem::swap(key, &mut candidate);
            }
            any = true;
            Ok(())
        })
        .map_err(|error| match error.code() {
            ErrorCode::CannotIndexParallelArrays => {
                Error::bad_value("cannot sort with keys that are parallel arrays")
            }
            _ => error,
        })?;
        Ok(())
    }

    /// The usual case: no array on the way. False when there is one.
    fn plain_key(&self, view: &DocumentView<'_>, key: &mut Vec<u8>) -> Result<bool> {
        for (path, direction) in self.paths.iter().zip(self.directions.iter()) {
            let mut value =
                if path.is_top_level() { view.get(path.first())? } else { view.get_container(path.first())? };
            for part in path.parts().iter().skip(1) {
                match value.map(|v| v.ty) {
                    Some(ElementType::Array) => return Ok(false),
                    _ => value = value.and_then(RawValue::as_doc).and_then(|doc| doc.get(part.name())),
                }
            }
            let value = value.unwrap_or(RawValue::NULL);
            if value.ty == ElementType::Array {
                return Ok(false);
            }
            key::encode_with(value, *direction, self.collator(), key);
        }
        Ok(true)
    }
}

impl std::fmt::Debug for SortSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields()).finish()
    }
}

fn direction(field: &Element<'_>) -> Result<KeyDirection> {
    if let Some(expression) = field.value.as_doc() {
        return Err(meta_refusal(expression));
    }
    let Some(number) = Number::from_value(field.value) else {
        let message =
            format!("Illegal key in $sort specification: {}: {}", field.name(), text::value(field.value));
        return Err(Error::location(15974, message));
    };
    match number.truncate_to_i64() {
        1 => Ok(KeyDirection::Ascending),
        -1 => Ok(KeyDirection::Descending),
        _ => {
            Err(Error::location(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)"))
        }
    }
}

/// `{$meta: …}` in place of a direction.
fn meta_refusal(expression: RawDoc<'_>) -> Error {
    let first = expression.iter().next();
    let Some(meta) = first.filter(|e| e.name() == "$meta" && expression.iter().count() == 1) else {
        return Error::location(17312, "$meta is the only expression supported by $sort right now");
    };
    match meta.value.as_str() {
        Some("textScore") => {
            Error::location(40218, "query requires text score metadata, but it is not available")
        }
        _ => Error::location(31138, format!("Illegal $meta sort: {}", text::document(expression))),
    }
}
