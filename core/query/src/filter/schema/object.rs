//! Keywords about documents and their properties.

use super::super::explanation::Explanation;
use super::super::operands::Operand;
use super::Schema;
use super::constraint::{Constraint, Specification};
use super::instance::Instance;
use super::parse::{self, Keywords, Made, must_be, names};
use multifora_model::path::FieldPath;
use multifora_model::{DocBuilder, ElementType, Error, OwnedValue, RawDoc, RawValue, Regex, Result};
use std::collections::HashSet;

/// `properties`: a schema for each property that is there.
#[derive(Debug)]
struct Properties(Vec<(FieldPath, Schema)>);

pub(super) fn properties(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let Some(properties) = operand.value.as_doc() else { return Err(must_be(operand, "an object")) };
    let property = |name: &str, value: RawValue<'_>| match value.as_doc() {
        Some(schema) => Ok((FieldPath::parse(name), parse::schema(schema)?)),
        None => {
            let text = format!("Nested schema for $jsonSchema property '{name}' must be an object");
            Err(Error::type_mismatch(text))
        }
    };
    let parsed = properties.iter().map(|field| property(field.name(), field.value));
    Made::one(Properties(parsed.collect::<Result<_>>()?))
}

impl Constraint for Properties {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        for (path, schema) in &self.0 {
            if let Some(value) = instance.property(path)?
                && !schema.holds(Instance::Value(value))?
            {
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
        out.start_array("propertiesNotSatisfied");
        for (path, schema) in &self.0 {
            let Some(value) = instance.property(path)?.map(Instance::Value) else { continue };
            if !schema.holds(value)? {
                out.push_start_doc().str("propertyName", path.as_str());
                schema.annotate(out);
                schema.explain_details(value, telling, out)?;
                out.end();
            }
        }
        out.end().end();
        Ok(())
    }
}

/// What `additionalProperties` says.
#[derive(Debug)]
enum Additional {
    Allowed,
    Forbidden,
    Under(Box<Schema>),
}

/// `patternProperties` and `additionalProperties`, which needs to know what the other keywords cover.
#[derive(Debug)]
struct OtherProperties {
    /// The names in `properties`.
    named: HashSet<Box<str>>,
    patterns: Vec<(Regex, Schema)>,
    additional: Additional,
}

pub(super) fn pattern_properties(keywords: &Keywords<'_>, _: Operand<'_>) -> Result<Made> {
    match keywords.get("additionalProperties") {
        // Its own row makes one constraint of both.
        Some(_) => Ok(Made::nothing()),
        None => Made::one(OtherProperties::parse(keywords, Additional::Allowed)?),
    }
}

pub(super) fn additional_properties(keywords: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let additional = match (operand.value.as_bool(), operand.value.as_doc()) {
        (Some(true), _) => Additional::Allowed,
        (Some(false), _) => Additional::Forbidden,
        (None, Some(schema)) => Additional::Under(Box::new(parse::schema(schema)?)),
        _ => return Err(must_be(operand, "an object or a boolean")),
    };
    Made::one(OtherProperties::parse(keywords, additional)?)
}

impl OtherProperties {
    fn parse(keywords: &Keywords<'_>, additional: Additional) -> Result<Self> {
        let named = keywords.get("properties").and_then(|properties| properties.value.as_doc());
        let named = named.into_iter().flatten().map(|field| field.name().into()).collect();
        let mut patterns = Vec::new();
        if let Some(operand) = keywords.get("patternProperties") {
            let fields = operand.value.as_doc().ok_or_else(|| must_be(operand, "an object"))?;
            for field in fields {
                let Some(schema) = field.value.as_doc() else {
                    let text = format!(
                        "$jsonSchema keyword 'patternProperties' has property '{}' which is not an object",
                        field.name()
                    );
                    return Err(Error::type_mismatch(text));
                };
                let schema = parse::schema(schema)?;
                patterns.push((Regex::compile(field.name(), "")?, schema));
            }
        }
        Ok(OtherProperties { named, patterns, additional })
    }

    fn is_additional(&self, name: &str) -> Result<bool> {
        if self.named.contains(name) {
            return Ok(false);
        }
        for (regex, _) in &self.patterns {
            if regex.is_match(name)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn explain_additional(
        &self,
        instance: Instance<'_, '_>,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        match &self.additional {
            Additional::Allowed => Ok(()),
            Additional::Forbidden => {
                let mut found = Vec::new();
                instance.all_fields(|name, _| {
                    if self.is_additional(name)? {
                        found.push(OwnedValue::string(name));
                    }
                    Ok(true)
                })?;
                if found.is_empty() {
                    return Ok(());
                }
                telling.check_room(out, found.iter().map(|name| name.as_ref().bytes.len() + 8).sum())?;
                out.push_start_doc().str("operatorName", "additionalProperties");
                out.start_doc("specifiedAs").bool("additionalProperties", false).end();
                out.start_array("additionalProperties");
                for name in &found {
                    out.push(name.as_ref());
                }
                out.end().end();
                Ok(())
            }
            Additional::Under(schema) => instance
                .all_fields(|name, value| {
                    if !self.is_additional(name)? {
                        return Ok(true);
                    }
                    let value = Instance::Value(value()?);
                    if schema.holds(value)? {
                        return Ok(true);
                    }
                    out.push_start_doc().str("operatorName", "additionalProperties");
                    schema.annotate(out);
                    out.str("reason", "at least one additional property did not match the subschema");
                    out.str("failingProperty", name);
                    schema.explain_details(value, telling, out)?;
                    out.end();
                    Ok(false)
                })
                .map(drop),
        }
    }

    /// The first property that each pattern covers and its schema refuses.
    fn explain_patterns(
        &self,
        instance: Instance<'_, '_>,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        let mut is_open = false;
        for (regex, schema) in &self.patterns {
            instance.all_fields(|name, value| {
                if !regex.is_match(name)? {
                    return Ok(true);
                }
                let value = Instance::Value(value()?);
                if schema.holds(value)? {
                    return Ok(true);
                }
                if !is_open {
                    out.push_start_doc().str("operatorName", "patternProperties").start_array("details");
                    is_open = true;
                }
                out.push_start_doc().str("propertyName", name);
                schema.annotate(out);
                out.str("regexMatched", regex.pattern());
                schema.explain_details(value, telling, out)?;
                out.end();
                Ok(false)
            })?;
        }
        if is_open {
            out.end().end();
        }
        Ok(())
    }
}

impl Constraint for OtherProperties {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        instance.all_fields(|name, value| {
            for (regex, schema) in &self.patterns {
                if regex.is_match(name)? && !schema.holds(Instance::Value(value()?))? {
                    return Ok(false);
                }
            }
            match &self.additional {
                Additional::Allowed => Ok(true),
                Additional::Forbidden => Ok(!self.is_additional(name)?),
                Additional::Under(schema) => {
                    Ok(!self.is_additional(name)? || schema.holds(Instance::Value(value()?))?)
                }
            }
        })
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        _: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        self.explain_additional(instance, telling, out)?;
        self.explain_patterns(instance, telling, out)
    }
}

/// `required`.
#[derive(Debug)]
struct Required(Vec<FieldPath>);

pub(super) fn required(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let Some(array) = operand.value.as_array() else {
        let text = format!(
            "$jsonSchema keyword 'required' must be an array, but found an element of type {}",
            operand.value.ty.name()
        );
        return Err(Error::type_mismatch(text));
    };
    let keyword = "$jsonSchema keyword 'required'";
    let mut names = names(
        array,
        |ty| format!("{keyword} must be an array of strings, but found an element of type: {}", ty.name()),
        |_| format!("{keyword} array cannot contain duplicate values"),
    )?;
    if names.is_empty() {
        return Err(Error::failed_to_parse(format!("{keyword} cannot be an empty array")));
    }
    names.sort_unstable();
    Made::one(Required(names.into_iter().map(FieldPath::parse).collect()))
}

/// Those of the properties that a document does not have.
fn missing<'p>(paths: &'p [FieldPath], instance: Instance<'_, '_>) -> Result<Vec<&'p str>> {
    let mut missing = Vec::new();
    for path in paths {
        if instance.property(path)?.is_none() {
            missing.push(path.as_str());
        }
    }
    Ok(missing)
}

fn append_missing(missing: &[&str], out: &mut DocBuilder) {
    out.start_array("missingProperties");
    for name in missing {
        out.push(OwnedValue::string(name).as_ref());
    }
    out.end();
}

impl Constraint for Required {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(!instance.is_document() || missing(&self.0, instance)?.is_empty())
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        append_missing(&missing(&self.0, instance)?, out);
        out.end();
        Ok(())
    }
}

/// `minProperties`, `maxProperties`.
#[derive(Debug)]
struct PropertyCount {
    limit: u64,
    met: fn(u64, u64) -> bool,
}

pub(super) fn min_properties(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let limit = operand.non_negative_long()?.unsigned_abs();
    Made::one(PropertyCount { limit, met: |count, limit| count >= limit })
}

pub(super) fn max_properties(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let limit = operand.non_negative_long()?.unsigned_abs();
    Made::one(PropertyCount { limit, met: |count, limit| count <= limit })
}

impl Constraint for PropertyCount {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(!instance.is_document() || (self.met)(instance.field_count()?, self.limit))
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open(telling, out)?;
        out.str("reason", "specified number of properties was not satisfied");
        out.count("numberOfProperties", instance.field_count()?).end();
        Ok(())
    }
}

/// What must be when a property is there.
#[derive(Debug)]
enum Needed {
    Properties(Vec<FieldPath>),
    Valid(Schema),
}

/// `dependencies`.
#[derive(Debug)]
struct Dependencies {
    annotations: Vec<(&'static str, OwnedValue)>,
    rules: Vec<(FieldPath, Needed)>,
}

pub(super) fn dependencies(_: &Keywords<'_>, operand: Operand<'_>) -> Result<Made> {
    let Some(rules) = operand.value.as_doc() else { return Err(must_be(operand, "an object")) };
    let mut parsed = Dependencies { annotations: parse::annotations(rules), rules: Vec::new() };
    for field in rules {
        let name = field.name();
        let needed = match (field.value.as_doc(), field.value.as_array()) {
            (Some(schema), _) => Needed::Valid(parse::schema(schema)?),
            (None, Some(array)) => Needed::Properties(needed_properties(name, array)?),
            _ if field.value.ty == ElementType::String && parse::ANNOTATIONS.contains(&name) => continue,
            _ => {
                let text = format!(
                    "property '{name}' in $jsonSchema keyword 'dependencies' must be either an object or an array"
                );
                return Err(Error::type_mismatch(text));
            }
        };
        parsed.rules.push((FieldPath::parse(name), needed));
    }
    Made::one(parsed)
}

fn needed_properties(name: &str, array: RawDoc<'_>) -> Result<Vec<FieldPath>> {
    let place = format!("'{name}' in $jsonSchema keyword 'dependencies'");
    if array.is_empty() {
        return Err(Error::failed_to_parse(format!("property {place} cannot be an empty array")));
    }
    let names = names(
        array,
        |ty| format!("array {place} can only contain strings, but found element of type: {}", ty.name()),
        |name| format!("array {place} contains duplicate element: {name}"),
    )?;
    Ok(names.into_iter().map(FieldPath::parse).collect())
}

impl Needed {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        match self {
            Needed::Properties(paths) => Ok(missing(paths, instance)?.is_empty()),
            Needed::Valid(schema) => schema.holds(instance),
        }
    }
}

impl Dependencies {
    /// The rules whose property is there and which are not met.
    fn failing(&self, instance: Instance<'_, '_>) -> Result<Vec<&(FieldPath, Needed)>> {
        let mut failing = Vec::new();
        for rule in &self.rules {
            if instance.property(&rule.0)?.is_some() && !rule.1.holds(instance)? {
                failing.push(rule);
            }
        }
        Ok(failing)
    }
}

impl Constraint for Dependencies {
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool> {
        Ok(self.failing(instance)?.is_empty())
    }

    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        rule.open_bare(out);
        for (name, text) in &self.annotations {
            out.append(name, text.as_ref());
        }
        out.start_array("failingDependencies");
        for (path, needed) in self.failing(instance)? {
            out.push_start_doc().str("conditionalProperty", path.as_str());
            match needed {
                Needed::Properties(paths) => append_missing(&missing(paths, instance)?, out),
                Needed::Valid(schema) => schema.explain_details(instance, telling, out)?,
            }
            out.end();
        }
        out.end().end();
        Ok(())
    }
}
