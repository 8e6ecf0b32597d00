//! From BSON to a compiled expression.

use super::registry::{self, MANY, NamedCodes, Operator, Shape};
use super::{EvalContext, Expr, Variable};
use crate::{CompileContext, NoResources};
use multifora_model::path::FieldPath;
use multifora_model::{
    DocumentView, ElementType as T, Error, ErrorCode, RawDoc, RawValue, Result, Val, text,
};
use std::sync::Arc;

/// Deepest nesting of expressions.
const MAX_DEPTH: u32 = 180;

/// A parse under way: the variables in sight, innermost scope last.
pub(super) struct ExprParser<'c> {
    context: &'c CompileContext,
    scopes: Vec<Vec<String>>,
    depth: u32,
}

/// Compiles an expression with further variables in sight.
pub(super) fn expression(value: RawValue<'_>, context: &CompileContext, variables: &[&str]) -> Result<Expr> {
    let mut scopes = Vec::new();
    if !variables.is_empty() {
        scopes.push(variables.iter().map(|name| (*name).to_owned()).collect());
    }
    let expr = ExprParser { context, scopes, depth: 0 }.operand(value)?;
    Ok(match (context.collation(), expr) {
        (Some(collation), expr @ (Expr::Call(..) | Expr::Array(_) | Expr::Object(_))) => {
            Expr::Collated(Arc::clone(collation), Box::new(expr))
        }
        (_, expr) => expr,
    })
}

impl ExprParser<'_> {
    /// Any expression.
    pub(super) fn operand(&mut self, value: RawValue<'_>) -> Result<Expr> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new(ErrorCode::Overflow, "expression is nested too deeply"));
        }
        self.depth += 1;
        let expr = match value.ty {
            T::String => match value.as_str() {
                Some(text) if text.starts_with('$') => self.path(text),
                _ => Ok(Expr::Const(value.into())),
            },
            T::Document => self.document(value.as_doc().unwrap_or(RawDoc::EMPTY)),
            T::Array => self.array(value.as_array().unwrap_or(RawDoc::EMPTY)),
            _ => Ok(Expr::Const(value.into())),
        };
        self.depth -= 1;
        expr
    }

    /// An expression with one more scope of variables.
    pub(super) fn operand_with(&mut self, variables: Vec<String>, value: RawValue<'_>) -> Result<Expr> {
        self.scopes.push(variables);
        let expr = self.operand(value);
        self.scopes.pop();
        expr
    }

    fn array(&mut self, items: RawDoc<'_>) -> Result<Expr> {
        let items = items.iter().map(|e| self.operand(e.value)).collect::<Result<Vec<_>>>()?;
        let constant = items.iter().all(|item| matches!(item, Expr::Const(_)));
        Ok(if constant { folded(Expr::Array(items), self.context) } else { Expr::Array(items) })
    }

    fn document(&mut self, doc: RawDoc<'_>) -> Result<Expr> {
        let Some(first) = doc.iter().next() else { return Ok(Expr::Const(doc.into())) };
        if first.name_bytes().starts_with(b"$") {
            if doc.iter().nth(1).is_some() {
                let message = format!(
                    "an expression specification must contain exactly one field, the name of the expression. \
                     Found {} fields in {}, while parsing object {}",
                    doc.iter().count(),
                    text::document(doc),
                    text::document(doc)
                );
                return Err(Error::location(15983, message));
            }
            return self.call(first.name(), first.value);
        }
        let mut fields: Vec<(Box<str>, Expr)> = Vec::new();
        for field in doc {
            check_field_name(field.name())?;
            if fields.iter().any(|(known, _)| **known == *field.name()) {
                let message =
                    format!("duplicate field name specified in object literal: {}", text::document(doc));
                return Err(Error::location(16406, message));
            }
            fields.push((field.name().into(), self.operand(field.value)?));
        }
        let constant = fields.iter().all(|(_, expr)| matches!(expr, Expr::Const(_)));
        Ok(if constant { folded(Expr::Object(fields), self.context) } else { Expr::Object(fields) })
    }

    fn call(&mut self, name: &str, operand: RawValue<'_>) -> Result<Expr> {
        let operator = registry::operator(name).ok_or_else(|| {
            Error::new(ErrorCode::InvalidPipelineOperator, format!("Unrecognized expression '{name}'"))
        })?;
        match operator.shape {
            Shape::Own(read) => read(self, operator, operand),
            Shape::List { min, max } => {
                let args = self.list(operand)?;
                check_count(name, args.len(), min, max)?;
                Ok(folded(Expr::Call(operator, args), self.context))
            }
            Shape::Named(fields, codes) => {
                let args = self.named(operator, fields, codes, operand)?;
                Ok(folded(Expr::Call(operator, args), self.context))
            }
        }
    }

    /// Arguments as a list, or a single one without it.
    pub(super) fn list(&mut self, operand: RawValue<'_>) -> Result<Vec<Expr>> {
        match operand.as_array() {
            Some(items) => items.iter().map(|e| self.operand(e.value)).collect(),
            None => Ok(vec![self.operand(operand)?]),
        }
    }

    fn named(
        &mut self,
        operator: &'static Operator,
        fields: &[(&str, bool)],
        codes: NamedCodes,
        operand: RawValue<'_>,
    ) -> Result<Vec<Expr>> {
        let name = operator.name;
        let doc = operand.as_doc().ok_or_else(|| {
            Error::location(
                codes.not_a_document,
                format!("{name} only supports an object as an argument, found {}", operand.ty.name()),
            )
        })?;
        let mut args = vec![Expr::Missing; fields.len()];
        for field in doc {
            let at = fields.iter().position(|(known, _)| *known == field.name()).ok_or_else(|| {
                Error::location(codes.unknown, format!("{name} found an unknown argument: {}", field.name()))
            })?;
            if let Some(slot) = args.get_mut(at) {
                *slot = self.operand(field.value)?;
            }
        }
        for ((field, required), arg) in fields.iter().zip(&args) {
            if *required && doc.get(field).is_none() && matches!(arg, Expr::Missing) {
                let message = format!("{name} requires an '{field}' argument");
                return Err(Error::location(codes.missing, message));
            }
        }
        Ok(args)
    }

    /// The document that bare paths begin at.
    pub(super) fn current(&self) -> Expr {
        match self.find("CURRENT") {
            Some((up, index)) => Expr::Variable(Variable { up, index, path: FieldPath::empty() }),
            None => Expr::Root,
        }
    }

    /// `"$a.b"` or `"$$name.b"`.
    fn path(&self, text: &str) -> Result<Expr> {
        let Some(variable) = text.strip_prefix("$$") else {
            let path = text.get(1..).unwrap_or_default();
            if path.is_empty() {
                return Err(Error::location(16872, "'$' by itself is not a valid FieldPath"));
            }
            check_path(path)?;
            // A variable CURRENT of one's own is what bare paths begin at.
            if let Some((up, index)) = self.find("CURRENT") {
                return Ok(Expr::Variable(Variable { up, index, path: FieldPath::parse(path) }));
            }
            return Ok(Expr::Path(FieldPath::parse(path)));
        };
        check_path(variable)?;
        let (name, path) = variable.split_once('.').map_or((variable, None), |(n, p)| (n, Some(p)));
        self.variable(name, path)
    }

    fn variable(&self, name: &str, path: Option<&str>) -> Result<Expr> {
        check_variable_name(name)?;
        let path_in = path.map_or_else(FieldPath::empty, FieldPath::parse);
        if let Some((up, index)) = self.find(name) {
            return Ok(Expr::Variable(Variable { up, index, path: path_in }));
        }
        match (name, path) {
            ("ROOT" | "CURRENT", None) => Ok(Expr::Root),
            ("ROOT" | "CURRENT", Some(_)) => Ok(Expr::Path(path_in)),
            ("REMOVE", _) => Ok(Expr::Missing),
            _ => {
                let value = self
                    .context
                    .constant(name)
                    .ok_or_else(|| Error::location(17276, format!("Use of undefined variable: {name}")))?;
                let found = path_in.lookup_in(value.as_ref()).map(Val::into_owned);
                Ok(found.map_or(Expr::Missing, Expr::Const))
            }
        }
    }

    /// How far out and where a variable stands.
    fn find(&self, name: &str) -> Option<(u32, u32)> {
        self.scopes.iter().rev().zip(0u32..).find_map(|(scope, up)| {
            let index = scope.iter().rposition(|known| known == name)?;
            Some((up, u32::try_from(index).ok()?))
        })
    }
}

/// The value of an expression that consists of constants; one that fails stays as it is and fails
/// when it is evaluated.
fn folded(expr: Expr, context: &CompileContext) -> Expr {
    let constant = match &expr {
        Expr::Call(operator, args) => {
            !operator.is_volatile() && args.iter().all(|a| matches!(a, Expr::Const(_) | Expr::Missing))
        }
        Expr::Array(_) | Expr::Object(_) => true,
        _ => false,
    };
    if !constant {
        return expr;
    }
    let view = DocumentView::whole(RawDoc::EMPTY);
    let cx = EvalContext { collation: context.collation(), ..EvalContext::new(view, &NoResources) };
    match expr.eval(&cx) {
        Ok(Some(value)) => Expr::Const(value.into_owned()),
        Ok(None) | Err(_) => expr,
    }
}

pub(super) fn check_count(name: &str, given: usize, min: usize, max: usize) -> Result<()> {
    if (min..=max).contains(&given) {
        return Ok(());
    }
    if min == max {
        let message = format!("Expression {name} takes exactly {min} arguments. {given} were passed in.");
        return Err(Error::location(16020, message));
    }
    let message = if max == MANY {
        format!("Expression {name} takes at least {min} arguments, but {given} were passed in.")
    } else {
        format!(
            "Expression {name} takes at least {min} arguments, and at most {max}, but {given} were passed in."
        )
    };
    Err(Error::location(28667, message))
}

/// A name of an object literal's field.
pub(super) fn check_field_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::location(15998, "FieldPath field names may not be empty strings."));
    }
    if name.starts_with('$') {
        return Err(Error::location(
            16410,
            format!(
                "FieldPath field names may not start with '$'. Consider using $getField or $setField, found: {name}"
            ),
        ));
    }
    if name.contains('.') {
        return Err(Error::location(
            16412,
            format!(
                "FieldPath field names may not contain '.'. Consider using $getField or $setField, found: {name}"
            ),
        ));
    }
    Ok(())
}

/// Most parts of a dotted path: no document is nested deeper.
const MAX_PATH_PARTS: usize = 200;

/// A dotted path, without the leading `$`.
pub(crate) fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(Error::location(40352, "FieldPath cannot be constructed with empty string"));
    }
    if path.ends_with('.') {
        return Err(Error::location(40353, format!("FieldPath must not end with a '.': {path}")));
    }
    if path.contains('\0') {
        return Err(Error::location(16411, "FieldPath field names may not contain '\0'."));
    }
    if path.split('.').nth(MAX_PATH_PARTS).is_some() {
        let message = format!("FieldPath is too long: more than {MAX_PATH_PARTS} parts");
        return Err(Error::new(ErrorCode::Overflow, message));
    }
    for part in path.split('.') {
        if part.is_empty() {
            return Err(Error::location(15998, "FieldPath field names may not be empty strings."));
        }
        if part.starts_with('$') {
            return Err(Error::location(
                16410,
                format!(
                    "FieldPath field names may not start with '$'. Consider using $getField or $setField, found: {part}"
                ),
            ));
        }
    }
    Ok(())
}

fn check_variable_name(name: &str) -> Result<()> {
    let Some(first) = name.chars().next() else {
        return Err(Error::failed_to_parse("empty variable names are not allowed"));
    };
    if !first.is_ascii_alphabetic() && first.is_ascii() {
        let message = format!("'{name}' starts with an invalid character for a user variable name");
        return Err(Error::failed_to_parse(message));
    }
    check_variable_characters(name)
}

fn check_variable_characters(name: &str) -> Result<()> {
    match name.chars().find(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && *c != '_') {
        None => Ok(()),
        Some(bad) => Err(Error::failed_to_parse(format!(
            "'{name}' contains an invalid character for a variable name: '{bad}'"
        ))),
    }
}

/// A name that `$let`, `$map` and the like may define: it begins in lower case. (CURRENT is the one
/// exception.)
pub(crate) fn check_defined_variable(name: &str) -> Result<()> {
    let first = name.chars().next();
    match first {
        None => Err(Error::failed_to_parse("empty variable names are not allowed")),
        _ if name == "CURRENT" => Ok(()),
        Some(c) if c.is_ascii_lowercase() || !c.is_ascii() => check_variable_characters(name),
        Some(_) => Err(Error::failed_to_parse(format!(
            "'{name}' starts with an invalid character for a user variable name"
        ))),
    }
}
