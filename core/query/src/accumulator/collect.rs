//! `$push $addToSet $mergeObjects $firstN $lastN $minN $maxN`: many values in one.

use super::Accumulate;
use multifora_model::compare::compare_with;
use multifora_model::{
    Collation, DocBuilder, ElementType as T, Error, OwnedValue, RawValue, Result, ValueKey, text,
};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

fn array_of<'v>(values: impl Iterator<Item = RawValue<'v>>) -> OwnedValue {
    let mut out = DocBuilder::new_array();
    for value in values {
        out.push(value);
    }
    OwnedValue::from_vec(T::Array, out.finish())
}

/// `$push`: every value in turn; missing ones are left out.
pub(super) struct Push(DocBuilder);

impl Default for Push {
    fn default() -> Self {
        Push(DocBuilder::new_array())
    }
}

impl Accumulate for Push {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        if let Some(value) = value {
            self.0.push(value);
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(OwnedValue::from_vec(T::Array, self.0.clone().finish()))
    }

    fn held_bytes(&self) -> usize {
        self.0.len_bytes()
    }
}

/// `$addToSet`: every value once, in the order of their first coming.
pub(super) struct AddToSet {
    seen: HashSet<ValueKey>,
    values: Push,
    collation: Option<Arc<Collation>>,
}

impl AddToSet {
    pub(super) fn new(collation: Option<&Arc<Collation>>) -> Self {
        AddToSet { seen: HashSet::new(), values: Push::default(), collation: collation.cloned() }
    }
}

impl Accumulate for AddToSet {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        let collator = Collation::collator(self.collation.as_ref());
        match value {
            Some(value) if self.seen.insert(ValueKey::with_collator(value, collator)) => {
                self.values.add(Some(value))
            }
            _ => Ok(()),
        }
    }

    fn result(&self) -> Option<OwnedValue> {
        self.values.result()
    }

    fn held_bytes(&self) -> usize {
        // The keys are about as long as the values.
        2 * self.values.held_bytes() + self.seen.len() * size_of::<ValueKey>()
    }
}

/// `$mergeObjects`: later fields replace earlier ones in their places; null and missing are left out.
#[derive(Default)]
pub(crate) struct MergeObjects {
    fields: Vec<(Box<[u8]>, OwnedValue)>,
    /// Where each name stands in `fields`.
    places: HashMap<Box<[u8]>, usize>,
    held_bytes: usize,
}

impl MergeObjects {
    /// Merges a document in; null is left out.
    ///
    /// # Errors
    /// Code 40400 for anything else.
    pub(crate) fn take(&mut self, value: RawValue<'_>) -> Result<()> {
        if value.is_nullish() {
            return Ok(());
        }
        let doc = value.as_doc().ok_or_else(|| {
            Error::location(
                40400,
                format!(
                    "$mergeObjects requires object inputs, but input {} is of type {}",
                    text::value(value),
                    value.ty.name()
                ),
            )
        })?;
        for field in doc {
            self.set(field.name_bytes(), field.value);
        }
        Ok(())
    }

    /// Sets a field, in its place if it is there already.
    pub(crate) fn set(&mut self, name: &[u8], value: RawValue<'_>) {
        self.held_bytes += name.len() + value.bytes.len();
        match self.places.get(name) {
            Some(at) => {
                if let Some((_, known)) = self.fields.get_mut(*at) {
                    *known = value.into();
                }
            }
            None => {
                self.places.insert(name.into(), self.fields.len());
                self.fields.push((name.into(), value.into()));
            }
        }
    }

    /// The document so far.
    pub(crate) fn document(&self) -> OwnedValue {
        let mut out = DocBuilder::new();
        for (name, value) in &self.fields {
            out.append_bytes_name(name, value.as_ref());
        }
        OwnedValue::document(out.finish())
    }
}

impl Accumulate for MergeObjects {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        value.map_or(Ok(()), |value| self.take(value))
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(self.document())
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

fn len_bytes(value: &OwnedValue) -> usize {
    value.as_ref().bytes.len() + size_of::<OwnedValue>()
}

/// `$firstN`: the first values; a missing one counts as null.
pub(super) struct FirstN {
    n: usize,
    values: Vec<OwnedValue>,
    held_bytes: usize,
}

impl FirstN {
    pub(super) fn new(n: usize) -> Self {
        FirstN { n, values: Vec::new(), held_bytes: 0 }
    }
}

impl Accumulate for FirstN {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        if self.values.len() < self.n {
            let value: OwnedValue = value.unwrap_or(RawValue::NULL).into();
            self.held_bytes += len_bytes(&value);
            self.values.push(value);
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(array_of(self.values.iter().map(OwnedValue::as_ref)))
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

/// `$lastN`: the last values; a missing one counts as null.
pub(super) struct LastN {
    n: usize,
    values: VecDeque<OwnedValue>,
    held_bytes: usize,
}

impl LastN {
    pub(super) fn new(n: usize) -> Self {
        LastN { n, values: VecDeque::new(), held_bytes: 0 }
    }
}

impl Accumulate for LastN {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        if self.values.len() == self.n
            && let Some(oldest) = self.values.pop_front()
        {
            self.held_bytes -= len_bytes(&oldest);
        }
        let value: OwnedValue = value.unwrap_or(RawValue::NULL).into();
        self.held_bytes += len_bytes(&value);
        self.values.push_back(value);
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(array_of(self.values.iter().map(OwnedValue::as_ref)))
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

/// `$minN` and `$maxN`: the smallest or greatest values in order; null and missing do not count.
pub(super) struct ExtremeN {
    n: usize,
    greatest: bool,
    collation: Option<Arc<Collation>>,
    values: Vec<OwnedValue>,
    held_bytes: usize,
}

impl ExtremeN {
    pub(super) fn new(n: usize, greatest: bool, collation: Option<&Arc<Collation>>) -> Self {
        ExtremeN { n, greatest, collation: collation.cloned(), values: Vec::new(), held_bytes: 0 }
    }
}

impl Accumulate for ExtremeN {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        let Some(value) = value.filter(|v| !v.is_nullish()) else { return Ok(()) };
        let collator = Collation::collator(self.collation.as_ref());
        let at = self.values.partition_point(|known| {
            let order = compare_with(known.as_ref(), value, collator);
            if self.greatest { order.is_ge() } else { order.is_le() }
        });
        if at < self.n {
            let value: OwnedValue = value.into();
            self.held_bytes += len_bytes(&value);
            self.values.insert(at, value);
            if self.values.len() > self.n
                && let Some(last) = self.values.pop()
            {
                self.held_bytes -= len_bytes(&last);
            }
        }
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        Some(array_of(self.values.iter().map(OwnedValue::as_ref)))
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}
