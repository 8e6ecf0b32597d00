//! What one index can do for a query: bounds from the filter, order from the key pattern.
//!
//! The rules for arrays (a document has several keys then, and no single one of them need satisfy
//! all conditions):
//! - on a path with arrays, two tests are intersected only inside one `$elemMatch` on that array;
//! - two fields whose paths may run through the same array are bounded together only when one
//!   `$elemMatch` on that array holds both;
//! - a sort on such a path is in index order only where nothing narrows the keys of that array.

use super::bounds::IndexBounds;
use super::conjunct::{Conjunct, Conjuncts};
use super::interval::Intervals;
use super::partial::implies;
use super::values::{ValueBounds, negated_bounds, test_bounds};
use crate::catalog::IndexInfo;
use multifora_model::Collation;
use multifora_model::key::KeyDirection;
use multifora_model::path::FieldPath;
use multifora_query::filter::Test;
use multifora_query::sort::SortSpec;
use std::sync::Arc;

/// Most ways of bounding the first field of an index that are compared (a path with arrays only).
const MAX_LEADS: usize = 4;

/// Bounds that a filter gives an index.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The index.
    pub index: Arc<IndexInfo>,
    /// The bounds; full when the filter says nothing about the first field.
    pub bounds: IndexBounds,
    /// The bounds say all that the filter says, so that counting keys counts matches.
    pub decides: bool,
}

/// A test that an index field can use.
struct Usable<'c> {
    conjunct: &'c Conjunct<'c>,
    bounds: ValueBounds,
}

/// Every way in which the filter bounds this index. Empty when the index would hide matches: a sparse
/// one when the filter may hold for documents without the fields (unless the client insists), a
/// partial one when its own condition does not follow from the filter.
pub fn candidates(index: &Arc<IndexInfo>, conjuncts: &Conjuncts<'_>, hinted: bool) -> Vec<Candidate> {
    if let Some(condition) = &index.partial_filter
        && !implies(conjuncts, condition.root(), index.collation.as_ref())
    {
        return Vec::new();
    }
    let fields: Vec<Vec<Usable<'_>>> = index
        .fields
        .iter()
        .map(|field| usable(conjuncts, &field.path, direction_of(field.descending), index.collation.as_ref()))
        .collect();
    let is_multikey = |at: usize| index.multikey.get(at).copied().unwrap_or(false);
    let lead_count = match fields.first() {
        Some(first) if is_multikey(0) => first.len().clamp(1, MAX_LEADS),
        _ => 1,
    };
    let mut found = Vec::with_capacity(lead_count);
    for lead in 0..lead_count {
        let mut build = Build { index, chosen: Vec::new(), needs_value: false, used: 0, exact: true };
        let mut sets = Vec::with_capacity(fields.len());
        for (at, tests) in fields.iter().enumerate() {
            sets.push(match is_multikey(at) {
                false => build.intersect_all(tests),
                true => build.choose(at, tests, if at == 0 { Some(lead) } else { None }),
            });
        }
        if index.sparse && !build.needs_value && !hinted {
            continue;
        }
        let complete =
            !conjuncts.incomplete && conjuncts.ors.is_empty() && build.used == conjuncts.tests.len();
        let directions = index.fields.iter().map(|f| direction_of(f.descending)).collect();
        found.push(Candidate {
            index: Arc::clone(index),
            bounds: IndexBounds::new(sets, directions),
            decides: complete && build.exact && !index.is_multikey(),
        });
    }
    found
}

/// The direction of an index field.
pub fn direction_of(descending: bool) -> KeyDirection {
    if descending { KeyDirection::Descending } else { KeyDirection::Ascending }
}

fn usable<'c>(
    conjuncts: &'c Conjuncts<'_>,
    path: &FieldPath,
    direction: KeyDirection,
    collation: Option<&Arc<Collation>>,
) -> Vec<Usable<'c>> {
    let on_path = conjuncts.tests.iter().filter(|c| c.path == *path);
    on_path
        .filter_map(|conjunct| {
            let bounds = match conjunct.negated {
                true => negated_bounds(conjunct.test, direction, collation),
                false => test_bounds(conjunct.test, direction, collation),
            };
            // A position is also looked for as a name in every element, and is mostly missing there;
            // the index has the value at the position only.
            let asks_for_missing = !conjunct.negated || matches!(conjunct.test, Test::Exists);
            let bounds = bounds.filter(|b| b.needs_value || !asks_for_missing || !path.has_index())?;
            Some(Usable { conjunct, bounds })
        })
        .collect()
}

/// The bounds of one index, field by field.
struct Build<'c> {
    index: &'c IndexInfo,
    /// The tests that bound fields with arrays.
    chosen: Vec<(usize, &'c Conjunct<'c>)>,
    /// Some test in use fails for a missing value.
    needs_value: bool,
    used: usize,
    exact: bool,
}

impl<'c> Build<'c> {
    fn take(&mut self, bounds: &ValueBounds) {
        self.used += 1;
        self.needs_value |= bounds.needs_value;
        self.exact &= bounds.exact;
    }

    /// No arrays on the path: one value satisfies all tests.
    fn intersect_all(&mut self, tests: &[Usable<'c>]) -> Intervals {
        let mut set = Intervals::full();
        for test in tests {
            set = set.intersect(&test.bounds.intervals);
            self.take(&test.bounds);
        }
        set
    }

    /// Arrays on the path: one test, and those of the same `$elemMatch`.
    fn choose(&mut self, at: usize, tests: &[Usable<'c>], lead: Option<usize>) -> Intervals {
        let allowed = tests.iter().filter(|test| self.may_bound(at, test.conjunct));
        let base = match lead {
            Some(lead) => tests.get(lead),
            None => allowed.min_by_key(|test| looseness(&test.bounds.intervals)),
        };
        let (Some(base), Some(field)) = (base, self.index.fields.get(at)) else { return Intervals::full() };
        let path_len = field.path.parts().len();
        self.take(&base.bounds);
        self.chosen.push((at, base.conjunct));
        let mut set = base.bounds.intervals.clone();
        for other in tests {
            let distinct = !std::ptr::eq(other, base);
            if distinct && other.conjunct.same_element(base.conjunct, path_len) {
                set = set.intersect(&other.bounds.intervals);
                self.take(&other.bounds);
            }
        }
        set
    }

    /// One key of the document satisfies this test and those that bound earlier fields.
    fn may_bound(&self, at: usize, conjunct: &Conjunct<'_>) -> bool {
        let Some(field) = self.index.fields.get(at) else { return false };
        self.chosen.iter().all(|(earlier, chosen)| {
            let Some(earlier) = self.index.fields.get(*earlier) else { return false };
            let shared = shared_parts(&field.path, &earlier.path);
            shared == 0 || conjunct.same_element(chosen, shared)
        })
    }
}

/// Rank of a set of intervals where nothing has been counted: values before ranges.
fn looseness(set: &Intervals) -> (bool, bool, usize) {
    let open = set.ranges().iter().any(|r| r.lo.len() <= 1 || r.hi.as_ref().is_none_or(|hi| hi.len() <= 1));
    (!set.are_points(), open, set.ranges().len())
}

/// Parts that two paths have in common at their beginning.
fn shared_parts(a: &FieldPath, b: &FieldPath) -> usize {
    a.parts().iter().zip(b.parts()).take_while(|(a, b)| a.name() == b.name()).count()
}

/// Whether a scan of the index within these bounds gives the order of the sort: `Some(backwards)`. Never when the two
/// order strings by different collations.
pub fn order_of(index: &IndexInfo, bounds: &IndexBounds, sort: &SortSpec) -> Option<bool> {
    if index.collation.as_ref() != sort.collation() {
        return None;
    }
    let is_point = |at: usize| bounds.fields().get(at).is_some_and(Intervals::is_point);
    let is_multikey = |at: usize| index.multikey.get(at).copied().unwrap_or(false);
    let fixed = |path: &FieldPath| {
        let at = index.fields.iter().position(|f| f.path == *path);
        at.is_some_and(|at| is_point(at) && !is_multikey(at))
    };
    let mut sort_fields = sort.fields().filter(|f| !fixed(f.path)).peekable();
    let single = sort.fields().len() == 1;
    let mut backwards = None;
    for (at, field) in index.fields.iter().enumerate() {
        let Some(wanted) = sort_fields.peek() else { break };
        if field.path != *wanted.path {
            match is_point(at) {
                true => continue,
                false => return None,
            }
        }
        if is_multikey(at) && !(single && keys_are_whole(index, bounds, at)) {
            return None;
        }
        let against = direction_of(field.descending) != wanted.direction;
        if *backwards.get_or_insert(against) != against {
            return None;
        }
        sort_fields.next();
    }
    match sort_fields.peek() {
        Some(_) => None,
        None => Some(backwards.unwrap_or(false)),
    }
}

/// All keys that a document has at this field are inside the bounds, whatever bounds other fields.
fn keys_are_whole(index: &IndexInfo, bounds: &IndexBounds, at: usize) -> bool {
    let bounded = |at: usize| bounds.fields().get(at).is_some_and(|set| !set.is_full());
    let Some(field) = index.fields.get(at) else { return false };
    !bounded(at)
        && index.fields.iter().enumerate().all(|(other, f)| {
            let arrays = index.multikey.get(other).copied().unwrap_or(false);
            other == at || !bounded(other) || !arrays || shared_parts(&f.path, &field.path) == 0
        })
}
