//! From a schema document to constraints.

use super::super::operands::Operand;
use super::super::predicate::TypeSet;
use super::Schema;
use super::constraint::{Constraint, Specification};
use super::registry::{SchemaKeyword, schema_keywords};
use multifora_model::{ElementType as T, Error, OwnedValue, RawDoc, RawValue, Result};
use std::collections::HashSet;

/// Texts that a schema may carry.
pub(super) const ANNOTATIONS: [&str; 2] = ["title", "description"];

/// JSON's names of types.
const JSON_TYPES: [(&str, T); 5] = [
    ("array", T::Array),
    ("boolean", T::Bool),
    ("null", T::Null),
    ("object", T::Document),
    ("string", T::String),
];

/// The keywords of one schema with their operands.
pub(super) struct Keywords<'a>(Vec<(&'static SchemaKeyword, RawValue<'a>)>);

/// What a keyword's row makes of its operand.
pub(super) struct Made {
    constraint: Option<Box<dyn Constraint>>,
    told_with: Option<&'static str>,
}

impl Made {
    /// No constraint: the keyword demands nothing here.
    pub(super) fn nothing() -> Self {
        Made { constraint: None, told_with: None }
    }

    #[expect(clippy::unnecessary_wraps, reason = "what every row ends with")]
    pub(super) fn one(constraint: impl Constraint + 'static) -> Result<Self> {
        Ok(Made { constraint: Some(Box::new(constraint)), told_with: None })
    }

    /// Accounts repeat this keyword, which is `true`, beside its own.
    pub(super) fn told_with(self, keyword: &'static str) -> Self {
        Made { told_with: Some(keyword), ..self }
    }
}

impl<'a> Keywords<'a> {
    /// Finds every keyword's row.
    fn read(schema: RawDoc<'a>) -> Result<Self> {
        let mut found: Vec<(&'static SchemaKeyword, RawValue<'a>)> = Vec::new();
        for field in schema {
            let name = field.name();
            let Some(row) = schema_keywords().iter().find(|row| row.name == name) else {
                return Err(Error::failed_to_parse(format!("Unknown $jsonSchema keyword: {name}")));
            };
            if found.iter().any(|(known, _)| known.name == name) {
                return Err(Error::failed_to_parse(format!("Duplicate $jsonSchema keyword: {name}")));
            }
            found.push((row, field.value));
            if !row.in_mongodb {
                (row.parse)(&Keywords(Vec::new()), Operand { name: row.name, value: field.value })?;
            }
        }
        Ok(Keywords(found))
    }

    /// The operand of a keyword.
    pub(super) fn get(&self, name: &str) -> Option<Operand<'a>> {
        let (row, value) = self.0.iter().find(|(row, _)| row.name == name)?;
        Some(Operand { name: row.name, value: *value })
    }
}

/// Compiles a schema, at the top or inside another.
pub(super) fn schema(source: RawDoc<'_>) -> Result<Schema> {
    let keywords = Keywords::read(source)?;
    for name in ["description", "title"] {
        if let Some(operand) = keywords.get(name).filter(|operand| operand.value.ty != T::String) {
            return Err(must_be(operand, "of type string"));
        }
    }
    let types = types(&keywords)?;
    let mut constraints = Vec::new();
    for row in schema_keywords() {
        let Some(operand) = keywords.get(row.name) else { continue };
        let made = (row.parse)(&keywords, operand)?;
        let Some(constraint) = made.constraint else { continue };
        let specification = Specification::new(row.name, operand.value);
        let specification = match made.told_with {
            Some(keyword) => specification.with_true(keyword),
            None => specification,
        };
        constraints.push((specification, constraint));
    }
    Ok(Schema { source: source.as_bytes().to_vec(), annotations: annotations(source), types, constraints })
}

/// `title` and `description`, where they are strings.
pub(super) fn annotations(doc: RawDoc<'_>) -> Vec<(&'static str, OwnedValue)> {
    let text = |name: &'static str| {
        doc.get(name).filter(|value| value.ty == T::String).map(|value| (name, value.into()))
    };
    ANNOTATIONS.into_iter().filter_map(text).collect()
}

/// `type` or `bsonType`.
fn types(keywords: &Keywords<'_>) -> Result<Option<(Specification, TypeSet)>> {
    let (json, bson) = (keywords.get("type"), keywords.get("bsonType"));
    let (keyword, operand) = match (json, bson) {
        (Some(_), Some(_)) => {
            let text = "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'";
            return Err(Error::failed_to_parse(text));
        }
        (Some(operand), None) => ("type", operand),
        (None, Some(operand)) => ("bsonType", operand),
        (None, None) => return Ok(None),
    };
    if keywords.get("encrypt").is_some() {
        let text = format!(
            "$jsonSchema keyword 'encrypt' cannot be used in conjunction with '{keyword}', 'encrypt' implies \
             type 'bsonType::BinData'"
        );
        return Err(Error::failed_to_parse(text));
    }
    let mut set = TypeSet::default();
    for alias in type_names(operand)? {
        add_type(&mut set, alias, keyword == "type")?;
    }
    Ok(Some((Specification::new(keyword, operand.value), set)))
}

fn type_names<'a>(operand: Operand<'a>) -> Result<Vec<&'a str>> {
    let keyword = format!("$jsonSchema keyword '{}'", operand.name);
    let aliases = match (operand.value.ty, operand.value.as_array()) {
        (T::String, _) => operand.value.as_str().into_iter().collect(),
        (_, Some(array)) => names(
            array,
            |_| format!("{keyword} array elements must be strings"),
            |name| format!("{keyword} has duplicate value: {name}"),
        )?,
        _ => {
            let text = format!("{keyword} must be either a string or an array of strings");
            return Err(Error::type_mismatch(text));
        }
    };
    if aliases.is_empty() {
        return Err(Error::failed_to_parse(format!("{keyword} must name at least one type")));
    }
    Ok(aliases)
}

fn add_type(set: &mut TypeSet, alias: &str, is_json: bool) -> Result<()> {
    if alias == "integer" {
        return Err(Error::failed_to_parse("$jsonSchema type 'integer' is not currently supported."));
    }
    if alias == "number" {
        [T::Int32, T::Int64, T::Double, T::Decimal128].into_iter().for_each(|ty| set.insert(ty));
        return Ok(());
    }
    let known = if is_json {
        JSON_TYPES.iter().find(|(name, _)| *name == alias).map(|(_, ty)| *ty)
    } else {
        T::from_name(alias)
    };
    set.insert(known.ok_or_else(|| Error::bad_value(format!("Unknown type name alias: {alias}")))?);
    Ok(())
}

/// The strings of an array, no two equal.
pub(super) fn names<'a>(
    array: RawDoc<'a>,
    not_a_string: impl Fn(T) -> String,
    twice: impl Fn(&str) -> String,
) -> Result<Vec<&'a str>> {
    let mut names = Vec::new();
    let mut known = HashSet::new();
    for element in array {
        let Some(name) = element.value.as_str().filter(|_| element.value.ty == T::String) else {
            return Err(Error::type_mismatch(not_a_string(element.value.ty)));
        };
        if !known.insert(name) {
            return Err(Error::failed_to_parse(twice(name)));
        }
        if name.contains('\0') {
            return Err(Error::location(9_867_600, "names in $jsonSchema cannot contain null bytes"));
        }
        names.push(name);
    }
    Ok(names)
}

/// The usual complaint about an operand.
pub(super) fn must_be(operand: Operand<'_>, what: &str) -> Error {
    Error::type_mismatch(format!("$jsonSchema keyword '{}' must be {what}", operand.name))
}
