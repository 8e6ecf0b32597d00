//! The clauses of a query as its author wrote them.

use super::super::parse::operators_in;
use multifora_model::{DocBuilder, ElementType, RawDoc, RawValue};

/// One clause.
pub(super) struct Clause<'q> {
    /// The operator; `$eq` or `$regex` where only a value stands.
    pub operator: &'q str,
    pub kind: Kind<'q>,
    /// The operators it was written with, in order: `$regex` comes with its `$options`; none where only a value stands.
    written: Vec<(&'q str, RawValue<'q>)>,
}

/// What a clause is made of.
#[derive(Clone, Copy)]
pub(super) enum Kind<'q> {
    /// `$and`, `$or`, `$nor` with their branches.
    Branches(RawDoc<'q>),
    /// `$not` on a path.
    Not(&'q str, RawValue<'q>),
    /// `$jsonSchema`.
    Schema(RawDoc<'q>),
    /// An operator on a path.
    Test(&'q str, RawValue<'q>),
    /// An operator on the whole document (`$expr`).
    Whole(RawValue<'q>),
}

impl Clause<'_> {
    /// The clause alone, as a query.
    pub(super) fn query(&self) -> Vec<u8> {
        let mut query = DocBuilder::new();
        match self.kind {
            Kind::Branches(branches) => {
                let array = RawValue { ty: ElementType::Array, bytes: branches.as_bytes() };
                query.append(self.operator, array);
            }
            Kind::Schema(schema) => drop(query.doc(self.operator, schema)),
            Kind::Whole(operand) => drop(query.append(self.operator, operand)),
            Kind::Test(path, operand) if self.written.is_empty() => drop(query.append(path, operand)),
            Kind::Test(path, _) | Kind::Not(path, _) => {
                query.start_doc(path);
                for (name, operand) in &self.written {
                    query.append(name, *operand);
                }
            }
        }
        query.finish()
    }
}

/// The clauses of a query document: those on one field stand beside those on others.
pub(super) fn clauses(query: RawDoc<'_>) -> Vec<Clause<'_>> {
    let mut found = Vec::new();
    for field in query {
        let (name, value) = (field.name(), field.value);
        if !name.starts_with('$') {
            found.extend(field_clauses(name, value));
            continue;
        }
        let kind = match (name, value.as_array(), value.as_doc()) {
            ("$comment", ..) => continue,
            ("$and" | "$or" | "$nor", Some(branches), _) => Kind::Branches(branches),
            ("$jsonSchema", _, Some(schema)) => Kind::Schema(schema),
            _ => Kind::Whole(value),
        };
        found.push(Clause { operator: name, kind, written: Vec::new() });
    }
    found
}

fn field_clauses<'q>(path: &'q str, value: RawValue<'q>) -> Vec<Clause<'q>> {
    if operators_in(value, false).is_some() {
        return operator_clauses(path, value);
    }
    let operator = if value.ty == ElementType::Regex { "$regex" } else { "$eq" };
    vec![Clause { operator, kind: Kind::Test(path, value), written: Vec::new() }]
}

/// The clauses of `{$gt: 1, $lt: 5}` on a path, and of the regular expression that `$not` may have instead.
pub(super) fn operator_clauses<'q>(path: &'q str, operators: RawValue<'q>) -> Vec<Clause<'q>> {
    let Some(operators) = operators.as_doc() else {
        return vec![Clause { operator: "$regex", kind: Kind::Test(path, operators), written: Vec::new() }];
    };
    let mut found = Vec::new();
    for field in operators {
        let (operator, operand) = (field.name(), field.value);
        let written = match operator {
            "$options" => continue,
            "$regex" => operators
                .iter()
                .map(|field| (field.name(), field.value))
                .filter(|(name, _)| matches!(*name, "$regex" | "$options"))
                .collect(),
            _ => vec![(operator, operand)],
        };
        let kind = match operator {
            "$not" => Kind::Not(path, operand),
            _ => Kind::Test(path, operand),
        };
        found.push(Clause { operator, kind, written });
    }
    found
}
