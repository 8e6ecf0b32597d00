//! Showing one document through a projection: bytes in, bytes out, one pass. What is shown as it is and kept elsewhere
//! stays there: the result is a head.

use super::find_operators::Slice;
use super::node::{Child, Node};
use super::{Kind, Projection};
use crate::Resources;
use crate::expression::EvalContext;
use crate::write::{begin, frame, push_element, put, put_field, put_header};
use multifora_model::split::CutList;
use multifora_model::view::Field;
use multifora_model::{DocumentView, ElementType, Error, RawDoc, RawValue, Result};

/// Appends the head of the projected document.
pub(super) fn document(
    projection: &Projection,
    view: &DocumentView<'_>,
    res: &dyn Resources,
    out: &mut Vec<u8>,
) -> Result<()> {
    let position = match &projection.positional_filter {
        Some(filter) => filter.matches_with_position(view, res)?.and_then(|matched| matched.position),
        None => None,
    };
    let pass = Pass { kind: projection.kind, root: *view, res, position, is_chosen: false };
    pass.document(&projection.root, view, out)
}

struct Pass<'p> {
    kind: Kind,
    /// The whole document: what expressions read.
    root: DocumentView<'p>,
    res: &'p dyn Resources,
    /// The position that the query matched.
    position: Option<u32>,
    /// The element at that position has been chosen: arrays inside it stay whole.
    is_chosen: bool,
}

impl Pass<'_> {
    fn document(&self, node: &Node, view: &DocumentView<'_>, out: &mut Vec<u8>) -> Result<()> {
        let start = begin(out);
        let mut cuts = CutList::default();
        for field in view.fields() {
            match (node.find(field.name_bytes()), self.kind) {
                (None, Kind::Exclusion) | (Some(Child::Named), Kind::Inclusion) => {
                    put_field(out, start, &field, &mut cuts);
                }
                (None, Kind::Inclusion) | (Some(Child::Named), Kind::Exclusion) => {}
                (Some(child), _) if self.stays_whole(child, field.ty()) => {
                    put_field(out, start, &field, &mut cuts);
                }
                (Some(child), _) => self.named(child, &field, out)?,
            }
        }
        if node.computes {
            self.computed(node, view, out)?;
        }
        frame(out, start);
        cuts.finish(out, start);
        Ok(())
    }

    /// A field of this type is shown as it is, although something is said about what is in it.
    fn stays_whole(&self, child: &Child, ty: ElementType) -> bool {
        match child {
            Child::Slice(_) | Child::Positional => ty != ElementType::Array,
            Child::Below(below) => {
                let is_scalar = !matches!(ty, ElementType::Array | ElementType::Document);
                is_scalar && !below.computes && self.kind == Kind::Exclusion
            }
            _ => false,
        }
    }

    /// A field of the document about which more is said than that it stays or goes.
    fn named(&self, child: &Child, field: &Field<'_>, out: &mut Vec<u8>) -> Result<()> {
        let name = field.name_bytes();
        match child {
            Child::Slice(slice) => put_slice(*slice, name, field.value()?, out),
            Child::Positional => {
                let value = field.value()?;
                if let Some(array) = value.as_array().filter(|_| !self.is_chosen) {
                    put_one(name, self.matched_element(array)?, out);
                } else {
                    put(out, name, value);
                }
            }
            Child::Below(below) => {
                let header = out.len();
                let value = field.value()?;
                put_header(out, name, value.ty);
                match self.below(below, value, out)? {
                    Some(ty) => set_type(out, header, ty),
                    None => out.truncate(header),
                }
            }
            Child::ElemMatch(_) if self.kind == Kind::Exclusion => self.elem_match(child, name, out)?,
            // Computed fields follow behind.
            Child::Computed(_) | Child::ElemMatch(_) | Child::Named => {}
        }
        Ok(())
    }

    /// The payload of a value below which fields are named; `None` when nothing is left of it.
    fn below(&self, node: &Node, value: RawValue<'_>, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        if let Some(doc) = value.as_doc() {
            self.document(node, &DocumentView::whole(doc), out)?;
            return Ok(Some(ElementType::Document));
        }
        if let Some(array) = value.as_array() {
            self.array(node, array, out)?;
            return Ok(Some(ElementType::Array));
        }
        if node.computes {
            // A scalar gives way to the document of what is computed.
            self.document(node, &DocumentView::whole(RawDoc::EMPTY), out)?;
            return Ok(Some(ElementType::Document));
        }
        match self.kind {
            Kind::Inclusion => Ok(None),
            Kind::Exclusion => {
                out.extend_from_slice(value.bytes);
                Ok(Some(value.ty))
            }
        }
    }

    fn array(&self, node: &Node, array: RawDoc<'_>, out: &mut Vec<u8>) -> Result<()> {
        let start = begin(out);
        let mut payload = Vec::new();
        let mut kept = 0;
        let mut push = |pass: &Pass<'_>, value: RawValue<'_>, out: &mut Vec<u8>| -> Result<()> {
            payload.clear();
            if let Some(ty) = pass.below(node, value, &mut payload)? {
                push_element(out, kept, RawValue { ty, bytes: &payload });
                kept += 1;
            }
            Ok(())
        };
        if node.is_positional && !self.is_chosen {
            push(&Pass { is_chosen: true, ..*self }, self.matched_element(array)?, out)?;
        } else {
            for element in array {
                push(self, element.value, out)?;
            }
        }
        frame(out, start);
        Ok(())
    }

    /// The element that the query matched.
    fn matched_element<'a>(&self, array: RawDoc<'a>) -> Result<RawValue<'a>> {
        let Some(position) = self.position else {
            return Err(Error::location(
                51246,
                "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching \
                 element in the array",
            ));
        };
        let element = array.iter().nth(position as usize).map(|e| e.value);
        element.ok_or_else(|| {
            Error::location(
                51247,
                "Executor error during find command :: caused by :: positional operator '.$' element mismatch",
            )
        })
    }

    /// What is computed, in the order of the specification.
    fn computed(&self, node: &Node, view: &DocumentView<'_>, out: &mut Vec<u8>) -> Result<()> {
        for (name, child) in &node.children {
            match child {
                Child::Computed(expr) => {
                    if let Some(value) = expr.eval(&EvalContext::new(self.root, self.res))? {
                        put(out, name.as_bytes(), value.as_ref());
                    }
                }
                Child::ElemMatch(_) if self.kind == Kind::Inclusion => {
                    self.elem_match(child, name.as_bytes(), out)?;
                }
                Child::Below(below) if below.computes && view.type_of(name).is_none() => {
                    put_header(out, name.as_bytes(), ElementType::Document);
                    self.document(below, &DocumentView::whole(RawDoc::EMPTY), out)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn elem_match(&self, child: &Child, name: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Child::ElemMatch(elem_match) = child else { return Ok(()) };
        let matched = elem_match.filter.matches_with_position(&self.root, self.res)?;
        let Some(position) = matched.and_then(|m| m.position) else { return Ok(()) };
        let array = self.root.get(std::str::from_utf8(name).unwrap_or_default())?;
        let element = array.and_then(RawValue::as_array).and_then(|a| a.iter().nth(position as usize));
        if let Some(element) = element {
            put_one(name, element.value, out);
        }
        Ok(())
    }
}

/// Appends a field whose value is an array of one element.
fn put_one(name: &[u8], value: RawValue<'_>, out: &mut Vec<u8>) {
    put_header(out, name, ElementType::Array);
    let start = begin(out);
    push_element(out, 0, value);
    frame(out, start);
}

fn put_slice(slice: Slice, name: &[u8], value: RawValue<'_>, out: &mut Vec<u8>) {
    let Some(array) = value.as_array() else { return put(out, name, value) };
    let range = slice.range(array.iter().count());
    put_header(out, name, ElementType::Array);
    let start = begin(out);
    for (at, element) in array.iter().skip(range.start).take(range.len()).enumerate() {
        push_element(out, at, element.value);
    }
    frame(out, start);
}

fn set_type(out: &mut [u8], header: usize, ty: ElementType) {
    if let Some(tag) = out.get_mut(header) {
        *tag = ty as u8;
    }
}
