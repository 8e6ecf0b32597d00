//! Row 4, second half: a file under endless updates, deletes and inserts, and what they cost to write.

use crate::bench::{Bench, Series, load};
use crate::documents::{Documents, Kind, Random};
use crate::engine::{Change, Database, Engine, Settings, When};
use crate::measure::{MIB, allocated_bytes, largest, written_bytes};
use crate::report::{Limit, Row, number};
use anyhow::Result;
use std::path::Path;

/// Changes in one durable transaction.
const CHANGES_PER_TRANSACTION: usize = 16;
/// Bytes written anew, by bytes loaded.
const CHURN: u64 = 2;
/// How often the size is looked at.
const LOOKS: u64 = 200;
/// What the file may be at its peak, by its size freshly loaded.
const PEAK: f64 = 1.3;
/// What a changed byte may cost in written bytes.
const WRITTEN: f64 = 6.0;
/// More is not loaded, whatever the scale.
const MOST_BYTES: u64 = 4 << 30;
/// From here on the bar for the peak holds.
const PEAK_FROM_BYTES: u64 = 256 << 20;

struct Outcome {
    fresh_mib: f64,
    peak_mib: f64,
    end_mib: f64,
    written_per_byte: f64,
}

/// One engine after the other; a database of its own for each.
pub fn run(bench: &mut Bench, _: Kind) -> Result<()> {
    let kind = Kind::Medium;
    let mut scale = bench.scale;
    scale.total_bytes =
        if scale.total_bytes < 1 << 30 { scale.total_bytes / 2 } else { scale.total_bytes.min(MOST_BYTES) };
    let count = scale.count(kind);
    let (mut peaks, mut ends, mut written, mut sizes) =
        (Series::default(), Series::default(), Series::default(), Vec::new());
    for engine in bench.engines.clone() {
        let folder = bench.fresh_folder("churn", engine)?;
        let outcome = churn(engine, &folder, kind, count)?;
        std::fs::remove_dir_all(&folder)?;
        peaks.push(engine.name(), outcome.peak_mib / outcome.fresh_mib);
        ends.push(engine.name(), outcome.end_mib);
        written.push(engine.name(), outcome.written_per_byte);
        sizes.push(format!(
            "{} {} to {}",
            engine.name(),
            number(outcome.fresh_mib),
            number(outcome.peak_mib)
        ));
    }
    let raw_mib = count as f64 * kind.len_bytes() as f64 / MIB;
    let what = format!(
        "peak of the file while {raw_mib:.0} MiB of {} see {CHURN} times their bytes in updates (60%), deletes and inserts, by the size freshly loaded",
        kind.noun()
    );
    let mut row = Row::new("churn.peak", what, "times")
        .figures(peaks.choose(largest))
        .own_bar("from 256 MiB up", Limit::AtMost, PEAK)
        .note(format!("MiB freshly loaded, and at the peak: {}", sizes.join("   ")));
    if scale.total_bytes < PEAK_FROM_BYTES {
        row = row.note("less than 256 MiB here: the bar does not hold yet");
    }
    bench.add(row);
    let what = "blocks on the disk after that, open and at rest";
    bench.add(
        Row::new("churn.size", what, "MiB").figures(ends.choose(largest)).bar_by_best(Limit::AtMost, 1.0),
    );
    let what = format!(
        "bytes written by new bytes of documents, {CHANGES_PER_TRANSACTION} changes in a durable transaction, checkpoints included"
    );
    let row = Row::new("churn.written", what, "times").figures(written.choose(largest));
    bench.add(row.own_bar("documents of 2 KiB", Limit::AtMost, WRITTEN));
    Ok(())
}

fn churn(engine: &dyn Engine, folder: &Path, kind: Kind, count: u64) -> Result<Outcome> {
    let loaded_bytes = count * kind.len_bytes() as u64;
    let cache_bytes = (loaded_bytes / 10).max(16 << 20);
    let database = engine.open(folder, Settings { kind, cache_bytes })?;
    load(&*database, kind, count)?;
    database.checkpoint()?;
    let fresh_mib = allocated_bytes(folder)? as f64 / MIB;
    let written_before = written_bytes()?;
    let goal_bytes = CHURN * loaded_bytes;
    let mut live =
        Live { ids: (1..=count).collect(), next_id: count + 1, version: 0, random: Random::new(7) };
    let (mut new_bytes, mut next_look, mut peak_mib) = (0, 0, fresh_mib);
    while new_bytes < goal_bytes {
        new_bytes += live.change(&*database, kind)?;
        if new_bytes >= next_look {
            next_look = new_bytes + goal_bytes / LOOKS;
            peak_mib = f64::max(peak_mib, allocated_bytes(folder)? as f64 / MIB);
        }
    }
    database.checkpoint()?;
    let written = written_bytes()? - written_before;
    let end_mib = allocated_bytes(folder)? as f64 / MIB;
    peak_mib = peak_mib.max(end_mib);
    Ok(Outcome { fresh_mib, peak_mib, end_mib, written_per_byte: written as f64 / new_bytes as f64 })
}

/// The documents that exist.
struct Live {
    ids: Vec<u64>,
    next_id: u64,
    version: u64,
    random: Random,
}

enum Plan {
    Insert(u64),
    Update(u64),
    Delete(u64),
}

impl Live {
    /// One transaction: as many deletes as inserts, in the long run. Gives the bytes of new documents and versions.
    fn change(&mut self, database: &dyn Database, kind: Kind) -> Result<u64> {
        self.version += 1;
        let mut plans = Vec::with_capacity(CHANGES_PER_TRANSACTION);
        let mut touched = std::collections::BTreeSet::new();
        while plans.len() < CHANGES_PER_TRANSACTION {
            let place = self.random.below(self.ids.len() as u64) as usize;
            let Some(&id) = self.ids.get(place) else { break };
            match self.random.below(10) {
                0 | 1 => plans.push(Plan::Insert(self.new_id())),
                // Nothing is changed twice in one transaction.
                _ if !touched.insert(id) => {}
                2 | 3 => {
                    self.ids.swap_remove(place);
                    plans.push(Plan::Delete(id));
                }
                _ => plans.push(Plan::Update(id)),
            }
        }
        let mut documents = Documents::new(kind);
        for plan in &plans {
            match plan {
                Plan::Insert(id) | Plan::Update(id) => documents.push(*id, self.version),
                Plan::Delete(_) => {}
            }
        }
        let mut bodies = documents.iter();
        let changes: Vec<_> = plans
            .iter()
            .filter_map(|plan| match plan {
                Plan::Insert(id) => bodies.next().map(|body| Change::Insert(*id, body)),
                Plan::Update(id) => bodies.next().map(|body| Change::Update(*id, body)),
                Plan::Delete(id) => Some(Change::Delete(*id)),
            })
            .collect();
        database.write(&changes, When::Synced)?;
        self.ids.extend(plans.iter().filter_map(|plan| match plan {
            Plan::Insert(id) => Some(*id),
            _ => None,
        }));
        Ok(documents.iter().map(|document| document.whole.len() as u64).sum())
    }

    fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}
