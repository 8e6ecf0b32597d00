//! What the beginning of a pipeline has in common with a query.

use super::Stage;
use crate::filter::Filter;
use crate::sort::SortSpec;

/// The beginning of a pipeline, as a query: filter, sort, skip, limit, in this order of effect.
#[derive(Clone, Default)]
pub struct Leading {
    /// The conditions of all leading `$match` stages.
    pub filter: Option<Filter>,
    /// The order.
    pub sort: Option<SortSpec>,
    /// Documents left out at the beginning.
    pub skip: u64,
    /// Documents at most.
    pub limit: Option<u64>,
    /// How many stages this stands for.
    pub stage_count: usize,
}

/// Takes as many stages as a query can express.
pub(super) fn leading(stages: &[Stage]) -> Leading {
    let mut lead = Leading::default();
    let mut windowed = false;
    for stage in stages {
        match stage {
            // A condition after the sort may as well come before it.
            Stage::Match(filter) if !windowed => lead.filter = Some(both(lead.filter.take(), filter)),
            Stage::Sort { spec, .. } if lead.sort.is_none() && !windowed => lead.sort = Some(spec.clone()),
            Stage::Skip(n) => {
                windowed = true;
                lead.skip = lead.skip.saturating_add(*n);
                lead.limit = lead.limit.map(|limit| limit.saturating_sub(*n));
            }
            Stage::Limit(n) => {
                windowed = true;
                lead.limit = Some(lead.limit.map_or(*n, |known| known.min(*n)));
            }
            _ => break,
        }
        lead.stage_count += 1;
    }
    lead
}

fn both(first: Option<Filter>, second: &Filter) -> Filter {
    match first {
        Some(first) => first.and(second),
        None => second.clone(),
    }
}

/// Tells each sort how many documents the stages after it take.
pub(super) fn limit_sorts(stages: &mut [Stage]) {
    for at in 0..stages.len() {
        let (before, after) = stages.split_at_mut(at + 1);
        if let Some(Stage::Sort { limit, .. }) = before.last_mut() {
            *limit = taken(after);
        }
    }
}

/// How many documents these stages take from their source at most.
fn taken(stages: &[Stage]) -> Option<u64> {
    let mut skipped = 0u64;
    for stage in stages {
        match stage {
            Stage::Skip(n) => skipped = skipped.saturating_add(*n),
            Stage::Limit(n) => return Some(skipped.saturating_add(*n)),
            Stage::Project(_) | Stage::AddFields(_) | Stage::ReplaceRoot(_) => {}
            _ => return None,
        }
    }
    None
}
