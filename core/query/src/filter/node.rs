//! A compiled filter as a tree: what the evaluator runs and the engine's planner reads.
//!
//! Negations are explicit (`$ne` is `Not(Eq)`, `$nin` is `Not(In)`), `$all` is an `And`, so a
//! planner that knows `And`, `Or` and the tests on a path knows everything there is.

use super::predicate::{BitsTest, ModTest, TypeSet};
use super::schema::Schema;
use super::set::InSet;
use crate::expression::Expr;
use multifora_model::path::FieldPath;
use multifora_model::regex::Regex;
use multifora_model::{Collation, OwnedValue};
use std::sync::Arc;

/// A condition on a document, or, below [`Test::ElemMatchValue`], on a value.
#[derive(Clone, Debug)]
pub enum FilterNode {
    /// Holds for every document (`{}`, `$comment`, `$alwaysTrue`).
    AlwaysTrue,
    /// Holds for none (`$alwaysFalse`, `{$in: []}`, `{$all: []}`).
    AlwaysFalse,
    /// All hold.
    And(Vec<FilterNode>),
    /// At least one holds.
    Or(Vec<FilterNode>),
    /// None holds.
    Nor(Vec<FilterNode>),
    /// Does not hold.
    Not(Box<FilterNode>),
    /// A test holds for some value at a path.
    Field(FieldTest),
    /// The document is valid under a schema (`$jsonSchema`).
    Schema(Arc<Schema>),
    /// An aggregation expression is true (`$expr`).
    Expr(Arc<Expr>),
    /// Holds for about this share of the documents (`$sampleRate`).
    SampleRate(f64),
}

/// A path and what must hold for one of the values that a filter sees there.
#[derive(Clone, Debug)]
pub struct FieldTest {
    /// The path (empty below [`Test::ElemMatchValue`]: the test is on the element itself).
    pub path: FieldPath,
    /// The test.
    pub test: Test,
}

/// What is asked of a value.
#[derive(Clone, Debug)]
pub enum Test {
    /// Comparison within the operand's type bracket (MinKey and MaxKey reach over all types).
    Compare(Comparison),
    /// Equal to one of a set, or matched by one of its regular expressions.
    In(InSet),
    /// A string that the pattern matches, or the same regular expression.
    Regex(RegexTest),
    /// Is there.
    Exists,
    /// Has one of these types.
    Type(TypeSet),
    /// Is an array of this many elements.
    Size(u32),
    /// Leaves this remainder.
    Mod(ModTest),
    /// Has these bits set or clear.
    Bits(BitsTest),
    /// Is an array with an element (document or array) for which the filter holds.
    ElemMatchObject(Box<FilterNode>),
    /// Is an array with an element for which all tests hold.
    ElemMatchValue(Box<FilterNode>),
}

/// A comparison with a constant.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The operator.
    pub op: CompareOp,
    /// The operand.
    pub value: OwnedValue,
    /// How strings compare; `None` also where the operand has none.
    pub collation: Option<Arc<Collation>>,
}

/// The comparison operators of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `$eq`
    Eq,
    /// `$lt`
    Lt,
    /// `$lte`
    Lte,
    /// `$gt`
    Gt,
    /// `$gte`
    Gte,
}

impl CompareOp {
    /// The operator's name.
    pub fn name(self) -> &'static str {
        match self {
            CompareOp::Eq => "$eq",
            CompareOp::Lt => "$lt",
            CompareOp::Lte => "$lte",
            CompareOp::Gt => "$gt",
            CompareOp::Gte => "$gte",
        }
    }

    /// Equal values satisfy it.
    pub fn includes_equal(self) -> bool {
        matches!(self, CompareOp::Eq | CompareOp::Lte | CompareOp::Gte)
    }
}

/// A regular expression as a condition.
#[derive(Clone, Debug)]
pub struct RegexTest {
    /// The compiled pattern, with its source.
    pub regex: Regex,
    /// The options in alphabetical order, as stored regular expressions have them.
    pub sorted_options: String,
}
