//! An update made of operators: compiled into one tree, applied in one pass.

use super::apply::Walk;
use super::array_filter::ArrayFilters;
use super::operators::{self, OperandContext, Shape};
use super::rename::Rename;
use super::tree::{Leaf, ObjectNode, check_update_path};
use super::validate;
use crate::CompileContext;
use multifora_model::limits::MAX_NESTING_DEPTH;
use multifora_model::{DocumentView, Element, Error, RawDoc, Result, text};
use smallvec::SmallVec;

/// A compiled operator update.
#[derive(Debug)]
pub(super) struct OperatorUpdate {
    root: ObjectNode,
    renames: Vec<Rename>,
    filters: ArrayFilters,
    /// The names of the top-level fields that paths begin with.
    touched: Vec<Box<str>>,
    needs_position: bool,
    /// The result can be nested deeper than allowed, so it is checked.
    may_be_deep: bool,
}

/// What is gathered while the operators are read.
struct Compiler<'c> {
    context: OperandContext<'c>,
    update: OperatorUpdate,
    used_identifiers: Vec<Box<str>>,
}

impl OperatorUpdate {
    pub(super) fn compile(
        update: RawDoc<'_>,
        array_filters: Option<RawDoc<'_>>,
        context: &CompileContext,
    ) -> Result<Self> {
        let filters = match array_filters {
            Some(filters) => ArrayFilters::compile(filters, context)?,
            None => ArrayFilters::default(),
        };
        let empty = OperatorUpdate {
            root: ObjectNode::default(),
            renames: Vec::new(),
            filters,
            touched: Vec::new(),
            needs_position: false,
            may_be_deep: false,
        };
        let mut compiler =
            Compiler { context: OperandContext { context }, update: empty, used_identifiers: Vec::new() };
        for operator in update {
            compiler.operator(&operator)?;
        }
        compiler.finish(update)
    }

    pub(super) fn touched(&self) -> &[Box<str>] {
        &self.touched
    }

    pub(super) fn needs_position(&self) -> bool {
        self.needs_position
    }

    /// The head of the document after the update; nothing when it stays as it is.
    pub(super) fn apply(
        &self,
        doc: &DocumentView<'_>,
        position: Option<u32>,
        is_insert: bool,
    ) -> Result<Option<Vec<u8>>> {
        let mut sources = SmallVec::<[_; 4]>::with_capacity(self.renames.len());
        for rename in &self.renames {
            sources.push(rename.source(doc)?);
        }
        let mut walk = Walk {
            root: *doc,
            filters: &self.filters,
            position: position.map(|at| at.to_string().into()),
            is_insert,
            sources: &sources,
            path: String::new(),
        };
        let mut out = Vec::with_capacity(doc.head().bytes().len() + 64);
        if !walk.object(&self.root, doc, &mut out)? {
            return Ok(None);
        }
        validate::result(&out, is_insert, self.may_be_deep)?;
        Ok(Some(out))
    }
}

impl Compiler<'_> {
    fn operator(&mut self, operator: &Element<'_>) -> Result<()> {
        let name = operator.name();
        let row = operators::find(name).ok_or_else(|| operators::unknown(name))?;
        let Some(fields) = operator.value.as_doc() else {
            return Err(Error::failed_to_parse(format!(
                "Modifiers operate on fields but we found type {} instead. For example: {{$mod: {{<field>: ...}}}} not {{{name}: {}}}",
                operator.value.ty.name(),
                text::value(operator.value)
            )));
        };
        for field in fields {
            let (parse, insert_only) = match row.shape {
                Shape::Rename => {
                    self.rename(&field)?;
                    continue;
                }
                Shape::Leaf(parse) => (parse, false),
                Shape::LeafOnInsert(parse) => (parse, true),
            };
            self.check(field.name())?;
            let modifier = parse(&field, &self.context)?;
            let nesting = field.name().split('.').count() + 1 + validate::depth(field.value);
            self.update.may_be_deep |= nesting > MAX_NESTING_DEPTH;
            self.plant(field.name(), Leaf::Modify { modifier, insert_only })?;
        }
        Ok(())
    }

    fn rename(&mut self, field: &Element<'_>) -> Result<()> {
        let number = self.update.renames.len();
        self.check(field.name())?;
        self.plant(field.name(), Leaf::RenameSource(number))?;
        let to = Rename::target(field)?;
        self.check(to)?;
        self.update.renames.push(Rename::new(field.name(), to)?);
        self.update.may_be_deep = true;
        self.plant(to, Leaf::RenameTarget(number))
    }

    fn check(&mut self, path: &str) -> Result<()> {
        let mut knows = operators::knows_identifier(&self.update.filters, &mut self.used_identifiers);
        check_update_path(path, &mut knows)
    }

    fn plant(&mut self, path: &str, leaf: Leaf) -> Result<()> {
        self.update.root.plant(path, leaf)?;
        let first = path.split('.').next().unwrap_or_default();
        if !self.update.touched.iter().any(|known| &**known == first) {
            self.update.touched.push(first.into());
        }
        Ok(())
    }

    fn finish(mut self, update: RawDoc<'_>) -> Result<OperatorUpdate> {
        if let Some(identifier) = self.update.filters.first_unused(&self.used_identifiers) {
            return Err(Error::failed_to_parse(format!(
                "The array filter for identifier '{identifier}' was not used in the update {}",
                text::document(update)
            )));
        }
        self.update.needs_position = self.update.root.needs_position();
        Ok(self.update)
    }
}
