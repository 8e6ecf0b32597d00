//! One row per keyword, in the order in which MongoDB reads, checks and reports them.

use super::super::operands::Operand;
use super::parse::{Keywords, Made};
use super::{array, logical, object, scalar};
use multifora_model::{Error, ErrorCode, Result};

pub(super) type Parse = fn(&Keywords<'_>, Operand<'_>) -> Result<Made>;

/// A keyword of `$jsonSchema`.
pub struct SchemaKeyword {
    /// The name.
    pub name: &'static str,
    /// What it asks, in a line.
    pub about: &'static str,
    /// It works (a row that does not is refused with a reason).
    pub supported: bool,
    /// MongoDB has it. It refuses the others, of draft 4, by name.
    pub in_mongodb: bool,
    pub(super) parse: Parse,
}

const fn keyword(name: &'static str, parse: Parse, about: &'static str) -> SchemaKeyword {
    SchemaKeyword { name, about, supported: true, in_mongodb: true, parse }
}

/// A keyword that `parse` itself reads: it says something about the schema as a whole.
const fn of_schema(name: &'static str, about: &'static str) -> SchemaKeyword {
    keyword(name, |_, _| Ok(Made::nothing()), about)
}

/// Keywords for the driver's encryption, which the server of a plain collection does not enforce.
const fn encryption(name: &'static str, about: &'static str) -> SchemaKeyword {
    let parse: Parse = |_, _| {
        let text = "Encryption-related validator keywords are not allowed in this context";
        Err(Error::new(ErrorCode::QueryFeatureNotAllowed, text))
    };
    SchemaKeyword { name, about, supported: false, in_mongodb: true, parse }
}

/// A keyword of draft 4 that MongoDB has not either.
const fn unsupported(name: &'static str, about: &'static str) -> SchemaKeyword {
    let parse: Parse = |_, operand| {
        let text = format!("$jsonSchema keyword '{}' is not currently supported", operand.name);
        Err(Error::failed_to_parse(text))
    };
    SchemaKeyword { name, about, supported: false, in_mongodb: false, parse }
}

const KEYWORDS: &[SchemaKeyword] = &[
    of_schema("title", "a name, repeated in errInfo"),
    of_schema("description", "a text, repeated in errInfo"),
    of_schema("type", "has one of these JSON types"),
    of_schema("bsonType", "has one of these BSON types"),
    keyword("pattern", scalar::pattern, "a string matches the pattern"),
    keyword("maxLength", scalar::max_length, "a string has at most this many code points"),
    keyword("minLength", scalar::min_length, "a string has at least this many code points"),
    keyword("multipleOf", scalar::multiple_of, "a number is a multiple of this one"),
    keyword("maximum", scalar::maximum, "a number is at most this one"),
    keyword("exclusiveMaximum", scalar::exclusive_maximum, "maximum itself is too much"),
    keyword("minimum", scalar::minimum, "a number is at least this one"),
    keyword("exclusiveMinimum", scalar::exclusive_minimum, "minimum itself is too little"),
    keyword("minItems", array::min_items, "an array has at least this many elements"),
    keyword("maxItems", array::max_items, "an array has at most this many elements"),
    keyword("uniqueItems", array::unique_items, "no two elements of an array are equal"),
    keyword("items", array::items, "the elements of an array are valid"),
    keyword("additionalItems", array::additional_items, "the elements behind those of items are valid"),
    encryption("encrypt", "client-side field level encryption"),
    encryption("encryptMetadata", "client-side field level encryption"),
    keyword("properties", object::properties, "these properties are valid where they are there"),
    keyword("patternProperties", object::pattern_properties, "properties with such names are valid"),
    keyword("additionalProperties", object::additional_properties, "all other properties are valid"),
    keyword("required", object::required, "these properties are there"),
    keyword("minProperties", object::min_properties, "a document has at least this many fields"),
    keyword("maxProperties", object::max_properties, "a document has at most this many fields"),
    keyword("dependencies", object::dependencies, "what must be when a property is there"),
    keyword("allOf", logical::all_of, "all the schemas hold"),
    keyword("anyOf", logical::any_of, "one of the schemas holds"),
    keyword("oneOf", logical::one_of, "exactly one of the schemas holds"),
    keyword("not", logical::not, "the schema does not hold"),
    keyword("enum", logical::one_of_values, "is one of the values"),
    unsupported("$ref", "another schema"),
    unsupported("$schema", "the version of JSON Schema"),
    unsupported("default", "a default value"),
    unsupported("definitions", "schemas to be referred to"),
    unsupported("format", "a named format"),
    unsupported("id", "the schema's own name"),
];

/// All keywords.
pub fn schema_keywords() -> &'static [SchemaKeyword] {
    KEYWORDS
}
