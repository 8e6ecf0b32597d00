//! The `collation` document: what it may hold, with MongoDB's codes, and its complete form.

use super::locales::{self, Found};
use crate::builder::DocBuilder;
use crate::error::{Error, ErrorCode, Result};
use crate::number::Number;
use crate::raw::{RawDoc, RawValue};
use crate::text;
use crate::types::ElementType as T;

/// The version of ICU that MongoDB names in every complete collation.
pub const COLLATION_VERSION: &str = "57.1";

/// Which differences count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Base letters only.
    Primary = 1,
    /// Accents, too.
    Secondary = 2,
    /// Case and variants, too.
    Tertiary = 3,
    /// Punctuation that is otherwise left out, too.
    Quaternary = 4,
    /// Everything that is not canonically equivalent.
    Identical = 5,
}

/// Which case comes first where nothing else differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseFirst {
    /// Upper case.
    Upper,
    /// Lower case.
    Lower,
    /// Like `Lower`, at the level of other small differences.
    Off,
}

/// A complete collation: every option has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollationSpec {
    /// MongoDB's name of the locale.
    pub locale: String,
    /// Case counts at strength 1 and 2.
    pub case_level: bool,
    /// Which case comes first.
    pub case_first: CaseFirst,
    /// Which differences count.
    pub strength: Strength,
    /// Digits compare as numbers.
    pub numeric_ordering: bool,
    /// White space and punctuation count at the fourth level only (`alternate: "shifted"`).
    pub shifted: bool,
    /// Of these, white space alone is meant (`maxVariable: "space"`).
    pub space_only: bool,
    /// Text is checked for normalization first. It always is; the option is kept for show.
    pub normalization: bool,
    /// Accents compare from the end.
    pub backwards: bool,
}

/// A collation document as it was sent: what is not named is the locale's own.
#[derive(Debug, Default)]
pub(super) struct Requested<'a> {
    pub locale: &'a str,
    pub case_level: Option<bool>,
    pub case_first: Option<CaseFirst>,
    pub strength: Option<Strength>,
    pub numeric_ordering: Option<bool>,
    pub shifted: Option<bool>,
    pub space_only: Option<bool>,
    pub normalization: Option<bool>,
    pub backwards: Option<bool>,
}

/// An option of a collation document.
pub struct CollationOption {
    /// The name.
    pub name: &'static str,
    read: for<'a> fn(&mut Requested<'a>, RawValue<'a>, RawDoc<'a>) -> Result<()>,
    /// What it does, in a line.
    pub about: &'static str,
}

const CASE_FIRST: &[(&str, CaseFirst)] =
    &[("upper", CaseFirst::Upper), ("lower", CaseFirst::Lower), ("off", CaseFirst::Off)];

const OPTIONS: &[CollationOption] = &[
    CollationOption {
        name: "locale",
        read: |wanted, value, _| string("locale", value).map(|name| wanted.locale = name),
        about: "the language whose rules hold; `simple` compares bytes",
    },
    CollationOption {
        name: "caseLevel",
        read: |wanted, value, _| flag("caseLevel", value).map(|on| wanted.case_level = Some(on)),
        about: "case counts at strength 1 and 2, too",
    },
    CollationOption {
        name: "caseFirst",
        read: |wanted, value, _| {
            one_of("caseFirst", value, CASE_FIRST).map(|first| wanted.case_first = Some(first))
        },
        about: "upper or lower case comes first",
    },
    CollationOption {
        name: "strength",
        read: |wanted, value, _| strength(value).map(|strength| wanted.strength = Some(strength)),
        about: "letters (1), accents (2), case (3), punctuation (4) or everything (5) counts",
    },
    CollationOption {
        name: "numericOrdering",
        read: |wanted, value, _| flag("numericOrdering", value).map(|on| wanted.numeric_ordering = Some(on)),
        about: "digits compare as numbers",
    },
    CollationOption {
        name: "alternate",
        read: |wanted, value, _| {
            let values = [("non-ignorable", false), ("shifted", true)];
            one_of("alternate", value, &values).map(|shifted| wanted.shifted = Some(shifted))
        },
        about: "white space and punctuation count at strength 4 and 5 only, when `shifted`",
    },
    CollationOption {
        name: "maxVariable",
        read: |wanted, value, _| {
            one_of("maxVariable", value, &[("punct", false), ("space", true)])
                .map(|only| wanted.space_only = Some(only))
        },
        about: "of these, white space alone is meant, when `space`",
    },
    CollationOption {
        name: "normalization",
        read: |wanted, value, _| flag("normalization", value).map(|on| wanted.normalization = Some(on)),
        about: "text is normalized first; here it always is",
    },
    CollationOption {
        name: "backwards",
        read: |wanted, value, _| loose_flag("backwards", value).map(|on| wanted.backwards = Some(on)),
        about: "accents compare from the end of the text",
    },
    CollationOption {
        name: "version",
        read: |_, value, doc| check_version(doc, string("version", value)?),
        about: "the version of ICU that is asked for, `57.1` or none",
    },
];

/// All options of a collation document.
pub fn collation_options() -> &'static [CollationOption] {
    OPTIONS
}

impl<'a> Requested<'a> {
    /// Reads a document. `None`: the simple collation, which compares bytes.
    pub(super) fn parse(doc: RawDoc<'a>) -> Result<Option<Self>> {
        let mut wanted = Requested::default();
        let mut seen: Vec<&str> = Vec::new();
        for field in doc {
            let name = field.name();
            if seen.contains(&name) {
                let message = format!("BSON field 'collation.{name}' is a duplicate field");
                return Err(Error::new(ErrorCode::IDLDuplicateField, message));
            }
            seen.push(name);
            let option = OPTIONS.iter().find(|row| row.name == name).ok_or_else(|| {
                let message = format!("BSON field 'collation.{name}' is an unknown field.");
                Error::new(ErrorCode::IDLUnknownField, message)
            })?;
            (option.read)(&mut wanted, field.value, doc)?;
        }
        if !seen.contains(&"locale") {
            let message = "BSON field 'collation.locale' is missing but a required field";
            return Err(Error::new(ErrorCode::IDLFailedToParse, message));
        }
        if wanted.locale != "simple" {
            return Ok(Some(wanted));
        }
        match seen.len() {
            1 => Ok(None),
            _ => Err(Error::failed_to_parse(format!(
                "locale \"simple\" takes no other options: {}",
                text::document(doc)
            ))),
        }
    }

    /// The library's tag of the locale.
    pub(super) fn tag(&self, doc: RawDoc<'_>) -> Result<String> {
        let told = || text::document(doc);
        if self.locale.contains('\0') {
            let message = format!("Field 'locale' cannot contain null byte. Collation spec: {}", told());
            return Err(Error::bad_value(message));
        }
        if self.locale.is_empty() {
            return Err(Error::bad_value(format!(
                "Field 'locale' cannot be the empty string in: {}",
                told()
            )));
        }
        match locales::find(self.locale) {
            Found::Tag(tag) => Ok(tag),
            Found::Missing => Err(Error::new(
                ErrorCode::CommandNotSupported,
                format!("this version of MultiforaDB has no data for the locale '{}'", self.locale),
            )),
            Found::Unknown(nearest) => {
                let mut message = format!("Field 'locale' is invalid in: {}", told());
                if let Some(nearest) = nearest {
                    message.push_str(&format!(". Did you mean '{nearest}'?"));
                }
                Err(Error::bad_value(message))
            }
        }
    }
}

impl CollationSpec {
    /// Refuses options that have no effect together.
    pub(super) fn check(&self) -> Result<()> {
        let told = || text::document(RawDoc::framed(&self.document()).unwrap_or(RawDoc::EMPTY));
        if self.backwards && self.strength == Strength::Primary {
            let message = format!("'backwards' is invalid with 'strength' of 1 in: {}", told());
            return Err(Error::bad_value(message));
        }
        if self.case_first != CaseFirst::Off && !self.case_level && self.strength < Strength::Tertiary {
            let message = format!(
                "'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2 in: {}",
                told()
            );
            return Err(Error::bad_value(message));
        }
        Ok(())
    }

    /// All options as a document, as listCollections and listIndexes show them.
    pub fn document(&self) -> Vec<u8> {
        let case_first = match self.case_first {
            CaseFirst::Upper => "upper",
            CaseFirst::Lower => "lower",
            CaseFirst::Off => "off",
        };
        let mut out = DocBuilder::new();
        out.str("locale", &self.locale)
            .bool("caseLevel", self.case_level)
            .str("caseFirst", case_first)
            .i32("strength", self.strength as i32)
            .bool("numericOrdering", self.numeric_ordering)
            .str("alternate", if self.shifted { "shifted" } else { "non-ignorable" })
            .str("maxVariable", if self.space_only { "space" } else { "punct" })
            .bool("normalization", self.normalization)
            .bool("backwards", self.backwards)
            .str("version", COLLATION_VERSION);
        out.finish()
    }
}

fn wrong_type(name: &str, value: RawValue<'_>, wanted: &str) -> Error {
    Error::type_mismatch(format!(
        "BSON field 'collation.{name}' is the wrong type '{}', expected type{} '{wanted}'",
        value.ty.name(),
        if wanted.starts_with('[') { "s" } else { "" }
    ))
}

fn string<'a>(name: &str, value: RawValue<'a>) -> Result<&'a str> {
    value.as_str().filter(|_| value.ty == T::String).ok_or_else(|| wrong_type(name, value, "string"))
}

fn flag(name: &str, value: RawValue<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong_type(name, value, "bool"))
}

/// A bool, or a number as one.
fn loose_flag(name: &str, value: RawValue<'_>) -> Result<bool> {
    value
        .as_bool()
        .or_else(|| Number::from_value(value).map(|n| !n.is_zero()))
        .ok_or_else(|| wrong_type(name, value, "[bool, long, int, decimal, double]"))
}

fn one_of<V: Copy>(name: &str, value: RawValue<'_>, values: &[(&str, V)]) -> Result<V> {
    let text = string(name, value)?;
    match values.iter().find(|known| known.0 == text) {
        Some((_, found)) => Ok(*found),
        None => Err(Error::bad_value(format!(
            "Enumeration value '{text}' for field 'collation.{name}' is not a valid value."
        ))),
    }
}

fn strength(value: RawValue<'_>) -> Result<Strength> {
    let number = Number::from_value(value)
        .ok_or_else(|| wrong_type("strength", value, "[long, int, decimal, double]"))?
        .truncate_to_i64();
    match number {
        1 => Ok(Strength::Primary),
        2 => Ok(Strength::Secondary),
        3 => Ok(Strength::Tertiary),
        4 => Ok(Strength::Quaternary),
        5 => Ok(Strength::Identical),
        0 => Err(Error::failed_to_parse("Field 'strength' must be an integer 1 through 5. Got: 0")),
        other => {
            let (relation, limit) = if other < 0 { (">=", 0) } else { ("<=", 5) };
            Err(Error::location(
                51024,
                format!("BSON field 'strength' value must be {relation} {limit}, actual value '{other}'"),
            ))
        }
    }
}

fn check_version(doc: RawDoc<'_>, version: &str) -> Result<()> {
    if version == COLLATION_VERSION {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::IncompatibleCollationVersion,
        format!(
            "Requested collation version {version} but the only available collator version was \
             {COLLATION_VERSION}. Requested collation spec: {}",
            text::document(doc)
        ),
    ))
}
