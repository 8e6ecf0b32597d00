//! Where candidate rows come from: a table, an index, several indexes.
//!
//! A source owns its scans and gives row numbers (with the record, where it has it at hand). It knows
//! nothing of filters; rows that more than one key leads to come once.

use crate::interrupt::Interrupt;
use crate::plan::bounds::Step;
use crate::plan::interval::{ByteRange, Intervals};
use crate::plan::{Access, IdLookup, IndexScan};
use crate::storage_error::from_storage;
use crate::stored::Stored;
use multifora_model::{DocumentView, Error, Result};
use multifora_storage::{Direction, KeyRange, Read, Record, RowId, Scan, TableId};
use std::collections::HashSet;
use std::ops::Bound;

/// What a source has looked at, for explain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// Index keys.
    pub keys: u64,
    /// Documents.
    pub docs: u64,
    /// Jumps within an index.
    pub seeks: u64,
}

/// Candidate rows.
pub struct Source {
    kind: Kind,
    /// Rows given already, where a row can come more than once.
    seen: Option<HashSet<RowId>>,
    /// The last row of a table that was looked at.
    last: Option<RowId>,
    backwards: bool,
    /// What has been looked at so far.
    pub examined: Examined,
}

enum Kind {
    Nothing,
    Table(Scan),
    Id(Option<IdLookup>),
    Index(IndexRows),
    Union { waiting: std::vec::IntoIter<IndexScan>, current: Option<IndexRows> },
}

/// A candidate: its number, and its record where that was read anyway.
pub struct Candidate {
    /// The row.
    pub row: RowId,
    /// Its document, from a scan of the table.
    pub stored: Option<Stored<Record>>,
}

impl Source {
    /// Opens an access path.
    pub fn open(reads: &dyn Read, records: TableId, access: &Access) -> Result<Source> {
        let mut seen = None;
        let kind = match access {
            Access::Nothing => Kind::Nothing,
            Access::Table { backwards } => Kind::Table(
                reads.scan(records, KeyRange::all(), direction(*backwards)).map_err(from_storage)?,
            ),
            Access::Id(lookup) => Kind::Id(Some(lookup.clone())),
            Access::Index(scan) => {
                seen = scan.index.is_multikey().then(HashSet::new);
                Kind::Index(IndexRows::open(reads, scan)?)
            }
            Access::Union(scans) => {
                seen = Some(HashSet::new());
                Kind::Union { waiting: scans.clone().into_iter(), current: None }
            }
        };
        let backwards = matches!(access, Access::Table { backwards: true });
        Ok(Source { kind, seen, last: None, backwards, examined: Examined::default() })
    }

    /// Goes on over other reads behind the last row, or at `again`; false for anything but a table in its own order.
    pub fn renew(&mut self, reads: &dyn Read, records: TableId, again: Option<RowId>) -> Result<bool> {
        let Kind::Table(scan) = &mut self.kind else { return Ok(false) };
        let from = match (again, self.last) {
            (Some(row), _) => Bound::Included(row.to_key().to_vec()),
            (None, Some(row)) => Bound::Excluded(row.to_key().to_vec()),
            (None, None) => Bound::Unbounded,
        };
        let range = match self.backwards {
            false => KeyRange { lower: from, upper: Bound::Unbounded },
            true => KeyRange { lower: Bound::Unbounded, upper: from },
        };
        *scan = reads.scan(records, range, direction(self.backwards)).map_err(from_storage)?;
        Ok(true)
    }

    /// The next candidate for which `wanted` holds, when a table is scanned; from an index, the next one
    /// whatever it is (`wanted` needs the document, which has to be fetched first).
    pub fn next(
        &mut self,
        reads: &dyn Read,
        interrupt: &Interrupt,
        wanted: &mut dyn FnMut(&DocumentView<'_>) -> Result<bool>,
    ) -> Result<Option<Candidate>> {
        loop {
            interrupt.check()?;
            let row = match &mut self.kind {
                Kind::Nothing => None,
                Kind::Table(scan) => {
                    return next_in_table(scan, interrupt, (&mut self.examined, &mut self.last), wanted);
                }
                Kind::Id(lookup) => match lookup.take() {
                    Some(lookup) => find_by_id(reads, &lookup, &mut self.examined)?,
                    None => None,
                },
                Kind::Index(rows) => rows.next(reads, interrupt, &mut self.examined)?,
                Kind::Union { waiting, current } => {
                    next_in_union(reads, waiting, current, interrupt, &mut self.examined)?
                }
            };
            let Some(row) = row else { return Ok(None) };
            if self.seen.as_mut().is_none_or(|seen| seen.insert(row)) {
                return Ok(Some(Candidate { row, stored: None }));
            }
        }
    }
}

impl Source {
    /// Leaves out `n` candidates by their number alone; false where it cannot. For access paths whose every
    /// candidate matches.
    pub fn skip(&mut self, n: u64) -> Result<bool> {
        let scan = match (&mut self.kind, &self.seen) {
            (Kind::Table(scan), None) => scan,
            (Kind::Index(IndexRows { way: Way::Scan { scan, checked: false }, .. }), None) => scan,
            _ => return Ok(false),
        };
        scan.skip(n).map_err(from_storage)?;
        Ok(true)
    }
}

fn next_in_table(
    scan: &mut Scan,
    interrupt: &Interrupt,
    (examined, last): (&mut Examined, &mut Option<RowId>),
    wanted: &mut dyn FnMut(&DocumentView<'_>) -> Result<bool>,
) -> Result<Option<Candidate>> {
    while let Some(entry) = scan.next().map_err(from_storage)? {
        interrupt.check()?;
        examined.docs += 1;
        let row = RowId::from_key(entry.key).ok_or_else(|| Error::internal("a row's key is not 8 bytes"))?;
        *last = Some(row);
        let stored = Stored::new(entry);
        if wanted(&stored.view()?)? {
            return Ok(Some(Candidate { row, stored: Some(stored.keep()) }));
        }
    }
    Ok(None)
}

fn find_by_id(reads: &dyn Read, lookup: &IdLookup, examined: &mut Examined) -> Result<Option<RowId>> {
    let entry = reads.get(lookup.index.table, &lookup.key).map_err(from_storage)?;
    let Some(entry) = entry else { return Ok(None) };
    examined.keys += 1;
    RowId::from_key(entry.head()).map(Some).ok_or_else(no_row)
}

fn next_in_union(
    reads: &dyn Read,
    waiting: &mut std::vec::IntoIter<IndexScan>,
    current: &mut Option<IndexRows>,
    interrupt: &Interrupt,
    examined: &mut Examined,
) -> Result<Option<RowId>> {
    loop {
        if let Some(rows) = current
            && let Some(row) = rows.next(reads, interrupt, examined)?
        {
            return Ok(Some(row));
        }
        match waiting.next() {
            Some(scan) => *current = Some(IndexRows::open(reads, &scan)?),
            None => return Ok(None),
        }
    }
}

/// The rows of one index scan, in index order.
pub struct IndexRows {
    plan: IndexScan,
    way: Way,
}

enum Way {
    /// Key by key within one range, or from interval to interval.
    Scan {
        scan: Scan,
        /// The range of the scan alone does not keep the bounds: each key is checked.
        checked: bool,
    },
    /// Whole keys of a unique index, looked up one by one.
    Keys(std::vec::IntoIter<ByteRange>),
}

/// Most whole keys that are looked up rather than sought in a scan.
const MAX_KEYS_LOOKED_UP: usize = 10_000;

impl IndexRows {
    /// Opens the scan.
    pub fn open(reads: &dyn Read, plan: &IndexScan) -> Result<IndexRows> {
        let way = match whole_keys(plan) {
            Some(mut keys) => {
                if plan.backwards {
                    keys.reverse();
                }
                Way::Keys(keys.into_iter())
            }
            None => open_scan(reads, plan)?,
        };
        Ok(IndexRows { plan: plan.clone(), way })
    }

    /// The next row.
    pub fn next(
        &mut self,
        reads: &dyn Read,
        interrupt: &Interrupt,
        examined: &mut Examined,
    ) -> Result<Option<RowId>> {
        let (scan, checked) = match &mut self.way {
            Way::Scan { scan, checked } => (scan, *checked),
            Way::Keys(keys) => {
                for key in keys {
                    interrupt.check()?;
                    if let Some(entry) = reads.get(self.plan.index.table, &key.lo).map_err(from_storage)? {
                        examined.keys += 1;
                        return RowId::from_key(entry.head()).map(Some).ok_or_else(no_row);
                    }
                }
                return Ok(None);
            }
        };
        loop {
            // A search from interval to interval can go on for long without giving a row.
            interrupt.check()?;
            let Some(entry) = scan.next().map_err(from_storage)? else { return Ok(None) };
            examined.keys += 1;
            let step = match checked {
                true => self.plan.bounds.check(entry.key, self.plan.backwards),
                false => Step::Inside,
            };
            match step {
                Step::Inside => {
                    let row = match self.plan.index.unique {
                        true => RowId::from_key(entry.head()),
                        false => entry.row_in_key(),
                    };
                    return row.map(Some).ok_or_else(no_row);
                }
                Step::End => return Ok(None),
                // Backwards, the target is the last key before these bytes: this one is passed already.
                Step::Seek(target) if target == entry.key => {}
                Step::Seek(target) => {
                    examined.seeks += 1;
                    scan.seek(&target).map_err(from_storage)?;
                }
            }
        }
    }
}

/// The keys of a unique index that the bounds are made of, when they are nothing but whole keys.
fn whole_keys(plan: &IndexScan) -> Option<Vec<ByteRange>> {
    let fields = plan.bounds.fields();
    let are_points = fields.len() == plan.index.fields.len() && fields.iter().all(Intervals::are_points);
    if !plan.index.unique || !are_points || plan.range != ByteRange::full() {
        return None;
    }
    let keys = plan.bounds.ranges(MAX_KEYS_LOOKED_UP);
    keys.exact.then_some(keys.ranges)
}

fn open_scan(reads: &dyn Read, plan: &IndexScan) -> Result<Way> {
    let whole = plan.bounds.ranges(1);
    let checked = !(whole.exact && whole.ranges.len() == 1);
    let range = match whole.ranges.into_iter().next() {
        Some(only) if !checked => only,
        _ if plan.bounds.is_none() => ByteRange::new(Vec::new(), Some(Vec::new())),
        _ => ByteRange::new(plan.bounds.start(false).unwrap_or_default(), plan.bounds.start(true)),
    };
    let range = KeyRange {
        lower: Bound::Included(range.lo.max(plan.range.lo.clone())),
        upper: match (range.hi, &plan.range.hi) {
            (Some(a), Some(b)) => Bound::Excluded(a.min(b.clone())),
            (Some(a), None) => Bound::Excluded(a),
            (None, Some(b)) => Bound::Excluded(b.clone()),
            (None, None) => Bound::Unbounded,
        },
    };
    let scan = reads.scan(plan.index.table, range, direction(plan.backwards)).map_err(from_storage)?;
    Ok(Way::Scan { scan, checked })
}

fn direction(backwards: bool) -> Direction {
    if backwards { Direction::Backward } else { Direction::Forward }
}

fn no_row() -> Error {
    Error::internal("an index entry carries no row number")
}
