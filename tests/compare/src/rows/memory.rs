//! Row 7, second half: memory under load, in a process of its own.

use crate::bench::{Bench, LOAD_BATCH_BYTES, Opened, Series};
use crate::child::Task;
use crate::documents::{Documents, Kind, Random};
use crate::engine::{Change, When};
use crate::measure::{Fingerprint, MIB, largest, memory_bytes};
use crate::report::{Limit, Row};
use anyhow::{Context, Result};
use std::time::Duration;

/// What a process may have beside the cache, in MiB. The transaction under way is in it.
const BESIDE_CACHE_MIB: f64 = 64.0;

/// One process for each engine.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    bench.ensure_loaded(kind)?;
    let count = bench.scale.count(kind);
    let mut peaks = Series::default();
    for engine in bench.engines.clone() {
        let folder = bench.loaded_folder(kind, engine);
        let task = Task { amount: count / 4, ..Task::new("memory", engine, &folder, kind, count) };
        let peak = task.run(false)?.first().copied().context("the process said nothing")?;
        peaks.push(engine.name(), peak as f64 / MIB);
    }
    let what = format!(
        "memory of a process at its peak, cache 64 MiB: scan, random reads, random updates, {} more {} loaded",
        count / 4,
        kind.noun()
    );
    bench.add(
        Row::new(format!("memory.{}", kind.name()), what, "MiB")
            .figures(peaks.choose(largest))
            .own_bar("cache and 64 MiB", Limit::AtMost, 64.0 + BESIDE_CACHE_MIB)
            .note("the generator's own buffers, up to 8 MiB, are in every figure"),
    );
    Ok(())
}

/// In the child: the load.
pub fn use_memory(task: &Task) -> Result<()> {
    let settings = task.settings()?;
    let kind = settings.kind;
    let opened = Opened { name: "child", database: task.engine()?.open(&task.folder, settings)? };
    let mut found = Fingerprint::default();
    opened.database.scan(&mut |head, tail| found.add(kind, head, tail))?;
    let mut random = Random::new(9);
    super::reads::read_for(&opened, kind, task.count, Duration::from_millis(500), &mut random)?;
    let mut documents = Documents::new(kind);
    for version in 0..500 {
        documents.clear();
        let ids: Vec<u64> = (0..16).map(|_| 1 + random.below(task.count)).collect();
        ids.iter().for_each(|id| documents.push(*id, version));
        let changes: Vec<_> =
            ids.iter().zip(documents.iter()).map(|(id, body)| Change::Update(*id, body)).collect();
        opened.database.write(&changes, When::Synced)?;
    }
    let batch = (LOAD_BATCH_BYTES / kind.len_bytes()) as u64;
    let (first, end) = (task.count + 1, task.count + 1 + task.amount);
    for first in (first..end).step_by(batch as usize) {
        let ids = first..(first + batch).min(end);
        documents.fill(ids.clone());
        let changes: Vec<_> = ids.zip(documents.iter()).map(|(id, body)| Change::Insert(id, body)).collect();
        opened.database.write(&changes, When::Later)?;
    }
    opened.database.sync()?;
    opened.database.checkpoint()?;
    println!("{}", memory_bytes("VmHWM:")?);
    Ok(())
}
