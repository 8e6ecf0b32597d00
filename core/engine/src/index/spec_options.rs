//! The options of an index specification: one row each, with what it may hold.

use multifora_model::{
    ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result, number::Number, text,
};

/// What an option may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// A document.
    Document,
    /// A string.
    Text,
    /// A bool, or a number that stands for one.
    Flag,
    /// A number of seconds.
    Seconds,
    /// The index version.
    Version,
    /// Accepted for old clients, without effect.
    Ignored,
    /// MongoDB has it, this build has not (yet).
    ToCome,
}

/// Every option MongoDB 8.0 knows.
const OPTIONS: &[(&str, OptionKind)] = &[
    ("key", OptionKind::Document),
    ("name", OptionKind::Text),
    ("v", OptionKind::Version),
    ("ns", OptionKind::Ignored),
    ("background", OptionKind::Flag),
    ("unique", OptionKind::Flag),
    ("sparse", OptionKind::Flag),
    ("hidden", OptionKind::Flag),
    ("dropDups", OptionKind::Ignored),
    ("expireAfterSeconds", OptionKind::Seconds),
    ("partialFilterExpression", OptionKind::Document),
    ("collation", OptionKind::Document),
    ("storageEngine", OptionKind::Document),
    ("clustered", OptionKind::ToCome),
    ("prepareUnique", OptionKind::ToCome),
    ("wildcardProjection", OptionKind::ToCome),
    ("columnstoreProjection", OptionKind::ToCome),
    ("weights", OptionKind::ToCome),
    ("default_language", OptionKind::ToCome),
    ("language_override", OptionKind::ToCome),
    ("textIndexVersion", OptionKind::ToCome),
    ("2dsphereIndexVersion", OptionKind::ToCome),
    ("finestIndexedLevel", OptionKind::ToCome),
    ("coarsestIndexedLevel", OptionKind::ToCome),
    ("bits", OptionKind::ToCome),
    ("min", OptionKind::ToCome),
    ("max", OptionKind::ToCome),
    ("bucketSize", OptionKind::ToCome),
];

/// The options of one specification, by type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The key pattern.
    pub key: Option<RawDoc<'a>>,
    /// The name.
    pub name: Option<&'a str>,
    /// `unique`.
    pub unique: bool,
    /// `sparse`.
    pub sparse: bool,
    /// `hidden`.
    pub hidden: bool,
    /// `expireAfterSeconds`.
    pub expire_after_secs: Option<i64>,
    /// `partialFilterExpression`.
    pub partial_filter: Option<RawDoc<'a>>,
    /// `collation`.
    pub collation: Option<RawDoc<'a>>,
}

/// The kind of an option, if there is one of this name.
pub fn kind_of(option: &str) -> Option<OptionKind> {
    OPTIONS.iter().find(|row| row.0 == option).map(|row| row.1)
}

/// Checks names and types of all options.
pub fn parse(spec: RawDoc<'_>) -> Result<Options<'_>> {
    let mut options = Options::default();
    for field in spec {
        let name = field.name();
        let Some(kind) = kind_of(name) else { return Err(unknown_option(name, spec)) };
        let value = field.value;
        match kind {
            OptionKind::Document => {
                let Some(doc) = value.as_doc() else { return Err(wrong_type(name, "object", value)) };
                match name {
                    "key" => options.key = Some(doc),
                    "partialFilterExpression" => options.partial_filter = Some(doc),
                    "collation" if doc.is_empty() => {
                        let text = "The field 'collation' cannot be an empty object.";
                        return Err(Error::bad_value(text));
                    }
                    "collation" => options.collation = Some(doc),
                    _ => {}
                }
            }
            OptionKind::Text => {
                let Some(text) = value.as_str() else { return Err(wrong_type(name, "string", value)) };
                options.name = Some(text);
            }
            OptionKind::Flag => set_flag(&mut options, name, value)?,
            OptionKind::Seconds => {
                if !value.ty.is_number() {
                    return Err(wrong_type(name, "number", value));
                }
                options.expire_after_secs = Some(seconds(value));
            }
            OptionKind::Version => check_version(spec, value)?,
            OptionKind::Ignored => {}
            OptionKind::ToCome => return Err(option_to_come(name)),
        }
    }
    Ok(options)
}

fn set_flag(options: &mut Options<'_>, name: &str, value: RawValue<'_>) -> Result<()> {
    if value.ty != ElementType::Bool && !value.ty.is_number() {
        let told = text::value(value);
        return Err(Error::type_mismatch(format!(
            "The field '{name}' has value {name}: {told}, which is not convertible to bool"
        )));
    }
    let on = truth(value);
    match name {
        "unique" => options.unique = on,
        "sparse" => options.sparse = on,
        "hidden" => options.hidden = on,
        _ => {}
    }
    Ok(())
}

fn check_version(spec: RawDoc<'_>, value: RawValue<'_>) -> Result<()> {
    if !value.ty.is_number() {
        return Err(wrong_type("v", "number", value));
    }
    let version = approximate_number(value);
    if version.fract() != 0.0 {
        return Err(Error::bad_value(format!(
            "Index version must be representable as a 32-bit integer, but got {}",
            text::value(value)
        )));
    }
    if version == 1.0 || version == 2.0 {
        return Ok(());
    }
    let told = text::document(spec);
    Err(Error::new(
        ErrorCode::CannotCreateIndex,
        format!("Invalid index specification {told}; cannot create an index with v={}", version as i64),
    ))
}

fn option_to_come(name: &str) -> Error {
    Error::new(
        ErrorCode::CannotCreateIndex,
        format!("The index option '{name}' is not supported by this version of MultiforaDB"),
    )
}

fn unknown_option(name: &str, spec: RawDoc<'_>) -> Error {
    let told = text::document(spec);
    Error::new(
        ErrorCode::InvalidIndexSpecificationOption,
        format!("The field '{name}' is not valid for an index specification. Specification: {told}"),
    )
}

fn wrong_type(name: &str, wanted: &str, value: RawValue<'_>) -> Error {
    let article = if wanted == "object" { "an" } else { "a" };
    Error::type_mismatch(format!(
        "The field '{name}' must be {article} {wanted}, but got {}",
        value.ty.name()
    ))
}

/// A bool or number as a bool.
pub fn truth(value: RawValue<'_>) -> bool {
    value.as_bool().unwrap_or_else(|| approximate_number(value) != 0.0)
}

/// A number as a double: for signs and comparisons with small numbers.
pub fn approximate_number(value: RawValue<'_>) -> f64 {
    Number::from_value(value).map_or(f64::NAN, Number::as_f64)
}

/// A number that is whole and fits, as an i64.
pub fn whole_number(value: RawValue<'_>) -> Option<i64> {
    let number = if value.ty.is_number() { approximate_number(value) } else { return None };
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

/// `expireAfterSeconds` as whole seconds: fractions are cut, NaN counts as the largest value.
fn seconds(value: RawValue<'_>) -> i64 {
    let number = approximate_number(value);
    if number.is_nan() { super::spec::MAX_EXPIRE_AFTER_SECS } else { number as i64 }
}

/// `expireAfterSeconds` as it is kept: whole numbers as given, others as int32.
pub fn seconds_value(value: RawValue<'_>) -> OwnedValue {
    match value.ty {
        ElementType::Int32 | ElementType::Int64 => value.into(),
        _ => OwnedValue::from(i32::try_from(seconds(value)).unwrap_or(i32::MAX)),
    }
}
