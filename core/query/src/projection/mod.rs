//! Projections: which fields of a document are shown, and what is computed beside them.
//!
//! One language with two dialects: the projection of `find` and `findAndModify` ([`Projection::compile`]),
//! which also knows `$slice`, `$elemMatch`, the positional `$`, and `$project` ([`Projection::compile_stage`]).
//! A projection either names what stays (inclusion; the rest goes) or what goes (exclusion). Fields
//! keep their order; computed ones follow, in the order in which the projection names them.
//!
//! Module order: `node` · `find_operators` · `parse` · `apply`.

mod apply;
mod find_operators;
mod node;
mod parse;

use crate::expression::check_path;
use crate::filter::Filter;
use crate::{CompileContext, Resources};
use multifora_model::{DocumentView, Error, RawDoc, Result};
use node::{Child, Node};

/// A compiled projection.
#[derive(Clone, Debug)]
pub struct Projection {
    kind: Kind,
    root: Node,
    /// The query, when a positional `$` needs the position that it matches.
    positional_filter: Option<Filter>,
}

/// Whether the fields that a projection names stay or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Inclusion,
    Exclusion,
}

impl Projection {
    /// Compiles the projection of a find or findAndModify command; `{}` shows everything. `filter` is the
    /// command's query, for the positional `$`.
    ///
    /// # Errors
    /// Codes 31253 and 31254 for mixing inclusion and exclusion, 31249 and 31250 for paths that collide,
    /// those of `$slice`, `$elemMatch`, `$` and of expressions.
    pub fn compile(spec: RawDoc<'_>, filter: Option<&Filter>, context: &CompileContext) -> Result<Self> {
        parse::projection(spec, parse::Dialect::Find { filter }, context)
    }

    /// Compiles the specification of a `$project` stage.
    ///
    /// # Errors
    /// As [`compile`](Self::compile); code 51272 when it names nothing.
    pub fn compile_stage(spec: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        let prefix = |error: Error| error.context("Invalid $project :: caused by :: ");
        if spec.is_empty() {
            let message = "projection specification must have at least one field";
            return Err(prefix(Error::location(51272, message)));
        }
        parse::projection(spec, parse::Dialect::Stage, context).map_err(prefix)
    }

    /// Compiles the operand of an `$unset` stage: an exclusion of these paths.
    ///
    /// # Errors
    /// Codes 31249 and 31250 for paths that collide, those of field paths.
    pub fn excluding(paths: &[&str]) -> Result<Self> {
        let mut root = Node::default();
        for path in paths {
            check_path(path)?;
            root.plant(path, Child::Named)?;
        }
        root.settle();
        Ok(Projection { kind: Kind::Exclusion, root, positional_filter: None })
    }

    /// Shows every document as it is.
    pub fn is_identity(&self) -> bool {
        self.kind == Kind::Exclusion && self.root.children.is_empty()
    }

    /// Some field is computed from others.
    pub fn computes(&self) -> bool {
        self.root.computes
    }

    /// The paths that the result is made of, for an inclusion that computes nothing: an index that has them
    /// all answers without the document.
    pub fn needed_paths(&self) -> Option<Vec<String>> {
        let plain = self.kind == Kind::Inclusion && self.positional_filter.is_none();
        let mut paths = Vec::new();
        (plain && self.root.plain_paths("", &mut paths)).then_some(paths)
    }

    /// Appends the projected document to `out`: a head, to be read through a view [derived](DocumentView::derived) from
    /// this one. Where nothing is kept elsewhere, that is the document itself.
    ///
    /// # Errors
    /// Those of expressions and of reading the document; code 51246 when a positional `$` has no position.
    pub fn apply(&self, view: &DocumentView<'_>, res: &dyn Resources, out: &mut Vec<u8>) -> Result<()> {
        if self.is_identity() {
            view.head().append_to(out);
            return Ok(());
        }
        apply::document(self, view, res, out)
    }
}

#[cfg(test)]
mod tests;
