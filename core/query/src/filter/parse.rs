//! From a query document to a tree (MongoDB's match expression parser).

use super::node::{CompareOp, Comparison, FieldTest, FilterNode, Test};
use super::operands::{Operand, regex_value};
use super::registry;
use crate::CompileContext;
use multifora_model::path::FieldPath;
use multifora_model::{ElementType as T, Error, RawDoc, RawValue, Result, text};

/// Deepest nesting of conditions.
const MAX_TREE_DEPTH: u32 = 100;

/// Where the parser is.
#[derive(Clone, Copy)]
pub(super) struct Parser<'c> {
    pub context: &'c CompileContext,
    depth: u32,
    /// Below `$elemMatch`, where `$expr` and the like have no document to speak of.
    pub in_elem_match: bool,
}

/// Parses a whole query.
pub(super) fn query(query: RawDoc<'_>, context: &CompileContext) -> Result<FilterNode> {
    Parser { context, depth: 0, in_elem_match: false }.query(query)
}

/// Parses operators that apply to a bare value.
pub(super) fn value_tests(operators: RawDoc<'_>, context: &CompileContext) -> Result<FilterNode> {
    Parser { context, depth: 0, in_elem_match: true }.operators(&FieldPath::empty(), operators)
}

impl Parser<'_> {
    /// One level deeper.
    pub(super) fn deeper(self) -> Result<Self> {
        if self.depth >= MAX_TREE_DEPTH {
            let message = format!("exceeded maximum query tree depth of {MAX_TREE_DEPTH}");
            return Err(Error::bad_value(message));
        }
        Ok(Parser { depth: self.depth + 1, ..self })
    }

    /// Inside an element of an array.
    pub(super) fn in_element(self) -> Result<Self> {
        Ok(Parser { in_elem_match: true, ..self.deeper()? })
    }

    /// A query document: fields and top-level operators, all of which must hold.
    pub(super) fn query(self, query: RawDoc<'_>) -> Result<FilterNode> {
        let mut all = Vec::new();
        for field in query {
            let name = field.name();
            all.push(if name.starts_with('$') {
                let operator = registry::top_level_operator(name).ok_or_else(|| unknown_top_level(name))?;
                (operator.parse)(self, Operand { name, value: field.value })?
            } else {
                self.field(name, field.value)?
            });
        }
        Ok(all_of(all))
    }

    /// `{name: value}`.
    fn field(self, name: &str, value: RawValue<'_>) -> Result<FilterNode> {
        let path = FieldPath::parse(name);
        if let Some(operators) = operators_in(value, false) {
            return self.operators(&path, operators);
        }
        if value.ty == T::Regex {
            return Ok(on(&path, Test::Regex(regex_value(value)?)));
        }
        self.comparison(&path, CompareOp::Eq, value)
    }

    /// A comparison with a constant, of any type that may be compared with.
    pub(super) fn comparison(
        self,
        path: &FieldPath,
        op: CompareOp,
        value: RawValue<'_>,
    ) -> Result<FilterNode> {
        if value.ty == T::Undefined {
            return Err(Error::bad_value("cannot compare to undefined"));
        }
        if value.ty == T::Regex && op != CompareOp::Eq {
            let message = format!("Can't have RegEx as arg to predicate over field '{path}'.");
            return Err(Error::bad_value(message));
        }
        let comparison = Comparison::new(op, value.into(), self.context.collation());
        Ok(on(path, Test::Compare(comparison)))
    }

    /// `{$gt: 1, $lt: 5}` on a path.
    pub(super) fn operators(self, path: &FieldPath, operators: RawDoc<'_>) -> Result<FilterNode> {
        let mut all = Vec::new();
        for field in operators {
            let name = field.name();
            let operator = registry::field_operator(name)
                .ok_or_else(|| Error::bad_value(format!("unknown operator: {name}")))?;
            all.push((operator.parse)(self, path, Operand { name, value: field.value }, operators)?);
        }
        Ok(all_of(all))
    }
}

fn unknown_top_level(name: &str) -> Error {
    Error::bad_value(format!(
        "unknown top level operator: {name}. If you have a field name that starts with a '$' symbol, \
         consider using $getField or $setField."
    ))
}

/// The document, when it holds operators and not a value: its first name starts with `$` and it is
/// no DBRef.
pub(super) fn operators_in(value: RawValue<'_>, allow_incomplete_dbref: bool) -> Option<RawDoc<'_>> {
    let doc = value.as_doc()?;
    let first = doc.iter().next()?;
    (first.name_bytes().starts_with(b"$") && !is_dbref(doc, allow_incomplete_dbref)).then_some(doc)
}

fn is_dbref(doc: RawDoc<'_>, allow_incomplete: bool) -> bool {
    let has = |name: &str| doc.get(name).is_some();
    if allow_incomplete { has("$ref") || has("$id") || has("$db") } else { has("$ref") && has("$id") }
}

/// A test on a path.
pub(super) fn on(path: &FieldPath, test: Test) -> FilterNode {
    FilterNode::Field(FieldTest { path: path.clone(), test })
}

/// The negation.
pub(super) fn not(node: FilterNode) -> FilterNode {
    FilterNode::Not(Box::new(node))
}

/// The conjunction, without the parts that always hold; a single part stands alone.
pub(super) fn all_of(mut nodes: Vec<FilterNode>) -> FilterNode {
    nodes.retain(|node| !matches!(node, FilterNode::AlwaysTrue));
    match nodes.len() {
        0 => FilterNode::AlwaysTrue,
        1 => nodes.pop().unwrap_or(FilterNode::AlwaysTrue),
        _ => FilterNode::And(nodes),
    }
}

/// The value as messages show it.
pub(super) fn shown(value: RawValue<'_>) -> String {
    text::value(value)
}
