//! Accumulators: values come in one at a time, one value comes out.
//!
//! They know nothing of documents or expressions; `$group` feeds them per group, and the operators
//! of the same names feed them with their arguments.
//!
//! Module order: `sum` · `deviation` · `extreme` · `collect` · `rank` · `registry`.

mod collect;
mod deviation;
mod extreme;
mod rank;
mod registry;
mod sum;

pub(crate) use collect::MergeObjects;
pub use rank::{Rank, Ranking};
pub use registry::{Accumulator, Kind, New, NewOfSize, accumulator, accumulators};
pub(crate) use sum::Total;

use multifora_model::{OwnedValue, RawValue, Result};

/// A running accumulation.
pub trait Accumulate: Send {
    /// Takes a value in; `None` is a missing one.
    ///
    /// # Errors
    /// A value of a type that the accumulator does not take.
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()>;

    /// The result so far; `None` is missing.
    fn result(&self) -> Option<OwnedValue>;

    /// Bytes held beyond the state itself.
    fn held_bytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests;
