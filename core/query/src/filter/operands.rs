//! Reading operands: whole numbers, truth values, arrays of types, regular expressions.

use super::node::RegexTest;
use super::predicate::TypeSet;
use multifora_model::{ElementType as T, Error, ErrorCode, Number, RawDoc, RawValue, Regex, Result, text};

/// An operator's name and its operand.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub name: &'a str,
    pub value: RawValue<'a>,
}

impl Operand<'_> {
    /// The operand as MongoDB writes it into messages: `$size: -1`.
    fn shown(self) -> String {
        format!("{}: {}", self.name, text::value(self.value))
    }

    /// A whole number of any type, not negative.
    pub(crate) fn non_negative_long(self) -> Result<i64> {
        let Some(number) = Number::from_value(self.value) else {
            return Err(Error::failed_to_parse(format!("Expected a number in: {}", self.shown())));
        };
        if number.is_nan() {
            let message = format!("Expected an integer, but found NaN in: {}", self.shown());
            return Err(Error::failed_to_parse(message));
        }
        if !number.is_finite() || (number.is_integral() && number.as_i64_exact().is_none()) {
            let message = format!("Cannot represent as a 64-bit integer: {}", self.shown());
            return Err(Error::failed_to_parse(message));
        }
        let Some(n) = number.as_i64_exact() else {
            return Err(Error::failed_to_parse(format!("Expected an integer: {}", self.shown())));
        };
        if n < 0 {
            let message = format!("Expected a non-negative number in: {}", self.shown());
            return Err(Error::failed_to_parse(message));
        }
        Ok(n)
    }

    /// Like [`non_negative_long`](Self::non_negative_long), within int32.
    pub(crate) fn non_negative_int(self) -> Result<u32> {
        let n = self.non_negative_long()?;
        i32::try_from(n).ok().and_then(|n| u32::try_from(n).ok()).ok_or_else(|| {
            Error::failed_to_parse(format!("Cannot represent as a 32-bit integer: {}", self.shown()))
        })
    }
}

/// The operand of `$type`: a number, an alias, or an array of them.
pub(super) fn type_set(value: RawValue<'_>) -> Result<TypeSet> {
    let mut set = TypeSet::default();
    let Some(array) = value.as_array() else {
        add_type(&mut set, value)?;
        return Ok(set);
    };
    if array.is_empty() {
        return Err(Error::failed_to_parse("$type must match at least one type"));
    }
    for element in array {
        add_type(&mut set, element.value)?;
    }
    Ok(set)
}

fn add_type(set: &mut TypeSet, value: RawValue<'_>) -> Result<()> {
    if value.ty == T::String {
        let alias = value.as_str().unwrap_or_default();
        if alias == "number" {
            [T::Int32, T::Int64, T::Double, T::Decimal128].into_iter().for_each(|t| set.insert(t));
            return Ok(());
        }
        let ty = T::from_name(alias)
            .ok_or_else(|| Error::bad_value(format!("Unknown type name alias: {alias}")))?;
        set.insert(ty);
        return Ok(());
    }
    let Some(number) = Number::from_value(value) else {
        return Err(Error::type_mismatch("type must be represented as a number or a string"));
    };
    let code = number.as_i64_exact();
    let ty = match code {
        Some(0) => {
            return Err(Error::bad_value("Invalid numerical type code: 0. Instead use {$exists:false}."));
        }
        Some(-1) => Some(T::MinKey),
        // 255 is MinKey's tag, but not its code.
        Some(n) => u8::try_from(n).ok().filter(|tag| *tag != 255).and_then(T::from_byte),
        None => None,
    };
    let invalid = || Error::bad_value(format!("Invalid numerical type code: {}", text::value(value)));
    set.insert(ty.ok_or_else(invalid)?);
    Ok(())
}

/// Compiles a regular expression with its options.
pub(super) fn regex(pattern: &str, options: &str) -> Result<RegexTest> {
    let regex = Regex::compile(pattern, options)?;
    let mut sorted: Vec<char> = options.chars().collect();
    sorted.sort_unstable();
    Ok(RegexTest { regex, sorted_options: sorted.into_iter().collect() })
}

/// A regular expression that stands in the query as a BSON value.
pub(super) fn regex_value(value: RawValue<'_>) -> Result<RegexTest> {
    let (pattern, options) = value.as_regex().unwrap_or_default();
    regex(pattern, options)
}

/// `$regex` and `$options`, wherever they stand among the operators of one field.
pub(super) fn regex_operators(operators: RawDoc<'_>) -> Result<RegexTest> {
    let mut pattern = None;
    let mut options = "";
    for field in operators {
        match field.name() {
            "$regex" => match (field.value.ty, field.value.as_str(), field.value.as_regex()) {
                (T::String, Some(text), _) => pattern = Some(text),
                (_, _, Some((text, own))) => {
                    pattern = Some(text);
                    if !own.is_empty() {
                        if !options.is_empty() {
                            return Err(Error::location(51074, "options set in both $regex and $options"));
                        }
                        options = own;
                    }
                }
                _ => return Err(Error::bad_value("$regex has to be a string")),
            },
            "$options" => {
                let Some(text) = field.value.as_str().filter(|_| field.value.ty == T::String) else {
                    return Err(Error::bad_value("$options has to be a string"));
                };
                if !options.is_empty() {
                    return Err(Error::location(51075, "options set in both $regex and $options"));
                }
                options = text;
            }
            _ => {}
        }
    }
    let pattern = pattern.ok_or_else(|| Error::bad_value("$options needs a $regex"))?;
    regex(pattern, options)
}

/// An operator that exists in MongoDB and not here (yet).
pub(super) fn unsupported(name: &str, why: &str) -> Error {
    Error::new(ErrorCode::CommandNotSupported, format!("{name} is not supported: {why}"))
}
