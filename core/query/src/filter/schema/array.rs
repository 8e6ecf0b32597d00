//! Keywords about arrays.

use super::super::explanation::Explanation;
use super::super::operands::Operand;
use super::Schema;
use super::constraint::{Constraint, Specification};
use super::instance::Instance;
use super::parse::{self, Keywords, Made, must_be};
use super::unordered::first_duplicate;
use multifora_model::{DocBuilder, ElementType, Error, RawDoc, RawValue, Result};

/// `minItems`, `maxItems`.
#[derive(Debug)]
struct ItemCount {
    limit: i64,
    met: fn(i64, i64) -> bool,
}

pub(super) fn min_items(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    Made::one(ItemCount { limit: operand.non_negative_long()?, met: |count, limit| count >= limit })
}

pub(super) fn max_items(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    Made::one(ItemCount { limit: operand.non_negative_long()?, met: |count, limit| count <= limit })
}

fn count(array: RawDoc<'_>) -> i64 {
    i64::try_from(array.iter().count()).unwrap_or(i64::MAX)
}

impl Constraint for ItemCount {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(instance.array().is_none_or(|array| (self.met)(count(array), self.limit)))
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        out.str("reason", "array did not match specified length");
        instance.with_value(|value| telling.considered_value(value, out))?;
        out.count("numberOfItems", instance.array().map_or(0, |array| count(array).unsigned_abs())).end();
        Ok(())
    }
}

/// `uniqueItems: true`.
#[derive(Debug)]
struct UniqueItems;

pub(super) fn unique_items(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    match operand.value.as_bool() {
        Some(true) => Made::one(UniqueItems),
        Some(false) => Ok(Made::nothing()),
        None => Err(must_be(operand, "a boolean")),
    }
}

impl Constraint for UniqueItems {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(instance.array().is_none_or(|array| first_duplicate(array).is_none()))
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        out.str("reason", "found a duplicate item");
        instance.with_value(|value| telling.considered_value(value, out))?;
        if let Some(duplicate) = instance.array().and_then(first_duplicate) {
            telling.check_room(out, duplicate.bytes.len())?;
            out.append("duplicatedValue", duplicate);
        }
        out.end();
        Ok(())
    }
}

/// One schema for all elements from a position on (`items: {…}`, `additionalItems: {…}`).
#[derive(Debug)]
struct EachItem {
    from: usize,
    schema: Schema,
    reason: &'static str,
}

impl EachItem {
    fn first_failing<'a>(&self, array: RawDoc<'a>) -> Result<Option<(usize, RawValue<'a>)>> {
        for (at, item) in array.iter().enumerate().skip(self.from) {
            if !self.schema.holds(Instance::Value(item.value))? {
                return Ok(Some((at, item.value)));
            }
        }
        Ok(None)
    }
}

impl Constraint for EachItem {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        instance.array().map_or(Ok(true), |array| Ok(self.first_failing(array)?.is_none()))
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        let failing = instance.array().map_or(Ok(None), |array| self.first_failing(array))?;
        let Some((at, item)) = failing else { return Ok(()) };
        rule.open_bare(out);
        self.schema.annotate(out);
        out.str("reason", self.reason).count("itemIndex", at as u64);
        self.schema.explain_details(Instance::Value(item), telling, out)?;
        out.end();
        Ok(())
    }
}

/// A schema per position (`items: [{…}, {…}]`).
#[derive(Debug)]
struct ItemAt(Vec<Schema>);

impl ItemAt {
    fn pairs<'s, 'a>(
        &'s self,
        array: RawDoc<'a>,
    ) -> impl Iterator<Item = (&'s Schema, RawValue<'a>)> + use<'s, 'a> {
        self.0.iter().zip(array.iter().map(|item| item.value))
    }
}

impl Constraint for ItemAt {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        for (schema, item) in instance.array().into_iter().flat_map(|array| self.pairs(array)) {
            if !schema.holds(Instance::Value(item))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open_bare(out);
        out.start_array("details");
        let pairs = instance.array().into_iter().flat_map(|array| self.pairs(array));
        for ((schema, item), at) in pairs.zip(0..) {
            let item = Instance::Value(item);
            if !schema.holds(item)? {
                out.push_start_doc().count("itemIndex", at);
                schema.explain_details(item, telling, out)?;
                out.end();
            }
        }
        out.end().end();
        Ok(())
    }
}

/// `additionalItems: false`.
#[derive(Debug)]
struct NoItemsFrom(usize);

impl Constraint for NoItemsFrom {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(instance.array().is_none_or(|array| array.iter().nth(self.0).is_none()))
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        out.str("reason", "found additional items").start_array("additionalItems");
        for item in instance.array().into_iter().flatten().skip(self.0) {
            telling.check_room(out, item.value.bytes.len())?;
            out.push(item.value);
        }
        out.end().end();
        Ok(())
    }
}

pub(super) fn items(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    if let Some(schema) = operand.value.as_doc() {
        let reason = "At least one item did not match the sub-schema";
        return Made::one(EachItem { from: 0, schema: parse::schema(schema)?, reason });
    }
    let Some(schemas) = operand.value.as_array() else {
        let text = format!(
            "$jsonSchema keyword 'items' must be an array or an object, not {}",
            operand.value.ty.name()
        );
        return Err(Error::type_mismatch(text));
    };
    let by_position = |schema: RawValue<'_>| match schema.as_doc() {
        Some(schema) => parse::schema(schema),
        None => Err(Error::type_mismatch(format!(
            "$jsonSchema keyword 'items' requires that each element of the array is an object, but found a {}",
            schema.ty.name()
        ))),
    };
    Made::one(ItemAt(schemas.iter().map(|schema| by_position(schema.value)).collect::<Result<_>>()?))
}

/// Only beside `items` with an array does it have a meaning.
pub(super) fn additional_items(keywords: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let by_position = keywords.get("items").and_then(|items| items.value.as_array());
    let from = by_position.map(|schemas| schemas.iter().count());
    let schema = match operand.value.ty {
        ElementType::Bool => None,
        ElementType::Document => operand.value.as_doc().map(parse::schema).transpose()?,
        other => {
            let text = format!(
                "$jsonSchema keyword 'additionalItems' must be either an object or a boolean, but got a {}",
                other.name()
            );
            return Err(Error::type_mismatch(text));
        }
    };
    match (from, schema) {
        (Some(from), Some(schema)) => {
            let reason = "At least one additional item did not match the sub-schema";
            Made::one(EachItem { from, schema, reason })
        }
        (Some(from), None) if operand.value.as_bool() == Some(false) => Made::one(NoItemsFrom(from)),
        _ => Ok(Made::nothing()),
    }
}
