//! The one way query code reads a document.
//!
//! Today a view stands over a whole document. Split records (docs/architecture.md) put large
//! top-level values elsewhere; then `get` and `fields` fetch them on demand, which is why every
//! access returns a `Result` already.

use crate::error::Result;
use crate::raw::{Element, RawDoc, RawValue};
use crate::types::ElementType;
use std::borrow::Cow;

/// A document as filters, sorts, projections and index-key extraction see it.
#[derive(Clone, Copy, Debug)]
pub struct DocumentView<'a> {
    head: RawDoc<'a>,
}

/// A top-level field of a view: name and type at once, the value when asked for.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    element: Element<'a>,
}

impl<'a> DocumentView<'a> {
    /// A view over a document that is all there.
    pub fn whole(doc: RawDoc<'a>) -> Self {
        DocumentView { head: doc }
    }

    /// The first top-level field with this name.
    pub fn get(&self, name: &str) -> Result<Option<RawValue<'a>>> {
        Ok(self.head.get(name))
    }

    /// The type of the first top-level field with this name; never fetches its value.
    pub fn type_of(&self, name: &str) -> Option<ElementType> {
        self.head.get(name).map(|v| v.ty)
    }

    /// The top-level fields in order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        self.head.iter().map(|element| Field { element })
    }

    /// The whole document, restored byte for byte.
    pub fn to_raw(&self) -> Result<Cow<'a, [u8]>> {
        Ok(Cow::Borrowed(self.head.as_bytes()))
    }

    /// The whole document, when every value of it is here already.
    pub fn as_whole(&self) -> Option<RawDoc<'a>> {
        Some(self.head)
    }
}

impl<'a> Field<'a> {
    /// The field's name.
    pub fn name(&self) -> &'a str {
        self.element.name()
    }

    /// The field's name as bytes.
    pub fn name_bytes(&self) -> &'a [u8] {
        self.element.name_bytes()
    }

    /// The field's type.
    pub fn ty(&self) -> ElementType {
        self.element.value.ty
    }

    /// The field's value.
    pub fn value(&self) -> Result<RawValue<'a>> {
        Ok(self.element.value)
    }
}
