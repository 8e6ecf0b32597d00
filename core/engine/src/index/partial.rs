//! The filter of a partial index (manual: Partial Indexes): which conditions it may use.

use super::spec::cannot_create;
use multifora_model::{Collation, RawDoc, Result, text};
use multifora_query::CompileContext;
use multifora_query::filter::{Filter, FilterNode, Test};
use std::sync::Arc;

/// Compiles a `partialFilterExpression`; strings compare by the collation of the index.
///
/// # Errors
/// Those of the filter; `CannotCreateIndex` for operators whose truth a planner could not follow.
pub fn compile_partial_filter(expression: RawDoc<'_>, collation: Option<&Arc<Collation>>) -> Result<Filter> {
    let context = CompileContext::default().with_collation(collation.cloned());
    let filter = Filter::compile(expression, &context)?;
    if is_supported(filter.root()) {
        return Ok(filter);
    }
    Err(cannot_create(format!("Expression not supported in partial index: {}", text::document(expression))))
}

fn is_supported(node: &FilterNode) -> bool {
    match node {
        FilterNode::AlwaysTrue | FilterNode::AlwaysFalse => true,
        FilterNode::And(branches) | FilterNode::Or(branches) => branches.iter().all(is_supported),
        FilterNode::Field(field) => {
            matches!(field.test, Test::Compare(_) | Test::In(_) | Test::Exists | Test::Type(_))
        }
        _ => false,
    }
}
