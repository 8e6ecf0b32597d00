//! The tree of paths that an operator update touches, with what happens at each leaf.
//!
//! All operators of one update share one tree. That makes a conflict a second arrival at a place
//! that is taken, gives new fields the order MongoDB gives them (by name, array positions by
//! number, whatever operator they come from), and lets one pass over a document apply everything.

use super::operators::Modifier;
use multifora_model::{Error, ErrorCode, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// Most parts of an update path; more could never be stored (`limits::MAX_NESTING_DEPTH`).
const MAX_PATH_PARTS: usize = 200;

/// What stands at a place in the tree. Cloning shares the leaves.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// The end of a path.
    Leaf(Arc<Leaf>),
    /// Fields (or array positions) by name.
    Object(ObjectNode),
    /// Array elements chosen by `$[]` and `$[identifier]`.
    Array(ArrayNode),
}

/// The end of a path.
#[derive(Debug)]
pub(super) enum Leaf {
    /// An operator with its operand. `insert_only`: `$setOnInsert`.
    Modify { modifier: Box<dyn Modifier>, insert_only: bool },
    /// Where rename number `n` takes its value from.
    RenameSource(usize),
    /// Where rename number `n` puts it.
    RenameTarget(usize),
}

/// A child with its name.
pub(super) type Named = (Box<str>, Node);

/// Children by field name, in application order, and the one below the positional `$`.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectNode {
    pub(super) children: Vec<Named>,
    pub(super) positional: Option<Box<Node>>,
}

/// Children by array filter identifier; the empty one is `$[]`.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrayNode {
    pub(super) children: Vec<Named>,
}

/// The identifier of a part `$[identifier]` (empty for `$[]`).
pub(super) fn array_identifier(part: &str) -> Option<&str> {
    part.strip_prefix("$[")?.strip_suffix(']')
}

/// The order in which children are applied: by name, but names that begin with a digit other than
/// a leading zero by length first, so that array positions go by number (`9` before `10`).
pub(super) fn child_order(a: &str, b: &str) -> Ordering {
    let is_number_like =
        |s: &str| s.starts_with(|c: char| c.is_ascii_digit()) && (s.len() == 1 || !s.starts_with('0'));
    match is_number_like(a) && is_number_like(b) {
        true => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        false => a.cmp(b),
    }
}

impl ObjectNode {
    fn child_mut(&mut self, name: &str) -> Option<&mut Node> {
        if name == "$" {
            return self.positional.as_deref_mut();
        }
        self.children.iter_mut().find(|(known, _)| &**known == name).map(|(_, node)| node)
    }

    fn insert(&mut self, name: &str, node: Node) {
        if name == "$" {
            self.positional = Some(Box::new(node));
            return;
        }
        let at = self.children.iter().position(|(known, _)| child_order(known, name) == Ordering::Greater);
        self.children.insert(at.unwrap_or(self.children.len()), (name.into(), node));
    }

    /// Puts `leaf` at the end of `path`, which [`check_update_path`] has accepted.
    ///
    /// # Errors
    /// `ConflictingUpdateOperators` when the place, one above or one below it is taken.
    pub(super) fn plant(&mut self, path: &str, leaf: Leaf) -> Result<()> {
        let parts: Vec<&str> = path.split('.').collect();
        let Some((last, on_the_way)) = parts.split_last() else { return Ok(()) };
        let conflict = |taken: usize| {
            let place = parts.get(..taken).unwrap_or_default().join(".");
            Error::new(
                ErrorCode::ConflictingUpdateOperators,
                format!("Updating the path '{path}' would create a conflict at '{place}'"),
            )
        };
        let mut place = Place::Object(self);
        for (at, part) in on_the_way.iter().enumerate() {
            let below_is_array = parts.get(at + 1).is_some_and(|p| array_identifier(p).is_some());
            place = place.enter(part, below_is_array).ok_or_else(|| conflict(at + 1))?;
        }
        match place.add(last, Node::Leaf(Arc::new(leaf))) {
            true => Ok(()),
            false => Err(conflict(parts.len())),
        }
    }

    /// Some leaf below is reached through the positional `$`.
    pub(super) fn needs_position(&self) -> bool {
        self.positional.is_some() || self.children.iter().any(|(_, node)| node.needs_position())
    }
}

impl ArrayNode {
    fn child_mut(&mut self, identifier: &str) -> Option<&mut Node> {
        self.children.iter_mut().find(|(known, _)| &**known == identifier).map(|(_, node)| node)
    }

    fn insert(&mut self, identifier: &str, node: Node) {
        let at = self.children.partition_point(|(known, _)| &**known < identifier);
        self.children.insert(at, (identifier.into(), node));
    }
}

impl Node {
    fn needs_position(&self) -> bool {
        match self {
            Node::Leaf(_) => false,
            Node::Object(node) => node.needs_position(),
            Node::Array(node) => node.children.iter().any(|(_, child)| child.needs_position()),
        }
    }

    /// Both trees in one, for an array element that two paths reach (`a.0` and `a.$`).
    ///
    /// # Errors
    /// `ConflictingUpdateOperators` when they meet in a leaf.
    pub(super) fn merge(&self, other: &Node, path: &str) -> Result<Node> {
        match (self, other) {
            (Node::Object(a), Node::Object(b)) => Ok(Node::Object(merge_objects(a, b, path)?)),
            (Node::Array(a), Node::Array(b)) => {
                let mut merged = a.clone();
                for (identifier, node) in &b.children {
                    match merged.child_mut(identifier) {
                        Some(known) => *known = known.merge(node, &format!("{path}.$[{identifier}]"))?,
                        None => merged.insert(identifier, node.clone()),
                    }
                }
                Ok(Node::Array(merged))
            }
            _ => Err(Error::new(
                ErrorCode::ConflictingUpdateOperators,
                format!("Update created a conflict at '{path}'"),
            )),
        }
    }
}

fn merge_objects(a: &ObjectNode, b: &ObjectNode, path: &str) -> Result<ObjectNode> {
    let mut merged = a.clone();
    let positional = b.positional.iter().map(|node| ("$", &**node));
    for (name, node) in b.children.iter().map(|(name, node)| (&**name, node)).chain(positional) {
        match merged.child_mut(name) {
            Some(known) => *known = known.merge(node, &format!("{path}.{name}"))?,
            None => merged.insert(name, node.clone()),
        }
    }
    Ok(merged)
}

/// Where planting stands in the tree.
enum Place<'n> {
    Object(&'n mut ObjectNode),
    Array(&'n mut ArrayNode),
}

impl<'n> Place<'n> {
    /// Steps into the child `part`, made where missing; nothing when it is of another kind.
    fn enter(self, part: &str, as_array: bool) -> Option<Place<'n>> {
        let fresh = || match as_array {
            true => Node::Array(ArrayNode::default()),
            false => Node::Object(ObjectNode::default()),
        };
        let child = match self {
            Place::Object(node) => {
                if node.child_mut(part).is_none() {
                    node.insert(part, fresh());
                }
                node.child_mut(part)
            }
            Place::Array(node) => {
                let identifier = array_identifier(part).unwrap_or_default();
                if node.child_mut(identifier).is_none() {
                    node.insert(identifier, fresh());
                }
                node.child_mut(identifier)
            }
        };
        match (child?, as_array) {
            (Node::Object(node), false) => Some(Place::Object(node)),
            (Node::Array(node), true) => Some(Place::Array(node)),
            _ => None,
        }
    }

    /// Adds a child; false when the place is taken.
    fn add(self, part: &str, node: Node) -> bool {
        match self {
            Place::Object(parent) => match parent.child_mut(part) {
                Some(_) => return false,
                None => parent.insert(part, node),
            },
            Place::Array(parent) => {
                let identifier = array_identifier(part).unwrap_or_default();
                match parent.child_mut(identifier) {
                    Some(_) => return false,
                    None => parent.insert(identifier, node),
                }
            }
        }
        true
    }
}

/// Checks the form of an update path.
///
/// # Errors
/// `EmptyFieldName` for empty parts; `BadValue` for misplaced positional parts and for identifiers that
/// `knows_identifier` does not know; `Overflow` for paths deeper than any document.
pub(super) fn check_update_path(path: &str, knows_identifier: &mut dyn FnMut(&str) -> bool) -> Result<()> {
    if path.is_empty() {
        return Err(Error::new(ErrorCode::EmptyFieldName, "An empty update path is not valid."));
    }
    let positional = path.split('.').filter(|part| *part == "$").count();
    if path.split('.').any(str::is_empty) {
        let message = format!("The update path '{path}' contains an empty field name, which is not allowed.");
        return Err(Error::new(ErrorCode::EmptyFieldName, message));
    }
    if path.split('.').count() > MAX_PATH_PARTS {
        let message = format!("An update path must not have more than {MAX_PATH_PARTS} parts");
        return Err(Error::new(ErrorCode::Overflow, message));
    }
    if positional > 1 {
        return Err(Error::bad_value(format!(
            "Too many positional (i.e. '$') elements found in path '{path}'"
        )));
    }
    if path.split('.').next() == Some("$") {
        return Err(Error::bad_value(format!(
            "Cannot have positional (i.e. '$') element in the first position in path '{path}'"
        )));
    }
    for (at, identifier) in path.split('.').enumerate().filter_map(|(at, p)| Some((at, array_identifier(p)?)))
    {
        if at == 0 {
            return Err(Error::bad_value(format!(
                "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '{path}'"
            )));
        }
        if !identifier.is_empty() && !knows_identifier(identifier) {
            return Err(Error::bad_value(format!(
                "No array filter found for identifier '{identifier}' in path '{path}'"
            )));
        }
    }
    Ok(())
}
