//! Index specifications: what createIndexes accepts, with MongoDB's codes, and when two of them are
//! the same index.
//!
//! A specification is kept as the BSON that listIndexes shows; everything the engine needs from it
//! is parsed once into [`ParsedSpec`], here, both when a client sends it and when the catalogue is
//! read.

use crate::catalog::{IndexField, Namespace};
use multifora_model::path::FieldPath;
use multifora_model::{Collation, DocBuilder, Error, ErrorCode, RawDoc, RawValue, Result, compare, text};
use std::cmp::Ordering;
use std::sync::Arc;

use super::spec_options::{self, OptionKind};

/// Most fields of a compound index.
pub const MAX_FIELDS: usize = 32;
/// Most indexes of one collection, `_id_` included.
pub const MAX_INDEXES_PER_COLLECTION: usize = 64;
/// Largest `expireAfterSeconds`: the seconds that an int32 holds.
pub const MAX_EXPIRE_AFTER_SECS: i64 = i32::MAX as i64;
/// The index version that this build writes.
const INDEX_VERSION: i32 = 2;

/// A specification, checked.
#[derive(Clone, Debug)]
pub struct ParsedSpec {
    /// The index's name.
    pub name: String,
    /// `{v, key, name, …}` as listIndexes shows it.
    pub bson: Vec<u8>,
    /// The indexed paths.
    pub fields: Vec<IndexField>,
    /// Equal keys are refused.
    pub unique: bool,
    /// Documents without any of the fields have no entry.
    pub sparse: bool,
    /// The planner must not use it.
    pub hidden: bool,
    /// Seconds after which documents expire.
    pub expire_after_secs: Option<i64>,
    /// Only documents that match are indexed, as a filter document.
    pub partial_filter: Option<Vec<u8>>,
    /// How strings are ordered; by their bytes without one.
    pub collation: Option<Arc<Collation>>,
    /// The client has said which collation, be it the simple one.
    pub names_collation: bool,
}

/// How a wanted index stands to one that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Nothing in common.
    Different,
    /// Same name, keys and options: nothing to do.
    Identical,
}

impl ParsedSpec {
    /// The `_id_` index of a collection with this default collation.
    pub fn id_index(collation: Option<&Arc<Collation>>) -> Self {
        let mut spec = DocBuilder::new();
        spec.i32("v", INDEX_VERSION).start_doc("key").i32("_id", 1).end().str("name", "_id_");
        if let Some(collation) = collation {
            spec.doc("collation", collation.document());
        }
        ParsedSpec {
            name: String::from("_id_"),
            bson: spec.finish(),
            fields: vec![IndexField { path: FieldPath::parse("_id"), descending: false }],
            unique: true,
            sparse: false,
            hidden: false,
            expire_after_secs: None,
            partial_filter: None,
            collation: collation.cloned(),
            names_collation: false,
        }
    }

    /// The specification in a collection with this default collation, which an index has unless it names another one.
    ///
    /// # Errors
    /// `BadValue` for an `_id` index with another collation than the collection.
    pub fn in_collection(&self, default: Option<&Arc<Collation>>) -> Result<Self> {
        if self.name == "_id_" && self.names_collation && self.collation.as_ref() != default {
            let told = |collation: Option<&Arc<Collation>>| match collation {
                Some(collation) => text::document(collation.document()),
                None => String::from("{ locale: \"simple\" }"),
            };
            return Err(Error::bad_value(format!(
                "The _id index must have the same collation as the collection. Index collation: {}, collection \
                 collation: {}",
                told(self.collation.as_ref()),
                told(default)
            )));
        }
        let Some(default) = default.filter(|_| !self.names_collation) else { return Ok(self.clone()) };
        let mut bson = DocBuilder::new();
        bson.extend(RawDoc::framed(&self.bson).unwrap_or(RawDoc::EMPTY)).doc("collation", default.document());
        Ok(ParsedSpec { bson: bson.finish(), collation: Some(Arc::clone(default)), ..self.clone() })
    }

    /// Checks a specification that a client sent.
    pub fn parse(spec: RawDoc<'_>) -> Result<Self> {
        let options = spec_options::parse(spec)?;
        let Some(key) = options.key else {
            return Err(Error::failed_to_parse(
                "The 'key' field is a required property of an index specification",
            ));
        };
        let is_id = is_id_pattern(key);
        let Some(name) = options.name else {
            return Err(Error::failed_to_parse(
                "The 'name' field is a required property of an index specification",
            ));
        };
        let fields = parse_key(key)?;
        if is_id {
            check_id_spec(spec, key)?;
        } else {
            check_name(name)?;
        }
        check_expiry(spec, &options, &fields)?;
        if options.sparse && options.partial_filter.is_some() {
            return Err(cannot_create("cannot mix \"partialFilterExpression\" and \"sparse\" options"));
        }
        let collation = match options.collation {
            Some(doc) => Collation::parse(doc)?,
            None => None,
        };
        if collation.is_some() && spec.get("v").and_then(spec_options::whole_number) == Some(1) {
            let told = text::document(spec);
            return Err(cannot_create(format!(
                "Invalid index specification {told}; cannot create an index with the 'collation' option and v=1"
            )));
        }
        let name = if is_id { "_id_" } else { name };
        Ok(ParsedSpec {
            name: name.to_owned(),
            bson: normalized(spec, name, key, collation.as_deref()),
            fields,
            unique: options.unique || is_id,
            sparse: options.sparse,
            hidden: options.hidden,
            expire_after_secs: options.expire_after_secs,
            partial_filter: options.partial_filter.map(|f| f.as_bytes().to_vec()),
            collation,
            names_collation: options.collation.is_some(),
        })
    }

    /// The key pattern.
    pub fn key(&self) -> RawDoc<'_> {
        key_of(&self.bson)
    }

    /// Compares with an index that exists.
    ///
    /// # Errors
    /// `IndexKeySpecsConflict` or `IndexOptionsConflict` when both cannot be.
    pub fn likeness(&self, existing_name: &str, existing_spec: &[u8]) -> Result<Likeness> {
        let wanted = RawDoc::framed(&self.bson).unwrap_or(RawDoc::EMPTY);
        let existing = RawDoc::framed(existing_spec).unwrap_or(RawDoc::EMPTY);
        let same_signature = SIGNATURE.iter().all(|option| same_option(wanted, existing, option));
        let same_options = OTHER_OPTIONS.iter().all(|option| same_option(wanted, existing, option));
        let told = || {
            format!(
                "Requested index: {}, existing index: {}",
                text::document(wanted),
                text::document(existing)
            )
        };
        match (self.name == existing_name, same_signature, same_options) {
            (true, true, true) => Ok(Likeness::Identical),
            (true, true, false) => Err(Error::new(
                ErrorCode::IndexOptionsConflict,
                format!(
                    "An equivalent index already exists with the same name but different options. {}",
                    told()
                ),
            )),
            (true, false, _) => Err(Error::new(
                ErrorCode::IndexKeySpecsConflict,
                format!(
                    "An existing index has the same name as the requested index. When index names are not specified, \
                     they are auto generated and can cause conflicts. Please refer to our documentation. {}",
                    told()
                ),
            )),
            (false, true, true) => Err(Error::new(
                ErrorCode::IndexOptionsConflict,
                format!("Index already exists with a different name: {existing_name}"),
            )),
            (false, true, false) => Err(Error::new(
                ErrorCode::IndexOptionsConflict,
                format!("An equivalent index already exists with a different name and options. {}", told()),
            )),
            (false, false, _) => Ok(Likeness::Different),
        }
    }
}

/// Options that make two indexes over the same keys different indexes.
const SIGNATURE: [&str; 5] = ["key", "collation", "partialFilterExpression", "unique", "sparse"];
/// Options that two specifications of one index must share besides.
const OTHER_OPTIONS: [&str; 2] = ["expireAfterSeconds", "hidden"];

fn same_option(a: RawDoc<'_>, b: RawDoc<'_>, option: &str) -> bool {
    let (a, b) = (a.get(option), b.get(option));
    if spec_options::kind_of(option) == Some(OptionKind::Flag) {
        // `unique: false` says what its absence says.
        return a.is_some_and(spec_options::truth) == b.is_some_and(spec_options::truth);
    }
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b) == Ordering::Equal,
        (None, None) => true,
        _ => false,
    }
}

/// The key pattern of a specification that was checked before.
pub fn key_of(spec: &[u8]) -> RawDoc<'_> {
    RawDoc::framed(spec).and_then(|doc| doc.get("key")?.as_doc()).unwrap_or(RawDoc::EMPTY)
}

/// `{_id: 1}` or `{_id: -1}`.
fn is_id_pattern(key: RawDoc<'_>) -> bool {
    let mut fields = key.iter();
    let (Some(only), None) = (fields.next(), fields.next()) else { return false };
    only.name() == "_id" && matches!(spec_options::whole_number(only.value), Some(1 | -1))
}

fn check_id_spec(spec: RawDoc<'_>, key: RawDoc<'_>) -> Result<()> {
    if key.iter().next().and_then(|f| spec_options::whole_number(f.value)) != Some(1) {
        let told = text::document(key);
        return Err(Error::bad_value(format!(
            "The field 'key' for an _id index must be {{_id: 1}}, but got {told}"
        )));
    }
    for option in spec {
        if !matches!(option.name(), "key" | "name" | "v" | "ns" | "collation") {
            return Err(Error::new(
                ErrorCode::InvalidIndexSpecificationOption,
                format!(
                    "The field '{}' is not valid for an _id index specification. Specification: {}",
                    option.name(),
                    text::document(spec)
                ),
            ));
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    match name {
        "" => Err(cannot_create("index name cannot be empty")),
        "*" => Err(Error::bad_value("The index name '*' is not valid.")),
        "_id_" => Err(Error::bad_value(
            "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}",
        )),
        _ if name.contains('\0') => Err(cannot_create("index name cannot contain NUL bytes")),
        _ => Ok(()),
    }
}

fn check_expiry(spec: RawDoc<'_>, options: &spec_options::Options<'_>, fields: &[IndexField]) -> Result<()> {
    let Some(secs) = options.expire_after_secs else { return Ok(()) };
    if secs < 0 {
        let told = text::document(spec);
        return Err(cannot_create(format!(
            "TTL index 'expireAfterSeconds' option cannot be less than 0. Index spec: {told}"
        )));
    }
    if secs > MAX_EXPIRE_AFTER_SECS {
        let told = text::document(spec);
        return Err(cannot_create(format!(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number. \
             Index spec: {told}"
        )));
    }
    if fields.len() > 1 {
        let told = text::document(spec);
        return Err(cannot_create(format!(
            "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: {told}"
        )));
    }
    Ok(())
}

/// The specification as listIndexes shows it: version, key, name, then the options as given.
fn normalized(spec: RawDoc<'_>, name: &str, key: RawDoc<'_>, collation: Option<&Collation>) -> Vec<u8> {
    let mut out = DocBuilder::new();
    out.i32("v", spec.get("v").and_then(spec_options::whole_number).map_or(INDEX_VERSION, |v| v as i32));
    out.doc("key", key).str("name", name);
    for option in spec {
        if matches!(option.name(), "v" | "key" | "name" | "ns" | "dropDups") {
            continue;
        }
        if option.name() == "collation" {
            // Complete; the simple one is none.
            if let Some(collation) = collation {
                out.doc("collation", collation.document());
            }
            continue;
        }
        match spec_options::kind_of(option.name()) {
            Some(OptionKind::Flag) => out.bool(option.name(), spec_options::truth(option.value)),
            Some(OptionKind::Seconds) => {
                out.append(option.name(), spec_options::seconds_value(option.value).as_ref())
            }
            _ => out.append(option.name(), option.value),
        };
    }
    out.finish()
}

/// Checks a key pattern and parses its paths.
pub fn parse_key(key: RawDoc<'_>) -> Result<Vec<IndexField>> {
    if key.is_empty() {
        return Err(cannot_create("Index keys cannot be empty."));
    }
    let mut fields: Vec<IndexField> = Vec::new();
    for field in key {
        let name = field.name();
        if fields.iter().any(|known| known.path.as_str() == name) {
            let told = text::document(key);
            return Err(Error::bad_value(format!(
                "The field '{name}' appears multiple times in the index key pattern {told}"
            )));
        }
        let descending = direction(field.value)?;
        check_path(name)?;
        fields.push(IndexField { path: FieldPath::parse(name), descending });
    }
    if fields.len() > MAX_FIELDS {
        return Err(Error::location(13103, "too many compound keys"));
    }
    Ok(fields)
}

/// Kinds of index that MongoDB has and this build does not (yet).
const KINDS_TO_COME: [&str; 5] = ["hashed", "text", "2d", "2dsphere", "columnstore"];

fn direction(value: RawValue<'_>) -> Result<bool> {
    if let Some(kind) = value.as_str() {
        let text = if KINDS_TO_COME.contains(&kind) {
            format!("Index type '{kind}' is not supported by this version of MultiforaDB")
        } else {
            format!("Unknown index plugin '{kind}'")
        };
        return Err(cannot_create(text));
    }
    if !value.ty.is_number() {
        return Err(cannot_create(format!(
            "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings are allowed.",
            value.ty.name()
        )));
    }
    let number = spec_options::approximate_number(value);
    if number.is_nan() {
        return Err(cannot_create("Values in the index key pattern cannot be NaN."));
    }
    if number == 0.0 {
        return Err(cannot_create("Values in the index key pattern cannot be 0."));
    }
    Ok(number < 0.0)
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(cannot_create("Index keys cannot be an empty field."));
    }
    let parts: Vec<&str> = path.split('.').collect();
    if parts.contains(&"$**") {
        return Err(cannot_create("Wildcard indexes are not supported by this version of MultiforaDB"));
    }
    for (i, part) in parts.iter().enumerate() {
        if part.is_empty() {
            return Err(cannot_create("Index keys cannot contain an empty field."));
        }
        let is_reference = i > 0 && matches!(*part, "$id" | "$ref" | "$db");
        if part.starts_with('$') && !is_reference {
            return Err(cannot_create(
                "Index key contains an illegal field name: field name starts with '$'.",
            ));
        }
    }
    Ok(())
}

/// `CannotCreateIndex` (67).
pub fn cannot_create(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::CannotCreateIndex, message)
}

/// Refuses one index more than a collection may have.
pub fn check_index_count(ns: &Namespace, count_after: usize, key: RawDoc<'_>) -> Result<()> {
    if count_after <= MAX_INDEXES_PER_COLLECTION {
        return Ok(());
    }
    Err(cannot_create(format!("add index fails, too many indexes for {ns} key:{}", text::document(key))))
}
