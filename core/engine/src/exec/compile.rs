//! From the raw arguments of a command to a compiled query.
//!
//! One place where filters, sorts, collations and `let` variables of commands are read, for reads and writes alike.

use crate::context::CommandContext;
use crate::plan::{Hint, natural_direction};
use crate::request::Request;
use multifora_model::{Collation, DocumentView, Error, OwnedValue, RawDoc, RawValue, Result};
use multifora_query::CompileContext;
use multifora_query::expression::{EvalContext, Expr};
use multifora_query::filter::Filter;
use multifora_query::sort::SortSpec;
use std::sync::Arc;

use super::CommandResources;

/// The constants that this command's expressions may name, `$$NOW` and its `let` variables, and how strings compare in
/// them.
///
/// # Errors
/// Those of compiling and evaluating the values of `let`.
pub fn compile_context(
    ctx: &CommandContext<'_>,
    request: &Request<'_>,
    collation: Option<Arc<Collation>>,
) -> Result<CompileContext> {
    let mut context = CompileContext::new(ctx.now_ms).with_collation(collation);
    // Of the request rather than of the context: explain compiles the command inside it.
    let Some(variables) = request.body.get("let").and_then(|v| v.as_doc()) else { return Ok(context) };
    let resources = CommandResources::new(&ctx.interrupt);
    for variable in variables {
        let name = variable.name();
        check_variable_name(name)?;
        // Variables see those before them, and no document.
        let expr = Expr::compile(variable.value, &context)?;
        let nothing = DocumentView::whole(RawDoc::EMPTY);
        let value = expr.eval(&EvalContext::new(nothing, &resources))?;
        let value = value.map_or_else(OwnedValue::null, |v| v.into_owned());
        context.define(name, value);
    }
    Ok(context)
}

/// Names of `let` variables begin with a small letter (or are `CURRENT`).
fn check_variable_name(name: &str) -> Result<()> {
    let Some(first) = name.chars().next() else {
        return Err(Error::failed_to_parse("empty variable names are not allowed"));
    };
    if first.is_ascii() && !first.is_ascii_lowercase() {
        return Err(Error::failed_to_parse(format!(
            "'{name}' starts with an invalid character for a user variable name"
        )));
    }
    match name.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_' || !c.is_ascii())) {
        Some(bad) => Err(Error::failed_to_parse(format!(
            "'{name}' contains an invalid character for a variable name: '{bad}'"
        ))),
        None => Ok(()),
    }
}

/// The filter of a command; without one, everything.
///
/// # Errors
/// As [`Filter::compile`].
pub fn compile_filter(query: Option<RawDoc<'_>>, context: &CompileContext) -> Result<Option<Filter>> {
    match query {
        Some(query) if !query.is_empty() => Filter::compile(query, context).map(Some),
        _ => Ok(None),
    }
}

/// The order a command asks for.
#[derive(Clone, Default)]
pub struct RequestedOrder {
    /// A sort.
    pub sort: Option<SortSpec>,
    /// A hint, or `$natural` given as a sort, which is one.
    pub hint: Option<Hint>,
}

/// Reads `sort` and `hint` together, because `{$natural: …}` can stand in either.
///
/// # Errors
/// As [`SortSpec::compile`] and [`Hint::parse`]; `BadValue` when they contradict each other.
pub fn compile_order(
    sort: Option<RawDoc<'_>>,
    hint: Option<RawValue<'_>>,
    context: &CompileContext,
) -> Result<RequestedOrder> {
    let hint = match hint {
        Some(value) => Hint::parse(value)?,
        None => None,
    };
    let Some(sort) = sort.filter(|sort| !sort.is_empty()) else {
        return Ok(RequestedOrder { sort: None, hint });
    };
    if sort.iter().any(|field| field.name() == "$natural") {
        let backwards = natural_direction(sort)?;
        return match hint {
            None | Some(Hint::Natural { .. }) => {
                Ok(RequestedOrder { sort: None, hint: Some(Hint::Natural { backwards }) })
            }
            Some(_) => {
                Err(Error::bad_value("Cannot use sort with $natural in conjunction with a hint on an index"))
            }
        };
    }
    let sort = SortSpec::compile(sort)?.with_collation(context.collation());
    Ok(RequestedOrder { sort: Some(sort), hint })
}
