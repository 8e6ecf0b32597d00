//! Filters: what a query document means for a document.
//!
//! [`Filter::compile`] reads the query once, with MongoDB's errors for what it does not allow, into
//! a tree of [`FilterNode`]s. The tree is immutable, shared by [`Clone`], decided on document bytes
//! without allocation, and read by the engine's planner.
//!
//! Module order: `predicate` · `set` · `explanation` · `operands` · `schema` · `node` · `registry` · `parse` · `restricted` ·
//! `unread` · `evaluate` · `explain`.

mod evaluate;
mod explain;
mod explanation;
mod node;
mod operands;
mod parse;
mod predicate;
mod registry;
mod restricted;
mod schema;
mod set;
mod unread;

pub use explain::explain_failure;
pub use node::{CompareOp, Comparison, FieldTest, FilterNode, RegexTest, Test};
pub use predicate::{BitsRule, BitsTest, ModTest, TypeSet};
pub use registry::{FieldOperator, TopLevelOperator, field_operators, top_level_operators};
pub use schema::{Schema, SchemaKeyword, schema_keywords};
pub use set::InSet;

pub(crate) use operands::Operand;

use crate::{CompileContext, Resources};
use evaluate::Evaluation;
use multifora_model::{DocumentView, RawDoc, RawValue, Result};
use std::cell::Cell;
use std::sync::Arc;

/// A compiled query document.
#[derive(Clone, Debug)]
pub struct Filter {
    root: Arc<FilterNode>,
}

/// What [`Filter::matches_with_position`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The position of the array element that made the filter hold: what a positional `$` means.
    pub position: Option<u32>,
}

impl Filter {
    /// Compiles a query document.
    ///
    /// # Errors
    /// MongoDB's error for an unknown operator or an operand it does not allow.
    pub fn compile(query: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        Ok(Filter { root: Arc::new(parse::query(query, context)?) })
    }

    /// Compiles a condition on something that is no document of a collection (`$pull`, `arrayFilters`,
    /// `$elemMatch` in a projection).
    ///
    /// # Errors
    /// As [`compile`](Self::compile); `QueryFeatureNotAllowed` for `$expr`.
    pub fn compile_restricted(query: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        restricted::check(query)?;
        Self::compile(query, context)
    }

    /// The operand of `$pull` and the condition of `arrayFilters`-like places: operators that apply
    /// to a bare value (`{$gte: 3}`), tested with [`matches_value`](Self::matches_value).
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_value_tests(operators: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        Ok(Filter { root: Arc::new(parse::value_tests(operators, context)?) })
    }

    /// The filter that holds for every document.
    pub fn always_true() -> Self {
        Filter { root: Arc::new(FilterNode::AlwaysTrue) }
    }

    /// The filter that holds where both hold.
    #[must_use]
    pub fn and(&self, other: &Filter) -> Self {
        let both = vec![(*self.root).clone(), (*other.root).clone()];
        Filter { root: Arc::new(parse::all_of(both)) }
    }

    /// The tree.
    pub fn root(&self) -> &FilterNode {
        &self.root
    }

    /// Holds for every document.
    pub fn is_always_true(&self) -> bool {
        matches!(*self.root, FilterNode::AlwaysTrue)
    }

    /// Does the filter hold for the document?
    ///
    /// # Errors
    /// Reading the document, a regular expression beyond its limits, an expression that fails.
    #[inline]
    pub fn matches(&self, view: &DocumentView<'_>, res: &dyn Resources) -> Result<bool> {
        Evaluation { res, position: None }.document(&self.root, view)
    }

    /// Like [`matches`](Self::matches), with the position of the matched array element.
    ///
    /// # Errors
    /// As [`matches`](Self::matches).
    pub fn matches_with_position(
        &self,
        view: &DocumentView<'_>,
        res: &dyn Resources,
    ) -> Result<Option<Matched>> {
        let position = Cell::new(None);
        let holds = Evaluation { res, position: Some(&position) }.document(&self.root, view)?;
        Ok(holds.then(|| Matched { position: position.get() }))
    }

    /// Does the filter hold for an element of an array, read as a document (arrays too, their
    /// positions being the names)? For `$elemMatch` in projections and `$pull` with a condition.
    ///
    /// # Errors
    /// As [`matches`](Self::matches).
    pub fn matches_element(&self, element: RawDoc<'_>, res: &dyn Resources) -> Result<bool> {
        Evaluation { res, position: None }.element(&self.root, element)
    }

    /// Do the operators of [`compile_value_tests`](Self::compile_value_tests) hold for the value?
    ///
    /// # Errors
    /// As [`matches`](Self::matches).
    pub fn matches_value(&self, value: RawValue<'_>, res: &dyn Resources) -> Result<bool> {
        Evaluation { res, position: None }.value(&self.root, value)
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
