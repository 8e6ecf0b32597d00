//! Aggregation expressions: compiled once, evaluated on document bytes.
//!
//! A missing value is `None`, apart from null. Values are borrowed from the document wherever
//! nothing had to be computed. Variables live on the evaluator's stack: `$map`, `$let` and the
//! like push a [`Scope`] that borrows what they computed, and names are resolved to positions when
//! the expression is compiled.
//!
//! Module order: `value` · `registry` (rows from the operator modules) · `parse` · this.

mod parse;
mod registry;

mod accumulate;
mod arithmetic;
mod array;
mod boolean;
mod calendar;
mod comparison;
mod conditional;
mod date_arithmetic;
mod date_part;
mod iterate;
mod object;
mod pattern;
mod set;
mod string;
mod time_zone;
mod trigonometry;
mod types;
mod value;

pub use registry::{Operator, is_operator, operators};

use crate::{CompileContext, Resources};
use multifora_model::compare::Collator;
use multifora_model::path::FieldPath;
use multifora_model::{
    Collation, DocBuilder, DocumentView, ElementType, OwnedValue, RawValue, Result, Val, ValueKey,
};
use std::sync::Arc;

pub(crate) use parse::check_path;
pub(crate) use value::{check_size, is_truthy};

/// What an expression evaluates to: `None` is a missing value.
pub type Evaluated<'e> = Result<Option<Val<'e>>>;

/// A compiled expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant.
    Const(OwnedValue),
    /// Nothing: `$$REMOVE`, or an argument that was left out.
    Missing,
    /// The whole document (`$$ROOT`).
    Root,
    /// A path into the document.
    Path(FieldPath),
    /// A variable, or a path into it.
    Variable(Variable),
    /// A document built from expressions; missing values are left out.
    Object(Vec<(Box<str>, Expr)>),
    /// An array built from expressions; missing values become null.
    Array(Vec<Expr>),
    /// An operator with its arguments.
    Call(&'static Operator, Vec<Expr>),
    /// An expression whose operators compare strings by a collation. It stands at the root only.
    Collated(Arc<Collation>, Box<Expr>),
}

/// A variable, by its place on the evaluator's stack.
#[derive(Clone, Debug)]
pub struct Variable {
    /// How many scopes further out it was defined.
    up: u32,
    /// Its place among the variables of its scope.
    index: u32,
    /// The path into it.
    path: FieldPath,
}

/// Variables that an operator defined for its body.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'e> {
    values: &'e [Option<Val<'e>>],
    parent: Option<&'e Scope<'e>>,
}

/// What an evaluation works on.
#[derive(Clone, Copy)]
pub struct EvalContext<'e> {
    root: DocumentView<'e>,
    scope: Option<&'e Scope<'e>>,
    res: &'e dyn Resources,
    collation: Option<&'e Arc<Collation>>,
}

impl<'e> EvalContext<'e> {
    /// An evaluation on a document.
    pub fn new(root: DocumentView<'e>, res: &'e dyn Resources) -> Self {
        EvalContext { root, scope: None, res, collation: None }
    }

    /// The document's length, which is known without reading it.
    pub(crate) fn root_len_bytes(&self) -> usize {
        self.root.len_bytes()
    }

    /// The type of a top-level field, which is known without reading it; `None` where it is missing.
    pub(crate) fn type_of(&self, name: &str) -> Option<ElementType> {
        self.root.type_of(name)
    }

    /// The resources.
    pub fn resources(&self) -> &'e dyn Resources {
        self.res
    }

    /// How strings compare.
    pub(crate) fn collation(&self) -> Option<&'e Arc<Collation>> {
        self.collation
    }

    /// What compares strings; nothing compares their bytes.
    pub(crate) fn collator(&self) -> Option<&'e dyn Collator> {
        Collation::collator(self.collation)
    }

    /// The key under which equal values are one.
    pub(crate) fn value_key(&self, value: RawValue<'_>) -> ValueKey {
        ValueKey::with_collator(value, self.collator())
    }

    /// A scope of further variables; see [`inside`](Self::inside).
    pub(crate) fn scope<'s>(&self, values: &'s [Option<Val<'s>>]) -> Scope<'s>
    where
        'e: 's,
    {
        Scope { values, parent: self.scope }
    }

    /// The same evaluation with the variables of `scope` in sight.
    pub(crate) fn inside<'s>(&self, scope: &'s Scope<'s>) -> EvalContext<'s>
    where
        'e: 's,
    {
        EvalContext { scope: Some(scope), ..*self }
    }

    fn variable(&self, variable: &Variable) -> Option<RawValue<'e>> {
        let mut scope = self.scope?;
        for _ in 0..variable.up {
            scope = scope.parent?;
        }
        scope.values.get(variable.index as usize)?.as_ref().map(Val::as_ref)
    }
}

impl Expr {
    /// Compiles an expression.
    ///
    /// # Errors
    /// MongoDB's error for an unknown operator, a wrong number of arguments, an undefined variable.
    pub fn compile(value: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        parse::expression(value, context, &[])
    }

    /// Compiles an expression in which further variables are known; evaluate it with
    /// [`eval_with`](Self::eval_with), giving their values in the same order.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_with(value: RawValue<'_>, context: &CompileContext, variables: &[&str]) -> Result<Self> {
        parse::expression(value, context, variables)
    }

    /// The expression's value for the document.
    ///
    /// # Errors
    /// MongoDB's error for operands that an operator does not take; interruption.
    pub fn eval<'e>(&'e self, cx: &EvalContext<'e>) -> Evaluated<'e> {
        match self {
            Expr::Const(value) => Ok(Some(Val::Borrowed(value.as_ref()))),
            Expr::Path(path) => path.lookup(&cx.root),
            Expr::Missing => Ok(None),
            Expr::Variable(variable) => Ok(cx.variable(variable).and_then(|v| variable.path.lookup_in(v))),
            Expr::Call(operator, args) => operator.eval(args, cx),
            Expr::Root => root_value(cx),
            Expr::Object(fields) => object(fields, cx),
            Expr::Array(items) => array(items, cx),
            Expr::Collated(collation, expr) => expr.eval(&EvalContext { collation: Some(collation), ..*cx }),
        }
    }

    /// [`eval`](Self::eval) for [`compile_with`](Self::compile_with); the result owns its bytes.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn eval_with(&self, cx: &EvalContext<'_>, values: &[Option<Val<'_>>]) -> Result<Option<OwnedValue>> {
        let scope = cx.scope(values);
        Ok(self.eval(&cx.inside(&scope))?.map(Val::into_owned))
    }

    /// The expression's value as a condition.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn is_true(&self, cx: &EvalContext<'_>) -> Result<bool> {
        Ok(self.eval(cx)?.is_some_and(|v| is_truthy(v.as_ref())))
    }

    /// The value, when the expression is a constant.
    pub fn as_const(&self) -> Option<RawValue<'_>> {
        match self {
            Expr::Const(value) => Some(value.as_ref()),
            _ => None,
        }
    }

    /// The path, when the expression is a field of the document and nothing else.
    pub fn as_path(&self) -> Option<&FieldPath> {
        match self {
            Expr::Path(path) => Some(path),
            _ => None,
        }
    }
}

fn root_value<'e>(cx: &EvalContext<'e>) -> Evaluated<'e> {
    Ok(Some(Val::Borrowed(cx.root.to_doc()?.as_value())))
}

fn object<'e>(fields: &'e [(Box<str>, Expr)], cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut out = DocBuilder::new();
    for (name, expr) in fields {
        if let Some(value) = expr.eval(cx)? {
            out.append(name, value.as_ref());
            check_size(out.len_bytes())?;
        }
    }
    Ok(Some(Val::Owned(OwnedValue::document(out.finish()))))
}

fn array<'e>(items: &'e [Expr], cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut out = DocBuilder::new_array();
    for item in items {
        let value = item.eval(cx)?;
        out.push(value.as_ref().map_or(RawValue::NULL, Val::as_ref));
        check_size(out.len_bytes())?;
    }
    Ok(Some(Val::Owned(OwnedValue::from_vec(ElementType::Array, out.finish()))))
}

#[cfg(test)]
mod tests;
