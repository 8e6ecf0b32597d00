//! The tree of paths that a projection names.

use super::find_operators::{ElemMatch, Slice};
use crate::expression::Expr;
use multifora_model::{Error, Result};

/// The fields named below one path, in the order of the specification.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) children: Vec<(Box<str>, Child)>,
    /// Something below is computed.
    pub(super) computes: bool,
    /// The path of the positional `$` leads here.
    pub(super) is_positional: bool,
}

/// What is said about a field.
#[derive(Clone, Debug)]
pub(super) enum Child {
    /// It stays (inclusion) or goes (exclusion).
    Named,
    /// It stays; of an array, only the element that the query matched.
    Positional,
    /// It stays; of an array, a part.
    Slice(Slice),
    /// Of the array, the first element that meets a condition.
    ElemMatch(Box<ElemMatch>),
    /// It is computed.
    Computed(Box<Expr>),
    /// Fields below it are named.
    Below(Node),
}

impl Child {
    /// Is made anew rather than found in the document.
    pub(super) fn is_computed(&self) -> bool {
        matches!(self, Child::Computed(_) | Child::ElemMatch(_))
    }
}

impl Node {
    /// The child with this name.
    #[inline]
    pub(super) fn find(&self, name: &[u8]) -> Option<&Child> {
        self.children.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, child)| child)
    }

    /// Puts a child at a dotted path, which `expression::check_path` has accepted.
    ///
    /// # Errors
    /// Code 31249 when the path leads through a named one, 31250 when its end is taken.
    pub(super) fn plant(&mut self, path: &str, child: Child) -> Result<()> {
        let mut node = self;
        let mut rest = path;
        while let Some((name, after)) = rest.split_once('.') {
            let at = node.children.iter().position(|(known, _)| &**known == name);
            let at = at.unwrap_or_else(|| {
                node.children.push((name.into(), Child::Below(Node::default())));
                node.children.len() - 1
            });
            match node.children.get_mut(at) {
                Some((_, Child::Below(below))) => node = below,
                _ => return Err(collision(path)),
            }
            rest = after;
        }
        if node.children.iter().any(|(known, _)| &**known == rest) {
            return Err(taken(path));
        }
        node.children.push((rest.into(), child));
        Ok(())
    }

    /// Works out what is below each node, once everything is planted.
    pub(super) fn settle(&mut self) {
        for (_, child) in &mut self.children {
            if let Child::Below(below) = child {
                below.settle();
                self.computes |= below.computes;
                self.is_positional |= below.is_positional;
            }
            self.computes |= child.is_computed();
            self.is_positional |= matches!(child, Child::Positional);
        }
    }

    /// Collects the full paths; false when something other than naming fields is found.
    pub(super) fn plain_paths(&self, prefix: &str, paths: &mut Vec<String>) -> bool {
        self.children.iter().all(|(name, child)| {
            let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
            match child {
                Child::Named => {
                    paths.push(path);
                    true
                }
                Child::Below(below) => below.plain_paths(&path, paths),
                _ => false,
            }
        })
    }
}

/// A path leads through one that is named as a whole.
pub(super) fn collision(path: &str) -> Error {
    match path.split_once('.') {
        Some((_, rest)) => {
            Error::location(31249, format!("Path collision at {path} remaining portion {rest}"))
        }
        None => taken(path),
    }
}

fn taken(path: &str) -> Error {
    Error::location(31250, format!("Path collision at {path}"))
}
