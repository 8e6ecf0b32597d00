//! `arrayFilters`: which elements `$[identifier]` stands for.

use crate::CompileContext;
use crate::filter::Filter;
use crate::resources::NoResources;
use crate::write::{begin, frame, put};
use multifora_model::{DocumentView, Error, RawDoc, RawValue, Result};

/// The filters by identifier.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrayFilters(Vec<(Box<str>, Filter)>);

impl ArrayFilters {
    /// Compiles the array of filters.
    ///
    /// # Errors
    /// `FailedToParse` for a filter without or with several identifiers and for two filters with the same one;
    /// `TypeMismatch` for an element that is no document; `BadValue` for an identifier of the
    /// wrong form; `QueryFeatureNotAllowed` for `$expr` and the like; those of the filter.
    pub(super) fn compile(filters: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        let mut compiled: Vec<(Box<str>, Filter)> = Vec::new();
        for element in filters {
            let Some(query) = element.value.as_doc() else {
                return Err(Error::type_mismatch(format!(
                    "BSON field 'update.updates.arrayFilters.{}' is the wrong type '{}', expected type 'object'",
                    element.name(),
                    element.value.ty.name()
                )));
            };
            let caused = |e: Error| e.context("Error parsing array filter :: caused by :: ");
            let mut identifier = None;
            let filter = Filter::compile_restricted(query, context).map_err(caused)?;
            find_identifier(query, &mut identifier, 0).map_err(caused)?;
            let Some(identifier) = identifier else {
                return Err(Error::failed_to_parse(
                    "Cannot use an expression without a top-level field name in arrayFilters",
                ));
            };
            if compiled.iter().any(|(known, _)| &**known == identifier) {
                return Err(Error::failed_to_parse(format!(
                    "Found multiple array filters with the same top-level field name {identifier}"
                )));
            }
            compiled.push((identifier.into(), filter));
        }
        Ok(ArrayFilters(compiled))
    }

    /// Some filter has this identifier.
    pub(super) fn knows(&self, identifier: &str) -> bool {
        self.0.iter().any(|(known, _)| &**known == identifier)
    }

    /// The first identifier that is not among `used`.
    pub(super) fn first_unused(&self, used: &[Box<str>]) -> Option<&str> {
        self.0.iter().map(|(identifier, _)| &**identifier).find(|id| !used.iter().any(|u| &**u == *id))
    }

    /// Is the element among those that `$[identifier]` stands for (`$[]`: all)?
    pub(super) fn choose(&self, identifier: &str, element: RawValue<'_>) -> Result<bool> {
        if identifier.is_empty() {
            return Ok(true);
        }
        let Some((_, filter)) = self.0.iter().find(|(known, _)| &**known == identifier) else {
            return Ok(false);
        };
        // The filter's paths begin with the identifier: the element is read under that name.
        let mut doc = Vec::with_capacity(element.bytes.len() + identifier.len() + 7);
        let start = begin(&mut doc);
        put(&mut doc, identifier.as_bytes(), element);
        frame(&mut doc, start);
        let doc = RawDoc::framed(&doc).unwrap_or(RawDoc::EMPTY);
        filter.matches(&DocumentView::whole(doc), &NoResources)
    }
}

/// How deep `$and` and its like may nest here; the filter's own compiler has its own limit.
const MAX_DEPTH: usize = 100;

/// Finds the one name that all paths of a filter begin with.
fn find_identifier<'q>(query: RawDoc<'q>, found: &mut Option<&'q str>, depth: usize) -> Result<()> {
    for field in query {
        let name = field.name();
        match name {
            "$and" | "$or" | "$nor" if depth < MAX_DEPTH => {
                for branch in field.value.as_array().into_iter().flatten() {
                    if let Some(branch) = branch.value.as_doc() {
                        find_identifier(branch, found, depth + 1)?;
                    }
                }
            }
            _ if name.starts_with('$') => {}
            _ => agree(name.split('.').next().unwrap_or_default(), found)?,
        }
    }
    Ok(())
}

fn agree<'q>(identifier: &'q str, found: &mut Option<&'q str>) -> Result<()> {
    let mut letters = identifier.bytes();
    if !letters.next().is_some_and(|b| b.is_ascii_lowercase()) || !letters.all(|b| b.is_ascii_alphanumeric())
    {
        return Err(Error::bad_value(format!(
            "The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '{identifier}'"
        )));
    }
    match *found {
        Some(known) if known != identifier => Err(Error::failed_to_parse(format!(
            "Expected a single top-level field name, found '{known}' and '{identifier}'"
        ))),
        _ => {
            *found = Some(identifier);
            Ok(())
        }
    }
}
