//! What a query means: filters, expressions, accumulators, pipeline stages, updates, projections
//! and sorts, decided on document bytes.
//!
//! Pure computation over [`multifora_model::DocumentView`]: no files, no indexes, no clock. What a
//! loop needs from outside (interruption, time, randomness) comes through [`Resources`].
//!
//! Module order (each may use those before it): `write` · `resources` · `context` · `accumulator` · `sort` ·
//! `expression` · `filter` · `projection` · `stage` · `update`.
#![forbid(unsafe_code)]

pub mod accumulator;
#[cfg(test)]
mod collation_tests;
pub mod context;
pub mod expression;
pub mod filter;
pub mod projection;
pub mod resources;
pub mod sort;
#[cfg(test)]
mod split_tests;
pub mod stage;
pub mod update;
mod write;

pub use context::CompileContext;
pub use resources::{NoResources, Resources};
