//! `$facet`: several pipelines over the same documents.

use super::run::StageRun;
use super::source::{Chain, DocSource, Documents, view_of};
use super::{MAX_BLOCKING_STAGE_BYTES, Pipeline, leading, parse};
use crate::expression::check_path;
use crate::{CompileContext, Resources};
use multifora_model::{DocBuilder, DocumentView, Error, RawDoc, RawValue, Result, text};
use std::sync::Arc;

/// The pipelines by the names of their results.
#[derive(Clone)]
pub struct Facet {
    pipelines: Vec<(String, Pipeline)>,
}

impl Facet {
    /// `{name: [stages], …}`.
    pub(super) fn parse(spec: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        let doc = spec.as_doc().filter(|doc| !doc.is_empty()).ok_or_else(|| {
            let shown = text::value(spec);
            Error::location(
                40169,
                format!("the $facet specification must be a non-empty object, but found: $facet: {shown}"),
            )
        })?;
        let mut pipelines = Vec::new();
        for field in doc {
            check_path(field.name())?;
            if field.name().contains('.') {
                let message = format!(
                    "FieldPath field names may not contain '.'. Consider using $getField or $setField, found: {}",
                    field.name()
                );
                return Err(Error::location(16412, message));
            }
            if field.value.as_array().is_none() {
                let message = format!(
                    "arguments to $facet must be arrays, {} is type {}",
                    field.name(),
                    field.value.ty.name()
                );
                return Err(Error::location(40170, message));
            }
            let mut stages = parse::stages(field.value, context, parse::Place::Facet)?;
            leading::limit_sorts(&mut stages);
            pipelines.push((field.name().to_owned(), Pipeline { stages: stages.into() }));
        }
        Ok(Facet { pipelines })
    }

    /// The pipelines by the names of their results.
    pub fn pipelines(&self) -> &[(String, Pipeline)] {
        &self.pipelines
    }
}

/// `$facet` at work.
pub(super) struct FacetRun {
    spec: Arc<Facet>,
    out: Vec<u8>,
    done: bool,
}

impl FacetRun {
    pub(super) fn new(spec: Arc<Facet>) -> Self {
        FacetRun { spec, out: Vec::new(), done: false }
    }
}

impl StageRun for FacetRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        self.out.clear();
        if self.done {
            return Ok(false);
        }
        self.done = true;
        let mut input: Vec<Vec<u8>> = Vec::new();
        let mut held_bytes = 0;
        while upstream.advance(res)? {
            let doc = upstream.current().to_vec()?;
            held_bytes += doc.len();
            if held_bytes > MAX_BLOCKING_STAGE_BYTES {
                return Err(parse::too_much_memory("$facet"));
            }
            input.push(doc);
        }
        let input = Documents::new(input);
        let mut out = DocBuilder::new();
        for (name, pipeline) in &self.spec.pipelines {
            out.start_array(name);
            for doc in pipeline.start(0).collect(&mut input.clone(), res)? {
                out.push(RawDoc::framed(&doc).unwrap_or(RawDoc::EMPTY).as_value());
                if out.len_bytes() > MAX_BLOCKING_STAGE_BYTES {
                    return Err(parse::too_much_memory("$facet"));
                }
            }
            out.end();
        }
        self.out = out.finish();
        Ok(true)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.out)
    }
}
