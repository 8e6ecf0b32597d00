//! Choosing among the access paths of a query.
//!
//! The measure is how much has to be read: keys and documents, estimated from counts of key ranges
//! (exact, and a walk down the tree each). With a limit and no sort in the way, only the share of a
//! path that is needed to find that many matches counts.

use super::bounds::IndexBounds;
use super::conjunct::Conjuncts;
use super::hint::{Hint, min_max_range, no_plan};
use super::index_match::{Candidate, candidates, order_of};
use super::interval::ByteRange;
use super::{Access, IdLookup, IndexScan, Plan};
use crate::catalog::{CollectionInfo, IndexInfo};
use crate::exec::QuerySpec;
use crate::storage_error::from_storage;
use multifora_model::compare::is_collatable;
use multifora_model::key::{self, KeyDirection};
use multifora_model::{Collation, ElementType, RawDoc, Result};
use multifora_query::filter::{FilterNode, Test};
use multifora_storage::{KeyRange, Read};
use std::ops::Bound;
use std::sync::Arc;

/// Most ranges of one candidate that are counted; beyond, the rest is taken to be like them.
const MAX_COUNTED_RANGES: usize = 64;
/// Most whole ranges that a count asks storage about; beyond, keys are gone through.
pub(crate) const MAX_WHOLE_RANGES: usize = 10_000;
/// Most ranges that bounds are taken apart into.
const MAX_RANGES: usize = 1 << 16;
/// Collections below this size are read through an index whenever one fits: the difference is
/// nothing, and clients look for it in explain.
const SMALL_COLLECTION_ROWS: f64 = 1_000.0;
/// Reading one key of an index, when reading one document in order costs 1.
const KEY_COST: f64 = 0.3;
/// Fetching one document by its row number.
const FETCH_COST: f64 = 1.5;
/// Sorting one document, per doubling of their number.
const SORT_COST: f64 = 0.05;

/// Chooses the access path of a query.
///
/// # Errors
/// `BadValue` for a hint that names no index, the codes of `min` and `max`, storage errors.
pub fn plan(reads: &dyn Read, collection: &CollectionInfo, spec: &QuerySpec) -> Result<Plan> {
    plan_to(Purpose::Read, reads, collection, spec)
}

/// Chooses the access path of a count: the order does not matter, and rows that an index decides about are not read.
///
/// # Errors
/// As [`plan`].
pub fn plan_count(reads: &dyn Read, collection: &CollectionInfo, spec: &QuerySpec) -> Result<Plan> {
    plan_to(Purpose::Count, reads, collection, &QuerySpec { sort: None, ..spec.clone() })
}

/// What becomes of the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Read,
    Count,
}

fn plan_to(
    purpose: Purpose,
    reads: &dyn Read,
    collection: &CollectionInfo,
    spec: &QuerySpec,
) -> Result<Plan> {
    let everything = FilterNode::AlwaysTrue;
    let root = spec.filter.as_ref().map_or(&everything, |filter| filter.root());
    let conjuncts = Conjuncts::of(root);
    let hinted = match &spec.hint {
        Some(hint) => hint.index(collection)?,
        None => None,
    };
    if spec.min.is_some() || spec.max.is_some() {
        return bounded_by_client(spec, hinted);
    }
    if conjuncts.impossible {
        return Ok(Plan { access: Access::Nothing, in_order: true, rejected: Vec::new() });
    }
    if spec.hint.is_none()
        && let Some(lookup) = id_lookup(collection, &conjuncts)
    {
        return Ok(Plan { access: Access::Id(lookup), in_order: true, rejected: Vec::new() });
    }
    if let Some(Hint::Natural { backwards }) = spec.hint {
        return Ok(table(spec, backwards));
    }
    Chooser { purpose, reads, collection, spec }.choose(&conjuncts, hinted)
}

fn table(spec: &QuerySpec, backwards: bool) -> Plan {
    Plan { access: Access::Table { backwards }, in_order: spec.sort.is_none(), rejected: Vec::new() }
}

/// `min` and `max`: the client gave the bounds.
fn bounded_by_client(spec: &QuerySpec, hinted: Option<Arc<IndexInfo>>) -> Result<Plan> {
    let min = spec.min.as_deref().and_then(RawDoc::framed);
    let max = spec.max.as_deref().and_then(RawDoc::framed);
    let range = min_max_range(min, max, hinted.as_deref(), spec.collation.as_ref())?;
    let Some(index) = hinted else { return Err(no_plan("min and max need an index")) };
    let bounds = IndexBounds::new(Vec::new(), Vec::new());
    let order = match &spec.sort {
        None => Some(false),
        Some(_) if index.is_multikey() => None,
        Some(sort) => order_of(&index, &bounds, sort),
    };
    let scan = IndexScan { index, bounds, range, backwards: order.unwrap_or(false), decides: false };
    Ok(Plan { access: Access::Index(scan), in_order: order.is_some(), rejected: Vec::new() })
}

/// `{_id: value}`, alone or among others: at most one row.
fn id_lookup(collection: &CollectionInfo, conjuncts: &Conjuncts<'_>) -> Option<IdLookup> {
    let index = collection.indexes.first().filter(|index| index.name == "_id_" && !index.is_outdated())?;
    let equality = conjuncts.tests.iter().find(|c| c.is_equality() && c.path.as_str() == "_id")?;
    let Test::Compare(comparison) = equality.test else { return None };
    let value = comparison.value.as_ref();
    if matches!(value.ty, ElementType::Array | ElementType::Null | ElementType::Undefined) {
        return None;
    }
    // An _id that is a string is found only under the collation that the index has.
    if is_collatable(value.ty) && comparison.collation != index.collation {
        return None;
    }
    let mut bytes = Vec::new();
    let collator = Collation::collator(index.collation.as_ref());
    key::encode_with(value, KeyDirection::Ascending, collator, &mut bytes);
    let decides = conjuncts.tests.len() == 1 && conjuncts.ors.is_empty() && !conjuncts.incomplete;
    Some(IdLookup { index: Arc::clone(index), key: bytes, decides })
}

struct Chooser<'q> {
    purpose: Purpose,
    reads: &'q dyn Read,
    collection: &'q CollectionInfo,
    spec: &'q QuerySpec,
}

/// A path and what it is expected to read.
struct Rated {
    access: Access,
    in_order: bool,
    /// Keys within the bounds of the leading fields.
    keys: f64,
    /// Documents fetched, where the fields after those are thought to leave some out.
    docs: f64,
}

impl Chooser<'_> {
    fn choose(&self, conjuncts: &Conjuncts<'_>, hinted: Option<Arc<IndexInfo>>) -> Result<Plan> {
        let mut rated = Vec::new();
        for index in &self.collection.indexes {
            match &hinted {
                Some(hinted) if !Arc::ptr_eq(hinted, index) => continue,
                None if !index.is_usable() => continue,
                _ => {}
            }
            for candidate in candidates(index, conjuncts, hinted.is_some()) {
                rated.extend(self.rate(candidate, hinted.is_some())?);
            }
        }
        if hinted.is_none() {
            for alternatives in &conjuncts.ors {
                rated.extend(self.rate_union(conjuncts, alternatives)?);
            }
        } else if rated.is_empty() {
            return Err(no_plan(
                "the hinted partial index does not have all documents that the query asks for",
            ));
        }
        self.best(rated, hinted.is_some())
    }

    fn rate(&self, candidate: Candidate, hinted: bool) -> Result<Option<Rated>> {
        let order =
            self.spec.sort.as_ref().and_then(|sort| order_of(&candidate.index, &candidate.bounds, sort));
        // Going through a whole index is no gain, unless it gives the order or leaves documents out.
        let selects = candidate.index.sparse || candidate.index.partial_filter.is_some();
        if !candidate.bounds.narrows() && order.is_none() && !hinted && !selects {
            return Ok(None);
        }
        let keys = self.count_keys(&candidate.index, &candidate.bounds)?;
        // Whole ranges are counted in the tree's nodes, and other keys without their documents.
        let (keys, docs) = match self.purpose == Purpose::Count && candidate.decides {
            true if candidate.bounds.ranges(MAX_WHOLE_RANGES).exact => (0.0, 0.0),
            true => (keys, 0.0),
            false => (keys, keys * kept_share(&candidate.bounds)),
        };
        let in_order = self.spec.sort.is_none() || order.is_some();
        let scan = IndexScan {
            index: candidate.index,
            bounds: candidate.bounds,
            range: ByteRange::full(),
            backwards: order.unwrap_or(false),
            decides: candidate.decides,
        };
        Ok(Some(Rated { access: Access::Index(scan), in_order, keys, docs }))
    }

    /// `$or`: every alternative through an index of its own.
    fn rate_union(&self, around: &Conjuncts<'_>, alternatives: &[FilterNode]) -> Result<Option<Rated>> {
        let mut scans = Vec::with_capacity(alternatives.len());
        let mut keys = 0.0;
        for alternative in alternatives {
            let conjuncts = around.with(alternative);
            if conjuncts.impossible {
                continue;
            }
            let Some((found, count)) = self.best_scans(&conjuncts)? else { return Ok(None) };
            scans.extend(found);
            keys += count;
        }
        if scans.is_empty() {
            return Ok(Some(Rated { access: Access::Nothing, in_order: true, keys: 0.0, docs: 0.0 }));
        }
        Ok(Some(Rated { access: Access::Union(scans), in_order: self.spec.sort.is_none(), keys, docs: keys }))
    }

    /// The scans that read the fewest keys for one alternative.
    fn best_scans(&self, conjuncts: &Conjuncts<'_>) -> Result<Option<(Vec<IndexScan>, f64)>> {
        let mut best: Option<(Vec<IndexScan>, f64)> = None;
        for index in self.collection.indexes.iter().filter(|index| index.is_usable()) {
            for candidate in candidates(index, conjuncts, false) {
                if !candidate.bounds.narrows() {
                    continue;
                }
                let keys = self.count_keys(&candidate.index, &candidate.bounds)?;
                if best.as_ref().is_none_or(|(_, fewest)| keys < *fewest) {
                    let scan = IndexScan {
                        index: candidate.index,
                        bounds: candidate.bounds,
                        range: ByteRange::full(),
                        backwards: false,
                        decides: false,
                    };
                    best = Some((vec![scan], keys));
                }
            }
        }
        if best.is_some() {
            return Ok(best);
        }
        for alternatives in &conjuncts.ors {
            if let Some(rated) = self.rate_union(conjuncts, alternatives)? {
                return Ok(match rated.access {
                    Access::Union(scans) => Some((scans, rated.keys)),
                    _ => Some((Vec::new(), 0.0)),
                });
            }
        }
        Ok(None)
    }

    fn count_keys(&self, index: &IndexInfo, bounds: &IndexBounds) -> Result<f64> {
        count_keys(self.reads, index, bounds)
    }

    fn best(&self, mut rated: Vec<Rated>, hinted: bool) -> Result<Plan> {
        let rows = self.reads.count(self.collection.records).map_err(from_storage)? as f64;
        let matches = rated.iter().map(|r| r.docs).fold(rows, f64::min);
        let mut costs: Vec<f64> = rated.iter().map(|r| self.cost(r, matches)).collect();
        let table = Rated {
            access: Access::Table { backwards: false },
            in_order: self.spec.sort.is_none(),
            keys: 0.0,
            docs: rows,
        };
        if !hinted && (rated.is_empty() || rows >= SMALL_COLLECTION_ROWS) {
            costs.push(self.cost(&table, matches));
            rated.push(table);
        }
        let Some(at) = (0..rated.len()).min_by(|a, b| match (costs.get(*a), costs.get(*b)) {
            (Some(a), Some(b)) => a.total_cmp(b),
            _ => std::cmp::Ordering::Equal,
        }) else {
            return Err(no_plan("no plan"));
        };
        let chosen = rated.swap_remove(at);
        let rejected =
            rated.into_iter().map(|r| r.access).filter(|a| matches!(a, Access::Index(_))).collect();
        Ok(Plan { access: chosen.access, in_order: chosen.in_order, rejected })
    }

    fn cost(&self, path: &Rated, matches: f64) -> f64 {
        let per_doc = match path.access {
            Access::Table { .. } => 1.0,
            _ => FETCH_COST,
        };
        let read = path.keys * KEY_COST + path.docs * per_doc;
        match self.spec.limit {
            Some(limit) if path.in_order && limit > 0 => {
                let wanted = limit.saturating_add(self.spec.skip) as f64;
                read * (wanted / matches.max(1.0)).min(1.0)
            }
            _ if path.in_order => read,
            _ => read + matches * (FETCH_COST + SORT_COST * matches.max(2.0).log2()),
        }
    }
}

/// The share of keys within the leading bounds that the fields behind them are thought to let pass.
fn kept_share(bounds: &IndexBounds) -> f64 {
    let behind = bounds.fields().iter().skip_while(|set| set.are_points()).skip(1);
    behind
        .map(|set| match set {
            full if full.is_full() => 1.0,
            points if points.are_points() => 0.1,
            _ => 0.3,
        })
        .product()
}

/// How many keys lie within the bounds, estimated where there are many ranges.
pub(crate) fn count_keys(reads: &dyn Read, index: &IndexInfo, bounds: &IndexBounds) -> Result<f64> {
    let ranges = bounds.ranges(MAX_RANGES).ranges;
    let mut keys = 0;
    for range in ranges.iter().take(MAX_COUNTED_RANGES) {
        keys += reads.count_range(index.table, &key_range(range)).map_err(from_storage)?;
    }
    let share = ranges.len() as f64 / ranges.len().clamp(1, MAX_COUNTED_RANGES) as f64;
    Ok(keys as f64 * share)
}

/// A range of bytes as storage takes it.
pub(crate) fn key_range(range: &ByteRange) -> KeyRange {
    KeyRange {
        lower: Bound::Included(range.lo.clone()),
        upper: range.hi.clone().map_or(Bound::Unbounded, Bound::Excluded),
    }
}
