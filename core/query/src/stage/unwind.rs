//! `$unwind`: one document per element of an array.

use super::run::StageRun;
use super::source::{Chain, DocSource, derived};
use crate::Resources;
use crate::expression::check_path;
use crate::write::append_field;
use multifora_model::path::{FieldPath, PathPart};
use multifora_model::split::CutList;
use multifora_model::{
    DocBuilder, DocumentView, ElementType as T, Error, OwnedValue, RawDoc, RawValue, Result, WholeDocument,
};
use std::sync::Arc;

/// The array and what to do where there is none.
#[derive(Clone, Debug)]
pub struct Unwind {
    /// The path of the array.
    pub path: FieldPath,
    /// Where the position of each element goes.
    pub index_path: Option<FieldPath>,
    /// Keep documents without elements.
    pub preserve_empty: bool,
}

impl Unwind {
    /// `"$path"` or `{path, includeArrayIndex, preserveNullAndEmptyArrays}`.
    pub(super) fn parse(spec: RawValue<'_>) -> Result<Self> {
        let Some(doc) = spec.as_doc() else {
            let Some(path) = spec.as_str().filter(|_| spec.ty == T::String) else {
                let message = format!(
                    "expected either a string or an object as specification for $unwind stage, got {}",
                    spec.ty.name()
                );
                return Err(Error::location(15981, message));
            };
            return Ok(Unwind { path: array_path(path)?, index_path: None, preserve_empty: false });
        };
        let mut path = None;
        let mut index_path = None;
        let mut preserve_empty = false;
        for field in doc {
            match field.name() {
                "path" => {
                    let text = field.value.as_str().ok_or_else(|| {
                        let ty = field.value.ty.name();
                        Error::location(
                            28808,
                            format!("expected a string as the path for $unwind stage, got {ty}"),
                        )
                    })?;
                    path = Some(array_path(text)?);
                }
                "includeArrayIndex" => index_path = Some(position_path(field.value)?),
                "preserveNullAndEmptyArrays" => {
                    preserve_empty = field.value.as_bool().ok_or_else(|| {
                        let ty = field.value.ty.name();
                        let message = format!(
                            "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got {ty}"
                        );
                        Error::location(28809, message)
                    })?;
                }
                unknown => {
                    let message = format!("unrecognized option to $unwind stage: {unknown}");
                    return Err(Error::location(28811, message));
                }
            }
        }
        let path = path.ok_or_else(|| Error::location(28812, "no path specified to $unwind stage"))?;
        Ok(Unwind { path, index_path, preserve_empty })
    }
}

fn array_path(text: &str) -> Result<FieldPath> {
    let path = text.strip_prefix('$').ok_or_else(|| {
        Error::location(28818, format!("path option to $unwind stage should be prefixed with a '$': {text}"))
    })?;
    check_path(path)?;
    Ok(FieldPath::parse(path))
}

fn position_path(value: RawValue<'_>) -> Result<FieldPath> {
    let text = value.as_str().filter(|text| !text.is_empty()).ok_or_else(|| {
        let message = "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got ";
        Error::location(28810, format!("{message}{}", value.ty.name()))
    })?;
    if text.starts_with('$') {
        let message =
            format!("includeArrayIndex option to $unwind stage should not be prefixed with a '$': {text}");
        return Err(Error::location(28822, message));
    }
    check_path(text)?;
    Ok(FieldPath::parse(text))
}

/// `$unwind` at work: where in the array of the document that the source stands on we are.
pub(super) struct UnwindRun {
    spec: Arc<Unwind>,
    /// The elements that are left.
    elements: std::vec::IntoIter<OwnedValue>,
    /// The position of the next one.
    position: i64,
    /// What was made of the source's document. Values that stayed as they were are fetched through it.
    head: Vec<u8>,
    whole: WholeDocument,
}

/// What the path of an `$unwind` leads to.
enum Target<'a> {
    Missing,
    Array(RawDoc<'a>),
    Null,
    Other,
}

impl UnwindRun {
    pub(super) fn new(spec: Arc<Unwind>) -> Self {
        UnwindRun {
            spec,
            elements: Vec::new().into_iter(),
            position: 0,
            head: Vec::new(),
            whole: WholeDocument::new(),
        }
    }

    /// Writes the document with `value` at the path.
    fn write(
        &mut self,
        doc: &DocumentView<'_>,
        value: Option<RawValue<'_>>,
        position: RawValue<'_>,
    ) -> Result<()> {
        let written = with_value(doc, self.spec.path.parts(), value)?;
        self.head = match &self.spec.index_path {
            None => written,
            Some(path) => {
                let whole = WholeDocument::new();
                with_value(&doc.derived(&written, &whole)?, path.parts(), Some(position))?
            }
        };
        self.whole.take();
        Ok(())
    }

    fn next_element(&mut self, doc: &DocumentView<'_>) -> Result<bool> {
        let Some(element) = self.elements.next() else { return Ok(false) };
        let position = OwnedValue::from(self.position);
        self.position += 1;
        self.write(doc, Some(element.as_ref()), position.as_ref())?;
        Ok(true)
    }

    /// Takes in the next document; `true` when it gives something at once.
    fn take(&mut self, doc: &DocumentView<'_>) -> Result<bool> {
        let preserve = self.spec.preserve_empty;
        match target(doc, self.spec.path.parts())? {
            Target::Array(array) if !array.is_empty() => {
                self.position = 0;
                let elements: Vec<OwnedValue> = array.iter().map(|e| e.value.into()).collect();
                self.elements = elements.into_iter();
                self.next_element(doc)
            }
            Target::Array(_) if preserve => {
                self.write(doc, None, RawValue::NULL)?;
                Ok(true)
            }
            Target::Missing | Target::Null if preserve => self.pass(doc),
            Target::Other => self.pass(doc),
            _ => Ok(false),
        }
    }

    /// Gives the document as it is (with a null position).
    fn pass(&mut self, doc: &DocumentView<'_>) -> Result<bool> {
        match &self.spec.index_path {
            None => {
                self.head.clear();
                doc.head().append_to(&mut self.head);
            }
            Some(path) => self.head = with_value(doc, path.parts(), Some(RawValue::NULL))?,
        }
        self.whole.take();
        Ok(true)
    }
}

impl StageRun for UnwindRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        // One document may give millions: each is a chance to stop.
        res.check_interrupt()?;
        if self.next_element(&upstream.current())? {
            return Ok(true);
        }
        while upstream.advance(res)? {
            if self.take(&upstream.current())? {
                return Ok(true);
            }
            res.check_interrupt()?;
        }
        self.head.clear();
        self.whole.take();
        Ok(false)
    }

    fn current<'s>(&'s self, upstream: Chain<'s>) -> DocumentView<'s> {
        derived(upstream.current(), &self.head, &self.whole)
    }
}

/// Follows the path through documents only.
fn target<'a>(doc: &DocumentView<'a>, parts: &[PathPart]) -> Result<Target<'a>> {
    let Some((first, rest)) = parts.split_first() else { return Ok(Target::Missing) };
    let Some(field) = doc.field(first.name()) else { return Ok(Target::Missing) };
    match (field.ty(), rest) {
        (T::Array, []) => Ok(field.value()?.as_array().map_or(Target::Missing, Target::Array)),
        (T::Null | T::Undefined, []) => Ok(Target::Null),
        (_, []) => Ok(Target::Other),
        (T::Document, rest) => {
            field.value()?.as_doc().map_or(Ok(Target::Missing), |inner| target(&inner.into(), rest))
        }
        _ => Ok(Target::Missing),
    }
}

/// The head of the document with the value at the path replaced, removed (`None`) or, where there was none, added.
fn with_value(doc: &DocumentView<'_>, parts: &[PathPart], value: Option<RawValue<'_>>) -> Result<Vec<u8>> {
    let mut out = DocBuilder::with_buffer(Vec::with_capacity(doc.head().bytes().len() + 16));
    let mut cuts = CutList::default();
    if let Some((first, rest)) = parts.split_first() {
        let mut met = false;
        for field in doc.fields() {
            if met || field.name_bytes() != first.name().as_bytes() {
                append_field(&mut out, 0, &field, &mut cuts);
                continue;
            }
            met = true;
            let is_looked_into = !rest.is_empty() && field.ty() == T::Document;
            let inner = if is_looked_into { field.value()?.as_doc() } else { None };
            append(&mut out, first.name(), inner, rest, value)?;
        }
        if !met && value.is_some() {
            append(&mut out, first.name(), None, rest, value)?;
        }
    }
    let mut out = out.finish();
    cuts.finish(&mut out, 0);
    Ok(out)
}

fn append(
    out: &mut DocBuilder,
    name: &str,
    inner: Option<RawDoc<'_>>,
    rest: &[PathPart],
    value: Option<RawValue<'_>>,
) -> Result<()> {
    if rest.is_empty() {
        if let Some(value) = value {
            out.append(name, value);
        }
        return Ok(());
    }
    let inner = with_value(&inner.unwrap_or(RawDoc::EMPTY).into(), rest, value)?;
    out.append(name, RawValue { ty: T::Document, bytes: &inner });
    Ok(())
}
