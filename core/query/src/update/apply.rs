//! One pass over a document that applies the tree of an operator update.
//!
//! Everything works on bytes: what no path touches is copied as it stands, in spans as long as
//! possible; only documents and arrays on a touched path are framed anew. When nothing changes,
//! nothing is produced.

use super::array_filter::ArrayFilters;
use super::operators::{Effect, Site};
use super::rename::Source;
use super::splice::Splice;
use super::tree::{ArrayNode, Leaf, Named, Node, ObjectNode};
use multifora_model::split::Head;
use multifora_model::view::Field;
use multifora_model::{DocumentView, Element, ElementType, Error, ErrorCode, RawDoc, RawValue, Result, text};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Most nulls that one operator adds to reach an array position behind the end.
const MAX_BACKFILL_ELEMENTS: usize = 1_500_000;

/// The state of one pass.
pub(super) struct Walk<'w> {
    pub(super) root: DocumentView<'w>,
    pub(super) filters: &'w ArrayFilters,
    /// What the positional `$` stands for.
    pub(super) position: Option<Box<str>>,
    /// The document is being made by an upsert.
    pub(super) is_insert: bool,
    /// What each rename moves.
    pub(super) sources: &'w [Option<Source<'w>>],
    /// The path to where the pass stands.
    pub(super) path: String,
}

impl Walk<'_> {
    /// Runs `f` with `part` at the end of the path.
    fn below<T>(&mut self, part: &str, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let len = self.path.len();
        if len > 0 {
            self.path.push('.');
        }
        self.path.push_str(part);
        let result = f(self);
        self.path.truncate(len);
        result
    }

    fn site(&self) -> Site<'_> {
        Site { root: self.root, path: &self.path }
    }

    /// Applies a node to a value that is there; a new payload goes to the end of `out`.
    fn value(&mut self, node: &Node, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        match node {
            Node::Leaf(leaf) => self.leaf(leaf, current, out),
            Node::Object(node) => {
                let written = match (current.as_doc(), current.as_array()) {
                    (Some(doc), _) => self.object(node, &doc.into(), out)?,
                    (_, Some(array)) => self.positions(node, array, out)?,
                    _ => {
                        for (name, child) in self.children(node)?.iter() {
                            self.blocked(name, child, current)?;
                        }
                        false
                    }
                };
                Ok(if written { Effect::Write(current.ty) } else { Effect::Keep })
            }
            Node::Array(node) => {
                let Some(array) = current.as_array() else {
                    let name = self.path.rsplit('.').next().unwrap_or_default();
                    let message = format!(
                        "Cannot apply array updates to non-array element {name}: {}",
                        text::value(current)
                    );
                    return Err(Error::bad_value(message));
                };
                let written = self.chosen_elements(node, array, out)?;
                Ok(if written { Effect::Write(ElementType::Array) } else { Effect::Keep })
            }
        }
    }

    fn leaf(&mut self, leaf: &Leaf, current: RawValue<'_>, out: &mut Vec<u8>) -> Result<Effect> {
        match leaf {
            Leaf::Modify { insert_only: true, .. } if !self.is_insert => Ok(Effect::Keep),
            Leaf::Modify { modifier, .. } => modifier.existing(&self.site(), current, out),
            Leaf::RenameSource(n) => Ok(match self.source(*n) {
                Some(_) => Effect::Remove,
                None => Effect::Keep,
            }),
            Leaf::RenameTarget(n) => Ok(match self.source(*n) {
                Some(value) if value != current => {
                    out.extend_from_slice(value.bytes);
                    Effect::Write(value.ty)
                }
                _ => Effect::Keep,
            }),
        }
    }

    /// Applies a leaf to a value that is kept elsewhere, if it can do without reading it.
    fn unread(&self, node: &Node, field: &Field<'_>, out: &mut Vec<u8>) -> Option<Effect> {
        let Node::Leaf(leaf) = node else { return None };
        field.cut()?;
        match &**leaf {
            Leaf::Modify { insert_only: true, .. } if !self.is_insert => Some(Effect::Keep),
            Leaf::Modify { modifier, .. } => modifier.unread(field.ty(), field.len_bytes(), out),
            Leaf::RenameSource(n) => {
                Some(if self.source(*n).is_some() { Effect::Remove } else { Effect::Keep })
            }
            Leaf::RenameTarget(n) => self.source(*n).is_none().then_some(Effect::Keep),
        }
    }

    fn source(&self, rename: usize) -> Option<RawValue<'_>> {
        self.sources.get(rename).copied().flatten().map(|s| s.value)
    }

    /// The children of a node, with what is below `$` put at the position that the filter found.
    fn children<'n>(&self, node: &'n ObjectNode) -> Result<Cow<'n, [Named]>> {
        let Some(below) = &node.positional else { return Ok(Cow::Borrowed(&node.children)) };
        let Some(position) = &self.position else {
            return Err(Error::bad_value(
                "The positional operator did not find the match needed from the query.",
            ));
        };
        let mut children = node.children.clone();
        match children.iter_mut().find(|(name, _)| name == position) {
            Some((_, known)) => *known = known.merge(below, &format!("{}.{position}", self.path))?,
            None => {
                let at = children.partition_point(|(name, _)| **name < **position);
                children.insert(at, (position.clone(), (**below).clone()));
            }
        }
        Ok(Cow::Owned(children))
    }

    /// Applies a node to a document: appends the new document (at the top, its head) to `out`, or nothing when it is
    /// unchanged.
    pub(super) fn object(
        &mut self,
        node: &ObjectNode,
        doc: &DocumentView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let at_root = self.path.is_empty();
        let children = self.children(node)?;
        let mut writer = Splice::new(doc.head(), out);
        let mut met: SmallVec<[bool; 16]> = SmallVec::from_elem(false, children.len());
        let mut unmet = children.len();
        for field in doc.fields() {
            if unmet == 0 {
                break;
            }
            let found = children
                .iter()
                .zip(met.iter_mut())
                .find(|((name, _), met)| !**met && name.as_bytes() == field.name_bytes());
            let Some(((name, child), met)) = found else {
                writer.pass(field.head_len_bytes());
                continue;
            };
            *met = true;
            unmet -= 1;
            let header = writer.open(field.name_bytes(), out);
            let effect = self.below(name, |walk| {
                let effect = match walk.unread(child, &field, out) {
                    Some(effect) => effect,
                    None => walk.value(child, field.value()?, out)?,
                };
                if at_root && !matches!(effect, Effect::Keep) {
                    walk.check_root_change(name, child)?;
                }
                Ok(effect)
            })?;
            writer.close(header, effect, field.head_len_bytes(), out);
        }
        writer.rest(out);
        for ((name, child), _) in children.iter().zip(&met).filter(|(_, met)| !**met) {
            let header = writer.header(name.as_bytes(), out);
            let created = self.below(name, |walk| walk.missing(child, out))?;
            if at_root && created.is_some() {
                self.check_root_name(name)?;
            }
            writer.finish_new(header, created, out);
        }
        Ok(writer.finish(out))
    }

    /// Applies a node whose children are positions to an array.
    fn positions(&mut self, node: &ObjectNode, array: RawDoc<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let children = self.children(node)?;
        let mut at_positions: SmallVec<[(usize, &str, &Node); 8]> = SmallVec::new();
        for (name, child) in children.iter() {
            match position(name) {
                Some(at) => at_positions.push((at, name, child)),
                None => {
                    let whole = RawValue { ty: ElementType::Array, bytes: array.as_bytes() };
                    self.blocked(name, child, whole)?;
                }
            }
        }
        at_positions.sort_by_key(|(at, ..)| *at);
        // `a.5` and `a.05` are one place: such paths are applied one after the other.
        if at_positions.windows(2).any(|pair| matches!(pair, [(a, ..), (b, ..)] if a == b)) {
            return self.one_by_one(&at_positions, array, out);
        }
        self.distinct_positions(&at_positions, array, out)
    }

    fn one_by_one(
        &mut self,
        steps: &[(usize, &str, &Node)],
        array: RawDoc<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut current = Cow::Borrowed(array.as_bytes());
        let mut changed = false;
        for step in steps {
            let mut next = Vec::new();
            let doc = RawDoc::framed(&current).unwrap_or(RawDoc::EMPTY);
            if self.distinct_positions(std::slice::from_ref(step), doc, &mut next)? {
                changed = true;
                current = Cow::Owned(next);
            }
        }
        if changed {
            out.extend_from_slice(&current);
        }
        Ok(changed)
    }

    fn distinct_positions(
        &mut self,
        steps: &[(usize, &str, &Node)],
        array: RawDoc<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut writer = Splice::new(Head::of(array), out);
        let mut steps = steps.iter().peekable();
        let mut len = 0;
        for element in array {
            match steps.next_if(|(at, ..)| *at == len) {
                Some((_, name, child)) => {
                    let header = writer.open(element.name_bytes(), out);
                    let effect = self.below(name, |walk| walk.value(child, element.value, out))?;
                    writer.close(header, effect.in_array(), len_bytes(&element), out);
                }
                None => writer.pass(len_bytes(&element)),
            }
            len += 1;
        }
        writer.rest(out);
        for (at, name, child) in steps {
            // The nulls are written once it is known that something comes behind them.
            let mut made = Vec::new();
            let Some(ty) = self.below(name, |walk| walk.missing(child, &mut made))? else { continue };
            if at.saturating_sub(len) > MAX_BACKFILL_ELEMENTS {
                let message = format!("can't backfill more than {MAX_BACKFILL_ELEMENTS} elements");
                return Err(Error::new(ErrorCode::CannotBackfillArray, message));
            }
            while len < *at {
                writer.push_index(len, RawValue::NULL, out);
                len += 1;
            }
            writer.push_index(len, RawValue { ty, bytes: &made }, out);
            len += 1;
        }
        Ok(writer.finish(out))
    }

    /// Applies `$[]` and `$[identifier]` to an array.
    fn chosen_elements(&mut self, node: &ArrayNode, array: RawDoc<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let mut writer = Splice::new(Head::of(array), out);
        for element in array {
            let name = element.name();
            let mut chosen: Option<Cow<'_, Node>> = None;
            for (identifier, child) in &node.children {
                if !self.filters.choose(identifier, element.value)? {
                    continue;
                }
                chosen = Some(match chosen {
                    None => Cow::Borrowed(child),
                    Some(known) => Cow::Owned(known.merge(child, &format!("{}.{name}", self.path))?),
                });
            }
            let Some(child) = chosen else {
                writer.pass(len_bytes(&element));
                continue;
            };
            let header = writer.open(element.name_bytes(), out);
            let effect = self.below(name, |walk| walk.value(&child, element.value, out))?;
            writer.close(header, effect.in_array(), len_bytes(&element), out);
        }
        writer.rest(out);
        Ok(writer.finish(out))
    }

    /// Makes the value of a field that is missing; `None` when no operator below creates one.
    fn missing(&mut self, node: &Node, out: &mut Vec<u8>) -> Result<Option<ElementType>> {
        match node {
            Node::Leaf(leaf) => match &**leaf {
                Leaf::Modify { insert_only: true, .. } if !self.is_insert => Ok(None),
                Leaf::Modify { modifier, .. } => modifier.missing(&self.site(), out),
                Leaf::RenameSource(_) => Ok(None),
                Leaf::RenameTarget(n) => Ok(self.source(*n).map(|value| {
                    out.extend_from_slice(value.bytes);
                    value.ty
                })),
            },
            Node::Object(node) => {
                let made = self.object(node, &RawDoc::EMPTY.into(), out)?;
                Ok(made.then_some(ElementType::Document))
            }
            Node::Array(_) => Err(Error::bad_value(format!(
                "The path '{}' must exist in the document in order to apply array updates.",
                self.path
            ))),
        }
    }

    /// What comes below a value that cannot have fields of that name: an error for every operator
    /// that would create some.
    fn blocked(&mut self, name: &str, node: &Node, element: RawValue<'_>) -> Result<()> {
        let holder = self.path.rsplit('.').next().unwrap_or_default().to_owned();
        self.below_block(name, node, &Block { part: name, holder: &holder, element })
    }

    fn below_block(&mut self, name: &str, node: &Node, block: &Block<'_>) -> Result<()> {
        self.below(name, |walk| match node {
            Node::Leaf(leaf) => walk.blocked_leaf(leaf, block),
            Node::Object(node) => {
                for (name, child) in walk.children(node)?.iter() {
                    walk.below_block(name, child, block)?;
                }
                Ok(())
            }
            Node::Array(_) => walk.missing(node, &mut Vec::new()).map(|_| ()),
        })
    }

    fn blocked_leaf(&self, leaf: &Leaf, block: &Block<'_>) -> Result<()> {
        let (creates, tolerant) = match leaf {
            Leaf::Modify { insert_only: true, .. } if !self.is_insert => (false, true),
            Leaf::Modify { modifier, .. } => (modifier.creates(), modifier.tolerates_blocked_path()),
            Leaf::RenameSource(_) => (false, true),
            Leaf::RenameTarget(n) => (true, self.source(*n).is_none()),
        };
        if tolerant {
            return Ok(());
        }
        let Block { part, holder, element } = block;
        let element = text::value(*element);
        let message = match creates {
            true => format!("Cannot create field '{part}' in element {{{holder}: {element}}}"),
            false => {
                let path = &self.path;
                format!(
                    "Cannot use the part ({part}) of ({path}) to traverse the element ({{{holder}: {element}}})"
                )
            }
        };
        Err(Error::new(ErrorCode::PathNotViable, message))
    }

    /// A top-level field is about to change.
    fn check_root_change(&self, name: &str, child: &Node) -> Result<()> {
        if name != "_id" {
            return self.check_root_name(name);
        }
        let mut path = String::from("_id");
        let mut node = child;
        while let Node::Object(object) = node
            && let Some((name, below)) = object.children.first()
        {
            path = format!("{path}.{name}");
            node = below;
        }
        Err(Error::new(
            ErrorCode::ImmutableField,
            format!("Performing an update on the path '{path}' would modify the immutable field '_id'"),
        ))
    }

    /// A top-level field is about to be written: unless an upsert makes the document, its name must not look
    /// like an operator.
    fn check_root_name(&self, name: &str) -> Result<()> {
        match name.starts_with('$') && !self.is_insert {
            true => Err(super::validate::dollar_field(name, name)),
            false => Ok(()),
        }
    }
}

/// A value that a path cannot lead through.
struct Block<'b> {
    /// The part of the path that cannot be entered.
    part: &'b str,
    /// The name of the field that stands in the way.
    holder: &'b str,
    /// Its value.
    element: RawValue<'b>,
}

/// The bytes of an element: type, name, its end, payload.
fn len_bytes(element: &Element<'_>) -> usize {
    2 + element.name_bytes().len() + element.value.bytes.len()
}

/// An array position as an update path may write it (leading zeros too).
pub(super) fn position(name: &str) -> Option<usize> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    name.parse().ok()
}
