//! `$unwind`: one document per element of an array.

use super::run::StageRun;
use super::source::{Chain, DocSource, view_of};
use crate::Resources;
use crate::expression::check_path;
use multifora_model::path::{FieldPath, PathPart};
use multifora_model::{
    DocBuilder, DocumentView, ElementType as T, Error, OwnedValue, RawDoc, RawValue, Result,
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

/// `$unwind` at work: the document under way and where in its array we are.
pub(super) struct UnwindRun {
    spec: Arc<Unwind>,
    /// The document whose array is being unwound.
    document: Vec<u8>,
    /// The elements that are left.
    elements: std::vec::IntoIter<OwnedValue>,
    /// The position of the next one.
    position: i64,
    out: Vec<u8>,
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
            document: Vec::new(),
            elements: Vec::new().into_iter(),
            position: 0,
            out: Vec::new(),
        }
    }

    /// Writes the document with `value` at the path.
    fn write(&mut self, value: Option<RawValue<'_>>, position: RawValue<'_>) {
        let doc = RawDoc::framed(&self.document).unwrap_or(RawDoc::EMPTY);
        let written = with_value(doc, self.spec.path.parts(), value);
        self.out = match &self.spec.index_path {
            None => written,
            Some(path) => {
                let doc = RawDoc::framed(&written).unwrap_or(RawDoc::EMPTY);
                with_value(doc, path.parts(), Some(position))
            }
        };
    }

    fn next_element(&mut self) -> bool {
        let Some(element) = self.elements.next() else { return false };
        let position = OwnedValue::from(self.position);
        self.position += 1;
        self.write(Some(element.as_ref()), position.as_ref());
        true
    }

    /// Takes in the next document; `true` when it gives something at once.
    fn take(&mut self, doc: RawDoc<'_>) -> bool {
        self.document.clear();
        self.document.extend_from_slice(doc.as_bytes());
        let preserve = self.spec.preserve_empty;
        match target(doc, self.spec.path.parts()) {
            Target::Array(array) if !array.is_empty() => {
                self.position = 0;
                let elements: Vec<OwnedValue> = array.iter().map(|e| e.value.into()).collect();
                self.elements = elements.into_iter();
                self.next_element()
            }
            Target::Array(_) if preserve => {
                self.write(None, RawValue::NULL);
                true
            }
            Target::Missing | Target::Null if preserve => self.pass(),
            Target::Other => self.pass(),
            _ => false,
        }
    }

    /// Gives the document as it is (with a null position).
    fn pass(&mut self) -> bool {
        let doc = RawDoc::framed(&self.document).unwrap_or(RawDoc::EMPTY);
        self.out = match &self.spec.index_path {
            None => self.document.clone(),
            Some(path) => with_value(doc, path.parts(), Some(RawValue::NULL)),
        };
        true
    }
}

impl StageRun for UnwindRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        // One document may give millions: each is a chance to stop.
        res.check_interrupt()?;
        if self.next_element() {
            return Ok(true);
        }
        while upstream.advance(res)? {
            let raw = upstream.current().to_raw()?;
            if self.take(RawDoc::framed(&raw).unwrap_or(RawDoc::EMPTY)) {
                return Ok(true);
            }
            res.check_interrupt()?;
        }
        self.out.clear();
        Ok(false)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.out)
    }
}

/// Follows the path through documents only.
fn target<'a>(doc: RawDoc<'a>, parts: &[PathPart]) -> Target<'a> {
    let Some((first, rest)) = parts.split_first() else { return Target::Missing };
    let Some(value) = doc.get(first.name()) else { return Target::Missing };
    if !rest.is_empty() {
        return value.as_doc().map_or(Target::Missing, |doc| target(doc, rest));
    }
    match value.as_array() {
        Some(array) => Target::Array(array),
        None if value.is_nullish() => Target::Null,
        None => Target::Other,
    }
}

/// The document with the value at the path replaced, removed (`None`) or, where there was none, added.
pub(super) fn with_value(doc: RawDoc<'_>, parts: &[PathPart], value: Option<RawValue<'_>>) -> Vec<u8> {
    let mut out = DocBuilder::with_buffer(Vec::with_capacity(doc.as_bytes().len() + 16));
    let Some((first, rest)) = parts.split_first() else { return out.finish() };
    let mut met = false;
    for field in doc {
        if met || field.name_bytes() != first.name().as_bytes() {
            out.append_bytes_name(field.name_bytes(), field.value);
            continue;
        }
        met = true;
        append(&mut out, first.name(), field.value.as_doc(), rest, value);
    }
    if !met && value.is_some() {
        append(&mut out, first.name(), None, rest, value);
    }
    out.finish()
}

fn append(
    out: &mut DocBuilder,
    name: &str,
    inner: Option<RawDoc<'_>>,
    rest: &[PathPart],
    value: Option<RawValue<'_>>,
) {
    if rest.is_empty() {
        if let Some(value) = value {
            out.append(name, value);
        }
        return;
    }
    let inner = with_value(inner.unwrap_or(RawDoc::EMPTY), rest, value);
    out.append(name, RawValue { ty: T::Document, bytes: &inner });
}
