//! Row 6: reading every document in order, and reading only the small fields of large ones.

use super::reads::fits;
use crate::bench::{Bench, Series, interleave};
use crate::documents::{Kind, k_of};
use crate::engine::{Database, JUDGED};
use crate::measure::{Fingerprint, MIB, largest, smallest};
use crate::report::{Limit, Row, number};
use anyhow::{Result, ensure};
use std::time::Instant;

/// How far behind the best a scan may be when everything is in the cache.
const CACHED_BESIDE_OTHERS: f64 = 0.5;
/// How much longer a filter on small fields may take with a small cache.
const SMALL_CACHE_BESIDE_AMPLE: f64 = 1.5;
/// The large cache of that comparison where there is no memory for everything of everybody.
const HEADS_CACHE_BYTES: u64 = 2 << 30;

/// All of it; filters for large documents only.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    let scale = bench.scale;
    let eighth = scale.total_bytes / 8;
    let (ample, small) = (scale.ample_cache_bytes(), scale.small_cache_bytes());
    let cache = format!("the data 8 times the cache of {} MiB", eighth >> 20);
    let row = scan(bench, kind, "eighth", eighth, &cache)?;
    bench.add(row.bar_by_best(Limit::AtLeast, 1.0));
    let all_fits = fits(bench, ample)?;
    if all_fits {
        let row = scan(bench, kind, "cached", ample, "everything in the cache")?;
        bench.add(row.bar_by_best(Limit::AtLeast, CACHED_BESIDE_OTHERS));
    } else {
        bench.add(
            Row::new(format!("scans.{}.cached", kind.name()), "full scans, everything in the cache", "MiB/s")
                .note("not measured: the memory is too small for all engines' caches"),
        );
    }
    // All that the judged engine has to cache for a filter is the small fields, and these always fit.
    let ample = if all_fits { ample } else { HEADS_CACHE_BYTES };
    if kind == Kind::Large { filter(bench, kind, small, ample) } else { Ok(()) }
}

fn scan(bench: &mut Bench, kind: Kind, name: &str, cache_bytes: u64, cache: &str) -> Result<Row> {
    let scale = bench.scale;
    let opened = bench.open_loaded(kind, cache_bytes)?;
    let mut speeds = Series::default();
    let mut first: Option<Fingerprint> = None;
    // The round before the first warms up what is to be warm.
    interleave(scale.rounds + 1, &opened, |round, each| {
        let mut found = Fingerprint::default();
        let begun = Instant::now();
        each.database.scan(&mut |head, tail| found.add(kind, head, tail))?;
        if round > 0 {
            speeds.push(each.name, found.bytes as f64 / MIB / begun.elapsed().as_secs_f64());
        }
        ensure!(*first.get_or_insert(found) == found, "{} showed other documents", each.name);
        Ok(())
    })?;
    let noun = kind.noun();
    let what = format!("full scan of {noun}, every byte hashed, {cache}, best of {}", scale.rounds);
    Ok(Row::new(format!("scans.{}.{name}", kind.name()), what, "MiB/s").figures(speeds.choose(largest)))
}

/// Counts the documents with a small `k`, with a small and with an ample cache.
fn filter(bench: &mut Bench, kind: Kind, small_bytes: u64, ample_bytes: u64) -> Result<()> {
    let ample = filter_times(bench, kind, ample_bytes)?;
    let small = filter_times(bench, kind, small_bytes)?;
    let own =
        |figures: &[(&str, f64)]| figures.iter().find(|(name, _)| *name == JUDGED).map(|(_, figure)| *figure);
    let with_ample: Vec<_> =
        ample.iter().map(|(name, figure)| format!("{name} {}", number(*figure))).collect();
    let what = format!(
        "scan of {} with a filter on a small field, cache {} MiB, best of {}",
        kind.noun(),
        small_bytes >> 20,
        bench.scale.rounds
    );
    let mut row = Row::new("scans.16k.filter", what, "ms").figures(small);
    if let Some(ample) = own(&ample) {
        let text = format!("{SMALL_CACHE_BESIDE_AMPLE} times the same with everything cached");
        row = row.own_bar(text, Limit::AtMost, SMALL_CACHE_BESIDE_AMPLE * ample);
    }
    bench.add(row.note(format!(
        "with a cache of {} MiB: {}; the others have no records in two parts and read all",
        ample_bytes >> 20,
        with_ample.join("   ")
    )));
    Ok(())
}

fn filter_times(bench: &mut Bench, kind: Kind, cache_bytes: u64) -> Result<Vec<(&'static str, f64)>> {
    let rounds = bench.scale.rounds;
    let opened = bench.open_loaded(kind, cache_bytes)?;
    let mut times = Series::default();
    let mut first = None;
    interleave(rounds + 1, &opened, |round, each| {
        let begun = Instant::now();
        let found = count_matching(&*each.database)?;
        if round > 0 {
            times.push(each.name, begun.elapsed().as_secs_f64() * 1e3);
        }
        ensure!(
            *first.get_or_insert(found) == found,
            "{} found {found} documents, the first others",
            each.name
        );
        Ok(())
    })?;
    Ok(times.choose(smallest))
}

/// About one document in a hundred.
fn count_matching(database: &dyn Database) -> Result<u64> {
    let mut found = 0;
    database.scan_heads(&mut |head, _| found += u64::from(k_of(head) < 10_000))?;
    Ok(found)
}
