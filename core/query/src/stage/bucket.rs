//! `$bucket`: a `$group` by ranges, in the order of the ranges.

use super::Stage;
use super::group::{Group, GroupField, GroupKey};
use super::group_parse::group_field;
use super::parse::sort_by;
use crate::CompileContext;
use crate::expression::Expr;
use multifora_model::compare::{canonical_class, compare_with};
use multifora_model::{Collation, DocBuilder, ElementType as T, Error, OwnedValue, RawDoc, RawValue, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// `{groupBy, boundaries, default, output}`.
pub(super) fn bucket(spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    let doc = spec.as_doc().ok_or_else(|| {
        let found = spec.ty.name();
        Error::location(
            40201,
            format!("Argument to $bucket stage must be an object, but found type: {found}."),
        )
    })?;
    let mut by = None;
    let mut boundaries = None;
    let mut default = None;
    let mut fields = None;
    for field in doc {
        match field.name() {
            "groupBy" => by = Some(group_by(field.value, context)?),
            "boundaries" => boundaries = Some(boundary_values(field.value, context)?),
            "default" => {
                default =
                    Some(constant(field.value, context).map_err(|()| default_is_no_constant(field.value))?)
            }
            "output" => fields = Some(output(field.value, context)?),
            unknown => {
                return Err(Error::location(40197, format!("Unrecognized option to $bucket: {unknown}.")));
            }
        }
    }
    let (Some(by), Some(boundaries)) = (by, boundaries) else {
        return Err(Error::location(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified."));
    };
    check_default(&boundaries, default.as_ref(), context)?;
    let fields = match fields {
        Some(fields) => fields,
        None => default_output(context)?,
    };
    let key = GroupKey::Buckets { by, boundaries, default };
    let collation = context.collation().cloned();
    Ok(vec![Stage::Group(Arc::new(Group { key, fields, collation })), sort_by("_id", 1, context)?])
}

fn group_by(value: RawValue<'_>, context: &CompileContext) -> Result<Expr> {
    let is_path = value.ty == T::String && value.as_str().is_some_and(|text| text.starts_with('$'));
    if !is_path && value.ty != T::Document {
        return Err(Error::location(
            40202,
            "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression.",
        ));
    }
    Expr::compile(value, context)
}

fn constant(value: RawValue<'_>, context: &CompileContext) -> Result<OwnedValue, ()> {
    let expr = Expr::compile(value, context).map_err(|_| ())?;
    expr.as_const().map(OwnedValue::from).ok_or(())
}

fn default_is_no_constant(value: RawValue<'_>) -> Error {
    let found = value.ty.name();
    Error::location(
        40195,
        format!("The $bucket 'default' field must be a constant, but found type: {found}."),
    )
}

fn boundary_values(value: RawValue<'_>, context: &CompileContext) -> Result<Vec<OwnedValue>> {
    let array = value.as_array().ok_or_else(|| {
        let found = value.ty.name();
        Error::location(
            40200,
            format!("The $bucket 'boundaries' field must be an array, but found type: {found}."),
        )
    })?;
    let mut values: Vec<OwnedValue> = Vec::new();
    for item in array {
        let value = constant(item.value, context).map_err(|()| {
            Error::location(40191, "The $bucket 'boundaries' field must be an array of constant values.")
        })?;
        values.push(value);
    }
    if values.len() < 2 {
        let message = format!(
            "The $bucket 'boundaries' field must have at least 2 values, but found {} value(s).",
            values.len()
        );
        return Err(Error::location(40192, message));
    }
    for (lower, upper) in values.iter().zip(values.iter().skip(1)) {
        if canonical_class(lower.ty) != canonical_class(upper.ty) {
            let message = format!(
                "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting \
                 types {} and {}.",
                lower.ty.name(),
                upper.ty.name()
            );
            return Err(Error::location(40193, message));
        }
        if !order(lower, upper, context).is_lt() {
            return Err(Error::location(
                40194,
                "The 'boundaries' option to $bucket must be sorted, but elements are not in ascending order.",
            ));
        }
    }
    Ok(values)
}

fn order(a: &OwnedValue, b: &OwnedValue, context: &CompileContext) -> Ordering {
    compare_with(a.as_ref(), b.as_ref(), Collation::collator(context.collation()))
}

/// The default must not lie in any of the ranges.
fn check_default(
    boundaries: &[OwnedValue],
    default: Option<&OwnedValue>,
    context: &CompileContext,
) -> Result<()> {
    let (Some(default), Some(lowest), Some(highest)) = (default, boundaries.first(), boundaries.last())
    else {
        return Ok(());
    };
    let inside = order(default, lowest, context).is_ge() && order(default, highest, context).is_lt();
    if inside {
        return Err(Error::location(
            40199,
            "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the \
             highest boundary.",
        ));
    }
    Ok(())
}

fn output(value: RawValue<'_>, context: &CompileContext) -> Result<Vec<GroupField>> {
    let doc = value.as_doc().ok_or_else(|| {
        let found = value.ty.name();
        Error::location(
            40196,
            format!("The $bucket 'output' field must be an object, but found type: {found}."),
        )
    })?;
    doc.iter().map(|field| group_field(field.name(), field.value, context)).collect()
}

/// `{count: {$sum: 1}}`.
pub(super) fn default_output(context: &CompileContext) -> Result<Vec<GroupField>> {
    let mut sum = DocBuilder::new();
    sum.i32("$sum", 1);
    let sum = sum.finish();
    let operand = RawDoc::framed(&sum).unwrap_or(RawDoc::EMPTY);
    Ok(vec![group_field("count", operand.as_value(), context)?])
}
