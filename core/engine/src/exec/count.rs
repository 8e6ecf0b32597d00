//! Counting matching rows, without reading them where counts of keys are enough.

use super::source::{Examined, IndexRows};
use super::{QuerySpec, RowStream};
use crate::catalog::CollectionInfo;
use crate::interrupt::Interrupt;
use crate::plan::{Access, IndexScan, MAX_WHOLE_RANGES, Plan, key_range, plan_count};
use crate::storage_error::from_storage;
use multifora_model::Result;
use multifora_storage::Read;

/// How many rows `spec` selects, its skip and limit applied.
///
/// # Errors
/// As [`open_rows`](super::open_rows) and [`RowStream::next`].
pub fn count_rows(
    reads: &dyn Read,
    collection: &CollectionInfo,
    spec: &QuerySpec,
    interrupt: &Interrupt,
) -> Result<u64> {
    let plan = plan_count(reads, collection, spec)?;
    Ok(run_count(reads, collection, spec, &plan, interrupt)?.0)
}

/// Whether the whole collection is counted, which is one number in its table's root.
pub fn is_whole_collection(spec: &QuerySpec, plan: &Plan) -> bool {
    let everything = spec.filter.as_ref().is_none_or(|filter| filter.is_always_true());
    everything && matches!(plan.access, Access::Table { .. })
}

/// Runs a planned count; also says what was looked at.
///
/// # Errors
/// As [`RowStream::next`].
pub fn run_count(
    reads: &dyn Read,
    collection: &CollectionInfo,
    spec: &QuerySpec,
    plan: &Plan,
    interrupt: &Interrupt,
) -> Result<(u64, Examined)> {
    let mut examined = Examined::default();
    let all = match &plan.access {
        _ if is_whole_collection(spec, plan) => reads.count(collection.records).map_err(from_storage)?,
        Access::Nothing => 0,
        Access::Id(lookup) if lookup.decides => {
            let entry = reads.get(lookup.index.table, &lookup.key).map_err(from_storage)?;
            examined.keys += u64::from(entry.is_some());
            u64::from(entry.is_some())
        }
        Access::Index(scan) if scan.decides => count_keys(reads, scan, interrupt, &mut examined)?,
        _ => return count_by_reading(reads, collection, spec, plan, interrupt),
    };
    let after_skip = all.saturating_sub(spec.skip);
    Ok((spec.limit.map_or(after_skip, |limit| after_skip.min(limit)), examined))
}

fn count_by_reading(
    reads: &dyn Read,
    collection: &CollectionInfo,
    spec: &QuerySpec,
    plan: &Plan,
    interrupt: &Interrupt,
) -> Result<(u64, Examined)> {
    let spec = QuerySpec { sort: None, ..spec.clone() };
    let mut rows = RowStream::open(reads, collection, &spec, plan)?;
    let mut found = 0;
    while rows.next(reads, interrupt)?.is_some() {
        found += 1;
    }
    Ok((found, rows.examined()))
}

/// Every key inside the bounds is a match.
fn count_keys(
    reads: &dyn Read,
    scan: &IndexScan,
    interrupt: &Interrupt,
    examined: &mut Examined,
) -> Result<u64> {
    let whole = scan.bounds.ranges(MAX_WHOLE_RANGES);
    let mut found = 0;
    if whole.exact {
        for range in &whole.ranges {
            interrupt.check()?;
            found += reads.count_range(scan.index.table, &key_range(range)).map_err(from_storage)?;
        }
        examined.keys += found;
        return Ok(found);
    }
    let mut rows = IndexRows::open(reads, scan)?;
    while rows.next(reads, interrupt, examined)?.is_some() {
        found += 1;
    }
    Ok(found)
}
