//! Placeholder.
use super::registry::Operator;

pub(super) const ROWS: &[Operator] = &[];
