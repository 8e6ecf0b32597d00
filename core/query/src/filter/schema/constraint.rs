//! What a keyword of a schema is once compiled.

use super::super::explanation::Explanation;
use super::instance::Instance;
use multifora_model::{DocBuilder, RawDoc, RawValue, Result};

/// A keyword's demand.
pub(super) trait Constraint: std::fmt::Debug + Send + Sync {
    /// Does the instance meet it? It does when the keyword does not speak of its type.
    ///
    /// # Errors
    /// Reading the document, a pattern beyond its limits.
    fn holds(&self, instance: Instance<'_, '_>) -> Result<bool>;

    /// Says why the instance, which does not meet it, does not: pushes objects onto the open array.
    ///
    /// # Errors
    /// As [`holds`](Self::holds); no room left.
    fn explain(
        &self,
        instance: Instance<'_, '_>,
        rule: &Specification,
        telling: &Explanation<'_>,
        out: &mut DocBuilder,
    ) -> Result<()>;
}

/// A keyword as it stands in the schema.
#[derive(Debug)]
pub(super) struct Specification {
    pub keyword: &'static str,
    /// `{keyword: operand}`.
    document: Vec<u8>,
}

impl Specification {
    pub(super) fn new(keyword: &'static str, operand: RawValue<'_>) -> Self {
        let mut document = DocBuilder::new();
        document.append(keyword, operand);
        Specification { keyword, document: document.finish() }
    }

    /// Adds a second keyword that belongs to it (`exclusiveMinimum: true`).
    pub(super) fn with_true(self, keyword: &'static str) -> Self {
        let mut document = DocBuilder::new();
        document.extend(self.document()).bool(keyword, true);
        Specification { document: document.finish(), ..self }
    }

    pub(super) fn document(&self) -> RawDoc<'_> {
        RawDoc::framed(&self.document).unwrap_or(RawDoc::EMPTY)
    }

    /// Pushes an object with `operatorName` and `specifiedAs` and leaves it open.
    pub(super) fn open(&self, telling: &Explanation<'_>, out: &mut DocBuilder) -> Result<()> {
        self.open_bare(out);
        telling.specified_as(self.document(), out)
    }

    /// Pushes an object with `operatorName` alone and leaves it open.
    pub(super) fn open_bare(&self, out: &mut DocBuilder) {
        out.push_start_doc().str("operatorName", self.keyword);
    }
}
