//! Row 5, first half: reading documents by key, with everything in the cache and with a cache of a tenth.

use crate::bench::{Bench, Opened, Series, interleave};
use crate::documents::{Kind, Random};
use crate::measure::{Fingerprint, available_memory_bytes, largest};
use crate::report::{Limit, Row, number};
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// Reads under one snapshot.
const READS_PER_SNAPSHOT: usize = 1000;

/// Both cache sizes.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    let scale = bench.scale;
    let ample = scale.ample_cache_bytes();
    if fits(bench, ample)? {
        read(bench, kind, "cached", ample, "everything in the cache")?;
    } else {
        bench.add(
            Row::new(format!("reads.{}.cached", kind.name()), "reads by key, everything in the cache", "/s")
                .note("not measured: the memory is too small for all engines' caches"),
        );
    }
    let tenth = scale.total_bytes / 10;
    read(bench, kind, "tenth", tenth, &format!("a cache of a tenth, {} MiB", tenth >> 20))
}

/// Whether all engines can have everything in memory at once.
pub fn fits(bench: &Bench, cache_bytes: u64) -> Result<bool> {
    // Each takes what there is, not the whole cache; how much that is only they know.
    Ok(cache_bytes / 2 * bench.engines.len() as u64 <= available_memory_bytes()?)
}

fn read(bench: &mut Bench, kind: Kind, name: &str, cache_bytes: u64, cache: &str) -> Result<()> {
    let scale = bench.scale;
    let count = scale.count(kind);
    let opened = bench.open_loaded(kind, cache_bytes)?;
    warm(&opened, kind, count, scale.turn)?;
    let mut rates = Series::default();
    let mut random = Random::new(5);
    interleave(scale.rounds, &opened, |_, each| {
        rates.push(each.name, read_for(each, kind, count, scale.turn, &mut random)?);
        Ok(())
    })?;
    let noun = kind.noun();
    let what = format!("reads of {noun} by random key, one thread, {cache}, best of {}", scale.rounds);
    let row = Row::new(format!("reads.{}.{name}", kind.name()), what, "/s");
    let row = row.figures(rates.choose(largest)).bar_by_best(Limit::AtLeast, 1.0);
    let speed = row.figure_of(crate::engine::JUDGED).map(|rate| 1e6 / rate);
    let note = speed.map(|micros| format!("{} us a read", number(micros)));
    bench.add(match note {
        Some(note) => row.note(note),
        None => row,
    });
    Ok(())
}

/// Reads everything once, then at random for a while; and sees to it that all hold the same.
pub fn warm(opened: &[Opened], kind: Kind, count: u64, turn: Duration) -> Result<()> {
    let mut first: Option<Fingerprint> = None;
    for each in opened {
        let mut found = Fingerprint::default();
        each.database.scan(&mut |head, tail| found.add(kind, head, tail))?;
        ensure!(found.count == count, "{} has {} of {count} documents", each.name, found.count);
        ensure!(*first.get_or_insert(found) == found, "{} has other documents than the first", each.name);
        read_for(each, kind, count, turn / 2, &mut Random::new(4))?;
    }
    Ok(())
}

/// Reads for a time; how many a second.
pub fn read_for(each: &Opened, kind: Kind, count: u64, turn: Duration, random: &mut Random) -> Result<f64> {
    let mut found = Fingerprint::default();
    let mut ids = Vec::with_capacity(READS_PER_SNAPSHOT);
    let begun = Instant::now();
    while begun.elapsed() < turn {
        ids.clear();
        ids.extend((0..READS_PER_SNAPSHOT).map(|_| 1 + random.below(count)));
        each.database.read(&ids, &mut |head, tail| found.add(kind, head, tail))?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(found.bytes == found.count * kind.len_bytes() as u64, "{} shortened documents", each.name);
    Ok(found.count as f64 / seconds)
}
