//! How the failure of a single operator is told: one row per operator.

use super::super::explanation::{Considered, NUMBERS, append_types};
use super::clause::Clause;
use super::{Account, Outcome, append_error};
use crate::expression::{EvalContext, Expr, is_truthy};
use multifora_model::path::{FieldPath, LeafArrays};
use multifora_model::{DocBuilder, ElementType as T, RawDoc, RawValue, Result};

/// How an operator on a path is told.
struct Row {
    operator: &'static str,
    /// The reason when it does not hold.
    failed: &'static str,
    /// The reason when it does and should not.
    held: &'static str,
    /// The types it speaks of; empty: all.
    expects: &'static [T],
    values: Values,
}

/// Which values are repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// None: the path alone matters.
    None,
    /// What stands at the path.
    Whole,
    /// What stands at the path, arrays element by element.
    Elements,
    /// As `Elements`, with their types behind.
    ElementsAndTypes,
}

const COMPARISON: [&str; 2] = ["comparison failed", "comparison succeeded"];
const MEMBER: [&str; 2] = ["no matching value found in array", "matching value found in array"];
const BITS: [&str; 2] = ["bitwise operator failed to match", "bitwise operator matched successfully"];
const BIT_TYPES: &[T] = &[T::Binary, T::Decimal128, T::Double, T::Int32, T::Int64];

const fn row(operator: &'static str, [failed, held]: [&'static str; 2]) -> Row {
    Row { operator, failed, held, expects: &[], values: Values::Elements }
}

const fn typed(operator: &'static str, reasons: [&'static str; 2], expects: &'static [T]) -> Row {
    Row { expects, ..row(operator, reasons) }
}

const fn whole(operator: &'static str, reasons: [&'static str; 2], expects: &'static [T]) -> Row {
    Row { values: Values::Whole, expects, ..row(operator, reasons) }
}

const ROWS: &[Row] = &[
    row("$eq", COMPARISON),
    row("$gt", COMPARISON),
    row("$gte", COMPARISON),
    row("$lt", COMPARISON),
    row("$lte", COMPARISON),
    row("$ne", [COMPARISON[1], COMPARISON[0]]),
    row("$in", MEMBER),
    row("$nin", [MEMBER[1], MEMBER[0]]),
    Row { values: Values::None, ..row("$exists", ["path does not exist", "path does exist"]) },
    Row { values: Values::ElementsAndTypes, ..row("$type", ["type did not match", "type did match"]) },
    whole(
        "$size",
        ["array length was not equal to given size", "array length was equal to given size"],
        &[T::Array],
    ),
    typed(
        "$mod",
        ["$mod did not evaluate to expected remainder", "$mod did evaluate to expected remainder"],
        NUMBERS,
    ),
    typed(
        "$regex",
        ["regular expression did not match", "regular expression did match"],
        &[T::Regex, T::String, T::Symbol],
    ),
    whole(
        "$all",
        ["array did not contain all specified values", "array did contain all specified values"],
        &[],
    ),
    whole(
        "$elemMatch",
        ["array did not satisfy the child predicate", "array did satisfy the child predicate"],
        &[T::Array],
    ),
    typed("$bitsAllSet", BITS, BIT_TYPES),
    typed("$bitsAllClear", BITS, BIT_TYPES),
    typed("$bitsAnySet", BITS, BIT_TYPES),
    typed("$bitsAnyClear", BITS, BIT_TYPES),
    row(
        "$geoWithin",
        [
            "none of the considered geometries were contained within the expression’s geometry",
            "at least one of considered geometries was contained within the expression’s geometry",
        ],
    ),
    row(
        "$geoIntersects",
        [
            "none of the considered geometries intersected the expression’s geometry",
            "at least one of considered geometries intersected the expression’s geometry",
        ],
    ),
];

/// For operators that have no row (of later versions).
const OTHER: Row = row("", ["expression did not match", "expression did match"]);

impl Account<'_> {
    /// An operator on a path.
    pub(super) fn test(
        &self,
        clause: &Clause<'_>,
        path: &str,
        operand: RawValue<'_>,
        outcome: Outcome,
        out: &mut DocBuilder,
    ) -> Result<()> {
        let row = ROWS.iter().find(|row| row.operator == clause.operator).unwrap_or(&OTHER);
        self.open(clause, out)?;
        let negated = clause.operator == "$exists" && !is_truthy(operand);
        let reason = match if negated { outcome.opposite() } else { outcome } {
            Outcome::Failed => row.failed,
            Outcome::Held => row.held,
        };
        if clause.operator == "$all" && operand.as_array().is_some_and(RawDoc::is_empty) {
            out.str("reason", always(outcome));
            return Ok(());
        }
        if row.values == Values::None {
            out.str("reason", reason);
            return Ok(());
        }
        let Some(seen) = self.values_at(path, row.values)? else {
            out.str("reason", "field was missing");
            return Ok(());
        };
        let is_expected = |value: &RawValue<'_>| row.expects.contains(&value.ty);
        if row.expects.is_empty() || seen.values.iter().any(is_expected) {
            out.str("reason", reason);
        } else {
            out.str("reason", "type did not match");
            seen.append_types(out);
            append_types("expected", row.expects.iter().copied(), out);
        }
        self.telling.considered_values(&seen, out)?;
        if row.values == Values::ElementsAndTypes {
            seen.append_types(out);
        }
        Ok(())
    }

    /// An operator on the whole document.
    pub(super) fn whole(
        &self,
        clause: &Clause<'_>,
        operand: RawValue<'_>,
        outcome: Outcome,
        out: &mut DocBuilder,
    ) -> Result<()> {
        self.open(clause, out)?;
        let reason = match outcome {
            Outcome::Failed => OTHER.failed,
            Outcome::Held => OTHER.held,
        };
        match clause.operator {
            "$expr" => {
                let result =
                    Expr::compile(operand, self.names).and_then(|expr| self.result_of(&expr, reason, out));
                if let Err(error) = result {
                    if error.code() == multifora_model::ErrorCode::BSONObjectTooLarge {
                        return Err(error);
                    }
                    out.str("reason", "failed to evaluate aggregation expression").start_doc("details");
                    append_error(&error, out);
                    out.end();
                }
            }
            "$alwaysTrue" | "$alwaysFalse" => drop(out.str("reason", always(outcome))),
            _ => drop(out.str("reason", reason).bool("expressionResult", outcome == Outcome::Held)),
        }
        Ok(())
    }

    fn result_of(&self, expr: &Expr, reason: &str, out: &mut DocBuilder) -> Result<()> {
        let result = expr.eval(&EvalContext::new(*self.view, self.telling.res))?;
        if let Some(result) = &result {
            self.telling.check_room(out, result.as_ref().bytes.len())?;
        }
        out.str("reason", reason);
        if let Some(result) = &result {
            out.append("expressionResult", result.as_ref());
        }
        Ok(())
    }

    fn open(&self, clause: &Clause<'_>, out: &mut DocBuilder) -> Result<()> {
        out.str("operatorName", clause.operator);
        let query = clause.query();
        self.telling.specified_as(RawDoc::framed(&query).unwrap_or(RawDoc::EMPTY), out)
    }

    /// The values at a path; `None` where there is nothing.
    fn values_at(&self, path: &str, which: Values) -> Result<Option<Considered<'_>>> {
        let mut seen = Considered::default();
        let mut is_there = false;
        FieldPath::parse(path).walk(self.view, LeafArrays::Whole, &mut |met| {
            let Some(value) = met.value else { return Ok(true) };
            is_there = true;
            Ok(match value.as_array().filter(|_| which != Values::Whole) {
                Some(array) => array.iter().any(|element| seen.add(element.value)),
                None => seen.add(value),
            })
        })?;
        Ok(is_there.then_some(seen))
    }
}

fn always(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Failed => "expression always evaluates to false",
        Outcome::Held => "expression always evaluates to true",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::field_operators;

    #[test]
    fn every_supported_operator_has_its_row() {
        for operator in field_operators().iter().filter(|operator| operator.supported) {
            let is_told = ROWS.iter().any(|row| row.operator == operator.name);
            assert!(
                is_told || ["$not", "$options"].contains(&operator.name),
                "{} is not told",
                operator.name
            );
        }
    }
}
