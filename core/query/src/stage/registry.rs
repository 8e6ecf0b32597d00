//! One row per stage.

use super::Stage;
use super::add_fields::AddFields;
use super::bucket::{bucket, default_output};
use super::facet::Facet;
use super::group::{Group, GroupKey};
use super::group_parse::group;
use super::parse::sort_by;
use super::replace_root::ReplaceRoot;
use super::sample::Sample;
use super::unwind::Unwind;
use crate::CompileContext;
use crate::expression::Expr;
use crate::filter::{Filter, Operand};
use crate::projection::Projection;
use crate::sort::SortSpec;
use multifora_model::{ElementType as T, Error, ErrorCode, RawValue, Result};
use std::sync::Arc;

type Parse = fn(&'static str, RawValue<'_>, &CompileContext) -> Result<Vec<Stage>>;

/// A stage as it is written.
pub struct StageOperator {
    /// The name, with `$`.
    pub name: &'static str,
    pub(super) parse: Parse,
    /// It may stand inside `$facet`.
    pub(super) in_facet: bool,
    /// What it does, in a line.
    pub about: &'static str,
    /// It works (a row that does not gives its reason as an error).
    pub supported: bool,
}

const fn row(name: &'static str, parse: Parse, about: &'static str) -> StageOperator {
    StageOperator { name, parse, in_facet: true, about, supported: true }
}

const fn none(name: &'static str, in_facet: bool, about: &'static str) -> StageOperator {
    StageOperator { name, parse: unsupported, in_facet, about, supported: false }
}

const STAGES: &[StageOperator] = &[
    row("$match", match_stage, "keeps the documents that match a query"),
    row("$sort", sort_stage, "orders the documents"),
    row("$skip", skip_stage, "leaves out the first documents"),
    row("$limit", limit_stage, "keeps the first documents"),
    row("$project", project_stage, "keeps, drops and computes fields"),
    row("$unset", unset_stage, "drops fields"),
    row("$addFields", add_fields_stage, "adds computed fields"),
    row("$set", add_fields_stage, "adds computed fields"),
    row("$group", group_stage, "gathers documents by a key"),
    row("$count", count_stage, "counts the documents"),
    row(
        "$unwind",
        |_, spec, _| one(Stage::Unwind(Arc::new(Unwind::parse(spec)?))),
        "one document per array element",
    ),
    row("$replaceRoot", replace_root_stage, "replaces documents by a part of them"),
    row("$replaceWith", replace_with_stage, "replaces documents by a part of them"),
    row("$sortByCount", sort_by_count_stage, "counts by a key, most frequent first"),
    row("$bucket", |_, spec, context| bucket(spec, context), "gathers documents by ranges"),
    row("$sample", |_, spec, _| one(Stage::Sample(Sample::parse(spec)?)), "documents by chance"),
    StageOperator {
        name: "$facet",
        parse: facet_stage,
        in_facet: false,
        about: "several pipelines over the same documents",
        supported: true,
    },
    none("$bucketAuto", true, "gathers documents by ranges of even size"),
    none("$changeStream", false, "the changes of a collection"),
    none("$changeStreamSplitLargeEvent", false, "splits large change events"),
    none("$collStats", false, "statistics of a collection"),
    none("$currentOp", false, "running operations"),
    none("$densify", true, "fills gaps in sequences"),
    none("$documents", false, "documents written in the pipeline"),
    none("$fill", true, "fills null and missing fields"),
    none("$geoNear", false, "documents by distance"),
    none("$graphLookup", true, "recursive lookup"),
    none("$indexStats", false, "statistics of indexes"),
    none("$listLocalSessions", false, "sessions"),
    none("$listSampledQueries", false, "sampled queries"),
    none("$listSearchIndexes", false, "search indexes"),
    none("$listSessions", false, "sessions"),
    none("$lookup", true, "joins another collection"),
    none("$merge", false, "writes into a collection"),
    none("$out", false, "replaces a collection"),
    none("$planCacheStats", false, "cached plans"),
    none("$redact", true, "drops parts of documents by condition"),
    none("$search", false, "search"),
    none("$searchMeta", false, "search"),
    none("$setWindowFields", true, "computes over windows of documents"),
    none("$unionWith", true, "appends another collection"),
    none("$vectorSearch", false, "search by vectors"),
];

/// All stages.
pub fn stage_operators() -> &'static [StageOperator] {
    STAGES
}

pub(super) fn stage_operator(name: &str) -> Option<&'static StageOperator> {
    STAGES.iter().find(|row| row.name == name)
}

fn one(stage: Stage) -> Result<Vec<Stage>> {
    Ok(vec![stage])
}

fn unsupported(name: &'static str, _: RawValue<'_>, _: &CompileContext) -> Result<Vec<Stage>> {
    Err(Error::new(ErrorCode::CommandNotSupported, format!("{name} is not supported in this version")))
}

fn match_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    let query = spec
        .as_doc()
        .ok_or_else(|| Error::location(15959, "the match filter must be an expression in an object"))?;
    one(Stage::Match(Filter::compile(query, context)?))
}

fn sort_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    let keys = spec
        .as_doc()
        .ok_or_else(|| Error::location(15973, "the $sort key specification must be an object"))?;
    one(Stage::Sort { spec: SortSpec::compile(keys)?.with_collation(context.collation()), limit: None })
}

/// A whole number that is not negative.
fn whole(name: &'static str, spec: RawValue<'_>, code: i32) -> Result<u64> {
    let n = Operand { name, value: spec }
        .non_negative_long()
        .map_err(|e| Error::location(code, format!("invalid argument to {name} stage: {}", e.message())))?;
    Ok(u64::try_from(n).unwrap_or_default())
}

fn skip_stage(name: &'static str, spec: RawValue<'_>, _: &CompileContext) -> Result<Vec<Stage>> {
    one(Stage::Skip(whole(name, spec, 5_107_200)?))
}

fn limit_stage(name: &'static str, spec: RawValue<'_>, _: &CompileContext) -> Result<Vec<Stage>> {
    match whole(name, spec, 5_107_201)? {
        0 => Err(Error::location(15958, "the limit must be positive")),
        n => one(Stage::Limit(n)),
    }
}

fn project_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    let spec =
        spec.as_doc().ok_or_else(|| Error::location(15969, "$project specification must be an object"))?;
    one(Stage::Project(Arc::new(Projection::compile_stage(spec, context)?)))
}

fn unset_stage(name: &'static str, spec: RawValue<'_>, _: &CompileContext) -> Result<Vec<Stage>> {
    let mut paths = Vec::new();
    match (spec.ty, spec.as_array()) {
        (T::String, _) => paths.push(spec.as_str().unwrap_or_default()),
        (_, Some(names)) if names.is_empty() => {
            let message = "$unset specification must be a string or an array with at least one field";
            return Err(Error::location(31119, message));
        }
        (_, Some(names)) => {
            for field in names {
                let path = field.value.as_str().filter(|_| field.value.ty == T::String);
                paths.push(path.ok_or_else(|| {
                    let message =
                        "$unset specification must be a string or an array containing only string values";
                    Error::location(31120, message)
                })?);
            }
        }
        _ => return Err(Error::location(31002, "$unset specification must be a string or an array")),
    }
    let projection =
        Projection::excluding(&paths).map_err(|e| e.context(&format!("Invalid {name} :: caused by :: ")))?;
    one(Stage::Project(Arc::new(projection)))
}

fn add_fields_stage(name: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    one(Stage::AddFields(Arc::new(AddFields::compile(name, spec, context)?)))
}

fn group_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    one(Stage::Group(Arc::new(group(spec, context)?)))
}

fn count_stage(_: &'static str, spec: RawValue<'_>, _: &CompileContext) -> Result<Vec<Stage>> {
    let refuse = |code: i32, message: &str| Err(Error::location(code, message));
    let Some(name) = spec.as_str().filter(|_| spec.ty == T::String) else {
        return refuse(40156, "the count field must be a non-empty string");
    };
    match name {
        "" => refuse(40157, "the count field must be a non-empty string"),
        _ if name.starts_with('$') => refuse(40158, "the count field cannot be a $-prefixed path"),
        _ if name.contains('\0') => refuse(40159, "the count field cannot contain a null byte"),
        _ if name.contains('.') => refuse(40160, "the count field cannot contain '.'"),
        _ => one(Stage::Count(name.into())),
    }
}

fn replace_root_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    one(Stage::ReplaceRoot(Arc::new(ReplaceRoot::parse(spec, context)?)))
}

fn replace_with_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    one(Stage::ReplaceRoot(Arc::new(ReplaceRoot::parse_with(spec, context)?)))
}

fn facet_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    one(Stage::Facet(Arc::new(Facet::parse(spec, context)?)))
}

fn sort_by_count_stage(_: &'static str, spec: RawValue<'_>, context: &CompileContext) -> Result<Vec<Stage>> {
    let is_operator =
        spec.as_doc().and_then(|d| d.iter().next()).is_some_and(|first| first.name_bytes().starts_with(b"$"));
    let is_path = spec.as_str().is_some_and(|text| text.starts_with('$'));
    match spec.ty {
        T::Document if !is_operator => {
            let message =
                "the sortByCount field must be specified as a $-prefixed path or an expression in an object";
            return Err(Error::location(40147, message));
        }
        T::String if !is_path => {
            let message =
                "the sortByCount field must be specified as a $-prefixed path or an expression in an object";
            return Err(Error::location(40148, message));
        }
        T::Document | T::String => {}
        _ => {
            let message = "the sortByCount field must be specified as a string or as an object";
            return Err(Error::location(40149, message));
        }
    }
    let key = GroupKey::Expr(Expr::compile(spec, context)?);
    let collation = context.collation().cloned();
    let group = Group { key, fields: default_output(context)?, collation };
    Ok(vec![Stage::Group(Arc::new(group)), sort_by("count", -1, context)?])
}
