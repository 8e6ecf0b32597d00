//! Row 2: durable commits of one document, on one thread and on many, beside a bare synced write.

use crate::bench::{Bench, Series, interleave};
use crate::documents::{Documents, Kind};
use crate::engine::{Change, Database, JUDGED, Settings, When};
use crate::machine::SyncedWrites;
use crate::measure::{largest, median, micros, percentile};
use crate::report::{Limit, Row, number};
use anyhow::{Result, anyhow};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Threads of the concurrent rows.
const THREADS: usize = 32;
/// How much longer than a bare synced write a commit may take.
const BESIDE_A_WRITE: f64 = 1.25;

/// Small and large documents on one thread; small ones on many.
pub fn run(bench: &mut Bench, _: Kind) -> Result<()> {
    let one = one_thread(bench, Kind::Small)?;
    one_thread(bench, Kind::Large)?;
    many_threads(bench, one)
}

/// The judged engine's rate comes back.
fn one_thread(bench: &mut Bench, kind: Kind) -> Result<Option<f64>> {
    let write_bytes = stored_bytes(kind)?;
    let mut writes = SyncedWrites::create(bench.folder(), write_bytes)?;
    let (mut rates, mut p50s, mut p99s) = (Series::default(), Series::default(), Series::default());
    let mut write_p50s = Vec::new();
    let mut last_round = None;
    let scale = bench.scale;
    let engines = bench.engines.clone();
    interleave(scale.rounds, &engines, |round, engine| {
        if last_round.replace(round) != Some(round) {
            write_p50s.push(micros(percentile(&mut writes.run(scale.turn)?, 0.5)));
        }
        let (mut times, rate) = commit_for(bench, *engine, kind, 1, scale.turn)?;
        rates.push(engine.name(), rate);
        p50s.push(engine.name(), micros(percentile(&mut times, 0.5)));
        p99s.push(engine.name(), micros(percentile(&mut times, 0.99)));
        Ok(())
    })?;
    let write_p50 = median(&write_p50s);
    let name = |of: &str| format!("commits.{}.{of}", kind.name());
    let what = format!("a durable insert of one of the {}, one thread: median time", kind.noun());
    let text = format!(
        "{BESIDE_A_WRITE} times a synced write of {} KiB, {} us",
        write_bytes >> 10,
        number(write_p50)
    );
    let slow: Vec<_> =
        p99s.choose(median).iter().map(|(name, p99)| format!("{name} {}", number(*p99))).collect();
    bench.add(
        Row::new(name("p50"), what, "us")
            .figures(p50s.choose(median))
            .own_bar(text, Limit::AtMost, BESIDE_A_WRITE * write_p50)
            .note(format!("p99: {}", slow.join("   "))),
    );
    let what = format!("durable inserts of one of the {}, one thread, best of {}", kind.noun(), scale.rounds);
    let row =
        Row::new(name("rate"), what, "/s").figures(rates.choose(largest)).bar_by_best(Limit::AtLeast, 1.0);
    let own = row.figure_of(JUDGED);
    bench.add(row);
    Ok(own)
}

fn many_threads(bench: &mut Bench, one_thread: Option<f64>) -> Result<()> {
    let mut rates = Series::default();
    let scale = bench.scale;
    let engines = bench.engines.clone();
    interleave(scale.rounds, &engines, |_, engine| {
        let (_, rate) = commit_for(bench, *engine, Kind::Small, THREADS, scale.turn)?;
        rates.push(engine.name(), rate);
        Ok(())
    })?;
    let what = format!("durable inserts of 200 bytes, {THREADS} threads, best of {}", scale.rounds);
    let mut row = Row::new("commits.200.threads", what, "/s")
        .figures(rates.choose(largest))
        .bar_by_best(Limit::AtLeast, 1.0)
        .note("sqlite and redb: the threads take turns; fjall: every commit syncs under its journal's lock");
    if let Some(one_thread) = one_thread {
        let write_micros = bench.machine()?.write_p50_micros;
        let factor = factor_of_threads(write_micros);
        let text = format!("{factor:.1} times one thread, as a sync takes {} us", number(write_micros));
        row = row.own_bar(text, Limit::AtLeast, factor * one_thread);
    }
    bench.add(row);
    Ok(())
}

/// 5 where a sync takes 0.1 ms or less, 20 where it takes 1 ms or more, and between them by the same power.
fn factor_of_threads(write_micros: f64) -> f64 {
    let power = (20.0f64 / 5.0).log10();
    (5.0 * (write_micros / 100.0).powf(power)).clamp(5.0, 20.0)
}

/// What a document comes to in a log of compressed frames that start on 4 KiB.
fn stored_bytes(kind: Kind) -> Result<usize> {
    let mut documents = Documents::new(kind);
    documents.push(1, 0);
    let first = documents.iter().next().ok_or_else(|| anyhow!("no document"))?;
    Ok(lz4_flex::block::compress(first.whole).len().next_multiple_of(4096))
}

/// Commits into a new database for a time: how long each took, and how many a second.
fn commit_for(
    bench: &Bench,
    engine: &dyn crate::engine::Engine,
    kind: Kind,
    threads: usize,
    turn: Duration,
) -> Result<(Vec<Duration>, f64)> {
    let folder = bench.fresh_folder("commits", engine)?;
    let database = engine.open(&folder, Settings { kind, cache_bytes: 64 << 20 })?;
    let next_id = AtomicU64::new(1);
    let begun = Instant::now();
    let end = begun + turn;
    let results: Vec<_> = std::thread::scope(|scope| {
        let commit = || commit_until(&*database, kind, &next_id, end);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(commit)).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let mut times = Vec::new();
    for result in results {
        times.extend(result.map_err(|_| anyhow!("a thread failed"))??);
    }
    drop(database);
    std::fs::remove_dir_all(&folder)?;
    let rate = times.len() as f64 / seconds;
    Ok((times, rate))
}

fn commit_until(
    database: &dyn Database,
    kind: Kind,
    next_id: &AtomicU64,
    end: Instant,
) -> Result<Vec<Duration>> {
    let mut documents = Documents::new(kind);
    let mut times = Vec::new();
    while Instant::now() < end {
        let id = next_id.fetch_add(1, Ordering::Relaxed);
        documents.clear();
        documents.push(id, 0);
        let changes: Vec<_> = documents.iter().map(|document| Change::Insert(id, document)).collect();
        let begun = Instant::now();
        database.write(&changes, When::Synced)?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_goes_from_5_to_20() {
        assert_eq!(factor_of_threads(50.0), 5.0);
        assert!((factor_of_threads(100.0) - 5.0).abs() < 1e-9);
        assert!((factor_of_threads(1000.0) - 20.0).abs() < 1e-9);
        assert_eq!(factor_of_threads(9000.0), 20.0);
        assert!((factor_of_threads(316.2) - 10.0).abs() < 0.1);
    }
}
