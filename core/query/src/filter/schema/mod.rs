//! `$jsonSchema`: draft 4 of JSON Schema with MongoDB's extensions and omissions (manual: `$jsonSchema`).
//!
//! A schema is compiled into a list of constraints, one per keyword, in the order in which MongoDB checks and
//! reports them. A keyword speaks of one kind of value and lets all others pass (`minimum` of numbers,
//! `required` of documents), so that the type is a constraint like any other. Arrays are never looked
//! into implicitly. Each constraint can also say why a value does not meet it: that is what clients get as `errInfo`.
//!
//! Module order: `instance` · `unordered` · `constraint` · the keywords (`scalar`, `array`, `object`, `logical`) ·
//! `registry` · `parse`.

mod array;
mod constraint;
mod instance;
mod logical;
mod object;
mod parse;
mod registry;
mod scalar;
#[cfg(test)]
mod tests;
mod unordered;

pub use registry::{SchemaKeyword, schema_keywords};

use super::explanation::Explanation;
use super::predicate::TypeSet;
use constraint::{Constraint, Specification};
use instance::Instance;
use multifora_model::{DocBuilder, DocumentView, OwnedValue, RawDoc, Result};

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    /// As written.
    source: Vec<u8>,
    /// `title` and `description`, as far as given.
    annotations: Vec<(&'static str, OwnedValue)>,
    /// `type` or `bsonType`.
    types: Option<(Specification, TypeSet)>,
    constraints: Vec<(Specification, Box<dyn Constraint>)>,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// `FailedToParse` for unknown, unsupported or repeated keywords, `TypeMismatch` and others for their operands.
    pub(super) fn compile(schema: RawDoc<'_>) -> Result<Self> {
        parse::schema(schema)
    }

    /// Is the document valid under the schema?
    pub(super) fn matches(&self, view: &DocumentView<'_>) -> Result<bool> {
        self.holds(Instance::Document(view))
    }

    /// Writes why the document is not valid: the fields of one account.
    pub(super) fn explain(
        &self,
        view: &DocumentView<'_>,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        let instance = Instance::Document(view);
        if self.can_never_hold(instance) {
            return self.explain_never(telling, out);
        }
        out.str("operatorName", "$jsonSchema");
        self.annotate(out);
        out.start_array("schemaRulesNotSatisfied");
        self.explain_rules(instance, telling, out)?;
        out.end();
        Ok(())
    }

    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        if self.types.as_ref().is_some_and(|(_, types)| !types.contains(instance.ty())) {
            return Ok(false);
        }
        for (_, constraint) in &self.constraints {
            if !constraint.holds(instance)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `title` and `description`.
    fn annotate(&self, out: &mut DocBuilder) {
        for (name, text) in &self.annotations {
            out.append(name, text.as_ref());
        }
    }

    /// Documents are all there is at the top, so a schema of another type holds for none.
    fn can_never_hold(&self, instance: Instance<'_, '_>) -> bool {
        matches!(instance, Instance::Document(_))
            && self.types.as_ref().is_some_and(|(_, types)| !types.contains(instance.ty()))
    }

    fn explain_never(&self, telling: &Explanation<'_>, out: &mut DocBuilder) -> Result<()> {
        out.str("operatorName", "$jsonSchema");
        let mut rule = DocBuilder::new();
        rule.doc("$jsonSchema", RawDoc::framed(&self.source).unwrap_or(RawDoc::EMPTY));
        telling.specified_as(RawDoc::framed(&rule.finish()).unwrap_or(RawDoc::EMPTY), out)?;
        out.str("reason", "expression always evaluates to false");
        Ok(())
    }

    /// Writes the field `details`: an object per constraint that is not met.
    fn explain_details(
        &self,
        instance: Instance<'_, '_>,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        if self.can_never_hold(instance) {
            out.start_doc("details");
            self.explain_never(telling, out)?;
        } else {
            out.start_array("details");
            self.explain_rules(instance, telling, out)?;
        }
        out.end();
        Ok(())
    }

    /// Pushes an object per constraint that is not met, the type last.
    fn explain_rules(
        &self,
        instance: Instance<'_, '_>,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        telling.check_room(out, 0)?;
        for (specification, constraint) in &self.constraints {
            if !constraint.holds(instance)? {
                constraint.explain(instance, specification, telling, out)?;
            }
        }
        let Some((specification, types)) = &self.types else { return Ok(()) };
        if types.contains(instance.ty()) {
            return Ok(());
        }
        specification.open(telling, out)?;
        out.str("reason", "type did not match");
        instance.with_value(|value| telling.considered_value(value, out))?;
        out.str("consideredType", instance.ty().name()).end();
        Ok(())
    }
}
