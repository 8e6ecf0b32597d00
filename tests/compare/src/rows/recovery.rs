//! Row 7, first half: opening after `kill -9`, with the log as full as it gets.

use crate::bench::{Bench, Series, interleave};
use crate::child::Task;
use crate::documents::{Documents, Kind, Random};
use crate::engine::{Change, Database, When};
use crate::measure::{MIB, largest, memory_bytes};
use crate::report::{Limit, Row};
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::time::{Duration, Instant};

/// Bytes of documents in one transaction before the kill.
const BATCH_BYTES: usize = 64 << 10;
/// How full the log is when the process is killed, by what went between two checkpoints before.
const FULL: f64 = 0.9;
/// Checkpoints to see before "full" is known.
const CHECKPOINTS: usize = 2;
/// From engines that do not tell about checkpoints: at most so many bytes of updates before the kill.
const MOST_BYTES: u64 = 128 << 20;
/// A process that has not found a full log by then is killed all the same.
const PATIENCE: Duration = Duration::from_secs(60);

/// Versions of documents that no other row writes.
const FIRST_VERSION: u64 = 1000;

/// How long opening may take, in milliseconds.
const OPEN_MILLIS: f64 = 500.0;
/// Memory afterwards, with a cache of 64 MiB, in MiB.
const MEMORY_MIB: f64 = 128.0;

/// Kills and opens, a few times for each engine.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    bench.ensure_loaded(kind)?;
    let count = bench.scale.count(kind);
    let amount = (bench.scale.total_bytes / 4).min(MOST_BYTES);
    let (mut times, mut memory) = (Series::default(), Series::default());
    let engines = bench.engines.clone();
    interleave(bench.scale.rounds, &engines, |round, engine| {
        let folder = bench.loaded_folder(kind, *engine);
        let round = round as u64;
        let kill = Task { amount, round, ..Task::new("kill", *engine, &folder, kind, count) };
        let last = kill.run(true)?.last().copied().context("nothing was acknowledged")?;
        let open = Task { amount: last, ..Task::new("open", *engine, &folder, kind, count) };
        let found = open.run(false)?;
        let [micros, bytes, ..] = found.as_slice() else { anyhow::bail!("the process said too little") };
        times.push(engine.name(), *micros as f64 / 1e3);
        memory.push(engine.name(), *bytes as f64 / MIB);
        Ok(())
    })?;
    let what = format!(
        "opening {} of {} after kill -9 with a full log, worst of {}",
        count,
        kind.noun(),
        bench.scale.rounds
    );
    let row = Row::new(format!("open.{}", kind.name()), what, "ms").figures(times.choose(largest));
    bench.add(row.own_bar("half a second, whatever the size", Limit::AtMost, OPEN_MILLIS).note(
        "the others are killed after a fixed amount of updates; the last acknowledged update was there in every case",
    ));
    let what = "memory of the process after that, cache 64 MiB";
    let row = Row::new(format!("open.{}.memory", kind.name()), what, "MiB").figures(memory.choose(largest));
    bench.add(row.own_bar("128 MiB", Limit::AtMost, MEMORY_MIB));
    Ok(())
}

/// In the child: updates until the log is full, says the last acknowledged document, and dies.
pub fn update_until_killed(task: &Task) -> Result<()> {
    let version = FIRST_VERSION + task.round;
    let settings = task.settings()?;
    let database = task.engine()?.open(&task.folder, settings)?;
    let in_one = (BATCH_BYTES / settings.kind.len_bytes()).max(1);
    let mut random = Random::new(version);
    let mut documents = Documents::new(settings.kind);
    let mut full = Fullness { number: database.checkpoint_number(), since: 0, intervals: Vec::new() };
    let (begun, mut written, mut last) = (Instant::now(), 0, 0);
    loop {
        documents.clear();
        let ids: Vec<u64> = (0..in_one).map(|_| 1 + random.below(task.count)).collect();
        ids.iter().for_each(|id| documents.push(*id, version));
        let changes: Vec<_> =
            ids.iter().zip(documents.iter()).map(|(id, body)| Change::Update(*id, body)).collect();
        database.write(&changes, When::Synced)?;
        last = ids.last().copied().unwrap_or(last);
        let bytes = (in_one * settings.kind.len_bytes()) as u64;
        written += bytes;
        let is_full = full.note(&*database, bytes);
        if is_full.unwrap_or(written >= task.amount) || begun.elapsed() > PATIENCE {
            println!("{last}");
            std::io::stdout().flush()?;
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
        }
    }
}

/// Watches checkpoints go by, to tell when the log is nearly as full as it gets.
struct Fullness {
    number: Option<u64>,
    since: u64,
    intervals: Vec<u64>,
}

impl Fullness {
    /// `None` from engines that do not tell about checkpoints.
    fn note(&mut self, database: &dyn Database, bytes: u64) -> Option<bool> {
        let number = database.checkpoint_number()?;
        if self.number.replace(number) == Some(number) {
            self.since += bytes;
        } else {
            self.intervals.push(self.since);
            self.since = 0;
        }
        // The first interval began somewhere.
        let longest = self.intervals.iter().skip(1).max().copied().unwrap_or(u64::MAX);
        Some(self.intervals.len() > CHECKPOINTS && self.since as f64 >= FULL * longest as f64)
    }
}

/// In the child: opens, and says how long that took and how much memory it needed.
pub fn open_after_kill(task: &Task) -> Result<()> {
    let settings = task.settings()?;
    let begun = Instant::now();
    let database = task.engine()?.open(&task.folder, settings)?;
    let mut found = 0;
    database.read(&[task.amount], &mut |head, tail| found += head.len() + tail.len())?;
    let micros = begun.elapsed().as_micros();
    ensure!(found == settings.kind.len_bytes(), "the last acknowledged document is not whole");
    println!("{micros} {}", memory_bytes("VmRSS:")?);
    Ok(())
}
