//! What a schema is asked about: the whole document, or a value inside it.

use multifora_model::path::FieldPath;
use multifora_model::{DocumentView, ElementType, RawDoc, RawValue, Result};

/// The thing under validation.
#[derive(Clone, Copy)]
pub(super) enum Instance<'s, 'a> {
    /// The document, read field by field.
    Document(&'s DocumentView<'a>),
    /// A value inside it.
    Value(RawValue<'a>),
}

impl<'a> Instance<'_, 'a> {
    /// Its type.
    pub(super) fn ty(self) -> ElementType {
        match self {
            Instance::Document(_) => ElementType::Document,
            Instance::Value(value) => value.ty,
        }
    }

    /// The value, when it is one inside the document.
    pub(super) fn value(self) -> Option<RawValue<'a>> {
        match self {
            Instance::Document(_) => None,
            Instance::Value(value) => Some(value),
        }
    }

    /// The elements, when it is an array.
    pub(super) fn array(self) -> Option<RawDoc<'a>> {
        self.value().and_then(RawValue::as_array)
    }

    /// Is a document, at the top or inside.
    pub(super) fn is_document(self) -> bool {
        self.ty() == ElementType::Document
    }

    /// A property of a document. As in MongoDB, a dotted name leads into documents inside.
    pub(super) fn property(self, path: &FieldPath) -> Result<Option<RawValue<'a>>> {
        let Some((first, rest)) = path.parts().split_first() else { return Ok(None) };
        let found = match self {
            Instance::Document(view) => view.get(first.name())?,
            Instance::Value(value) => value.as_doc().and_then(|doc| doc.get(first.name())),
        };
        Ok(rest.iter().fold(found, |value, part| value?.as_doc()?.get(part.name())))
    }

    /// Visits the fields of a document until `visit` answers `false`; gives `true` when it never did.
    pub(super) fn all_fields(
        self,
        mut visit: impl FnMut(&'a str, &mut dyn FnMut() -> Result<RawValue<'a>>) -> Result<bool>,
    ) -> Result<bool> {
        match self {
            Instance::Document(view) => {
                for field in view.fields() {
                    if !visit(field.name(), &mut || field.value())? {
                        return Ok(false);
                    }
                }
            }
            Instance::Value(value) => {
                for field in value.as_doc().into_iter().flatten() {
                    if !visit(field.name(), &mut || Ok(field.value))? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// How many fields the document has.
    pub(super) fn field_count(self) -> Result<u64> {
        let mut count = 0;
        self.all_fields(|_, _| {
            count += 1;
            Ok(true)
        })?;
        Ok(count)
    }

    /// Lends the whole thing as one value.
    pub(super) fn with_value<T>(self, use_it: impl FnOnce(RawValue<'_>) -> Result<T>) -> Result<T> {
        match self {
            Instance::Value(value) => use_it(value),
            Instance::Document(view) => {
                let bytes = view.to_raw()?;
                use_it(RawValue { ty: ElementType::Document, bytes: &bytes })
            }
        }
    }
}
