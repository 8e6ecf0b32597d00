//! Reading a projection document.

use super::find_operators::{ElemMatch, Slice};
use super::node::{Child, Node};
use super::{Kind, Projection};
use crate::CompileContext;
use crate::expression::{Expr, check_path, is_operator, is_truthy};
use crate::filter::Filter;
use multifora_model::{Element, ElementType, Error, RawDoc, RawValue, Result, text};

/// The two dialects.
#[derive(Clone, Copy)]
pub(super) enum Dialect<'f> {
    /// The projection of find, with the command's query.
    Find { filter: Option<&'f Filter> },
    /// `$project`.
    Stage,
}

/// Deepest nesting of a projection document.
const MAX_DEPTH: usize = 150;

pub(super) fn projection(
    spec: RawDoc<'_>,
    dialect: Dialect<'_>,
    context: &CompileContext,
) -> Result<Projection> {
    let mut parser = Parser { dialect, context, root: Node::default(), said: Said::default() };
    parser.fields(spec, "", 0)?;
    parser.finish()
}

/// What has been said so far, for the rules about what goes together.
#[derive(Default)]
struct Said {
    kind: Option<Kind>,
    /// The top-level `_id` stays or goes as a whole.
    id_stays: Option<bool>,
    elem_match: bool,
    positional: bool,
}

struct Parser<'p> {
    dialect: Dialect<'p>,
    context: &'p CompileContext,
    root: Node,
    said: Said,
}

impl Parser<'_> {
    fn fields(&mut self, spec: RawDoc<'_>, prefix: &str, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::new(
                multifora_model::ErrorCode::Overflow,
                format!("a projection must not be nested deeper than {MAX_DEPTH} levels"),
            ));
        }
        for field in spec {
            match prefix {
                "" => self.field(field.name(), &field, depth)?,
                _ => self.field(&format!("{prefix}.{}", field.name()), &field, depth)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, path: &str, field: &Element<'_>, depth: usize) -> Result<()> {
        if let Some(base) = path.strip_suffix(".$")
            && let Dialect::Find { .. } = self.dialect
        {
            return self.positional(base, field.value);
        }
        if matches!(self.dialect, Dialect::Find { .. }) && path.contains(".$.") {
            return Err(Error::location(
                31394,
                "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional projection \
                 may only be used at the end, for example: a.b.$. If the query previously used a form like a.b.$.d, \
                 remove the parts following the '$' and the results will be equivalent.",
            ));
        }
        check_path(path)?;
        match field.value.ty {
            ElementType::Bool => self.named(path, is_truthy(field.value)),
            ty if ty.is_number() => self.named(path, is_truthy(field.value)),
            ElementType::Document => self.document(path, field.value, depth),
            _ => self.computed(path, field.value),
        }
    }

    fn document(&mut self, path: &str, value: RawValue<'_>, depth: usize) -> Result<()> {
        let doc = value.as_doc().unwrap_or(RawDoc::EMPTY);
        let Some(first) = doc.iter().next() else {
            return Err(Error::location(
                51270,
                format!("An empty sub-projection is not a valid value. Found empty object at path '{path}'"),
            ));
        };
        match (first.name(), self.dialect) {
            ("$slice", Dialect::Find { .. }) => self.slice(path, value, first.value),
            ("$elemMatch", Dialect::Find { .. }) => self.elem_match(path, doc, &first),
            ("$meta", _) => Err(meta_refusal(doc, &first)),
            (name, _) if name.starts_with('$') && !is_operator(name) => {
                Err(Error::location(31325, format!("Unknown expression {name}")))
            }
            (name, _) if name.starts_with('$') => self.computed(path, value),
            _ => self.fields(doc, path, depth + 1),
        }
    }

    fn kind(&mut self, kind: Kind, refusal: impl FnOnce() -> Error) -> Result<()> {
        match self.said.kind {
            Some(known) if known != kind => Err(refusal()),
            _ => {
                self.said.kind = Some(kind);
                Ok(())
            }
        }
    }

    fn named(&mut self, path: &str, stays: bool) -> Result<()> {
        if path == "_id" {
            if self.said.id_stays.is_some() || self.root.find(b"_id").is_some() {
                return Err(Error::location(31250, "Path collision at _id"));
            }
            self.said.id_stays = Some(stays);
            return Ok(());
        }
        match stays {
            true => self.kind(Kind::Inclusion, || {
                let message = format!("Cannot do inclusion on field {path} in exclusion projection");
                Error::location(31253, message)
            })?,
            false => self.kind(Kind::Exclusion, || {
                let message = format!("Cannot do exclusion on field {path} in inclusion projection");
                Error::location(31254, message)
            })?,
        }
        self.plant(path, Child::Named)
    }

    fn plant(&mut self, path: &str, child: Child) -> Result<()> {
        if self.said.id_stays.is_some() && (path == "_id" || path.starts_with("_id.")) {
            return Err(match path.strip_prefix("_id.") {
                Some(rest) => {
                    Error::location(31249, format!("Path collision at {path} remaining portion {rest}"))
                }
                None => Error::location(31250, "Path collision at _id"),
            });
        }
        self.root.plant(path, child)
    }

    fn computed(&mut self, path: &str, value: RawValue<'_>) -> Result<()> {
        self.kind(Kind::Inclusion, || {
            Error::location(31252, "Cannot use expression other than $meta in exclusion projection")
        })?;
        let expr = Expr::compile(value, self.context)?;
        self.plant(path, Child::Computed(Box::new(expr)))
    }

    /// `{$slice: …}`: find's own meaning where the operand has its form, else the expression.
    fn slice(&mut self, path: &str, operators: RawValue<'_>, operand: RawValue<'_>) -> Result<()> {
        let refusal = match Slice::parse(operand) {
            Ok(slice) => return self.plant(path, Child::Slice(slice)),
            Err(refusal) => refusal,
        };
        if let Err(error) = Expr::compile(operators, self.context) {
            let message = format!(
                "Invalid $slice syntax. The given syntax {} did not match the find() syntax because :: {}: {} :: The \
                 given syntax did not match the expression $slice syntax. :: caused by :: {}",
                text::value(operators),
                refusal.code().name(),
                refusal.message(),
                error.message()
            );
            return Err(Error::new(error.code(), message));
        }
        self.computed(path, operators)
    }

    fn elem_match(&mut self, path: &str, operators: RawDoc<'_>, condition: &Element<'_>) -> Result<()> {
        if self.said.positional {
            return Err(both_operators());
        }
        self.said.elem_match = true;
        let elem_match = ElemMatch::compile(path, operators, condition, self.context)?;
        self.plant(path, Child::ElemMatch(Box::new(elem_match)))
    }

    fn positional(&mut self, path: &str, value: RawValue<'_>) -> Result<()> {
        check_path(path)?;
        if !(value.ty == ElementType::Bool || value.ty.is_number()) {
            return Err(Error::location(31271, "positional projection cannot be used with a literal"));
        }
        if !is_truthy(value) {
            return Err(Error::location(31395, "positional projection cannot be used with exclusion"));
        }
        if self.said.positional {
            return Err(Error::location(
                31276,
                "Cannot specify more than one positional projection per query.",
            ));
        }
        if self.said.elem_match {
            return Err(both_operators());
        }
        if matches!(self.dialect, Dialect::Find { filter: None }) {
            return Err(Error::location(51050, "Projections with a positional operator require a matcher"));
        }
        self.said.positional = true;
        self.kind(Kind::Inclusion, || {
            Error::location(31395, "positional projection cannot be used with exclusion")
        })?;
        self.plant(path, Child::Positional)
    }

    fn finish(mut self) -> Result<Projection> {
        let kind = self.said.kind.unwrap_or({
            // Only `_id`, `$slice` and `$elemMatch`, which fit both kinds.
            match self.said.id_stays == Some(true) || self.said.elem_match {
                true => Kind::Inclusion,
                false => Kind::Exclusion,
            }
        });
        let names_id = self.root.find(b"_id").is_some();
        let id_is_named = match kind {
            Kind::Inclusion => self.said.id_stays != Some(false) && !names_id,
            Kind::Exclusion => self.said.id_stays == Some(false),
        };
        if id_is_named {
            self.root.children.insert(0, ("_id".into(), Child::Named));
        }
        self.root.settle();
        let positional_filter = match self.dialect {
            Dialect::Find { filter } if self.said.positional => filter.cloned(),
            _ => None,
        };
        Ok(Projection { kind, root: self.root, positional_filter })
    }
}

fn both_operators() -> Error {
    Error::location(31255, "Cannot specify positional operator and $elemMatch.")
}

/// `{$meta: …}`: there is no text search here yet, and so no score.
fn meta_refusal(doc: RawDoc<'_>, meta: &Element<'_>) -> Error {
    match meta.value.as_str() {
        Some("textScore") => {
            Error::location(40218, "query requires text score metadata, but it is not available")
        }
        Some(_) => Error::location(17308, format!("Unsupported argument to $meta: {}", text::document(doc))),
        None => Error::location(17307, "$meta only supports string arguments"),
    }
}
