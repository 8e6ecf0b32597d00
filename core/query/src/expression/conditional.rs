//! `$cond $ifNull $switch $let $literal`: what is evaluated at all, and under which names.

use super::parse::{ExprParser, check_defined_variable};
use super::registry::{Args, MANY, Operator, own};
use super::value::is_nullish;
use super::{EvalContext, Evaluated, Expr};
use multifora_model::{ElementType as T, Error, RawDoc, RawValue, Result, Val};

pub(super) const ROWS: &[Operator] = &[
    own("$cond", read_cond, cond, "one of two values by a condition"),
    own("$ifNull", read_if_null, if_null, "the first value that is not null or missing"),
    own("$switch", read_switch, switch, "the value of the first case that is true"),
    own("$let", read_let, let_in, "a value computed with variables"),
    own("$literal", |_, _, v| Ok(Expr::Const(v.into())), |_, _| Ok(None), "a value as it stands"),
    own("$const", |_, _, v| Ok(Expr::Const(v.into())), |_, _| Ok(None), "a value as it stands"),
];

fn read_cond(parser: &mut ExprParser<'_>, operator: &'static Operator, value: RawValue<'_>) -> Result<Expr> {
    let Some(doc) = value.as_doc() else {
        let args = parser.list(value)?;
        super::parse::check_count(operator.name, args.len(), 3, 3)?;
        return Ok(Expr::Call(operator, args));
    };
    let mut args = vec![Expr::Missing; 3];
    let names = ["if", "then", "else"];
    for field in doc {
        let slot = names.iter().zip(args.iter_mut()).find(|(name, _)| **name == field.name());
        match slot {
            Some((_, slot)) => *slot = parser.operand(field.value)?,
            None => {
                let message = format!("Unrecognized parameter to $cond: {}", field.name());
                return Err(Error::location(17083, message));
            }
        }
    }
    for (name, code) in names.iter().zip(17080..) {
        if doc.get(name).is_none() {
            return Err(Error::location(code, format!("Missing '{name}' parameter to $cond")));
        }
    }
    Ok(Expr::Call(operator, args))
}

fn cond<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    args.eval(if args.expr(0).is_true(cx)? { 1 } else { 2 }, cx)
}

fn read_if_null(
    parser: &mut ExprParser<'_>,
    operator: &'static Operator,
    value: RawValue<'_>,
) -> Result<Expr> {
    let args = parser.list(value)?;
    if args.len() < 2 {
        let message = format!("$ifNull needs at least two arguments, had: {}", args.len());
        return Err(Error::location(1_257_300, message));
    }
    super::parse::check_count(operator.name, args.len(), 2, MANY)?;
    Ok(Expr::Call(operator, args))
}

fn if_null<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let last = args.len().saturating_sub(1);
    for at in 0..last {
        let value = args.eval(at, cx)?;
        if !is_nullish(value.as_ref()) {
            return Ok(value);
        }
    }
    args.eval(last, cx)
}

/// The cases and values in pairs, then the default if there is one.
fn read_switch(
    parser: &mut ExprParser<'_>,
    operator: &'static Operator,
    value: RawValue<'_>,
) -> Result<Expr> {
    let doc = value.as_doc().ok_or_else(|| {
        let found = value.ty.name();
        Error::location(40060, format!("$switch requires an object as an argument, found: {found}"))
    })?;
    let mut args = Vec::new();
    let mut default = None;
    for field in doc {
        match field.name() {
            "branches" => {
                let branches = field.value.as_array().ok_or_else(|| {
                    let found = field.value.ty.name();
                    Error::location(
                        40061,
                        format!("$switch expected an array for 'branches', found: {found}"),
                    )
                })?;
                for branch in branches {
                    let (case, then) = read_branch(parser, branch.value)?;
                    args.extend([case, then]);
                }
            }
            "default" => default = Some(parser.operand(field.value)?),
            unknown => {
                return Err(Error::location(40067, format!("$switch found an unknown argument: {unknown}")));
            }
        }
    }
    if args.is_empty() {
        return Err(Error::location(40068, "$switch requires at least one branch."));
    }
    args.extend(default);
    Ok(Expr::Call(operator, args))
}

fn read_branch(parser: &mut ExprParser<'_>, branch: RawValue<'_>) -> Result<(Expr, Expr)> {
    let doc = branch.as_doc().ok_or_else(|| {
        let found = branch.ty.name();
        Error::location(40062, format!("$switch expected each branch to be an object, found: {found}"))
    })?;
    let (mut case, mut then) = (None, None);
    for field in doc {
        match field.name() {
            "case" => case = Some(parser.operand(field.value)?),
            "then" => then = Some(parser.operand(field.value)?),
            unknown => {
                let message = format!("$switch found an unknown argument to a branch: {unknown}");
                return Err(Error::location(40063, message));
            }
        }
    }
    let case =
        case.ok_or_else(|| Error::location(40064, "$switch requires each branch have a 'case' expression"))?;
    let then =
        then.ok_or_else(|| Error::location(40065, "$switch requires each branch have a 'then' expression."))?;
    Ok((case, then))
}

fn switch<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let branches = args.len() / 2;
    for branch in 0..branches {
        if args.expr(2 * branch).is_true(cx)? {
            return args.eval(2 * branch + 1, cx);
        }
    }
    if args.len() % 2 == 1 {
        return args.eval(args.len() - 1, cx);
    }
    let message = "$switch could not find a matching branch for an input, and no default was specified.";
    Err(Error::location(40066, message))
}

/// The variables' expressions, then the body.
fn read_let(parser: &mut ExprParser<'_>, operator: &'static Operator, value: RawValue<'_>) -> Result<Expr> {
    let doc = value
        .as_doc()
        .ok_or_else(|| Error::location(16874, "$let only supports an object as its argument"))?;
    let (mut vars, mut body) = (None, None);
    for field in doc {
        match field.name() {
            "vars" => vars = Some(field.value),
            "in" => body = Some(field.value),
            unknown => {
                return Err(Error::location(16875, format!("Unrecognized parameter to $let: {unknown}")));
            }
        }
    }
    let vars = vars.ok_or_else(|| Error::location(16876, "Missing 'vars' parameter to $let"))?;
    let body = body.ok_or_else(|| Error::location(16877, "Missing 'in' parameter to $let"))?;
    let vars: RawDoc<'_> = vars.as_doc().filter(|_| vars.ty == T::Document).ok_or_else(|| {
        Error::location(
            10065,
            format!("invalid parameter: expected an object (vars), found {}", vars.ty.name()),
        )
    })?;
    let mut names = Vec::new();
    let mut args = Vec::new();
    for var in vars {
        check_defined_variable(var.name())?;
        names.push(var.name().to_owned());
        args.push(parser.operand(var.value)?);
    }
    args.push(parser.operand_with(names, body)?);
    Ok(Expr::Call(operator, args))
}

fn let_in<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let body = args.len().saturating_sub(1);
    let values: Vec<Option<Val<'e>>> = (0..body).map(|at| args.eval(at, cx)).collect::<Result<_>>()?;
    let scope = cx.scope(&values);
    let value = args.expr(body).eval(&cx.inside(&scope))?;
    Ok(value.map(|v| Val::Owned(v.into_owned())))
}
