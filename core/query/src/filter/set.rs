//! The operand of `$in`: a set of constants, searched by order, and regular expressions.

use super::node::RegexTest;
use multifora_model::compare::{compare_with, is_collatable};
use multifora_model::{Collation, ElementType, OwnedValue, RawValue, Result};
use std::sync::Arc;

/// The operand of `$in`.
#[derive(Clone, Debug)]
pub struct InSet {
    /// Sorted, no two equal.
    values: Vec<OwnedValue>,
    regexes: Vec<RegexTest>,
    has_null: bool,
    /// How strings compare; `None` also where no member has one.
    collation: Option<Arc<Collation>>,
}

impl InSet {
    /// A set from its members in any order.
    pub fn new(
        mut values: Vec<OwnedValue>,
        regexes: Vec<RegexTest>,
        collation: Option<&Arc<Collation>>,
    ) -> Self {
        let collation = collation.filter(|_| values.iter().any(|v| is_collatable(v.ty))).cloned();
        let collator = Collation::collator(collation.as_ref());
        values.sort_by(|a, b| compare_with(a.as_ref(), b.as_ref(), collator));
        values.dedup_by(|a, b| compare_with(a.as_ref(), b.as_ref(), collator).is_eq());
        let has_null = values.iter().any(|v| v.ty == ElementType::Null);
        InSet { values, regexes, has_null, collation }
    }

    /// The constants, in comparison order, without duplicates.
    pub fn values(&self) -> &[OwnedValue] {
        &self.values
    }

    /// The regular expressions.
    pub fn regexes(&self) -> &[RegexTest] {
        &self.regexes
    }

    /// How strings compare; `None` also where no member has one.
    pub fn collation(&self) -> Option<&Arc<Collation>> {
        self.collation.as_ref()
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
        let collator = Collation::collator(self.collation.as_ref());
        if self.values.binary_search_by(|probe| compare_with(probe.as_ref(), value, collator)).is_ok() {
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
