//! The operand of `$in`: a set of constants, searched by order, and regular expressions.

use super::node::RegexTest;
use multifora_model::compare::compare;
use multifora_model::{ElementType, OwnedValue, RawValue, Result};

/// The operand of `$in`.
#[derive(Clone, Debug)]
pub struct InSet {
    /// Sorted, no two equal.
    values: Vec<OwnedValue>,
    regexes: Vec<RegexTest>,
    has_null: bool,
}

impl InSet {
    /// A set from its members in any order.
    pub fn new(mut values: Vec<OwnedValue>, regexes: Vec<RegexTest>) -> Self {
        values.sort_by(|a, b| compare(a.as_ref(), b.as_ref()));
        values.dedup_by(|a, b| compare(a.as_ref(), b.as_ref()).is_eq());
        let has_null = values.iter().any(|v| v.ty == ElementType::Null);
        InSet { values, regexes, has_null }
    }

    /// The constants, in comparison order, without duplicates.
    pub fn values(&self) -> &[OwnedValue] {
        &self.values
    }

    /// The regular expressions.
    pub fn regexes(&self) -> &[RegexTest] {
        &self.regexes
    }

    /// Null is a member (then a missing value is, too).
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// Nothing can match.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.regexes.is_empty()
    }

    /// Is the value a member, or matched by one of the expressions?
    ///
    /// # Errors
    /// Those of matching a regular expression.
    pub fn contains(&self, value: Option<RawValue<'_>>) -> Result<bool> {
        let Some(value) = value else { return Ok(self.has_null) };
        if self.values.binary_search_by(|probe| compare(probe.as_ref(), value)).is_ok() {
            return Ok(true);
        }
        for regex in &self.regexes {
            if regex.matches(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
