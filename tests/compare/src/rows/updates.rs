//! Row 5, second half: updating random small documents with a cache of a tenth.

use crate::bench::{Bench, Opened, Series, interleave};
use crate::documents::{Documents, Kind, Random};
use crate::engine::{Change, When};
use crate::measure::largest;
use crate::report::{Limit, Row};
use anyhow::Result;
use std::time::{Duration, Instant};

/// Updates in one transaction, by name.
const SHAPES: [(&str, usize); 2] = [("single", 1), ("batch", 100)];

/// One update a transaction, and a hundred.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    let scale = bench.scale;
    let cache_bytes = scale.total_bytes / 10;
    let opened = bench.open_loaded(kind, cache_bytes)?;
    let mut random = Random::new(6);
    let mut rows = Vec::new();
    for (name, in_one) in SHAPES {
        let mut rates = Series::default();
        interleave(scale.rounds, &opened, |round, each| {
            let version = 1 + round as u64;
            rates.push(
                each.name,
                update_for(each, kind, scale.count(kind), in_one, version, scale.turn, &mut random)?,
            );
            Ok(())
        })?;
        let what = format!(
            "updates of {} by random key, {in_one} in a durable transaction, one thread, a cache of a tenth ({} MiB), best of {}",
            kind.noun(),
            cache_bytes >> 20,
            scale.rounds
        );
        rows.push(
            Row::new(format!("updates.{}.{name}", kind.name()), what, "/s")
                .figures(rates.choose(largest))
                .bar_by("sqlite", Limit::AtLeast),
        );
    }
    drop(opened);
    for row in rows {
        bench.add(row);
    }
    Ok(())
}

fn update_for(
    each: &Opened,
    kind: Kind,
    count: u64,
    in_one: usize,
    version: u64,
    turn: Duration,
    random: &mut Random,
) -> Result<f64> {
    let mut documents = Documents::new(kind);
    let mut ids = Vec::with_capacity(in_one);
    let mut updates = 0;
    let begun = Instant::now();
    while begun.elapsed() < turn {
        ids.clear();
        ids.extend((0..in_one).map(|_| 1 + random.below(count)));
        documents.clear();
        for id in &ids {
            documents.push(*id, version);
        }
        let changes: Vec<_> =
            ids.iter().zip(documents.iter()).map(|(id, each)| Change::Update(*id, each)).collect();
        each.database.write(&changes, When::Synced)?;
        updates += in_one;
    }
    Ok(updates as f64 / begun.elapsed().as_secs_f64())
}
