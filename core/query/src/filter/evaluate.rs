//! Deciding a filter on document bytes.

use super::node::{FieldTest, FilterNode, Test};
use super::unread;
use crate::Resources;
use crate::expression::EvalContext;
use multifora_model::path::{LeafArrays, Met};
use multifora_model::{DocumentView, ElementType, RawDoc, RawValue, Result};
use std::cell::Cell;

/// What a node is asked about.
#[derive(Clone, Copy)]
enum Subject<'s, 'a> {
    /// The document.
    View(&'s DocumentView<'a>),
    /// An element of an array, a document or again an array, below `$elemMatch`.
    Element(RawDoc<'a>),
    /// An element of an array as such, below `$elemMatch` with operators.
    Value(RawValue<'a>),
}

/// One evaluation.
pub(super) struct Evaluation<'e> {
    pub res: &'e dyn Resources,
    /// Where the position of the matched array element goes, when somebody asked for it.
    pub position: Option<&'e Cell<Option<u32>>>,
}

impl Evaluation<'_> {
    /// Does the node hold for the document?
    pub(super) fn document(&self, node: &FilterNode, view: &DocumentView<'_>) -> Result<bool> {
        self.node(node, Subject::View(view))
    }

    /// Does the node hold for an element of an array?
    pub(super) fn element(&self, node: &FilterNode, doc: RawDoc<'_>) -> Result<bool> {
        self.node(node, Subject::Element(doc))
    }

    /// Do the tests hold for a bare value?
    pub(super) fn value(&self, node: &FilterNode, value: RawValue<'_>) -> Result<bool> {
        self.node(node, Subject::Value(value))
    }

    fn node(&self, node: &FilterNode, subject: Subject<'_, '_>) -> Result<bool> {
        match node {
            FilterNode::Field(field) => self.field(field, subject),
            FilterNode::And(nodes) => {
                for node in nodes {
                    if !self.node(node, subject)? {
                        self.forget_position();
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            FilterNode::Or(nodes) => self.any(nodes, subject),
            FilterNode::Nor(nodes) => Ok(!self.without_position().any(nodes, subject)?),
            FilterNode::Not(node) => Ok(!self.without_position().node(node, subject)?),
            FilterNode::AlwaysTrue => Ok(true),
            FilterNode::AlwaysFalse => Ok(false),
            FilterNode::Schema(schema) => match subject {
                Subject::View(view) => schema.matches(view),
                Subject::Element(doc) => schema.matches(&DocumentView::whole(doc)),
                Subject::Value(_) => Ok(false),
            },
            FilterNode::Expr(expr) => match subject {
                Subject::View(view) => expr.is_true(&EvalContext::new(*view, self.res)),
                Subject::Element(doc) => expr.is_true(&EvalContext::new(DocumentView::whole(doc), self.res)),
                Subject::Value(_) => Ok(false),
            },
            FilterNode::SampleRate(rate) => Ok(self.res.random_f64() < *rate),
        }
    }

    fn any(&self, nodes: &[FilterNode], subject: Subject<'_, '_>) -> Result<bool> {
        for node in nodes {
            if self.node(node, subject)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Negations do not say where.
    fn without_position(&self) -> Evaluation<'_> {
        Evaluation { res: self.res, position: None }
    }

    fn forget_position(&self) {
        if let Some(position) = self.position {
            position.set(None);
        }
    }

    fn field(&self, field: &FieldTest, subject: Subject<'_, '_>) -> Result<bool> {
        let leaf = match field.test {
            Test::Size(_) | Test::Exists | Test::ElemMatchObject(_) | Test::ElemMatchValue(_) => {
                LeafArrays::Whole
            }
            _ => LeafArrays::Traverse,
        };
        let mut visit = |met: Met<'_>| {
            if !self.test(&field.test, met.value)? {
                return Ok(false);
            }
            if let (Some(at), Some(position)) = (met.array_position, self.position) {
                position.set(Some(at));
            }
            Ok(true)
        };
        match subject {
            Subject::View(view) => match unread::decide(field, view, self.position.is_some()) {
                Some(holds) => Ok(holds),
                None => field.path.walk(view, leaf, &mut visit),
            },
            Subject::Element(doc) => field.path.walk_doc(doc, leaf, &mut visit),
            Subject::Value(value) => self.test(&field.test, Some(value)),
        }
    }

    fn test(&self, test: &Test, met: Option<RawValue<'_>>) -> Result<bool> {
        if let Test::Compare(comparison) = test {
            return Ok(comparison.matches(met));
        }
        if let Test::In(set) = test {
            return set.contains(met);
        }
        let Some(value) = met else { return Ok(false) };
        Ok(match test {
            Test::Exists => true,
            Test::Regex(regex) => regex.matches(value)?,
            Test::Type(types) => types.contains(value.ty),
            Test::Size(wanted) => value
                .as_array()
                .is_some_and(|a| a.iter().take(*wanted as usize + 1).count() == *wanted as usize),
            Test::Mod(test) => test.matches(value),
            Test::Bits(test) => test.matches(value),
            Test::ElemMatchObject(node) => self.some_element(value, |element| {
                element.as_doc_or_array().map_or(Ok(false), |doc| self.without_position().element(node, doc))
            })?,
            Test::ElemMatchValue(node) => {
                self.some_element(value, |element| self.without_position().value(node, element))?
            }
            Test::Compare(_) | Test::In(_) => false,
        })
    }

    /// The first element that fits, remembered as the position.
    fn some_element<'a>(
        &self,
        value: RawValue<'a>,
        fits: impl Fn(RawValue<'a>) -> Result<bool>,
    ) -> Result<bool> {
        if value.ty != ElementType::Array {
            return Ok(false);
        }
        for (element, at) in value.as_array().into_iter().flatten().zip(0u32..) {
            if fits(element.value)? {
                if let Some(position) = self.position {
                    position.set(Some(at));
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}
