//! When a partial index has every document that a query can match.
//!
//! The index's filter must follow from the query. Proven is what can be read off the bounds: a test of the
//! query whose values all lie within those that satisfy the index's test. What cannot be proven
//! leaves the index out, which costs time and never an answer.

use super::conjunct::Conjuncts;
use super::values::test_bounds;
use multifora_model::Collation;
use multifora_model::key::KeyDirection;
use multifora_query::filter::{FilterNode, Test};
use std::sync::Arc;

/// Every document that satisfies the conjuncts satisfies `condition`, the condition of an index of this collation.
pub fn implies(
    conjuncts: &Conjuncts<'_>,
    condition: &FilterNode,
    collation: Option<&Arc<Collation>>,
) -> bool {
    match condition {
        FilterNode::AlwaysTrue => true,
        FilterNode::And(parts) => parts.iter().all(|part| implies(conjuncts, part, collation)),
        FilterNode::Or(parts) => parts.iter().any(|part| implies(conjuncts, part, collation)),
        FilterNode::Field(field) => {
            let mut on_path = conjuncts.tests.iter().filter(|c| c.path == field.path && c.is_plain());
            on_path.any(|conjunct| test_implies(conjunct.test, &field.test, collation))
        }
        _ => false,
    }
}

/// A value that satisfies `known` makes its document satisfy `wanted`.
fn test_implies(known: &Test, wanted: &Test, collation: Option<&Arc<Collation>>) -> bool {
    let Some(known) = test_bounds(known, KeyDirection::Ascending, collation) else { return false };
    if matches!(wanted, Test::Exists) {
        return known.needs_value;
    }
    let Some(wanted) = test_bounds(wanted, KeyDirection::Ascending, collation).filter(|bounds| bounds.exact)
    else {
        return false;
    };
    known.intervals.intersect(&wanted.intervals) == known.intervals
}
