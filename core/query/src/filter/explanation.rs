//! Building blocks of the account that `errInfo` gives of a failed validation: what was specified, which values
//! were looked at, why they did not do. Used for query operators (`explain`) and schema keywords (`schema`).

use crate::Resources;
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result};
use std::collections::BTreeSet;

/// Most values of an array that an account repeats.
pub(super) const MAX_CONSIDERED_VALUES: usize = 10;

/// What all parts of one account share.
pub(super) struct Explanation<'e> {
    pub res: &'e dyn Resources,
    /// Leave out what grows with the rule or the document (`specifiedAs`, `consideredValue`).
    pub is_short: bool,
    /// An account beyond this is given up.
    pub max_bytes: usize,
}

/// The numeric types, as `expectedTypes` lists them.
pub(super) const NUMBERS: &[ElementType] =
    &[ElementType::Decimal128, ElementType::Double, ElementType::Int32, ElementType::Int64];

impl Explanation<'_> {
    /// Fails when the account has no room for `more` bytes.
    pub(super) fn check_room(&self, out: &DocBuilder, more: usize) -> Result<()> {
        if out.len_bytes().saturating_add(more) <= self.max_bytes {
            return Ok(());
        }
        Err(Error::new(ErrorCode::BSONObjectTooLarge, "doc validation error builder exceeded maximum size"))
    }

    /// `specifiedAs`: the rule as its author wrote it.
    pub(super) fn specified_as(&self, rule: RawDoc<'_>, out: &mut DocBuilder) -> Result<()> {
        if self.is_short {
            return Ok(());
        }
        self.check_room(out, rule.as_bytes().len())?;
        out.doc("specifiedAs", rule);
        Ok(())
    }

    /// `consideredValue`.
    pub(super) fn considered_value(&self, value: RawValue<'_>, out: &mut DocBuilder) -> Result<()> {
        if self.is_short {
            return Ok(());
        }
        self.check_room(out, value.bytes.len())?;
        out.append("consideredValue", value);
        Ok(())
    }

    /// `consideredValue` for one value, `consideredValues` for none or several.
    pub(super) fn considered_values(&self, seen: &Considered<'_>, out: &mut DocBuilder) -> Result<()> {
        if self.is_short {
            return Ok(());
        }
        if let [value] = seen.values.as_slice() {
            self.considered_value(*value, out)?;
        } else {
            self.check_room(out, seen.values.iter().map(|value| value.bytes.len() + 8).sum())?;
            out.start_array("consideredValues");
            for value in &seen.values {
                out.push(*value);
            }
            out.end();
        }
        if seen.has_more {
            out.bool("consideredValuesTruncated", true);
        }
        Ok(())
    }
}

/// The values that a test on a path looked at.
#[derive(Default)]
pub(super) struct Considered<'a> {
    /// At most [`MAX_CONSIDERED_VALUES`].
    pub values: Vec<RawValue<'a>>,
    pub has_more: bool,
}

impl<'a> Considered<'a> {
    /// Adds a value; `true` when there is room for no more.
    pub(super) fn add(&mut self, value: RawValue<'a>) -> bool {
        if self.values.len() == MAX_CONSIDERED_VALUES {
            self.has_more = true;
            return true;
        }
        self.values.push(value);
        false
    }

    /// `consideredType` or `consideredTypes`; nothing when no value was seen.
    pub(super) fn append_types(&self, out: &mut DocBuilder) {
        append_types("considered", self.values.iter().map(|value| value.ty), out);
    }
}

/// `<what>Type` for one type, `<what>Types` in alphabetical order for several.
pub(super) fn append_types(what: &str, types: impl Iterator<Item = ElementType>, out: &mut DocBuilder) {
    let names: BTreeSet<&str> = types.map(ElementType::name).collect();
    match names.len() {
        0 => {}
        1 => {
            for name in &names {
                out.str(&format!("{what}Type"), name);
            }
        }
        _ => {
            out.start_array(&format!("{what}Types"));
            for name in &names {
                out.push(OwnedValue::string(name).as_ref());
            }
            out.end();
        }
    }
}
