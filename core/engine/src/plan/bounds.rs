//! Bounds of an index scan: one interval set per leading field of the index.
//!
//! A key is inside when each component is inside its field's set. [`IndexBounds::check`] looks at one
//! key and says where the scan has to go next, so a scan over `{a: {$in: […]}, b: {$gt: 5}}` jumps
//! from interval to interval instead of reading what lies between. [`IndexBounds::ranges`] gives the
//! same set as contiguous ranges of whole keys where there are few, for counting.

use super::interval::{ByteRange, Intervals};
use multifora_model::key::{KeyDirection, part_len, prefix_successor as successor};

/// Interval sets for the first fields of an index, in its own byte order; fields after them are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBounds {
    fields: Vec<Intervals>,
    directions: Vec<KeyDirection>,
}

/// What a scan does after it met a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The key is inside.
    Inside,
    /// Forwards: go to the first key at or after these bytes. Backwards: to the last key before them.
    Seek(Vec<u8>),
    /// No further key can be inside.
    End,
}

/// Contiguous ranges of whole keys.
#[derive(Debug)]
pub struct KeyRanges {
    /// Disjoint, in byte order.
    pub ranges: Vec<ByteRange>,
    /// They hold exactly what the bounds hold; otherwise they hold more.
    pub exact: bool,
}

impl IndexBounds {
    /// Bounds from one set per leading field, and the directions of the index's fields.
    pub fn new(mut fields: Vec<Intervals>, directions: Vec<KeyDirection>) -> Self {
        while fields.last().is_some_and(Intervals::is_full) {
            fields.pop();
        }
        IndexBounds { fields, directions }
    }

    /// The sets of the leading fields; later fields are free.
    pub fn fields(&self) -> &[Intervals] {
        &self.fields
    }

    /// The first field is bounded, so that a scan need not pass through the whole index.
    pub fn narrows(&self) -> bool {
        self.fields.first().is_some_and(|first| !first.is_full())
    }

    /// No key is inside.
    pub fn is_none(&self) -> bool {
        self.fields.iter().any(Intervals::is_none)
    }

    /// The bounds as contiguous ranges, at most `limit` of them.
    pub fn ranges(&self, limit: usize) -> KeyRanges {
        let mut heads: Vec<Vec<u8>> = vec![Vec::new()];
        for (at, field) in self.fields.iter().enumerate() {
            let product = heads.len().saturating_mul(field.ranges().len());
            if product > limit {
                return KeyRanges {
                    ranges: heads.into_iter().map(ByteRange::prefix).collect(),
                    exact: false,
                };
            }
            if field.are_points() {
                heads = join(&heads, field, |range| range.lo.clone());
                continue;
            }
            let rest = self.fields.get(at + 1..).unwrap_or_default();
            let mut ranges = Vec::with_capacity(product);
            for head in &heads {
                ranges.extend(field.ranges().iter().map(|range| within(head, range)));
            }
            return KeyRanges { ranges, exact: rest.is_empty() };
        }
        KeyRanges { ranges: heads.into_iter().map(ByteRange::prefix).collect(), exact: true }
    }

    /// Where a scan begins: forwards the first byte string that may be inside, backwards the first
    /// one after all that may be (`None`: no end).
    pub fn start(&self, backwards: bool) -> Option<Vec<u8>> {
        let mut head = Vec::new();
        for field in &self.fields {
            let range = if backwards { field.ranges().last() } else { field.ranges().first() };
            let Some(range) = range else { break };
            if range.is_point() {
                head.extend_from_slice(&range.lo);
                continue;
            }
            if !backwards {
                head.extend_from_slice(&range.lo);
                return Some(head);
            }
            return within(&head, range).hi;
        }
        if backwards { successor(&head) } else { Some(head) }
    }

    /// Places `key` (whole, with whatever follows the components).
    pub fn check(&self, key: &[u8], backwards: bool) -> Step {
        let mut pos = 0;
        for (field, direction) in self.fields.iter().zip(&self.directions) {
            let rest = key.get(pos..).unwrap_or_default();
            let len = part_len(rest, *direction).unwrap_or(rest.len());
            let component = rest.get(..len).unwrap_or_default();
            let head = key.get(..pos).unwrap_or_default();
            let near = if backwards { field.at_or_before(component) } else { field.at_or_after(component) };
            match near {
                Some(range) if range.contains(component) => pos += len,
                Some(range) if backwards => return Step::from_end(within(head, range).hi),
                Some(range) => return Step::Seek([head, &range.lo].concat()),
                None if pos == 0 => return Step::End,
                None if backwards => return Step::Seek(head.to_vec()),
                None => return Step::from_end(successor(head)),
            }
        }
        Step::Inside
    }
}

impl Step {
    fn from_end(end: Option<Vec<u8>>) -> Step {
        end.map_or(Step::End, Step::Seek)
    }
}

/// The range of whole keys that begin with `head` and go on inside `range`.
fn within(head: &[u8], range: &ByteRange) -> ByteRange {
    let hi = match &range.hi {
        Some(hi) => Some([head, hi].concat()),
        None => successor(head),
    };
    ByteRange::new([head, &range.lo].concat(), hi)
}

fn join(heads: &[Vec<u8>], field: &Intervals, tail: impl Fn(&ByteRange) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut joined = Vec::with_capacity(heads.len() * field.ranges().len());
    for head in heads {
        for range in field.ranges() {
            let mut bytes = head.clone();
            bytes.extend_from_slice(&tail(range));
            joined.push(bytes);
        }
    }
    joined
}
