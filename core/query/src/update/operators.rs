//! The update operators: one row each, and what an operator has to say about a value.

use super::array_filter::ArrayFilters;
use super::{arithmetic, array_add, array_push, array_remove, assign};
use crate::CompileContext;
use multifora_model::{DocumentView, Element, ElementType, Error, RawDoc, RawValue, Result};
use std::fmt::Debug;

/// What an operator does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Keep,
    /// It is replaced by a value of this type, whose payload has been appended to the output.
    Write(ElementType),
    /// The field goes away.
    Remove,
}

impl Effect {
    /// The same for an array element: elements do not go away, they become null.
    pub(super) fn in_array(self) -> Effect {
        match self {
            Effect::Remove => Effect::Write(ElementType::Null),
            other => other,
        }
    }
}

/// Where an operator works: for error messages.
#[derive(Clone, Copy)]
pub(super) struct Site<'s> {
    /// The whole document before the update.
    pub(super) root: DocumentView<'s>,
    /// The path of the value.
    pub(super) path: &'s str,
}

impl Site<'_> {
    /// The last part of the path.
    pub(super) fn field(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// The document's `_id` as messages show it: `{_id: 1}`.
    pub(super) fn id(&self) -> String {
        match self.root.get("_id").ok().flatten() {
            Some(id) => format!("{{_id: {}}}", multifora_model::text::value(id)),
            None => String::from("{no id}"),
        }
    }
}

/// An update operator with its operand, at one path.
pub(super) trait Modifier: Debug + Send + Sync {
    /// The value is there; the payload of a new one is appended to `out`.
    fn existing(&self, site: &Site<'_>, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect>;

    /// The value is there, but would have to be fetched: does its type, or the length of its payload, decide?
    fn unread(&self, _ty: ElementType, _len_bytes: usize, _out: &mut Vec<u8>) -> Option<Effect> {
        None
    }

    /// The field is missing; `None` when it stays so.
    fn missing(&self, _site: &Site<'_>, _out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        Ok(None)
    }

    /// Makes a field that is missing.
    fn creates(&self) -> bool {
        true
    }

    /// A path that leads through a scalar is no error, just nothing to do.
    fn tolerates_blocked_path(&self) -> bool {
        false
    }
}

/// What the parser of an operand knows.
pub(super) struct OperandContext<'c> {
    pub(super) context: &'c CompileContext,
}

/// How an operator is read.
pub(super) enum Shape {
    /// One leaf at the path named by the field.
    Leaf(fn(&Element<'_>, &OperandContext<'_>) -> Result<Box<dyn Modifier>>),
    /// As a leaf, but only when an upsert inserts.
    LeafOnInsert(fn(&Element<'_>, &OperandContext<'_>) -> Result<Box<dyn Modifier>>),
    /// Two leaves: where the value is and where it goes.
    Rename,
}

/// A row of the registry.
pub struct UpdateOperator {
    /// The operator's name, with the dollar sign.
    pub name: &'static str,
    /// What it does, for the compatibility table.
    pub doc: &'static str,
    pub(super) shape: Shape,
}

/// Every update operator.
pub static UPDATE_OPERATORS: [UpdateOperator; 15] = [
    UpdateOperator {
        name: "$addToSet",
        doc: "adds values that are not there",
        shape: Shape::Leaf(array_add::parse),
    },
    UpdateOperator { name: "$bit", doc: "bitwise and, or, xor", shape: Shape::Leaf(arithmetic::parse_bit) },
    UpdateOperator {
        name: "$currentDate",
        doc: "sets the current time",
        shape: Shape::Leaf(assign::parse_current_date),
    },
    UpdateOperator { name: "$inc", doc: "adds a number", shape: Shape::Leaf(arithmetic::parse_inc) },
    UpdateOperator { name: "$max", doc: "sets a larger value", shape: Shape::Leaf(assign::parse_max) },
    UpdateOperator { name: "$min", doc: "sets a smaller value", shape: Shape::Leaf(assign::parse_min) },
    UpdateOperator { name: "$mul", doc: "multiplies by a number", shape: Shape::Leaf(arithmetic::parse_mul) },
    UpdateOperator {
        name: "$pop",
        doc: "removes the first or last element",
        shape: Shape::Leaf(array_remove::parse_pop),
    },
    UpdateOperator {
        name: "$pull",
        doc: "removes elements that meet a condition",
        shape: Shape::Leaf(array_remove::parse_pull),
    },
    UpdateOperator {
        name: "$pullAll",
        doc: "removes elements equal to one of a list",
        shape: Shape::Leaf(array_remove::parse_pull_all),
    },
    UpdateOperator {
        name: "$push",
        doc: "adds elements ($each, $position, $slice, $sort)",
        shape: Shape::Leaf(array_push::parse),
    },
    UpdateOperator { name: "$rename", doc: "moves a field", shape: Shape::Rename },
    UpdateOperator { name: "$set", doc: "sets a value", shape: Shape::Leaf(assign::parse_set) },
    UpdateOperator {
        name: "$setOnInsert",
        doc: "sets a value when an upsert inserts",
        shape: Shape::LeafOnInsert(assign::parse_set),
    },
    UpdateOperator { name: "$unset", doc: "removes a field", shape: Shape::Leaf(assign::parse_unset) },
];

/// The row with this name.
pub(super) fn find(name: &str) -> Option<&'static UpdateOperator> {
    UPDATE_OPERATORS.iter().find(|row| row.name == name)
}

/// The error for a name that no row has.
pub(super) fn unknown(name: &str) -> Error {
    Error::failed_to_parse(format!(
        "Unknown modifier: {name}. Expected a valid update modifier or pipeline-style update specified as an array"
    ))
}

/// The array that an array operator works on.
pub(super) fn array_or<'v>(current: RawValue<'v>, error: impl FnOnce() -> Error) -> Result<RawDoc<'v>> {
    current.as_array().ok_or_else(error)
}

/// Unused identifiers are an error, so the filters travel with the operands that name them.
pub(super) fn knows_identifier<'f>(
    filters: &'f ArrayFilters,
    used: &'f mut Vec<Box<str>>,
) -> impl FnMut(&str) -> bool + 'f {
    move |identifier| {
        let known = filters.knows(identifier);
        if known && !used.iter().any(|u| &**u == identifier) {
            used.push(identifier.into());
        }
        known
    }
}
