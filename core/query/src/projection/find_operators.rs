//! What only the projection of find knows: `$slice`, `$elemMatch`.

use crate::CompileContext;
use crate::filter::Filter;
use multifora_model::number::Number;
use multifora_model::{DocBuilder, Element, Error, RawDoc, RawValue, Result};

/// A part of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// Where it begins; negative counts from the end. Without it, a negative limit means the last ones.
    skip: Option<i64>,
    limit: i64,
}

impl Slice {
    /// Reads `{$slice: n}` and `{$slice: [skip, limit]}`.
    ///
    /// # Errors
    /// Codes 31272 and 31273 for other operands.
    pub(super) fn parse(operand: RawValue<'_>) -> Result<Self> {
        if let Some(limit) = Number::from_value(operand) {
            return Ok(Slice { skip: None, limit: limit.truncate_to_i64() });
        }
        let Some(pair) = operand.as_array() else {
            return Err(Error::location(31273, "$slice only supports numbers and [skip, limit] arrays"));
        };
        let numbers: Option<Vec<Number>> = pair.iter().map(|e| Number::from_value(e.value)).collect();
        match numbers.as_deref() {
            Some([skip, limit]) if limit.truncate_to_i64() > 0 => {
                Ok(Slice { skip: Some(skip.truncate_to_i64()), limit: limit.truncate_to_i64() })
            }
            Some([_, _]) => Err(Error::location(31272, "$slice limit must be positive")),
            _ => Err(Error::location(31272, "$slice array argument should be of form [skip, limit]")),
        }
    }

    /// Which positions of an array of `len` elements stay.
    pub(super) fn range(self, len: usize) -> std::ops::Range<usize> {
        let size = |n: i64| usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
        let from_start_or_end = |n: i64| match n < 0 {
            true => len.saturating_sub(size(n)),
            false => size(n).min(len),
        };
        match self.skip {
            None if self.limit < 0 => from_start_or_end(self.limit)..len,
            None => 0..from_start_or_end(self.limit),
            Some(skip) => {
                let start = from_start_or_end(skip);
                start..start.saturating_add(size(self.limit)).min(len)
            }
        }
    }
}

/// `{field: {$elemMatch: …}}`.
#[derive(Clone, Debug)]
pub(super) struct ElemMatch {
    /// The same condition as a query, which finds the position.
    pub(super) filter: Filter,
}

impl ElemMatch {
    /// Compiles the condition on `field`; `operators` is the whole operand `{$elemMatch: …}`.
    ///
    /// # Errors
    /// Code 31274 when the condition is no document, 31275 for a dotted field; those of filters.
    pub(super) fn compile(
        field: &str,
        operators: RawDoc<'_>,
        condition: &Element<'_>,
        context: &CompileContext,
    ) -> Result<Self> {
        if condition.value.as_doc().is_none() {
            let ty = condition.value.ty.name();
            let message = format!("elemMatch: Invalid argument, object required, but got {ty}");
            return Err(Error::location(31274, message));
        }
        if field.contains('.') {
            return Err(Error::location(31275, "Cannot use $elemMatch projection on a nested field"));
        }
        let mut query = DocBuilder::new();
        query.doc(field, operators);
        let query = query.finish();
        let filter = Filter::compile(RawDoc::framed(&query).unwrap_or(RawDoc::EMPTY), context)?;
        Ok(ElemMatch { filter })
    }
}
