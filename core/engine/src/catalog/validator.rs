//! Document validation: the rule that a collection's options hold, and what breaking it does.
//!
//! MongoDB's manual: Schema Validation. The rule is a filter; `validationLevel: moderate` leaves
//! documents alone that broke it before, `validationAction: warn` stores all the same.

use multifora_model::{DocBuilder, DocumentView, Error, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::filter::{Filter, explain_failure};
use multifora_query::{CompileContext, NoResources};

/// When the rule is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Off,
    Strict,
    Moderate,
}

/// A collection's rule.
#[derive(Debug)]
pub struct Validator {
    /// As written: the account of a failure follows it.
    rule: Vec<u8>,
    /// With the collation of the collection.
    context: CompileContext,
    filter: Filter,
    level: Level,
    /// Breaking the rule is an error (else it is let pass).
    refuses: bool,
}

impl Validator {
    /// The rule in a collection's options; `None` when there is none or it does nothing.
    ///
    /// # Errors
    /// Those of parsing the filter; `BadValue` for unknown levels and actions.
    pub fn parse(options: RawDoc<'_>) -> Result<Option<Self>> {
        let level = match text(options, "validationLevel")?.unwrap_or("strict") {
            "off" => Level::Off,
            "strict" => Level::Strict,
            "moderate" => Level::Moderate,
            other => return Err(unknown("validationLevel", other)),
        };
        let refuses = match text(options, "validationAction")?.unwrap_or("error") {
            "error" | "errorAndLog" => true,
            "warn" => false,
            other => return Err(unknown("validationAction", other)),
        };
        let Some(rule) = options.get("validator").and_then(RawValue::as_doc).filter(|rule| !rule.is_empty())
        else {
            return Ok(None);
        };
        let context = CompileContext::default().with_collation(super::default_collation(options)?);
        let filter = Filter::compile(rule, &context)?;
        Ok((refuses && level != Level::Off).then(|| Validator {
            rule: rule.as_bytes().to_vec(),
            context,
            filter,
            level,
            refuses,
        }))
    }

    /// Refuses a new version of a document that breaks the rule (`DocumentValidationFailure`).
    /// `before` is the version it replaces.
    ///
    /// # Errors
    /// Those of fetching, beside that one.
    pub fn check(&self, before: Option<&DocumentView<'_>>, after: &DocumentView<'_>) -> Result<()> {
        if !self.refuses || self.is_met_by(after)? {
            return Ok(());
        }
        if self.level == Level::Moderate
            && let Some(before) = before
            && !self.is_met_by(before)?
        {
            return Ok(());
        }
        let rule = RawDoc::framed(&self.rule).unwrap_or(RawDoc::EMPTY);
        let account = explain_failure(rule, &self.context, after.to_doc()?, &NoResources);
        let mut details = DocBuilder::new();
        details.doc("errInfo", RawDoc::framed(&account).unwrap_or(RawDoc::EMPTY));
        Err(Error::new(ErrorCode::DocumentValidationFailure, "Document failed validation")
            .with_details(details.finish()))
    }

    /// A rule that cannot be decided for a document (an expression fails on it) is not met by it.
    fn is_met_by(&self, view: &DocumentView<'_>) -> Result<bool> {
        match self.filter.matches(view, &NoResources) {
            Ok(is_met) => Ok(is_met),
            // What cannot be read is not the rule's business.
            Err(_) => view.to_doc().map(|_| false),
        }
    }
}

fn text<'a>(options: RawDoc<'a>, name: &str) -> Result<Option<&'a str>> {
    match options.get(name) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(Error::type_mismatch(format!(
                "BSON field 'create.{name}' is the wrong type '{}', expected type 'string'",
                value.ty.name()
            ))),
        },
    }
}

fn unknown(name: &str, value: &str) -> Error {
    Error::bad_value(format!("Enumeration value '{value}' for field '{name}' is not a valid value."))
}
