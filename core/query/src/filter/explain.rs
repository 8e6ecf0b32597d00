//! Why a document fails a collection's rule: the content of `errInfo` (manual: Schema Validation).
//!
//! The account follows the rule as its author wrote it, clause by clause, so it is made from the rule's source and
//! not from the compiled tree, which knows no `$ne` and no `$all`. Whether a clause holds is decided by compiling
//! that clause: here is nothing about what operators mean, only about how their failure is told. It costs
//! something, and only when a document has failed.

mod clause;
mod leaf;

use super::Filter;
use super::explanation::Explanation;
use super::schema::Schema;
use crate::{CompileContext, Resources};
use clause::{Clause, Kind, clauses, operator_clauses};
use multifora_model::{DocBuilder, DocumentView, Error, ErrorCode, RawDoc, RawValue, Result, validate};

/// Largest account.
const MAX_BYTES: usize = 12 * 1024 * 1024;
/// Deepest nesting of an account: a reply still has to hold it.
const MAX_DEPTH: usize = 190;

/// What an account tells of: that a clause does not hold, or, below a negation, that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Failed,
    Held,
}

impl Outcome {
    fn opposite(self) -> Self {
        match self {
            Outcome::Failed => Outcome::Held,
            Outcome::Held => Outcome::Failed,
        }
    }
}

/// The value of `errInfo` for a document that fails the rule: `{failingDocumentId, details}`.
pub fn explain_failure(
    rule: RawDoc<'_>,
    names: &CompileContext,
    doc: RawDoc<'_>,
    res: &dyn Resources,
) -> Vec<u8> {
    let view = DocumentView::whole(doc);
    for is_short in [false, true] {
        let telling = Explanation { res, is_short, max_bytes: MAX_BYTES };
        let mut out = begin(doc);
        if is_short {
            out.bool("truncated", true);
        }
        out.start_doc("details");
        match (Account { names, view: &view, telling }).query(rule, Outcome::Failed, &mut out) {
            Ok(()) => return finish(out),
            Err(error) if error.code() == ErrorCode::BSONObjectTooLarge => {}
            Err(error) => {
                let mut out = begin(doc);
                out.str("note", "failed to generate document validation error");
                out.start_doc("details");
                append_error(&error, &mut out);
                return out.finish();
            }
        }
    }
    let mut out = begin(doc);
    out.str("note", "detailed error was too large");
    out.finish()
}

fn begin(doc: RawDoc<'_>) -> DocBuilder {
    let mut out = DocBuilder::new();
    out.append("failingDocumentId", doc.get("_id").unwrap_or(RawValue::NULL));
    out
}

fn finish(out: DocBuilder) -> Vec<u8> {
    let account = out.finish();
    if validate::document(&account, usize::MAX, MAX_DEPTH).is_ok() {
        return account;
    }
    let mut out = DocBuilder::new();
    out.str("reason", "generated error was too deeply nested").bool("truncated", true);
    out.finish()
}

/// `code`, `codeName`, `errmsg`.
fn append_error(error: &Error, out: &mut DocBuilder) {
    out.i32("code", error.code().code()).str("codeName", &error.code().name());
    out.str("errmsg", error.message());
}

/// One account in the making.
struct Account<'e> {
    names: &'e CompileContext,
    view: &'e DocumentView<'e>,
    telling: Explanation<'e>,
}

impl Account<'_> {
    /// A query document; several clauses are an `$and` that nobody wrote.
    fn query(&self, query: RawDoc<'_>, outcome: Outcome, out: &mut DocBuilder) -> Result<()> {
        self.all_of(&clauses(query), outcome, out)
    }

    fn all_of(&self, clauses: &[Clause<'_>], outcome: Outcome, out: &mut DocBuilder) -> Result<()> {
        if let [clause] = clauses {
            return self.clause(clause, outcome, out);
        }
        out.str("operatorName", "$and").start_array(list_name(outcome));
        for (at, clause) in clauses.iter().enumerate() {
            if self.is_to_be_told(&clause.query(), outcome) {
                out.push_start_doc().count("index", at as u64).start_doc("details");
                self.clause(clause, outcome, out)?;
                out.end().end();
            }
        }
        out.end();
        Ok(())
    }

    /// Does the clause hold, or not, as the account has it? One that cannot be decided is told in any case.
    fn is_to_be_told(&self, query: &[u8], outcome: Outcome) -> bool {
        let query = RawDoc::framed(query).unwrap_or(RawDoc::EMPTY);
        let filter = Filter::compile(query, self.names);
        match filter.and_then(|filter| filter.matches(self.view, self.telling.res)) {
            Ok(holds) => holds == (outcome == Outcome::Held),
            Err(_) => true,
        }
    }

    /// Writes the fields of one object.
    fn clause(&self, clause: &Clause<'_>, outcome: Outcome, out: &mut DocBuilder) -> Result<()> {
        self.telling.res.check_interrupt()?;
        self.telling.check_room(out, 0)?;
        match clause.kind {
            Kind::Branches(branches) => self.branches(clause.operator, branches, outcome, out),
            Kind::Not(path, operand) => {
                out.str("operatorName", "$not").start_doc("details");
                self.all_of(&operator_clauses(path, operand), outcome.opposite(), out)?;
                out.end();
                Ok(())
            }
            Kind::Schema(schema) if outcome == Outcome::Failed => {
                Schema::compile(schema)?.explain(self.view, &self.telling, out)
            }
            Kind::Schema(_) => {
                out.str("operatorName", "$jsonSchema").str("reason", "schema matched");
                Ok(())
            }
            Kind::Test(path, operand) => self.test(clause, path, operand, outcome, out),
            Kind::Whole(operand) => self.whole(clause, operand, outcome, out),
        }
    }

    /// `$and`, `$or`, `$nor`.
    fn branches(
        &self,
        operator: &str,
        branches: RawDoc<'_>,
        outcome: Outcome,
        out: &mut DocBuilder,
    ) -> Result<()> {
        let of_branches = if operator == "$nor" { outcome.opposite() } else { outcome };
        out.str("operatorName", operator).start_array(list_name(of_branches));
        for (at, branch) in branches.iter().filter_map(|branch| branch.value.as_doc()).enumerate() {
            if self.is_to_be_told(branch.as_bytes(), of_branches) {
                out.push_start_doc().count("index", at as u64).start_doc("details");
                self.query(branch, of_branches, out)?;
                out.end().end();
            }
        }
        out.end();
        Ok(())
    }
}

fn list_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Failed => "clausesNotSatisfied",
        Outcome::Held => "clausesSatisfied",
    }
}

#[cfg(test)]
mod tests;
