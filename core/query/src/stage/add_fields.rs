//! `$addFields` and `$set`: computed fields in a document that otherwise stays as it is.
//!
//! A dotted name, or a document without operators, reaches into what is there: into documents by
//! name, into arrays element by element; what is neither is replaced by a new document. Everything
//! is computed from the document as it came in.

use crate::expression::{EvalContext, Expr, check_path, check_size};
use crate::write::append_field;
use crate::{CompileContext, Resources};
use multifora_model::split::CutList;
use multifora_model::{
    DocBuilder, DocumentView, ElementType as T, Error, RawDoc, RawValue, Result, Val, text,
};

/// The length that a document begins with.
const LENGTH_BYTES: usize = 4;

/// The fields to compute, as a tree.
#[derive(Clone, Debug)]
pub struct AddFields {
    root: Branch,
}

/// The fields below one name, in the order they were written.
#[derive(Clone, Debug, Default)]
struct Branch {
    children: Vec<(Box<str>, Node)>,
}

#[derive(Clone, Debug)]
enum Node {
    Value(Expr),
    Branch(Branch),
}

impl AddFields {
    /// `{path: expression, …}` for the stage called `stage`.
    ///
    /// # Errors
    /// Code 40272 (no document), 40177 (no field), 40176 (paths that collide) and those of expressions.
    pub fn compile(stage: &str, spec: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        let doc = spec.as_doc().ok_or_else(|| {
            let message = format!("{stage} specification stage must be an object, got {}", spec.ty.name());
            Error::location(40272, message)
        })?;
        let invalid = |error: Error| error.context(&format!("Invalid {stage} :: caused by :: "));
        if doc.is_empty() {
            return Err(invalid(Error::location(40177, "specification must have at least one field")));
        }
        let mut root = Branch::default();
        for field in doc {
            check_path(field.name()).map_err(invalid)?;
            root.insert(field.name(), field.value, doc, context).map_err(invalid)?;
        }
        Ok(AddFields { root })
    }

    /// Writes the document with the fields to `out`: a head, to be read through a view
    /// [derived](DocumentView::derived) from this one.
    ///
    /// # Errors
    /// Those of the expressions.
    pub fn apply(&self, view: &DocumentView<'_>, res: &dyn Resources, out: &mut Vec<u8>) -> Result<()> {
        let cx = EvalContext::new(*view, res);
        let start = out.len();
        let mut builder = DocBuilder::with_buffer(std::mem::take(out));
        let cuts = self.root.write(view, &cx, &mut builder)?;
        *out = builder.finish();
        cuts.finish(out, start);
        Ok(())
    }
}

impl Branch {
    fn insert(
        &mut self,
        path: &str,
        value: RawValue<'_>,
        spec: RawDoc<'_>,
        context: &CompileContext,
    ) -> Result<()> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let known = self.children.iter().position(|(known, _)| **known == *name);
        let Some(rest) = rest else {
            if known.is_some() {
                return Err(collision(path, spec));
            }
            self.children.push((name.into(), Node::parse(value, spec, context)?));
            return Ok(());
        };
        let at = known.unwrap_or_else(|| {
            self.children.push((name.into(), Node::Branch(Branch::default())));
            self.children.len() - 1
        });
        match self.children.get_mut(at) {
            Some((_, Node::Branch(branch))) => branch.insert(rest, value, spec, context),
            _ => Err(collision(path, spec)),
        }
    }

    /// Writes the fields of `doc` with those of the branch into the document just begun; gives what stays elsewhere.
    fn write(&self, doc: &DocumentView<'_>, cx: &EvalContext<'_>, out: &mut DocBuilder) -> Result<CutList> {
        let start = out.len_bytes() - LENGTH_BYTES;
        let mut cuts = CutList::default();
        for field in doc.fields() {
            match self.find(field.name_bytes()) {
                None => append_field(out, start, &field, &mut cuts),
                Some((name, Node::Value(expr))) => write_value(name, expr, cx, out)?,
                Some((name, Node::Branch(branch))) => {
                    let is_container = matches!(field.ty(), T::Document | T::Array);
                    let present = if is_container { Some(field.value()?) } else { None };
                    branch.write_below(name, present, cx, out)?;
                }
            }
        }
        for (name, node) in &self.children {
            match node {
                _ if doc.type_of(name).is_some() => {}
                Node::Value(expr) => write_value(name, expr, cx, out)?,
                Node::Branch(branch) => branch.write_below(name, None, cx, out)?,
            }
        }
        Ok(cuts)
    }

    /// Writes a field with the branch applied to the document or array that is there.
    fn write_below(
        &self,
        name: &str,
        present: Option<RawValue<'_>>,
        cx: &EvalContext<'_>,
        out: &mut DocBuilder,
    ) -> Result<()> {
        if let Some(array) = present.and_then(RawValue::as_array) {
            out.start_array(name);
            self.write_array(array, cx, out)?;
        } else {
            out.start_doc(name);
            let doc = present.and_then(RawValue::as_doc).unwrap_or(RawDoc::EMPTY);
            self.write(&doc.into(), cx, out)?;
        }
        out.end();
        Ok(())
    }

    fn find(&self, name: &[u8]) -> Option<(&str, &Node)> {
        self.children.iter().find(|(known, _)| known.as_bytes() == name).map(|(name, node)| (&**name, node))
    }

    /// Writes an array, the branch applied to each element.
    fn write_array(&self, array: RawDoc<'_>, cx: &EvalContext<'_>, out: &mut DocBuilder) -> Result<()> {
        for element in array {
            match (element.value.as_doc(), element.value.as_array()) {
                (_, Some(inner)) => {
                    out.push_start_array();
                    self.write_array(inner, cx, out)?;
                }
                (inner, None) => {
                    out.push_start_doc();
                    self.write(&inner.unwrap_or(RawDoc::EMPTY).into(), cx, out)?;
                }
            }
            out.end();
            check_size(out.len_bytes())?;
        }
        Ok(())
    }
}

impl Node {
    fn parse(value: RawValue<'_>, spec: RawDoc<'_>, context: &CompileContext) -> Result<Self> {
        let Some(doc) = value.as_doc() else { return Ok(Node::Value(Expr::compile(value, context)?)) };
        match doc.iter().next() {
            None => {
                let message = "an empty object is not a valid value. Found at: ";
                Err(Error::location(40180, format!("{message}{}", text::document(spec))))
            }
            Some(first) if first.name_bytes().starts_with(b"$") => {
                Ok(Node::Value(Expr::compile(value, context)?))
            }
            Some(_) => {
                let mut branch = Branch::default();
                for field in doc {
                    if field.name().contains('.') {
                        let message =
                            format!("cannot use dotted field name '{}' in a sub object", field.name());
                        return Err(Error::location(40183, message));
                    }
                    check_path(field.name())?;
                    branch.insert(field.name(), field.value, spec, context)?;
                }
                Ok(Node::Branch(branch))
            }
        }
    }
}

fn write_value(name: &str, expr: &Expr, cx: &EvalContext<'_>, out: &mut DocBuilder) -> Result<()> {
    if let Some(value) = expr.eval(cx)?.as_ref().map(Val::as_ref) {
        out.append(name, value);
    }
    Ok(())
}

fn collision(path: &str, spec: RawDoc<'_>) -> Error {
    let message = format!(
        "specification contains two conflicting paths. Cannot specify both '{path}' and a path that begins with it \
         or that it begins with: {}",
        text::document(spec)
    );
    Error::location(40176, message)
}
