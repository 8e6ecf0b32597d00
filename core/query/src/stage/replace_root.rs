//! `$replaceRoot` and `$replaceWith`.

use crate::expression::{EvalContext, Expr};
use crate::{CompileContext, Resources};
use multifora_model::{DocumentView, Error, RawValue, Result, Val, text};

/// The expression that gives the new document.
#[derive(Debug)]
pub struct ReplaceRoot {
    new_root: Expr,
    /// How messages call the expression.
    called: &'static str,
}

impl ReplaceRoot {
    /// `{newRoot: expression}`.
    pub(super) fn parse(spec: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        let Some(doc) = spec.as_doc() else {
            let message =
                format!("expected an object as specification for $replaceRoot stage, got {}", spec.ty.name());
            return Err(Error::location(40229, message));
        };
        if let Some(unknown) = doc.iter().find(|field| field.name() != "newRoot") {
            let message = format!(
                "unrecognized option to $replaceRoot stage: {}, only valid option is 'newRoot'.",
                unknown.name()
            );
            return Err(Error::location(40230, message));
        }
        let new_root = doc
            .get("newRoot")
            .ok_or_else(|| Error::location(40231, "no newRoot specified for the $replaceRoot stage"))?;
        Ok(ReplaceRoot { new_root: Expr::compile(new_root, context)?, called: "'newRoot' expression" })
    }

    /// The expression itself.
    pub(super) fn parse_with(spec: RawValue<'_>, context: &CompileContext) -> Result<Self> {
        Ok(ReplaceRoot { new_root: Expr::compile(spec, context)?, called: "'replacement document'" })
    }

    /// Writes the new document to `out`.
    ///
    /// # Errors
    /// Code 40228 when it is no document.
    pub fn apply(&self, view: &DocumentView<'_>, res: &dyn Resources, out: &mut Vec<u8>) -> Result<()> {
        let value = self.new_root.eval(&EvalContext::new(*view, res))?;
        let doc = value.as_ref().and_then(|v| v.as_ref().as_doc());
        match doc {
            Some(doc) => out.extend_from_slice(doc.as_bytes()),
            None => return Err(self.no_document(value.as_ref(), view)),
        }
        Ok(())
    }

    fn no_document(&self, value: Option<&Val<'_>>, view: &DocumentView<'_>) -> Error {
        let shown = value.map_or_else(|| "MISSING".to_owned(), |v| text::value(v.as_ref()));
        let ty = value.map_or("missing", |v| v.as_ref().ty.name());
        let input = match view.to_doc() {
            Ok(doc) => doc,
            Err(error) => return error,
        };
        Error::location(
            40228,
            format!(
                "{} must evaluate to an object, but resulting value was: {shown}. Type of resulting value: '{ty}'. \
                 Input document: {}",
                self.called,
                text::document(input)
            ),
        )
    }
}
