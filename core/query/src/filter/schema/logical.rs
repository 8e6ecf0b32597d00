//! Keywords that combine schemas, and `enum`.

use super::super::explanation::Explanation;
use super::super::operands::Operand;
use super::Schema;
use super::constraint::{Constraint, Specification};
use super::instance::Instance;
use super::parse::{self, Keywords, Made};
use super::unordered::compare_unordered;
use multifora_model::{DocBuilder, ElementType, Error, OwnedValue, RawValue, Result};

/// How many of the schemas must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    All,
    AtLeastOne,
    ExactlyOne,
}

/// `allOf`, `anyOf`, `oneOf`.
#[derive(Debug)]
struct Combined {
    share: Share,
    schemas: Vec<Schema>,
}

pub(super) fn all_of(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    combined(Share::All, operand)
}

pub(super) fn any_of(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    combined(Share::AtLeastOne, operand)
}

pub(super) fn one_of(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    combined(Share::ExactlyOne, operand)
}

fn combined(share: Share, operand: Operand<'_>) -> Result<Made> {
    let name = operand.name;
    let Some(array) = operand.value.as_array() else {
        return Err(parse::must_be(operand, "an array"));
    };
    if array.is_empty() {
        return Err(Error::bad_value(format!("$jsonSchema keyword '{name}' must be a non-empty array")));
    }
    let schema = |value: RawValue<'_>| match value.as_doc() {
        Some(schema) => parse::schema(schema),
        None => Err(Error::type_mismatch(format!(
            "$jsonSchema keyword '{name}' must be an array of objects, but found an element of type {}",
            value.ty.name()
        ))),
    };
    let schemas = array.iter().map(|element| schema(element.value)).collect::<Result<_>>()?;
    Made::one(Combined { share, schemas })
}

impl Combined {
    fn holding(&self, instance: Instance<'_, '_>) -> Result<Vec<usize>> {
        let mut holding = Vec::new();
        for (at, schema) in self.schemas.iter().enumerate() {
            if schema.holds(instance)? {
                holding.push(at);
            }
        }
        Ok(holding)
    }
}

impl Constraint for Combined {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        let mut holding = 0usize;
        for schema in &self.schemas {
            match (self.share, schema.holds(instance)?) {
                (Share::All, false) => return Ok(false),
                (Share::AtLeastOne, true) => return Ok(true),
                (_, holds) => holding += usize::from(holds),
            }
            if self.share == Share::ExactlyOne && holding > 1 {
                return Ok(false);
            }
        }
        Ok(self.share == Share::All || holding == 1)
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open_bare(out);
        let holding = self.holding(instance)?;
        if self.share == Share::ExactlyOne && !holding.is_empty() {
            out.str("reason", "more than one subschema matched").start_array("matchingSchemaIndexes");
            for at in holding {
                out.push(OwnedValue::from(i32::try_from(at).unwrap_or(i32::MAX)).as_ref());
            }
            out.end().end();
            return Ok(());
        }
        out.start_array("schemasNotSatisfied");
        for (at, schema) in self.schemas.iter().enumerate().filter(|(at, _)| !holding.contains(at)) {
            out.push_start_doc().count("index", at as u64);
            schema.annotate(out);
            schema.explain_details(instance, telling, out)?;
            out.end();
        }
        out.end().end();
        Ok(())
    }
}

/// `not`.
#[derive(Debug)]
struct Not(Box<Schema>);

pub(super) fn not(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let Some(schema) = operand.value.as_doc() else {
        let text = format!(
            "$jsonSchema keyword 'not' must be an object, but found an element of type {}",
            operand.value.ty.name()
        );
        return Err(Error::type_mismatch(text));
    };
    Made::one(Not(Box::new(parse::schema(schema)?)))
}

impl Constraint for Not {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(!self.0.holds(instance)?)
    }

    fn explain(
        &self,
        _: Instance<'_, '_>,
        rule: &Specification,
        _: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open_bare(out);
        out.str("reason", "child expression matched").end();
        Ok(())
    }
}

/// `enum`: sorted, so that a value is found by halving.
#[derive(Debug)]
struct OneOfValues(Vec<OwnedValue>);

pub(super) fn one_of_values(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let keyword = "$jsonSchema keyword 'enum'";
    let Some(array) = operand.value.as_array() else {
        let found = operand.value.ty.name();
        let text = format!("{keyword} must be an array, but found an element of type {found}");
        return Err(Error::type_mismatch(text));
    };
    if array.is_empty() {
        return Err(Error::failed_to_parse(format!("{keyword} cannot be an empty array")));
    }
    let mut values: Vec<OwnedValue> = array.iter().map(|element| element.value.into()).collect();
    values.sort_by(|a, b| compare_unordered(a.as_ref(), b.as_ref()));
    let mut pairs = values.iter().zip(values.iter().skip(1));
    if pairs.any(|(a, b)| compare_unordered(a.as_ref(), b.as_ref()).is_eq()) {
        return Err(Error::failed_to_parse(format!("{keyword} array cannot contain duplicate values.")));
    }
    Made::one(OneOfValues(values))
}

impl Constraint for OneOfValues {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        if !self.0.iter().any(|value| value.ty == ElementType::Document)
            && matches!(instance, Instance::Document(_))
        {
            return Ok(false);
        }
        instance.with_value(|value| {
            Ok(self.0.binary_search_by(|probe| compare_unordered(probe.as_ref(), value)).is_ok())
        })
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        let is_possible = self.0.iter().any(|value| value.ty == ElementType::Document);
        if matches!(instance, Instance::Document(_)) && !is_possible {
            out.str("reason", "expression always evaluates to false").end();
            return Ok(());
        }
        out.str("reason", "value was not found in enum");
        instance.with_value(|value| telling.considered_value(value, out))?;
        out.end();
        Ok(())
    }
}
