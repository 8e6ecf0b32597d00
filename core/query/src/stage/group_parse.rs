//! Reading `$group`.

use super::group::{FieldSource, Group, GroupField, GroupKey};
use crate::CompileContext;
use crate::accumulator::{Kind, Ranking, accumulator};
use crate::expression::Expr;
use crate::sort::SortSpec;
use multifora_model::{Error, RawDoc, RawValue, Result};

/// `{_id: expression, field: {$accumulator: operand}, …}`.
pub(super) fn group(spec: RawValue<'_>, context: &CompileContext) -> Result<Group> {
    let doc = spec
        .as_doc()
        .ok_or_else(|| Error::location(15947, "a group's fields must be specified in an object"))?;
    let mut key = None;
    let mut fields: Vec<GroupField> = Vec::new();
    for field in doc {
        if field.name() == "_id" {
            if key.is_some() {
                return Err(Error::location(15948, "a group's _id may only be specified once"));
            }
            key = Some(GroupKey::Expr(Expr::compile(field.value, context)?));
            continue;
        }
        if fields.iter().any(|known| known.name == field.name()) {
            let message = format!("duplicate field name specified in $group: '{}'", field.name());
            return Err(Error::location(16414, message));
        }
        fields.push(group_field(field.name(), field.value, context)?);
    }
    let key = key.ok_or_else(|| Error::location(15955, "a group specification must include an _id"))?;
    Ok(Group { key, fields, collation: context.collation().cloned() })
}

/// `name: {$accumulator: operand}`.
pub(super) fn group_field(name: &str, value: RawValue<'_>, context: &CompileContext) -> Result<GroupField> {
    if name.contains('.') {
        return Err(Error::location(40235, format!("The field name '{name}' cannot contain '.'")));
    }
    if name.starts_with('$') {
        let message = format!("The field name '{name}' cannot be an operator name");
        return Err(Error::location(40236, message));
    }
    let spec = value
        .as_doc()
        .filter(|doc| !doc.is_empty())
        .ok_or_else(|| Error::location(40234, format!("The field '{name}' must be an accumulator object")))?;
    let mut operators = spec.iter();
    let (Some(operator), None) = (operators.next(), operators.next()) else {
        return Err(Error::location(40238, format!("The field '{name}' must specify one accumulator")));
    };
    let source = source(operator.name(), operator.value, context)?;
    Ok(GroupField { name: name.to_owned(), source })
}

fn source(name: &str, operand: RawValue<'_>, context: &CompileContext) -> Result<FieldSource> {
    let row = accumulator(name)
        .ok_or_else(|| Error::location(15952, format!("unknown group operator '{name}'")))?;
    let operator = row.name;
    match row.kind {
        Kind::Plain(new) => {
            let value = Expr::compile(unary(name, operand)?, context)?;
            Ok(FieldSource::Values { operator, new, value })
        }
        Kind::NoOperand(new) => {
            if operand.as_doc().is_none_or(|doc| !doc.is_empty()) {
                return Err(Error::type_mismatch("$count takes no arguments, i.e. $count:{}"));
            }
            let value = Expr::Missing;
            Ok(FieldSource::Values { operator, new, value })
        }
        Kind::Several(new) => {
            let [value, n] = named(name, operand, ["input", "n"])?;
            let value = Expr::compile(required(name, "input", value)?, context)?;
            let n = Expr::compile(required(name, "n", n)?, context)?;
            Ok(FieldSource::Several { operator, new, value, n })
        }
        Kind::Ranked(ranking) => ranked(operator, operand, ranking, false, context),
        Kind::RankedSeveral(ranking) => ranked(operator, operand, ranking, true, context),
    }
}

/// The one operand; it may stand in an array of one.
fn unary<'v>(name: &str, operand: RawValue<'v>) -> Result<RawValue<'v>> {
    let Some(array) = operand.as_array() else { return Ok(operand) };
    let mut items = array.iter();
    match (items.next(), items.next()) {
        (Some(only), None) => Ok(only.value),
        _ => Err(Error::location(40237, format!("The {name} accumulator is a unary operator"))),
    }
}

fn ranked(
    operator: &'static str,
    operand: RawValue<'_>,
    ranking: Ranking,
    several: bool,
    context: &CompileContext,
) -> Result<FieldSource> {
    let [sort, output, n] = named(operator, operand, ["sortBy", "output", "n"])?;
    let sort = required(operator, "sortBy", sort)?.as_doc().ok_or_else(|| {
        Error::location(5_788_004, format!("{operator} 'sortBy' argument must be an object"))
    })?;
    let sort = SortSpec::compile(sort)?.with_collation(context.collation());
    let output = Expr::compile(required(operator, "output", output)?, context)?;
    let n = match (several, n) {
        (true, n) => Some(Expr::compile(required(operator, "n", n)?, context)?),
        (false, None) => None,
        (false, Some(_)) => {
            return Err(Error::location(5_788_002, format!("Unknown argument to {operator} 'n'")));
        }
    };
    Ok(FieldSource::Ranked { operator, ranking, sort, output, n })
}

/// The named arguments of an accumulator.
fn named<'v, const N: usize>(
    operator: &str,
    operand: RawValue<'v>,
    names: [&str; N],
) -> Result<[Option<RawValue<'v>>; N]> {
    let doc: RawDoc<'v> = operand.as_doc().ok_or_else(|| {
        Error::location(5_787_900, format!("specification must be an object; found {operator}"))
    })?;
    let mut found = [None; N];
    for field in doc {
        let slot = names.iter().zip(found.iter_mut()).find(|(name, _)| **name == field.name());
        match slot {
            Some((_, slot)) => *slot = Some(field.value),
            None => {
                let message = format!("Unknown argument for '{operator}' operator: {}", field.name());
                return Err(Error::location(5_787_901, message));
            }
        }
    }
    Ok(found)
}

fn required<'v>(operator: &str, name: &str, value: Option<RawValue<'v>>) -> Result<RawValue<'v>> {
    let code = match name {
        "n" => 5_787_906,
        "input" => 5_787_907,
        "sortBy" => 5_788_005,
        _ => 5_788_006,
    };
    value.ok_or_else(|| Error::location(code, format!("Missing value for '{name}' in {operator}")))
}
