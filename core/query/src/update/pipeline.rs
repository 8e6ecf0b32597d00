//! An update written as a pipeline: stages that make one document of one document.

use super::replacement;
use crate::stage::{Pipeline, Stage, stage_operators};
use crate::{CompileContext, Resources};
use multifora_model::{DocumentView, Error, ErrorCode, RawValue, Result, WholeDocument};

/// The stages that an update may have.
const ALLOWED: [&str; 6] = ["$addFields", "$set", "$project", "$unset", "$replaceRoot", "$replaceWith"];

/// A compiled update pipeline.
pub(super) struct PipelineUpdate(Pipeline);

impl std::fmt::Debug for PipelineUpdate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PipelineUpdate({} stages)", self.0.stages().len())
    }
}

impl PipelineUpdate {
    /// # Errors
    /// `InvalidOptions` for a stage that looks at more than one document; those of the stages.
    pub(super) fn compile(stages: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        for stage in stages.as_array().into_iter().flatten() {
            let name = stage.value.as_doc().and_then(|doc| doc.iter().next()).map(|field| field.name());
            let known = stage_operators().iter().find(|row| Some(row.name) == name);
            if let Some(row) = known.filter(|row| !ALLOWED.contains(&row.name)) {
                let message = format!("{} is not allowed to be used within an update", row.name);
                return Err(Error::new(ErrorCode::InvalidOptions, message));
            }
        }
        Ok(PipelineUpdate(Pipeline::compile(stages, context)?))
    }

    /// The head of the document after the update; nothing when it stays as it is. A pipeline that drops the `_id` does
    /// not change it.
    pub(super) fn apply(
        &self,
        doc: &DocumentView<'_>,
        is_insert: bool,
        res: &dyn Resources,
    ) -> Result<Option<Vec<u8>>> {
        let mut current = Vec::new();
        doc.head().append_to(&mut current);
        let mut whole = WholeDocument::new();
        for stage in self.0.stages() {
            let view = doc.derived(&current, &whole)?;
            let mut next = Vec::with_capacity(current.len() + 64);
            match stage {
                Stage::Project(projection) => projection.apply(&view, res, &mut next)?,
                Stage::AddFields(fields) => fields.apply(&view, res, &mut next)?,
                Stage::ReplaceRoot(root) => root.apply(&view, res, &mut next)?,
                _ => return Err(Error::internal("an update pipeline has a stage that updates do not have")),
            }
            current = next;
            whole = WholeDocument::new();
        }
        replacement::put_in_place(doc, &doc.derived(&current, &whole)?, is_insert)
    }
}
