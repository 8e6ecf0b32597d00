//! What only the projection of find knows: `$slice`, `$elemMatch`.

use crate::CompileContext;
use crate::filter::Filter;
use multifora_model::number::Number;
use multifora_model::{DocBuilder, Error, RawDoc, RawValue, Result};

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
    /// Codes 31257 to 31259, 31272 and 31273 for other operands.
    pub(super) fn parse(operand: RawValue<'_>) -> Result<Self> {
        if let Some(limit) = Number::from_value(operand) {
            return Ok(Slice { skip: None, limit: limit.truncate_to_i64() });
        }
        let Some(pair) = operand.as_array() else {
            return Err(Error::location(31273, "$slice only supports numbers and [skip, limit] arrays"));
        };
        let pair: Vec<RawValue<'_>> = pair.iter().map(|e| e.value).collect();
        let [skip, limit] = pair.as_slice() else {
            return Err(Error::location(31272, "$slice array argument should be of form [skip, limit]"));
        };
        let number = |value: RawValue<'_>, code: i32, name: &str| {
            Number::from_value(value).map(Number::truncate_to_i64).ok_or_else(|| {
                let ty = value.ty.name();
                Error::location(code, format!("$slice expects the {name} argument to be a number, got {ty}"))
            })
        };
        let slice =
            Slice { skip: Some(number(*skip, 31257, "skip")?), limit: number(*limit, 31258, "limit")? };
        match slice.limit > 0 {
            true => Ok(slice),
            false => {
                let message = format!("$slice limit must be positive, got {}", slice.limit);
                Err(Error::location(31259, message))
            }
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
    /// Compiles the condition on a top-level field; `operators` is the whole operand `{$elemMatch: …}`.
    ///
    /// # Errors
    /// Those of filters.
    pub(super) fn compile(field: &str, operators: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        let mut query = DocBuilder::new();
        query.doc(field, operators);
        let query = query.finish();
        let filter = Filter::compile(RawDoc::framed(&query).unwrap_or(RawDoc::EMPTY), context)?;
        Ok(ElemMatch { filter })
    }
}
