//! Row 3: bulk loads, and what they write. The databases that the last round leaves are those of the other rows.

use crate::bench::{Bench, LOAD_BATCH_BYTES, Series, interleave, load};
use crate::documents::{Documents, Kind, k_of_id};
use crate::engine::{Change, Engine, JUDGED, When};
use crate::measure::{MIB, allocated_bytes, largest, written_bytes};
use crate::report::{Limit, Row, number};
use anyhow::{Result, anyhow, ensure};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How much faster than the others a load has to be.
const BESIDE_OTHERS: f64 = 1.5;
/// How close to the machine's own speed.
const BESIDE_THE_MACHINE: f64 = 0.8;
/// "Each large value written once": bytes written by bytes that stay. The rest is log, tree and index.
const WRITTEN_ONCE: f64 = 1.25;

/// Loads with every engine.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    let scale = bench.scale;
    let count = scale.count(kind);
    let loaded_mib = count as f64 * kind.len_bytes() as f64 / MIB;
    let (mut speeds, mut written) = (Series::default(), Series::default());
    let mut entries = Vec::new();
    let engines = bench.engines.clone();
    interleave(scale.load_rounds, &engines, |_, engine| {
        let folder = bench.fresh_folder(&format!("loaded-{}", kind.name()), *engine)?;
        let database = engine.open(&folder, bench.load_settings(kind))?;
        let written_before = written_bytes()?;
        let spent = load(&*database, kind, count)?;
        speeds.push(engine.name(), loaded_mib / spent.as_secs_f64());
        database.checkpoint()?;
        let written_now = written_bytes()? - written_before;
        written.push(engine.name(), written_now as f64 / allocated_bytes(&folder)? as f64);
        entries.push((engine.name(), database.index_entries(k_of_id(count / 2))?));
        Ok(())
    })?;
    bench.note_loaded(kind);
    ensure!(
        entries.iter().all(|(_, found)| *found > 0 && Some(found) == entries.first().map(|(_, first)| first)),
        "the indexes do not hold the same: {entries:?}"
    );
    let what = format!(
        "bulk load of {count} {} in transactions of {} MiB, with the final sync, best of {}",
        kind.noun(),
        LOAD_BATCH_BYTES >> 20,
        scale.load_rounds
    );
    let name = format!("load.{}", kind.name());
    bench.add(
        Row::new(&name, what, "MiB/s")
            .figures(speeds.choose(largest))
            .bar_by_best(Limit::AtLeast, BESIDE_OTHERS),
    );
    let what = "bytes written by load and checkpoint, by bytes that stay on the disk";
    let mut row = Row::new(format!("{name}.written"), what, "times").figures(written.choose(largest));
    if kind == Kind::Large {
        row = row.own_bar("each large value written once", Limit::AtMost, WRITTEN_ONCE);
    }
    bench.add(row);
    if kind == Kind::Large { on_all_cores(bench, kind, count) } else { Ok(()) }
}

/// The judged engine alone, with a thread for each core: can it use the machine?
fn on_all_cores(bench: &mut Bench, kind: Kind, count: u64) -> Result<()> {
    let Some(engine) = bench.engines.iter().copied().find(|engine| engine.name() == JUDGED) else {
        return Ok(());
    };
    let machine = bench.machine()?;
    let threads = std::thread::available_parallelism()?.get();
    let mut speeds = Series::default();
    for _ in 0..bench.scale.load_rounds.max(bench.scale.rounds.min(3)) {
        speeds.push(engine.name(), load_on(bench, engine, kind, count, threads)?);
    }
    // What goes to the disk is smaller than what is loaded.
    let disk = machine.disk * machine.lz4_ratio;
    let text = format!(
        "{BESIDE_THE_MACHINE} times the smaller of LZ4 on all cores, {}, and disk by what LZ4 leaves, {}",
        number(machine.lz4_all),
        number(disk)
    );
    let what = format!("bulk load of {}, {threads} threads, documents made beforehand", kind.noun());
    bench.add(
        Row::new(format!("load.{}.cores", kind.name()), what, "MiB/s")
            .figures(speeds.choose(largest))
            .own_bar(text, Limit::AtLeast, BESIDE_THE_MACHINE * machine.lz4_all.min(disk)),
    );
    Ok(())
}

fn load_on(bench: &Bench, engine: &dyn Engine, kind: Kind, count: u64, threads: usize) -> Result<f64> {
    let folder = bench.fresh_folder("cores", engine)?;
    let database = engine.open(&folder, bench.load_settings(kind))?;
    let batch = (LOAD_BATCH_BYTES / kind.len_bytes()) as u64;
    let mut documents = Documents::new(kind);
    documents.fill(1..batch + 1);
    let (next, loaded) = (AtomicU64::new(1), AtomicU64::new(0));
    let work = || -> Result<()> {
        loop {
            let first = next.fetch_add(batch, Ordering::Relaxed);
            if first > count {
                return Ok(());
            }
            let changes: Vec<_> =
                (first..).zip(documents.iter()).map(|(id, each)| Change::Insert(id, each)).collect();
            database.write(&changes, When::Later)?;
            loaded.fetch_add(changes.len() as u64, Ordering::Relaxed);
        }
    };
    let begun = Instant::now();
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    for result in results {
        result.map_err(|_| anyhow!("a thread failed"))??;
    }
    database.sync()?;
    let seconds = begun.elapsed().as_secs_f64();
    drop(database);
    std::fs::remove_dir_all(&folder)?;
    Ok(loaded.into_inner() as f64 * kind.len_bytes() as f64 / MIB / seconds)
}
