//! The parts of a filter that all must hold, flattened for the planner.
//!
//! A filter is read as a list of tests on paths (through `$and`, `$nor`, `$not` and `$elemMatch`)
//! and a list of `$or`s. What the planner has no use for is left out: the whole filter decides in
//! the end, so leaving out a part only means more candidates.

use multifora_model::path::FieldPath;
use multifora_query::filter::{CompareOp, FieldTest, FilterNode, Test};

/// One test on one path that every match satisfies.
#[derive(Clone, Debug)]
pub struct Conjunct<'f> {
    /// The whole path, through `$elemMatch`.
    pub path: FieldPath,
    /// The test.
    pub test: &'f Test,
    /// It must not hold.
    pub negated: bool,
    /// The `$elemMatch`es it stands in, outermost first.
    scopes: Vec<Scope>,
}

/// One `$elemMatch`: all its tests hold for the same element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scope {
    number: usize,
    /// Parts of the path to the array.
    path_len: usize,
}

/// A filter's parts.
#[derive(Clone, Debug, Default)]
pub struct Conjuncts<'f> {
    /// Tests on paths.
    pub tests: Vec<Conjunct<'f>>,
    /// Alternatives, of which one must hold.
    pub ors: Vec<&'f [FilterNode]>,
    /// Nothing can match.
    pub impossible: bool,
    /// Parts that the lists above do not speak for (`$expr`, negated alternatives, …).
    pub incomplete: bool,
    scopes: usize,
}

impl Conjunct<'_> {
    /// Both stand in one `$elemMatch` on the array that their first `shared_parts` parts lead to.
    pub fn same_element(&self, other: &Conjunct<'_>, shared_parts: usize) -> bool {
        self.scopes.iter().any(|scope| scope.path_len == shared_parts && other.scopes.contains(scope))
    }

    /// A test of the document itself that must hold.
    pub fn is_plain(&self) -> bool {
        !self.negated && self.scopes.is_empty()
    }

    /// `path == constant`.
    pub fn is_equality(&self) -> bool {
        self.is_plain() && matches!(self.test, Test::Compare(c) if c.op == CompareOp::Eq)
    }
}

impl<'f> Conjuncts<'f> {
    /// The parts of a filter.
    pub fn of(node: &'f FilterNode) -> Self {
        let mut parts = Conjuncts::default();
        parts.add(node, None, &[]);
        parts
    }

    /// The parts of one alternative, together with those around it.
    pub fn with(&self, alternative: &'f FilterNode) -> Self {
        let mut parts = Conjuncts { ors: Vec::new(), ..self.clone() };
        parts.add(alternative, None, &[]);
        parts
    }

    /// `prefix`: the path to the array of the innermost `$elemMatch`.
    fn add(&mut self, node: &'f FilterNode, prefix: Option<&FieldPath>, scopes: &[Scope]) {
        match node {
            FilterNode::AlwaysTrue => {}
            FilterNode::AlwaysFalse => self.impossible = true,
            FilterNode::And(nodes) => nodes.iter().for_each(|node| self.add(node, prefix, scopes)),
            FilterNode::Or(nodes) => match (nodes.as_slice(), prefix) {
                ([only], _) => self.add(only, prefix, scopes),
                (_, None) => self.ors.push(nodes),
                _ => self.incomplete = true,
            },
            FilterNode::Nor(nodes) => nodes.iter().for_each(|node| self.add_negated(node, prefix, scopes)),
            FilterNode::Not(node) => self.add_negated(node, prefix, scopes),
            FilterNode::Field(field) => self.add_field(field, prefix, scopes),
            FilterNode::Expr(_) | FilterNode::Schema(_) | FilterNode::SampleRate(_) => self.incomplete = true,
        }
    }

    fn add_negated(&mut self, node: &'f FilterNode, prefix: Option<&FieldPath>, scopes: &[Scope]) {
        match node {
            FilterNode::Not(inner) => self.add(inner, prefix, scopes),
            FilterNode::Or(nodes) => nodes.iter().for_each(|node| self.add_negated(node, prefix, scopes)),
            FilterNode::And(nodes) if nodes.len() == 1 => {
                nodes.iter().for_each(|node| self.add_negated(node, prefix, scopes));
            }
            FilterNode::Field(field) => match joined(prefix, &field.path) {
                Some(path) => self.tests.push(Conjunct {
                    path,
                    test: &field.test,
                    negated: true,
                    scopes: scopes.to_vec(),
                }),
                None => self.incomplete = true,
            },
            _ => self.incomplete = true,
        }
    }

    fn add_field(&mut self, field: &'f FieldTest, prefix: Option<&FieldPath>, scopes: &[Scope]) {
        let Some(path) = joined(prefix, &field.path) else {
            self.incomplete = true;
            return;
        };
        match &field.test {
            Test::ElemMatchObject(node) | Test::ElemMatchValue(node) => {
                self.incomplete = true;
                // A position in the path makes an inner array a key of its own, and an array that is
                // an element of an array is a key as a whole.
                if path.has_index() || field.path.parts().is_empty() {
                    return;
                }
                self.scopes += 1;
                let scope = Scope { number: self.scopes, path_len: path.parts().len() };
                let scopes = [scopes, &[scope]].concat();
                self.add(node, Some(&path), &scopes);
            }
            test => self.tests.push(Conjunct { path, test, negated: false, scopes: scopes.to_vec() }),
        }
    }
}

/// The path from the document, when an index can have it.
fn joined(prefix: Option<&FieldPath>, path: &FieldPath) -> Option<FieldPath> {
    match prefix {
        None => Some(path.clone()),
        Some(prefix) if path.parts().is_empty() => Some(prefix.clone()),
        // Below `$elemMatch` a position names an element of an inner array; in a path from the
        // document it could as well be a position in the array itself.
        Some(_) if path.has_index() => None,
        Some(prefix) => Some(FieldPath::parse(&format!("{prefix}.{path}"))),
    }
}
