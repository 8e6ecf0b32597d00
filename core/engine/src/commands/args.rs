//! Typed command arguments: what a command declares, it gets; everything else is MongoDB's error.
//!
//! A command lists its fields once ([`Field`] rows); [`Args::command`] walks the body once and
//! refuses unknown (40415), repeated (40413), missing (40414) and wrongly typed (14) fields in
//! MongoDB's words. Null and undefined count as absent, as they do in MongoDB. The arguments that
//! every command takes (`commands::generic`) are checked by the dispatcher and skipped here.
//! Numeric options take any numeric type, because old shells send doubles for everything.

use super::generic;
use crate::catalog::Namespace;
use crate::request::Request;
use multifora_model::number::Number;
use multifora_model::{Element, ElementType, Error, ErrorCode, RawDoc, RawValue, Result};

/// Which BSON types a field may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(&'static [ElementType]);

use ElementType as T;

impl Types {
    /// A string.
    pub const STRING: Types = Types(&[T::String]);
    /// A document.
    pub const OBJECT: Types = Types(&[T::Document]);
    /// An array.
    pub const ARRAY: Types = Types(&[T::Array]);
    /// Exactly a bool.
    pub const STRICT_BOOL: Types = Types(&[T::Bool]);
    /// A bool, or a number read as one.
    pub const BOOL: Types = Types(&[T::Bool, T::Int64, T::Int32, T::Decimal128, T::Double]);
    /// Any number.
    pub const NUMBER: Types = Types(&[T::Int64, T::Int32, T::Decimal128, T::Double]);
    /// Exactly an int32.
    pub const INT: Types = Types(&[T::Int32]);
    /// Exactly an int64 (cursor ids).
    pub const LONG: Types = Types(&[T::Int64]);
    /// A string or a document (`hint`).
    pub const STRING_OR_OBJECT: Types = Types(&[T::String, T::Document]);
    /// A string or an array (`dropIndexes.index` beside documents).
    pub const STRING_OR_OBJECT_OR_ARRAY: Types = Types(&[T::String, T::Document, T::Array]);
    /// A document or an array (update documents and pipelines).
    pub const OBJECT_OR_ARRAY: Types = Types(&[T::Document, T::Array]);
    /// A timestamp.
    pub const TIMESTAMP: Types = Types(&[T::Timestamp]);
    /// Binary data.
    pub const BINARY: Types = Types(&[T::Binary]);
    /// Anything, null included.
    pub const ANY: Types = Types(&[]);

    fn is_any(self) -> bool {
        self.0.is_empty()
    }
}

/// One field that a command (or a document inside it) declares.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// The types it may have.
    pub types: Types,
    /// Must be there.
    pub required: bool,
}

impl Field {
    /// A field that may be left out.
    pub const fn optional(name: &'static str, types: Types) -> Self {
        Field { name, types, required: false }
    }

    /// A field that must be there.
    pub const fn required(name: &'static str, types: Types) -> Self {
        Field { name, types, required: true }
    }
}

/// Most fields that one document of arguments may declare.
const MAX_FIELDS: usize = 64;

/// The arguments of one command, or of one document inside it, checked against their rows.
#[derive(Clone, Debug)]
pub struct Args<'a> {
    path: &'static str,
    present: Vec<(&'static str, RawValue<'a>)>,
}

impl<'a> Args<'a> {
    /// The arguments of a command; the row for the command's own name is the value of its first field.
    /// A document sequence stands for a required array of the same name.
    pub fn command(name: &'static str, fields: &'static [Field], request: &Request<'a>) -> Result<Self> {
        let mut fields_of_body = request.body.iter();
        let mut present = Vec::with_capacity(8);
        if let Some(first) = fields_of_body.next() {
            // An alias (`findandmodify`) names the same field.
            if let Some(own) = fields.iter().find(|f| f.name == name) {
                check_type(name, name, own.types, first.value)?;
            }
            present.push((name, first.value));
        }
        let args = Self::walk(name, fields, fields_of_body, present, Some(request))?;
        for sequence in &request.sequences {
            if !fields.iter().any(|f| f.name == sequence.name && f.types.0.contains(&T::Array)) {
                return Err(unknown_field(name, sequence.name));
            }
            if args.get(sequence.name).is_some() {
                return Err(duplicate_field(name, sequence.name));
            }
        }
        Ok(args)
    }

    /// Like [`command`](Self::command), for the commands that drivers greet with: fields without a row
    /// (newer drivers add some) are passed over, as MongoDB does.
    pub fn open_command(name: &'static str, fields: &'static [Field], request: &Request<'a>) -> Result<Self> {
        let mut elements = request.body.iter();
        let first = elements.next().map(|first| (name, first.value));
        let known = elements.filter(|e| fields.iter().any(|f| f.name.as_bytes() == e.name_bytes()));
        Self::walk(name, fields, known, first.into_iter().collect(), Some(request))
    }

    /// The fields of a document inside a command; `path` is how errors name it (`update.updates`).
    pub fn nested(path: &'static str, fields: &'static [Field], doc: RawDoc<'a>) -> Result<Self> {
        Self::walk(path, fields, doc.iter(), Vec::with_capacity(8), None)
    }

    fn walk(
        path: &'static str,
        fields: &'static [Field],
        elements: impl Iterator<Item = Element<'a>>,
        mut present: Vec<(&'static str, RawValue<'a>)>,
        request: Option<&Request<'a>>,
    ) -> Result<Self> {
        debug_assert!(fields.len() <= MAX_FIELDS);
        let mut seen: u64 = 0;
        for element in elements {
            let Some(at) = fields.iter().position(|f| f.name.as_bytes() == element.name_bytes()) else {
                if request.is_some() && generic::is_generic(element.name()) {
                    continue;
                }
                if request.is_some() && element.name() == path {
                    return Err(duplicate_field(path, path));
                }
                return Err(unknown_field(path, element.name()));
            };
            let Some(field) = fields.get(at) else { continue };
            if !check_type(path, field.name, field.types, element.value)? {
                continue;
            }
            let bit = 1u64 << (at % MAX_FIELDS);
            if seen & bit != 0 || (request.is_some() && field.name == path) {
                return Err(duplicate_field(path, field.name));
            }
            seen |= bit;
            present.push((field.name, element.value));
        }
        let args = Args { path, present };
        for field in fields.iter().filter(|f| f.required) {
            let in_sequence = request.is_some_and(|r| r.sequence(field.name).is_some());
            if !in_sequence && args.get(field.name).is_none() {
                return Err(missing_field(path, field.name));
            }
        }
        Ok(args)
    }

    /// The value of a field, if it is there.
    pub fn get(&self, name: &str) -> Option<RawValue<'a>> {
        self.present.iter().find(|(known, _)| *known == name).map(|(_, v)| *v)
    }

    /// A document.
    pub fn doc(&self, name: &str) -> Option<RawDoc<'a>> {
        self.get(name)?.as_doc()
    }

    /// An array.
    pub fn array(&self, name: &str) -> Option<RawDoc<'a>> {
        self.get(name)?.as_array()
    }

    /// A string.
    pub fn str(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    /// A bool; numbers other than zero are true.
    pub fn bool(&self, name: &str) -> Option<bool> {
        truth(self.get(name)?)
    }

    /// A whole number: fractions are cut off, values beyond int64 end at its limits, NaN is 0.
    pub fn i64(&self, name: &str) -> Option<i64> {
        to_i64(self.get(name)?)
    }

    /// A whole number that must be at least `least` (`Location51024` otherwise).
    pub fn i64_at_least(&self, name: &str, least: i64) -> Result<Option<i64>> {
        match self.i64(name) {
            Some(n) if n < least => Err(out_of_range(name, ">=", least, n)),
            found => Ok(found),
        }
    }

    /// A whole number that must be within `least..=most` (`Location51024` otherwise).
    pub fn i64_within(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>> {
        match self.i64_at_least(name, least)? {
            Some(n) if n > most => Err(out_of_range(name, "<=", most, n)),
            found => Ok(found),
        }
    }

    /// The namespace that the command's own field names (`{find: "c"}`).
    pub fn namespace(&self, request: &Request<'_>) -> Result<Namespace> {
        let value = self.get(self.path).unwrap_or(RawValue::NULL);
        let Some(coll) = value.as_str().filter(|_| value.ty == T::String) else {
            let text = format!("collection name has invalid type {}", value.ty.name());
            return Err(Error::new(ErrorCode::InvalidNamespace, text));
        };
        Namespace::new(request.db, coll)
    }

    /// The documents of a required array: from the body or from a document sequence.
    pub fn documents<'r>(&self, name: &'static str, request: &'r Request<'a>) -> Result<Documents<'r, 'a>> {
        if let Some(docs) = request.sequence(name) {
            return Ok(Documents { body: None, sequence: docs });
        }
        let array = self.array(name).unwrap_or(RawDoc::EMPTY);
        for (index, element) in array.iter().enumerate() {
            if element.value.ty != T::Document {
                let path = format!("{}.{name}.{index}", self.path);
                return Err(wrong_type(&path, element.value, Types::OBJECT));
            }
        }
        Ok(Documents { body: Some(array), sequence: &[] })
    }

    /// The elements of an array of strings.
    pub fn strings(&self, name: &'static str) -> Result<Vec<&'a str>> {
        let array = self.array(name).unwrap_or(RawDoc::EMPTY);
        let text = |(index, element): (usize, Element<'a>)| {
            element.value.as_str().filter(|_| element.value.ty == T::String).ok_or_else(|| {
                wrong_type(&format!("{}.{name}.{index}", self.path), element.value, Types::STRING)
            })
        };
        array.iter().enumerate().map(text).collect()
    }
}

/// Documents of a batch, wherever they travelled.
#[derive(Clone, Copy, Debug)]
pub struct Documents<'r, 'a> {
    body: Option<RawDoc<'a>>,
    sequence: &'r [RawDoc<'a>],
}

impl<'r, 'a> Documents<'r, 'a> {
    /// The documents in order.
    pub fn iter(&self) -> impl Iterator<Item = RawDoc<'a>> + use<'r, 'a> {
        let body = self.body.unwrap_or(RawDoc::EMPTY).iter().filter_map(|e| e.value.as_doc());
        body.chain(self.sequence.iter().copied())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.body.map_or(0, |b| b.iter().count()) + self.sequence.len()
    }
}

/// A bool or a number read as one.
pub fn truth(value: RawValue<'_>) -> Option<bool> {
    value.as_bool().or_else(|| Number::from_value(value).map(|n| !n.is_zero()))
}

/// Any number as an int64: fractions are cut off, out-of-range values end at the limits, NaN is 0.
pub fn to_i64(value: RawValue<'_>) -> Option<i64> {
    Number::from_value(value).map(Number::truncate_to_i64)
}

/// `Ok(false)` for null and undefined, which count as absent.
pub(super) fn check_type(path: &str, name: &str, types: Types, value: RawValue<'_>) -> Result<bool> {
    if types.is_any() || types.0.contains(&value.ty) {
        return Ok(true);
    }
    if value.is_nullish() {
        return Ok(false);
    }
    Err(wrong_type(&format!("{path}.{name}"), value, types))
}

/// `TypeMismatch` in the words of MongoDB's command parser.
pub fn wrong_type(path: &str, value: RawValue<'_>, types: Types) -> Error {
    let found = value.ty.name();
    Error::type_mismatch(match types.0 {
        [only] => format!("BSON field '{path}' is the wrong type '{found}', expected type '{}'", only.name()),
        many => {
            let names: Vec<&str> = many.iter().map(|t| t.name()).collect();
            format!(
                "BSON field '{path}' is the wrong type '{found}', expected types '[{}]'",
                names.join(", ")
            )
        }
    })
}

/// `IDLUnknownField` (40415).
pub fn unknown_field(path: &str, name: &str) -> Error {
    Error::new(ErrorCode::IDLUnknownField, format!("BSON field '{path}.{name}' is an unknown field."))
}

/// `IDLDuplicateField` (40413).
pub fn duplicate_field(path: &str, name: &str) -> Error {
    Error::new(ErrorCode::IDLDuplicateField, format!("BSON field '{path}.{name}' is a duplicate field"))
}

/// `IDLFailedToParse` (40414).
pub fn missing_field(path: &str, name: &str) -> Error {
    let text = format!("BSON field '{path}.{name}' is missing but a required field");
    Error::new(ErrorCode::IDLFailedToParse, text)
}

fn out_of_range(name: &str, relation: &str, limit: i64, found: i64) -> Error {
    Error::location(
        51024,
        format!("BSON field '{name}' value must be {relation} {limit}, actual value '{found}'"),
    )
}
