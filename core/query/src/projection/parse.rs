//! Reading a projection document.

use super::find_operators::{ElemMatch, Slice};
use super::node::{Child, Node, collision};
use super::{Kind, Projection};
use crate::CompileContext;
use crate::expression::{Expr, check_path, is_operator, is_truthy};
use crate::filter::Filter;
use multifora_model::{Element, ElementType, Error, ErrorCode, RawDoc, RawValue, Result, text};

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
    slice: bool,
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
                ErrorCode::Overflow,
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
        if let Some(base) = path.strip_suffix(".$") {
            return self.positional(base, field.value);
        }
        if path.contains(".$.") {
            return Err(Error::location(
                31394,
                "As of 4.4, it's illegal to specify positional operator in the middle of a path.Positional projection \
                 may only be used at the end, for example: a.b.$. If the query previously used a form like a.b.$.d, \
                 remove the parts following the '$' and the results will be equivalent.",
            ));
        }
        check_path(path)?;
        match field.value.ty {
            ElementType::Bool => self.named(path, field),
            ty if ty.is_number() => self.named(path, field),
            ElementType::Document => self.document(path, field, depth),
            _ => self.literal(path, field),
        }
    }

    fn document(&mut self, path: &str, field: &Element<'_>, depth: usize) -> Result<()> {
        let doc = field.value.as_doc().unwrap_or(RawDoc::EMPTY);
        let mut fields = doc.iter();
        let Some(first) = fields.next() else {
            return Err(Error::location(51270, format!("Invalid empty sub-projection: {}", field.name())));
        };
        // Anything else than one operator names fields.
        let operator = Some(first.name()).filter(|name| name.starts_with('$') && fields.next().is_none());
        match (operator, self.dialect) {
            (None, _) => self.fields(doc, path, depth + 1),
            (Some("$slice"), Dialect::Find { .. }) => self.slice(path, field.value, first.value),
            (Some("$elemMatch"), Dialect::Find { .. }) => self.elem_match(path, doc, &first),
            (Some("$elemMatch"), Dialect::Stage) => {
                Err(Error::new(ErrorCode::InvalidPipelineOperator, "Cannot use $elemMatch in this context"))
            }
            (Some("$meta"), _) => Err(meta_refusal(doc, &first)),
            (Some(name), _) if !is_operator(name) => {
                Err(Error::location(31325, format!("Unknown expression {name}")))
            }
            (Some(_), _) => self.expression(path, field.value),
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

    /// `{field: 1}` and `{field: 0}`.
    fn named(&mut self, path: &str, field: &Element<'_>) -> Result<()> {
        let stays = is_truthy(field.value);
        if path == "_id" {
            if self.said.id_stays.is_some() || self.root.find(b"_id").is_some() {
                return Err(Error::location(31250, "Path collision at _id"));
            }
            self.said.id_stays = Some(stays);
            return Ok(());
        }
        self.plant(path, Child::Named)?;
        let name = field.name();
        match stays {
            true => self.kind(Kind::Inclusion, || {
                let message = format!("Cannot do inclusion on field {name} in exclusion projection");
                Error::location(31253, message)
            }),
            false => self.kind(Kind::Exclusion, || {
                let message = format!("Cannot do exclusion on field {name} in inclusion projection");
                Error::location(31254, message)
            }),
        }
    }

    fn plant(&mut self, path: &str, child: Child) -> Result<()> {
        if self.said.id_stays.is_some() && (path == "_id" || path.starts_with("_id.")) {
            return Err(collision(path));
        }
        self.root.plant(path, child)
    }

    /// `{field: {$operator: …}}`.
    fn expression(&mut self, path: &str, value: RawValue<'_>) -> Result<()> {
        self.kind(Kind::Inclusion, || {
            Error::location(31252, "Cannot use expression other than $meta in exclusion projection")
        })?;
        let expr = Expr::compile(value, self.context)?;
        self.plant(path, Child::Computed(Box::new(expr)))
    }

    /// `{field: "$path"}`, `{field: "text"}` and other values that are no numbers.
    fn literal(&mut self, path: &str, field: &Element<'_>) -> Result<()> {
        let expr = Expr::compile(field.value, self.context)?;
        self.plant(path, Child::Computed(Box::new(expr)))?;
        self.kind(Kind::Inclusion, || {
            let shown = format!("{}: {}", field.name(), text::value(field.value));
            Error::location(31310, format!("Cannot use an expression {shown} in an exclusion projection"))
        })
    }

    /// `{$slice: …}`: find's own meaning where the operand has its form, else the expression.
    fn slice(&mut self, path: &str, operators: RawValue<'_>, operand: RawValue<'_>) -> Result<()> {
        let planted = Slice::parse(operand).and_then(|slice| self.plant(path, Child::Slice(slice)));
        let Err(refusal) = planted else {
            self.said.slice = true;
            return Ok(());
        };
        self.expression(path, operators).map_err(|error| {
            error.context(&format!(
                "Invalid $slice syntax. The given syntax {} did not match the find() syntax because :: {}: {} :: The \
                 given syntax did not match the expression $slice syntax. :: caused by :: ",
                text::value(operators),
                refusal.code().name(),
                refusal.message(),
            ))
        })
    }

    fn elem_match(&mut self, path: &str, operators: RawDoc<'_>, condition: &Element<'_>) -> Result<()> {
        if condition.value.ty != ElementType::Document {
            let ty = condition.value.ty.name();
            let message = format!("elemMatch: Invalid argument, object required, but got {ty}");
            return Err(Error::location(31274, message));
        }
        if self.said.positional {
            return Err(both_operators(31255));
        }
        if path.contains('.') {
            return Err(Error::location(31275, "Cannot use $elemMatch projection on a nested field."));
        }
        let elem_match = ElemMatch::compile(path, operators, self.context)?;
        self.plant(path, Child::ElemMatch(Box::new(elem_match)))?;
        self.said.elem_match = true;
        Ok(())
    }

    /// `{"path.$": 1}`.
    fn positional(&mut self, path: &str, value: RawValue<'_>) -> Result<()> {
        let refuse = |code: i32, message: &str| Err(Error::location(code, message));
        match value.ty {
            _ if matches!(self.dialect, Dialect::Stage) => {
                return refuse(31324, "Cannot use positional projection in aggregation projection");
            }
            ElementType::Document => {
                return refuse(
                    31271,
                    "positional projection cannot be used with an expression or sub object",
                );
            }
            ty if ty != ElementType::Bool && !ty.is_number() => {
                return refuse(31308, "positional projection cannot be used with a literal");
            }
            _ if !is_truthy(value) => {
                return refuse(31395, "positional projection cannot be used with exclusion");
            }
            _ if self.said.positional => {
                return refuse(31276, "Cannot specify more than one positional projection per query.");
            }
            _ if self.said.elem_match => return Err(both_operators(31256)),
            _ if matches!(self.dialect, Dialect::Find { filter: None }) => {
                return refuse(51050, "Projections with a positional operator require a matcher");
            }
            _ => {}
        }
        check_path(path)?;
        self.said.positional = true;
        self.plant(path, Child::Positional)?;
        self.kind(Kind::Inclusion, || {
            let message = format!("Cannot do inclusion on field {path}.$ in exclusion projection");
            Error::location(31253, message)
        })
    }

    fn finish(mut self) -> Result<Projection> {
        let kind = self.said.kind.unwrap_or({
            // Only `_id`, `$slice` and `$elemMatch`, which fit both kinds. With `$slice` the `_id` decides.
            let said = &self.said;
            match said.id_stays == Some(true) || (said.elem_match && !said.slice) {
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

fn both_operators(code: i32) -> Error {
    Error::location(code, "Cannot specify positional operator and $elemMatch.")
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
