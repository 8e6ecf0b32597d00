//! Aggregation pipelines: stages compiled once, run by pulling documents through them.
//!
//! [`Pipeline::compile`] gives typed [`Stage`]s, so that the engine can look at the beginning and
//! hand it to its planner ([`Pipeline::leading`]), and run the rest ([`Pipeline::start`]).
//!
//! Module order: `source` · `run` · the stages · `registry` · `parse` · this.

mod add_fields;
mod bucket;
mod facet;
mod group;
mod group_count;
mod group_parse;
mod key_hash;
mod leading;
mod parse;
mod registry;
mod replace_root;
mod run;
mod sample;
mod sort;
mod source;
mod transform;
mod unwind;
mod window;

pub use add_fields::AddFields;
pub use facet::Facet;
pub use group::{Group, GroupKey};
pub use group_count::CountingGroup;
pub use leading::Leading;
pub use registry::{StageOperator, stage_operators};
pub use replace_root::ReplaceRoot;
pub use run::{PipelineRun, StageRun};
pub use sample::Sample;
pub use source::{Chain, DocSource, Documents};
pub use unwind::Unwind;

use crate::CompileContext;
use crate::filter::Filter;
use crate::projection::Projection;
use crate::sort::SortSpec;
use multifora_model::{RawValue, Result};
use std::sync::Arc;

/// Most stages of a pipeline.
pub const MAX_PIPELINE_STAGES: usize = 1000;
/// Most bytes that a stage which has to see everything may hold.
pub const MAX_BLOCKING_STAGE_BYTES: usize = 100 * 1024 * 1024;

/// A stage, compiled. (`$count`, `$sortByCount` and `$bucket` are made of these.)
#[derive(Clone)]
pub enum Stage {
    /// `$match`
    Match(Filter),
    /// `$sort`; with a limit when the stages after it take no more than so many.
    Sort {
        /// The order.
        spec: SortSpec,
        /// How many documents are taken at most.
        limit: Option<u64>,
    },
    /// `$skip`
    Skip(u64),
    /// `$limit`
    Limit(u64),
    /// `$project`, `$unset`
    Project(Arc<Projection>),
    /// `$addFields`, `$set`
    AddFields(Arc<AddFields>),
    /// `$replaceRoot`, `$replaceWith`
    ReplaceRoot(Arc<ReplaceRoot>),
    /// `$unwind`
    Unwind(Arc<Unwind>),
    /// `$group`
    Group(Arc<Group>),
    /// `$count`: one document with the number of documents under this name, none for none.
    Count(Arc<str>),
    /// `$sample`
    Sample(Sample),
    /// `$facet`
    Facet(Arc<Facet>),
}

/// A compiled pipeline. Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    stages: Arc<[Stage]>,
}

impl Pipeline {
    /// Compiles the array of stages.
    ///
    /// # Errors
    /// MongoDB's error for an unknown stage or a specification it does not allow.
    pub fn compile(stages: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        let mut stages = parse::stages(stages, context, parse::Place::Top)?;
        leading::limit_sorts(&mut stages);
        Ok(Pipeline { stages: stages.into() })
    }

    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// What the first stages ask for in the terms of a query: the engine answers them from its
    /// indexes and runs the stages after [`Leading::stage_count`].
    pub fn leading(&self) -> Leading {
        leading::leading(&self.stages)
    }

    /// Begins a run of the stages from `first` on.
    pub fn start(&self, first: usize) -> PipelineRun {
        PipelineRun::new(self.stages.get(first..).unwrap_or_default())
    }
}

impl Stage {
    /// The stage's state before its first document.
    fn start(&self) -> Box<dyn StageRun> {
        match self {
            Stage::Match(filter) => Box::new(transform::MatchRun::new(filter.clone())),
            Stage::Sort { spec, limit } => Box::new(sort::SortRun::new(spec.clone(), *limit)),
            Stage::Skip(n) => Box::new(window::SkipRun::new(*n)),
            Stage::Limit(n) => Box::new(window::LimitRun::new(*n)),
            Stage::Project(projection) => Box::new(transform::ChangeRun::new(projection.clone())),
            Stage::AddFields(fields) => Box::new(transform::ChangeRun::new(fields.clone())),
            Stage::ReplaceRoot(spec) => Box::new(transform::ChangeRun::new(spec.clone())),
            Stage::Unwind(spec) => Box::new(unwind::UnwindRun::new(spec.clone())),
            Stage::Group(spec) => Box::new(group::GroupRun::new(spec.clone())),
            Stage::Count(name) => Box::new(window::CountRun::new(name.clone())),
            Stage::Sample(spec) => Box::new(sample::SampleRun::new(*spec)),
            Stage::Facet(spec) => Box::new(facet::FacetRun::new(spec.clone())),
        }
    }

    /// Has to see all documents before it gives the first.
    pub fn is_blocking(&self) -> bool {
        matches!(
            self,
            Stage::Sort { .. } | Stage::Group(_) | Stage::Count(_) | Stage::Sample(_) | Stage::Facet(_)
        )
    }
}

#[cfg(test)]
mod tests;
