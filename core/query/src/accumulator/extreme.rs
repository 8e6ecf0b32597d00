//! `$min $max $first $last`: one of the values that came in.

use super::Accumulate;
use multifora_model::compare::compare_with;
use multifora_model::{Collation, OwnedValue, RawValue, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// The smallest or greatest value; null and missing do not count.
pub(super) struct Extreme {
    wanted: Ordering,
    best: Option<OwnedValue>,
    collation: Option<Arc<Collation>>,
}

impl Extreme {
    pub(super) fn smallest(collation: Option<&Arc<Collation>>) -> Self {
        Extreme { wanted: Ordering::Less, best: None, collation: collation.cloned() }
    }

    pub(super) fn greatest(collation: Option<&Arc<Collation>>) -> Self {
        Extreme { wanted: Ordering::Greater, best: None, collation: collation.cloned() }
    }
}

impl Accumulate for Extreme {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        let Some(value) = value.filter(|v| !v.is_nullish()) else { return Ok(()) };
        let collator = Collation::collator(self.collation.as_ref());
        let better = |best: &OwnedValue| compare_with(value, best.as_ref(), collator) == self.wanted;
        let better = self.best.as_ref().is_none_or(better);
        if better {
            self.best = Some(value.into());
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(self.best.clone().unwrap_or_else(OwnedValue::null))
    }

    fn held_bytes(&self) -> usize {
        self.best.as_ref().map_or(0, |v| v.as_ref().bytes.len())
    }
}

/// The first value, be it missing.
#[derive(Default)]
pub(super) struct First {
    seen: bool,
    value: Option<OwnedValue>,
}

impl Accumulate for First {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        if !self.seen {
            self.seen = true;
            self.value = value.map(Into::into);
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        self.value.clone()
    }

    fn held_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, |v| v.as_ref().bytes.len())
    }
}

/// The last value, be it missing.
#[derive(Default)]
pub(super) struct Last(Option<OwnedValue>);

impl Accumulate for Last {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        self.0 = value.map(Into::into);
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        self.0.clone()
    }

    fn held_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |v| v.as_ref().bytes.len())
    }
}
