//! What the compiler of a filter, expression, update or stage knows about the command around it.

use multifora_model::{Collation, OwnedValue, RawDoc};
use std::sync::Arc;

/// Names that are constant during one command: `let` variables, `$$NOW`, `$$CLUSTER_TIME`, `$$USER_ROLES`.
///
/// The engine evaluates a command's `let` document once and hands the values over; expressions
/// take them in as constants, so that a compiled query is free of any context.
#[derive(Clone, Debug, Default)]
pub struct CompileContext {
    constants: Vec<(String, OwnedValue)>,
    /// How strings compare; by their bytes without one.
    collation: Option<Arc<Collation>>,
}

impl CompileContext {
    /// A context in which only `$$NOW` is known.
    pub fn new(now_ms: i64) -> Self {
        CompileContext {
            constants: vec![(String::from("NOW"), OwnedValue::date_ms(now_ms))],
            collation: None,
        }
    }

    /// Adds a constant; a later one hides an earlier one of the same name.
    pub fn define(&mut self, name: &str, value: OwnedValue) {
        self.constants.push((name.to_owned(), value));
    }

    /// Adds every field of `vars` (values as they are, already evaluated) as a constant.
    #[must_use]
    pub fn with_values(mut self, vars: RawDoc<'_>) -> Self {
        for field in vars {
            self.define(field.name(), field.value.into());
        }
        self
    }

    /// The same names under a collation: what is compiled with them takes it in.
    #[must_use]
    pub fn with_collation(mut self, collation: Option<Arc<Collation>>) -> Self {
        self.collation = collation;
        self
    }

    /// The collation of the command.
    pub fn collation(&self) -> Option<&Arc<Collation>> {
        self.collation.as_ref()
    }

    /// The constant with this name.
    pub fn constant(&self, name: &str) -> Option<&OwnedValue> {
        self.constants.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}
