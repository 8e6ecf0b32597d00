//! One row per expression operator; the rows stand in the operator modules, by subject.

use super::parse::ExprParser;
use super::{EvalContext, Evaluated, Expr};
use multifora_model::{RawValue, Result};

type Eval = for<'e> fn(Args<'e>, &EvalContext<'e>) -> Evaluated<'e>;
/// Reads an operand of its own shape into positional arguments.
pub(super) type Read = fn(&mut ExprParser<'_>, &'static Operator, RawValue<'_>) -> Result<Expr>;

/// An operator: how it is read and what it does.
pub struct Operator {
    /// The name, with `$`.
    pub name: &'static str,
    pub(super) shape: Shape,
    eval: Eval,
    /// What it does, in a line.
    pub about: &'static str,
}

/// How an operator's arguments are written.
pub(super) enum Shape {
    /// A list of this many; one argument may stand without the list.
    List { min: usize, max: usize },
    /// A document with these fields; optional ones have `false`.
    Named(&'static [(&'static str, bool)], NamedCodes),
    /// In its own way.
    Own(Read),
}

/// The codes of the errors for a document of named arguments.
#[derive(Clone, Copy)]
pub(super) struct NamedCodes {
    pub not_a_document: i32,
    pub unknown: i32,
    pub missing: i32,
}

/// As many arguments as one likes.
pub(super) const MANY: usize = usize::MAX;

pub(super) const fn list(
    name: &'static str,
    (min, max): (usize, usize),
    eval: Eval,
    about: &'static str,
) -> Operator {
    Operator { name, shape: Shape::List { min, max }, eval, about }
}

pub(super) const fn named(
    name: &'static str,
    fields: &'static [(&'static str, bool)],
    codes: NamedCodes,
    eval: Eval,
    about: &'static str,
) -> Operator {
    Operator { name, shape: Shape::Named(fields, codes), eval, about }
}

pub(super) const fn own(name: &'static str, read: Read, eval: Eval, about: &'static str) -> Operator {
    Operator { name, shape: Shape::Own(read), eval, about }
}

impl Operator {
    /// Gives another value each time it is asked.
    pub(super) fn is_volatile(&self) -> bool {
        self.name == "$rand"
    }

    pub(super) fn eval<'e>(&'static self, args: &'e [Expr], cx: &EvalContext<'e>) -> Evaluated<'e> {
        (self.eval)(Args { operator: self, args }, cx)
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The arguments of a call, evaluated when asked for.
#[derive(Clone, Copy)]
pub(super) struct Args<'e> {
    operator: &'static Operator,
    args: &'e [Expr],
}

impl<'e> Args<'e> {
    /// The operator's name, for messages.
    pub(super) fn name(self) -> &'static str {
        self.operator.name
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        self.args.len()
    }

    /// All of them.
    pub(super) fn iter(self) -> std::slice::Iter<'e, Expr> {
        self.args.iter()
    }

    /// The argument as an expression; one that was left out reads as missing.
    pub(super) fn expr(self, at: usize) -> &'e Expr {
        self.args.get(at).unwrap_or(&Expr::Missing)
    }

    /// Was the argument written down?
    pub(super) fn has(self, at: usize) -> bool {
        !matches!(self.expr(at), Expr::Missing)
    }

    /// The argument's value.
    pub(super) fn eval(self, at: usize, cx: &EvalContext<'e>) -> Evaluated<'e> {
        self.expr(at).eval(cx)
    }
}

const TABLES: &[&[Operator]] = &[
    super::accumulate::ROWS,
    super::arithmetic::ROWS,
    super::array::ROWS,
    super::boolean::ROWS,
    super::comparison::ROWS,
    super::conditional::ROWS,
    super::date_arithmetic::ROWS,
    super::date_part::ROWS,
    super::iterate::ROWS,
    super::object::ROWS,
    super::pattern::ROWS,
    super::set::ROWS,
    super::string::ROWS,
    super::trigonometry::ROWS,
    super::types::ROWS,
];

/// All expression operators.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    TABLES.iter().copied().flatten()
}

/// Is there an operator of this name?
pub fn is_operator(name: &str) -> bool {
    operator(name).is_some()
}

pub(super) fn operator(name: &str) -> Option<&'static Operator> {
    operators().find(|row| row.name == name)
}
