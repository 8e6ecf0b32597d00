//! One row per filter operator: name, how it is read, what it does.

use super::node::{CompareOp, FilterNode, Test};
use super::operands::{self, Operand, regex_operators, regex_value, unsupported};
use super::parse::{Parser, all_of, not, on, operators_in, shown};
use super::predicate::{BitsRule, BitsTest, ModTest};
use super::schema::Schema;
use super::set::InSet;
use crate::expression::{Expr, is_truthy};
use multifora_model::path::FieldPath;
use multifora_model::{ElementType as T, Error, ErrorCode, Number, RawDoc, RawValue, Result};
use std::sync::Arc;

type FieldParse = fn(Parser<'_>, &FieldPath, Operand<'_>, RawDoc<'_>) -> Result<FilterNode>;
type TopLevelParse = fn(Parser<'_>, Operand<'_>) -> Result<FilterNode>;

/// An operator on a field: `{a: {$gt: 1}}`.
pub struct FieldOperator {
    /// The name, with `$`.
    pub name: &'static str,
    pub(super) parse: FieldParse,
    /// What it does, in a line.
    pub about: &'static str,
    /// It works (a row that does not gives its reason as an error).
    pub supported: bool,
}

/// An operator at the top of a query document: `{$or: […]}`.
pub struct TopLevelOperator {
    /// The name, with `$`.
    pub name: &'static str,
    pub(super) parse: TopLevelParse,
    /// What it does, in a line.
    pub about: &'static str,
    /// It works (a row that does not gives its reason as an error).
    pub supported: bool,
}

const fn field(name: &'static str, parse: FieldParse, about: &'static str) -> FieldOperator {
    FieldOperator { name, parse, about, supported: true }
}

const fn no_field(name: &'static str, about: &'static str) -> FieldOperator {
    let parse: FieldParse = |_, _, operand, _| Err(missing(operand.name));
    FieldOperator { name, parse, about, supported: false }
}

const fn top(name: &'static str, parse: TopLevelParse, about: &'static str) -> TopLevelOperator {
    TopLevelOperator { name, parse, about, supported: true }
}

const fn no_top(name: &'static str, about: &'static str) -> TopLevelOperator {
    let parse: TopLevelParse = |_, operand| Err(missing(operand.name));
    TopLevelOperator { name, parse, about, supported: false }
}

fn missing(name: &str) -> Error {
    let why = match name {
        "$where" => "there is no JavaScript engine; use $expr",
        _ => "not in this version",
    };
    unsupported(name, why)
}

const FIELD_OPERATORS: &[FieldOperator] = &[
    field("$eq", |p, path, o, _| p.comparison(path, CompareOp::Eq, o.value), "equal to the value"),
    field("$gt", |p, path, o, _| p.comparison(path, CompareOp::Gt, o.value), "greater than the value"),
    field("$gte", |p, path, o, _| p.comparison(path, CompareOp::Gte, o.value), "greater than or equal"),
    field("$lt", |p, path, o, _| p.comparison(path, CompareOp::Lt, o.value), "less than the value"),
    field("$lte", |p, path, o, _| p.comparison(path, CompareOp::Lte, o.value), "less than or equal"),
    field("$ne", |p, path, o, _| not_equal(p, path, o.value), "not equal to the value"),
    field("$in", |p, path, o, _| is_in(p, path, o), "equal to one of the values"),
    field("$nin", |p, path, o, _| Ok(not(is_in(p, path, o)?)), "equal to none of the values"),
    field("$exists", |_, path, o, _| Ok(exists(path, o.value)), "the field is there, or not"),
    field("$type", |_, path, o, _| Ok(on(path, Test::Type(operands::type_set(o.value)?))), "has the type"),
    field("$size", |_, path, o, _| size(path, o), "is an array of this many elements"),
    field("$mod", |_, path, o, _| modulo(path, o.value), "leaves the remainder"),
    field(
        "$regex",
        |_, path, _, all| Ok(on(path, Test::Regex(regex_operators(all)?))),
        "matches the pattern",
    ),
    field(
        "$options",
        |_, _, _, all| regex_operators(all).map(|_| FilterNode::AlwaysTrue),
        "options of $regex",
    ),
    field("$not", |p, path, o, _| negation(p, path, o.value), "the operators do not hold"),
    field("$all", |p, path, o, _| all(p, path, o.value), "contains all the values"),
    field("$elemMatch", |p, path, o, _| elem_match(p, path, o.value), "an element meets all conditions"),
    field("$bitsAllSet", |_, path, o, _| bits(path, o, BitsRule::AllSet), "all these bits are set"),
    field("$bitsAllClear", |_, path, o, _| bits(path, o, BitsRule::AllClear), "all these bits are clear"),
    field("$bitsAnySet", |_, path, o, _| bits(path, o, BitsRule::AnySet), "one of these bits is set"),
    field("$bitsAnyClear", |_, path, o, _| bits(path, o, BitsRule::AnyClear), "one of these bits is clear"),
    no_field("$geoWithin", "lies within an area"),
    no_field("$geoIntersects", "shares a point with a shape"),
    no_field("$near", "nearest first"),
    no_field("$nearSphere", "nearest first, on a sphere"),
    no_field("$within", "lies within an area (old name)"),
];

const TOP_LEVEL_OPERATORS: &[TopLevelOperator] = &[
    top("$and", |p, o| Ok(all_of(branches(p, o)?)), "all conditions hold"),
    top("$or", |p, o| one_or(branches(p, o)?), "one of the conditions holds"),
    top("$nor", |p, o| Ok(FilterNode::Nor(branches(p, o)?)), "none of the conditions holds"),
    top("$expr", expr, "an aggregation expression is true"),
    top("$comment", |_, _| Ok(FilterNode::AlwaysTrue), "a note for logs"),
    top("$alwaysTrue", |_, o| always(o, FilterNode::AlwaysTrue), "holds always"),
    top("$alwaysFalse", |_, o| always(o, FilterNode::AlwaysFalse), "holds never"),
    top("$sampleRate", |_, o| sample_rate(o), "holds for a share of the documents"),
    top("$jsonSchema", |_, o| json_schema(o), "the document is valid under a schema"),
    no_top("$text", "full-text search"),
    no_top("$where", "JavaScript"),
];

/// All operators on fields.
pub fn field_operators() -> &'static [FieldOperator] {
    FIELD_OPERATORS
}

/// All operators at the top of a query.
pub fn top_level_operators() -> &'static [TopLevelOperator] {
    TOP_LEVEL_OPERATORS
}

pub(super) fn field_operator(name: &str) -> Option<&'static FieldOperator> {
    FIELD_OPERATORS.iter().find(|row| row.name == name)
}

pub(super) fn top_level_operator(name: &str) -> Option<&'static TopLevelOperator> {
    TOP_LEVEL_OPERATORS.iter().find(|row| row.name == name)
}

fn not_equal(parser: Parser<'_>, path: &FieldPath, value: RawValue<'_>) -> Result<FilterNode> {
    if value.ty == T::Regex {
        return Err(Error::bad_value("Can't have regex as arg to $ne."));
    }
    parser.comparison(path, CompareOp::Eq, value).map(not)
}

fn is_in(parser: Parser<'_>, path: &FieldPath, operand: Operand<'_>) -> Result<FilterNode> {
    let Some(array) = operand.value.as_array() else {
        return Err(Error::bad_value(format!("{} needs an array", operand.name)));
    };
    let mut values = Vec::new();
    let mut regexes = Vec::new();
    for member in array {
        let value = member.value;
        match value.ty {
            T::Regex => regexes.push(regex_value(value)?),
            T::Undefined => return Err(Error::bad_value("InMatchExpression equality cannot be undefined")),
            _ if operators_in(value, false).is_some() => {
                return Err(Error::bad_value(format!("cannot nest $ under {}", operand.name)));
            }
            _ => values.push(value.into()),
        }
    }
    let set = InSet::new(values, regexes, parser.context.collation());
    Ok(if set.is_empty() { FilterNode::AlwaysFalse } else { on(path, Test::In(set)) })
}

fn exists(path: &FieldPath, value: RawValue<'_>) -> FilterNode {
    let node = on(path, Test::Exists);
    if is_truthy(value) { node } else { not(node) }
}

fn size(path: &FieldPath, operand: Operand<'_>) -> Result<FilterNode> {
    let wanted = operand
        .non_negative_int()
        .map_err(|e| Error::bad_value(format!("Failed to parse $size. {}", e.message())))?;
    Ok(on(path, Test::Size(wanted)))
}

fn modulo(path: &FieldPath, value: RawValue<'_>) -> Result<FilterNode> {
    let malformed = |what: &str| Error::bad_value(format!("malformed mod, {what}"));
    let array = value.as_array().ok_or_else(|| malformed("needs to be an array"))?;
    let mut members = array.iter().map(|e| e.value);
    let divisor = members.next().ok_or_else(|| malformed("not enough elements"))?;
    let divisor = Number::from_value(divisor).ok_or_else(|| malformed("divisor not a number"))?;
    let remainder = members.next().ok_or_else(|| malformed("not enough elements"))?;
    let remainder = Number::from_value(remainder).ok_or_else(|| malformed("remainder not a number"))?;
    if members.next().is_some() {
        return Err(malformed("too many elements"));
    }
    let whole = |number: Number, what: &str| {
        number.truncate_to_i64_checked().ok_or_else(|| {
            let cause = if number.is_finite() {
                "Out of bounds coercing to integral value"
            } else {
                "Unable to coerce NaN/Inf to integral type"
            };
            malformed(&format!("{what} value is invalid :: caused by :: {cause}"))
        })
    };
    let divisor = whole(divisor, "divisor")?;
    let remainder = whole(remainder, "remainder")?;
    if divisor == 0 {
        return Err(Error::bad_value("divisor cannot be 0"));
    }
    Ok(on(path, Test::Mod(ModTest { divisor, remainder })))
}

fn negation(parser: Parser<'_>, path: &FieldPath, value: RawValue<'_>) -> Result<FilterNode> {
    if value.ty == T::Regex {
        return Ok(not(on(path, Test::Regex(regex_value(value)?))));
    }
    let operators = value.as_doc().ok_or_else(|| Error::bad_value("$not needs a regex or a document"))?;
    if operators.is_empty() {
        return Err(Error::bad_value("$not cannot be empty"));
    }
    parser.deeper()?.operators(path, operators).map(not)
}

fn all(parser: Parser<'_>, path: &FieldPath, value: RawValue<'_>) -> Result<FilterNode> {
    let array = value.as_array().ok_or_else(|| Error::bad_value("$all needs an array"))?;
    let first_name =
        |value: RawValue<'_>| value.as_doc().and_then(|d| d.iter().next()).map(|e| e.name().to_owned());
    let elem_matches = array.iter().next().and_then(|e| first_name(e.value)).as_deref() == Some("$elemMatch");
    let mut wanted = Vec::new();
    for member in array {
        let name = first_name(member.value);
        wanted.push(if elem_matches {
            if name.as_deref() != Some("$elemMatch") {
                return Err(Error::bad_value("$all/$elemMatch has to be consistent"));
            }
            let operand = member.value.as_doc().and_then(|d| d.get("$elemMatch")).unwrap_or(RawValue::NULL);
            elem_match(parser, path, operand)?
        } else if member.value.ty == T::Regex {
            on(path, Test::Regex(regex_value(member.value)?))
        } else if name.is_some() && operators_in(member.value, false).is_some() {
            return Err(Error::bad_value("no $ expressions in $all"));
        } else {
            parser.comparison(path, CompareOp::Eq, member.value)?
        });
    }
    Ok(if wanted.is_empty() { FilterNode::AlwaysFalse } else { all_of(wanted) })
}

fn elem_match(parser: Parser<'_>, path: &FieldPath, value: RawValue<'_>) -> Result<FilterNode> {
    let Some(conditions) = value.as_doc() else {
        return Err(Error::bad_value("$elemMatch needs an Object"));
    };
    let inside = parser.in_element()?;
    // Operators on the element itself, unless the first is one that takes whole conditions.
    let on_value = operators_in(value, true)
        .and_then(|doc| doc.iter().next())
        .is_some_and(|first| top_level_operator(first.name()).is_none());
    let test = if on_value {
        Test::ElemMatchValue(Box::new(inside.operators(&FieldPath::empty(), conditions)?))
    } else {
        Test::ElemMatchObject(Box::new(inside.query(conditions)?))
    };
    Ok(on(path, test))
}

fn bits(path: &FieldPath, operand: Operand<'_>, rule: BitsRule) -> Result<FilterNode> {
    let mut test = BitsTest { rule, positions: Vec::new(), mask: Vec::new() };
    match operand.value.ty {
        T::Array => {
            for member in operand.value.as_array().into_iter().flatten() {
                let position =
                    Operand { name: member.name(), value: member.value }.non_negative_int().map_err(|e| {
                        Error::bad_value(format!("Failed to parse bit position. {}", e.message()))
                    })?;
                test.positions.push(position);
            }
        }
        T::Binary => {
            let (_, bytes) = operand.value.as_binary().unwrap_or_default();
            test.mask = bytes.to_vec();
        }
        ty if ty.is_number() => test.mask = operand.non_negative_long()?.to_le_bytes().to_vec(),
        _ => {
            return Err(Error::bad_value(format!(
                "{} takes an Array, a number, or a BinData but received: {}",
                operand.name,
                shown(operand.value)
            )));
        }
    }
    Ok(on(path, Test::Bits(test)))
}

fn branches(parser: Parser<'_>, operand: Operand<'_>) -> Result<Vec<FilterNode>> {
    let Some(array) = operand.value.as_array() else {
        return Err(Error::bad_value(format!("{} must be an array", operand.name)));
    };
    if array.is_empty() {
        return Err(Error::bad_value("$and/$or/$nor must be a nonempty array"));
    }
    let inside = parser.deeper()?;
    let branch = |member: RawValue<'_>| match member.as_doc() {
        Some(doc) => inside.query(doc),
        None => Err(Error::bad_value("$or/$and/$nor entries need to be full objects")),
    };
    array.iter().map(|member| branch(member.value)).collect()
}

fn one_or(mut branches: Vec<FilterNode>) -> Result<FilterNode> {
    match branches.len() {
        1 => Ok(branches.pop().unwrap_or(FilterNode::AlwaysFalse)),
        _ => Ok(FilterNode::Or(branches)),
    }
}

fn expr(parser: Parser<'_>, operand: Operand<'_>) -> Result<FilterNode> {
    if parser.in_elem_match {
        return Err(Error::new(
            ErrorCode::QueryFeatureNotAllowed,
            "$expr can only be applied to the top-level document",
        ));
    }
    Ok(FilterNode::Expr(Arc::new(Expr::compile(operand.value, parser.context)?)))
}

fn json_schema(operand: Operand<'_>) -> Result<FilterNode> {
    let Some(schema) = operand.value.as_doc() else {
        return Err(Error::type_mismatch("$jsonSchema must be an object"));
    };
    Ok(FilterNode::Schema(Arc::new(Schema::compile(schema)?)))
}

fn always(operand: Operand<'_>, node: FilterNode) -> Result<FilterNode> {
    let one = Number::from_value(operand.value).and_then(Number::as_i64_exact) == Some(1);
    let message = || Error::failed_to_parse(format!("{} must be an integer value of 1", operand.name));
    if one { Ok(node) } else { Err(message()) }
}

fn sample_rate(operand: Operand<'_>) -> Result<FilterNode> {
    let rate = Number::from_value(operand.value)
        .map(Number::as_f64)
        .ok_or_else(|| Error::bad_value("argument to $sampleRate must be a numeric type"))?;
    if !(0.0..=1.0).contains(&rate) {
        return Err(Error::bad_value("numeric argument to $sampleRate must be in [0, 1]"));
    }
    Ok(FilterNode::SampleRate(rate))
}
