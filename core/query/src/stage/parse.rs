//! Reading the array of stages, and small specifications.

use super::registry::stage_operator;
use super::{MAX_PIPELINE_STAGES, Stage};
use crate::CompileContext;
use crate::sort::SortSpec;
use multifora_model::{DocBuilder, Error, ErrorCode, RawDoc, RawValue, Result};

/// Where a pipeline stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the command.
    Top,
    /// Inside `$facet`.
    Facet,
}

/// Reads the stages.
pub(super) fn stages(value: RawValue<'_>, context: &CompileContext, place: Place) -> Result<Vec<Stage>> {
    let array = value
        .as_array()
        .ok_or_else(|| Error::type_mismatch("'pipeline' option must be specified as an array"))?;
    let mut stages = Vec::new();
    for (element, at) in array.iter().zip(0usize..) {
        if at >= MAX_PIPELINE_STAGES {
            let message = format!("Pipeline length must be no longer than {MAX_PIPELINE_STAGES} stages.");
            return Err(Error::location(7_749_501, message));
        }
        let spec = element
            .value
            .as_doc()
            .ok_or_else(|| Error::type_mismatch("Each element of the 'pipeline' array must be an object"))?;
        let mut fields = spec.iter();
        let (Some(field), None) = (fields.next(), fields.next()) else {
            let message = "A pipeline stage specification object must contain exactly one field.";
            return Err(Error::location(40323, message));
        };
        let operator = stage_operator(field.name()).ok_or_else(|| {
            Error::location(40324, format!("Unrecognized pipeline stage name: '{}'", field.name()))
        })?;
        if place == Place::Facet && !operator.in_facet {
            let message = format!("{} is not allowed to be used within a $facet stage", operator.name);
            return Err(Error::location(40600, message));
        }
        stages.extend((operator.parse)(operator.name, field.value, context)?);
    }
    Ok(stages)
}

/// A `$sort` by one field.
pub(super) fn sort_by(name: &str, direction: i32, context: &CompileContext) -> Result<Stage> {
    let mut spec = DocBuilder::new();
    spec.i32(name, direction);
    let spec = spec.finish();
    let spec = SortSpec::compile(RawDoc::framed(&spec).unwrap_or(RawDoc::EMPTY))?;
    let spec = spec.with_collation(context.collation());
    Ok(Stage::Sort { spec, limit: None })
}

/// The error of a stage that has to see everything and cannot hold it.
pub(super) fn too_much_memory(stage: &str) -> Error {
    Error::new(
        ErrorCode::QueryExceededMemoryLimitNoDiskUseAllowed,
        format!(
            "Exceeded memory limit for {stage}, but didn't allow external spilling; pass allowDiskUse:true to opt in"
        ),
    )
}
