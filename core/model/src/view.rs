//! The one way query code reads a document.
//!
//! A view stands over a head ([`crate::split`]): a whole document, or one whose large top-level values are kept
//! elsewhere. Those come through [`FetchValue`] when they are asked for, once each, which is why every access to a value
//! returns a `Result`. Names, types and lengths are always at hand.
//!
//! What is read out of a view lives as long as the source that the view borrows, so values are lent on without being
//! copied, and a view over a whole document costs what the document alone would.

use crate::error::{Error, Result};
use crate::raw::{Element, RawDoc, RawValue, value_len};
use crate::split::{Cut, Head, HeadElements, document_len};
use crate::text;
use crate::types::ElementType;
use std::borrow::Cow;
use std::cell::OnceCell;

/// Where the values that were cut out of a document come from. Keeps what it has fetched.
pub trait FetchValue {
    /// The bytes of a value.
    ///
    /// # Errors
    /// The value is damaged, or cannot be read.
    fn fetch(&self, number: u8) -> Result<&[u8]>;
}

/// Keeps a document that had to be put together, so that this is done once.
pub type WholeDocument = OnceCell<Vec<u8>>;

/// A document as filters, sorts, projections and index-key extraction see it.
#[derive(Clone, Copy)]
pub struct DocumentView<'a> {
    /// The document, without what was cut out.
    bytes: &'a [u8],
    /// What was cut out.
    split: Option<Split<'a>>,
}

#[derive(Clone, Copy)]
struct Split<'a> {
    head: Head<'a>,
    source: &'a (dyn FetchValue + 'a),
    whole: &'a WholeDocument,
}

impl<'a> From<RawDoc<'a>> for DocumentView<'a> {
    fn from(doc: RawDoc<'a>) -> Self {
        DocumentView::whole(doc)
    }
}

impl<'a> DocumentView<'a> {
    /// A view over a document that is all there.
    #[inline]
    pub fn whole(doc: RawDoc<'a>) -> Self {
        DocumentView { bytes: doc.as_bytes(), split: None }
    }

    /// A view over a head. What is fetched is kept by `source`; the document, if it has to be put together,
    /// in `whole`, which must be empty or have come from this very head.
    ///
    /// # Errors
    /// `DataCorruptionDetected`: the head is damaged.
    #[inline]
    pub fn of_head(
        head: &'a [u8],
        source: &'a (dyn FetchValue + 'a),
        whole: &'a WholeDocument,
    ) -> Result<Self> {
        let head = Head::parse(head).ok_or_else(damaged_head)?;
        let split = (!head.is_whole()).then_some(Split { head, source, whole });
        Ok(DocumentView { bytes: head.bytes(), split })
    }

    /// A view over a head that was made of this view's fields: it fetches from where this one does.
    ///
    /// # Errors
    /// `DataCorruptionDetected`: the head is damaged.
    pub fn derived<'b>(&self, head: &'b [u8], whole: &'b WholeDocument) -> Result<DocumentView<'b>>
    where
        'a: 'b,
    {
        match self.split {
            Some(split) => DocumentView::of_head(head, split.source, whole),
            None => RawDoc::framed(head).map(DocumentView::whole).ok_or_else(damaged_head),
        }
    }

    /// Nothing of the document is kept elsewhere.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.split.is_none()
    }

    /// The head that the view stands over.
    #[inline]
    pub fn head(&self) -> Head<'a> {
        self.split.map_or(Head::of(RawDoc::unframed(self.bytes)), |split| split.head)
    }

    /// The length of the whole document.
    pub fn len_bytes(&self) -> usize {
        match self.split {
            None => self.bytes.len(),
            Some(_) => document_len(self.bytes).unwrap_or_default(),
        }
    }

    /// The value of the first top-level field with this name.
    ///
    /// # Errors
    /// Those of fetching.
    #[inline]
    pub fn get(&self, name: &str) -> Result<Option<RawValue<'a>>> {
        match self.split {
            None => Ok(RawDoc::unframed(self.bytes).get(name)),
            Some(_) => self.field(name).map(|field| field.value()).transpose(),
        }
    }

    /// Like [`get`](Self::get) for whoever wants to look inside: other values than documents and arrays are `None`, and
    /// not fetched.
    ///
    /// # Errors
    /// Those of fetching.
    #[inline]
    pub fn get_container(&self, name: &str) -> Result<Option<RawValue<'a>>> {
        let is_container = |ty| matches!(ty, ElementType::Document | ElementType::Array);
        match self.split {
            None => Ok(RawDoc::unframed(self.bytes).get(name).filter(|value| is_container(value.ty))),
            Some(_) => self
                .field(name)
                .filter(|field| is_container(field.ty()))
                .map(|field| field.value())
                .transpose(),
        }
    }

    /// The first top-level field with this name; never fetches its value.
    pub fn field(&self, name: &str) -> Option<Field<'a>> {
        self.fields().find(|field| field.name_bytes() == name.as_bytes())
    }

    /// The type of the first top-level field with this name; never fetches its value.
    pub fn type_of(&self, name: &str) -> Option<ElementType> {
        match self.split {
            None => RawDoc::unframed(self.bytes).get(name).map(|value| value.ty),
            Some(_) => self.field(name).map(|field| field.ty()),
        }
    }

    /// The top-level fields in order.
    #[inline]
    pub fn fields(&self) -> Fields<'a> {
        Fields { view: *self, elements: self.head().elements() }
    }

    /// The whole document, restored byte for byte; put together once, however often it is asked for.
    ///
    /// # Errors
    /// Those of fetching.
    pub fn to_doc(&self) -> Result<RawDoc<'a>> {
        let Some(split) = self.split else { return Ok(RawDoc::unframed(self.bytes)) };
        if let Some(whole) = split.whole.get() {
            return Ok(RawDoc::unframed(whole));
        }
        let mut whole = Vec::new();
        self.append_to(&mut whole)?;
        Ok(RawDoc::unframed(split.whole.get_or_init(|| whole)))
    }

    /// The bytes of [`to_doc`](Self::to_doc).
    ///
    /// # Errors
    /// Those of fetching.
    pub fn to_raw(&self) -> Result<Cow<'a, [u8]>> {
        Ok(Cow::Borrowed(self.to_doc()?.as_bytes()))
    }

    /// The whole document, when every value of it is here already.
    pub fn as_whole(&self) -> Option<RawDoc<'a>> {
        match self.split {
            None => Some(RawDoc::unframed(self.bytes)),
            Some(split) => split.whole.get().map(|whole| RawDoc::unframed(whole)),
        }
    }

    /// The whole document at the end of `out`; each value is copied once.
    ///
    /// # Errors
    /// Those of fetching; `out` is then as it was.
    pub fn append_to(&self, out: &mut Vec<u8>) -> Result<()> {
        let Some(split) = self.split else {
            out.extend_from_slice(self.bytes);
            return Ok(());
        };
        let mut cut_fields = self.fields().filter(|field| field.cut.is_some());
        split.head.splice(out, |cut, out| {
            let field =
                cut_fields.next().filter(|field| field.cut() == Some(cut)).ok_or_else(damaged_head)?;
            out.extend_from_slice(field.value()?.bytes);
            Ok(())
        })
    }

    /// The whole document as bytes of its own.
    ///
    /// # Errors
    /// Those of fetching.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.len_bytes());
        self.append_to(&mut out)?;
        Ok(out)
    }

    /// Are the two documents the same, byte for byte? Values that both views have cut out, and know by the same
    /// number, are the same: the views must fetch from the same source.
    ///
    /// # Errors
    /// Those of fetching.
    pub fn is_same(&self, other: &DocumentView<'_>) -> Result<bool> {
        if self.len_bytes() != other.len_bytes() {
            return Ok(false);
        }
        let (mut ours, mut theirs) = (self.fields(), other.fields());
        loop {
            let (a, b) = match (ours.next(), theirs.next()) {
                (None, None) => return Ok(true),
                (Some(a), Some(b)) => (a, b),
                _ => return Ok(false),
            };
            let alike =
                a.ty() == b.ty() && a.name_bytes() == b.name_bytes() && a.len_bytes() == b.len_bytes();
            if !alike {
                return Ok(false);
            }
            let same_cut = matches!((a.cut(), b.cut()), (Some(a), Some(b)) if a.number == b.number);
            if !same_cut && a.value()?.bytes != b.value()?.bytes {
                return Ok(false);
            }
        }
    }

    /// The value of a field that was cut out, checked against what the head says about it.
    fn fetch(&self, field: &Element<'a>, cut: Cut) -> Result<RawValue<'a>> {
        let Some(split) = &self.split else { return Err(damaged_head()) };
        let bytes = split.source.fetch(cut.number).map_err(|error| self.unreadable(field, &error))?;
        let ty = field.value.ty;
        let len_bytes = cut.len_bytes as usize;
        if bytes.len() != len_bytes || value_len(ty, bytes) != Some(len_bytes) {
            let found =
                format!("its {} bytes are not the value of type {} that was stored", bytes.len(), ty.name());
            return Err(self.unreadable(field, &Error::corrupt(found)));
        }
        Ok(RawValue { ty, bytes })
    }

    /// The error of fetching, with the place in front of it.
    #[cold]
    fn unreadable(&self, field: &Element<'_>, error: &Error) -> Error {
        // An `_id` is never cut out.
        let id = self.field("_id").filter(|id| id.cut.is_none()).map(|id| id.element.value);
        let id = id.map_or_else(|| String::from("no _id"), |id| format!("_id: {}", text::value(id)));
        error.clone().context(&format!("field '{}' of the document with {id} cannot be read: ", field.name()))
    }
}

impl std::fmt::Debug for DocumentView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields()).finish()
    }
}

#[cold]
fn damaged_head() -> Error {
    Error::corrupt("a stored document is damaged: its head is neither a document nor what is left of one")
}

/// A top-level field of a view: name, type and length at once, the value when asked for.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// With an empty payload when the value was cut out.
    element: Element<'a>,
    cut: Option<(Cut, DocumentView<'a>)>,
}

/// A field's payload as it stands in a head.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// In full.
    Here(&'a [u8]),
    /// Cut out.
    Elsewhere(Cut),
}

impl<'a> Field<'a> {
    /// The field's name.
    pub fn name(&self) -> &'a str {
        self.element.name()
    }

    /// The field's name as bytes.
    #[inline]
    pub fn name_bytes(&self) -> &'a [u8] {
        self.element.name_bytes()
    }

    /// The field's type.
    #[inline]
    pub fn ty(&self) -> ElementType {
        self.element.value.ty
    }

    /// The length of the field's payload.
    pub fn len_bytes(&self) -> usize {
        self.cut.map_or(self.element.value.bytes.len(), |(cut, _)| cut.len_bytes as usize)
    }

    /// Where the value is, when it was cut out.
    #[inline]
    pub fn cut(&self) -> Option<Cut> {
        self.cut.map(|(cut, _)| cut)
    }

    /// The payload, or where it is.
    #[inline]
    pub fn content(&self) -> Content<'a> {
        match self.cut {
            None => Content::Here(self.element.value.bytes),
            Some((cut, _)) => Content::Elsewhere(cut),
        }
    }

    /// The field's value.
    ///
    /// # Errors
    /// Those of fetching, naming the document's `_id` and the field.
    #[inline]
    pub fn value(&self) -> Result<RawValue<'a>> {
        match &self.cut {
            None => Ok(self.element.value),
            Some((cut, view)) => view.fetch(&self.element, *cut),
        }
    }

    /// The field's bytes in the head: type, name, and the payload if it is there.
    pub fn head_len_bytes(&self) -> usize {
        2 + self.name_bytes().len() + self.element.value.bytes.len()
    }
}

impl std::fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.cut {
            None => write!(f, "{}: {:?}", self.name(), self.element.value),
            Some((cut, _)) => write!(f, "{}: {} {cut:?}", self.name(), self.ty().name()),
        }
    }
}

/// Iterator over a view's fields; ends at the first malformed byte.
#[derive(Clone)]
pub struct Fields<'a> {
    view: DocumentView<'a>,
    elements: HeadElements<'a>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let (element, cut) = self.elements.next()?;
        Some(Field { element, cut: cut.map(|cut| (cut, self.view)) })
    }
}
