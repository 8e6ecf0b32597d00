//! Updates: what an update document, a replacement or an update pipeline makes of a document.
//!
//! [`Update::compile`] reads the update once, with MongoDB's errors; [`Update::apply`] works on document bytes:
//! what is not touched is copied as it stands, and when nothing changes nothing is produced.
//! All operators of an update form one tree of paths (`tree`), applied in one pass (`apply`).
//!
//! Module order: `splice` · `validate` · `replacement` · `array_filter` · `operators` (registry; the operators in
//! `assign`, `arithmetic`, `array_add`, `array_push`, `array_remove`) · `tree` · `rename` · `apply` ·
//! `operator_update` · `pipeline` · `seed`.

mod apply;
mod arithmetic;
mod array_add;
mod array_filter;
mod array_push;
mod array_remove;
mod assign;
mod operator_update;
mod operators;
mod pipeline;
mod rename;
mod replacement;
mod seed;
mod splice;
mod tree;
mod validate;

pub use operators::{UPDATE_OPERATORS, UpdateOperator};
pub use seed::{Seed, upsert_seed};

use crate::filter::FilterNode;
use crate::{CompileContext, Resources};
use multifora_model::{DocumentView, ElementType, Error, RawDoc, RawValue, Result};
use operator_update::OperatorUpdate;
use pipeline::PipelineUpdate;
use replacement::Replacement;
use std::sync::Arc;

/// A compiled update. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Update(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Operators(OperatorUpdate),
    Replacement(Replacement),
    Pipeline(PipelineUpdate),
}

/// What an update did to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: the document counts as matched, not as modified.
    Unchanged,
    /// It is now the document with this head, which keeps what it has kept of large values where they are (a whole document
    /// when there are none). It counts as modified, even in the few cases where MongoDB counts
    /// a modification although the bytes are the same (`$push` with `$sort`, `$currentDate`).
    Changed(Vec<u8>),
}

/// Which top-level fields an update can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched<'u> {
    /// Any of them.
    Everything,
    /// These.
    Fields(&'u [Box<str>]),
}

impl Touched<'_> {
    /// Can the update change the field that a dotted path begins with?
    pub fn touches(&self, path: &str) -> bool {
        let first = path.split('.').next().unwrap_or_default();
        match self {
            Touched::Everything => true,
            Touched::Fields(fields) => fields.iter().any(|field| &**field == first),
        }
    }
}

impl Update {
    /// Compiles an update: a document whose first field is an operator, a replacement document, or an
    /// array of pipeline stages. `array_filters` is the command's array of that name.
    ///
    /// # Errors
    /// MongoDB's error for what is not allowed, before any document is read.
    pub fn compile(
        update: RawValue<'_>,
        array_filters: Option<RawDoc<'_>>,
        context: &CompileContext,
    ) -> Result<Self> {
        if update.ty == ElementType::Array {
            if array_filters.is_some_and(|filters| !filters.is_empty()) {
                return Err(Error::failed_to_parse(
                    "arrayFilters may not be specified for pipeline-syle updates",
                ));
            }
            return Ok(Update(Arc::new(Kind::Pipeline(PipelineUpdate::compile(update, context)?))));
        }
        let Some(doc) = update.as_doc() else {
            return Err(Error::failed_to_parse("Update argument must be either an object or an array"));
        };
        let kind = match doc.iter().next() {
            Some(first) if first.name().starts_with('$') => {
                Kind::Operators(OperatorUpdate::compile(doc, array_filters, context)?)
            }
            _ if array_filters.is_some_and(|filters| !filters.is_empty()) => {
                return Err(Error::failed_to_parse(
                    "arrayFilters may not be specified for replacement-style updates",
                ));
            }
            _ => Kind::Replacement(Replacement::compile(doc, context)),
        };
        Ok(Update(Arc::new(kind)))
    }

    /// Replaces whole documents (`multi` is not allowed with it).
    pub fn is_replacement(&self) -> bool {
        matches!(*self.0, Kind::Replacement(_))
    }

    /// Is a pipeline (`arrayFilters` are not allowed with it, constants of the statement are).
    pub fn is_pipeline(&self) -> bool {
        matches!(*self.0, Kind::Pipeline(_))
    }

    /// Has a positional `$`: [`apply`](Self::apply) needs the position that the filter found.
    pub fn needs_position(&self) -> bool {
        match &*self.0 {
            Kind::Operators(update) => update.needs_position(),
            Kind::Replacement(_) | Kind::Pipeline(_) => false,
        }
    }

    /// The top-level fields that may change: an index on other fields keeps its keys.
    pub fn touched(&self) -> Touched<'_> {
        match &*self.0 {
            Kind::Operators(update) => Touched::Fields(update.touched()),
            Kind::Replacement(_) | Kind::Pipeline(_) => Touched::Everything,
        }
    }

    /// Applies the update to a document; of values that are kept elsewhere it fetches those that it needs. `position` is what the filter found for a positional `$`;
    /// `is_insert`: the document is the seed of an upsert, so `$setOnInsert` applies.
    ///
    /// # Errors
    /// MongoDB's error where the document does not allow the update: `PathNotViable`, `TypeMismatch`, `BadValue`,
    /// `ImmutableField`, `ConflictingUpdateOperators`, …, code 17419 for a result above 16 MiB.
    pub fn apply(
        &self,
        doc: &DocumentView<'_>,
        position: Option<u32>,
        is_insert: bool,
        res: &dyn Resources,
    ) -> Result<Outcome> {
        res.check_interrupt()?;
        let changed = match &*self.0 {
            Kind::Operators(update) => update.apply(doc, position, is_insert)?,
            Kind::Replacement(update) => update.apply(doc, is_insert)?,
            Kind::Pipeline(update) => update.apply(doc, is_insert, res)?,
        };
        Ok(changed.map_or(Outcome::Unchanged, Outcome::Changed))
    }

    /// The document that an upsert inserts when nothing matches `filter`: its seed with the update applied, the `_id`
    /// first. The `_id` may be missing: the caller makes one.
    ///
    /// # Errors
    /// Those of [`upsert_seed`] and [`apply`](Self::apply).
    pub fn document_to_insert(&self, filter: &FilterNode, res: &dyn Resources) -> Result<Vec<u8>> {
        let seed = upsert_seed(filter, if self.is_replacement() { Seed::IdOnly } else { Seed::Equalities })?;
        let raw = RawDoc::framed(&seed).unwrap_or(RawDoc::EMPTY);
        let doc = match self.apply(&raw.into(), None, true, res)? {
            Outcome::Unchanged => seed,
            Outcome::Changed(doc) => doc,
        };
        validate::result(&doc, true, true)?;
        Ok(seed::id_first(doc))
    }
}

#[cfg(test)]
mod tests;
