//! Row 8: what commits feel of a checkpoint.

use crate::bench::{Bench, Opened, interleave};
use crate::documents::{Documents, Kind, Random};
use crate::engine::{Change, When};
use crate::measure::{micros, percentile};
use crate::report::{Limit, Row, number};
use anyhow::{Result, anyhow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much slower one commit in a hundred may be.
const BESIDE_QUIET: f64 = 3.0;
/// Commits to see in each state for a percentile that means something.
const ENOUGH: usize = 2000;
/// Checkpoints tried for them.
const MOST_CHECKPOINTS: usize = 20;
/// After that commits stop: an engine whose checkpoint waits for a pause gets one.
const LONGEST_CHECKPOINT: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Times {
    quiet: Vec<Duration>,
    beside: Vec<Duration>,
    has_checkpoints: bool,
}

/// Engine after engine, checkpoint after checkpoint.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    let scale = bench.scale;
    let count = scale.count(kind);
    let opened = bench.open_loaded(kind, scale.total_bytes / 4)?;
    // What waits for the checkpoint: enough to take a while, and less than a log is long.
    let dirty = (count / 16).min(100_000);
    let mut times: Vec<(&'static str, Times)> = Vec::new();
    let mut random = Random::new(8);
    interleave(1, &opened, |_, each| {
        let mut found = Times::default();
        for _ in 0..MOST_CHECKPOINTS {
            one_checkpoint(each, kind, count, dirty, &mut random, &mut found)?;
            if found.beside.len() >= ENOUGH || !found.has_checkpoints {
                break;
            }
        }
        times.push((each.name, found));
        Ok(())
    })?;
    drop(opened);
    let (mut figures, mut quiet, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (name, mut found) in times {
        if !found.has_checkpoints {
            notes.push(format!("{name} has no checkpoints"));
            continue;
        }
        figures.push((name, micros(percentile(&mut found.beside, 0.99))));
        quiet.push((name, micros(percentile(&mut found.quiet, 0.99))));
        notes.push(format!("{name}: {} commits beside checkpoints", found.beside.len()));
    }
    let quiet_texts: Vec<_> = quiet.iter().map(|(name, p99)| format!("{name} {}", number(*p99))).collect();
    let what = format!("durable updates of {}, one thread, while a checkpoint runs: p99", kind.noun());
    let mut row = Row::new("checkpoint.p99", what, "us").figures(figures);
    if let Some((_, quiet)) = quiet.iter().find(|(name, _)| *name == crate::engine::JUDGED) {
        row =
            row.own_bar(format!("{BESIDE_QUIET} times the p99 without"), Limit::AtMost, BESIDE_QUIET * quiet);
    }
    bench.add(row.note(format!("p99 without: {}", quiet_texts.join("   "))).note(notes.join("; ")));
    Ok(())
}

/// Commits without a checkpoint, then makes work for one, runs it on a thread of its own and commits beside it.
fn one_checkpoint(
    each: &Opened,
    kind: Kind,
    count: u64,
    dirty: u64,
    random: &mut Random,
    times: &mut Times,
) -> Result<()> {
    let database = &*each.database;
    times.has_checkpoints = database.checkpoint()?;
    if !times.has_checkpoints {
        return Ok(());
    }
    let number = database.checkpoint_number();
    let mut quiet = Vec::new();
    for _ in 0..ENOUGH / 4 {
        quiet.push(update(each, kind, count, 1, When::Synced, random)?);
    }
    // Engines start checkpoints of their own: such a time was not quiet.
    if database.checkpoint_number() == number {
        times.quiet.extend(quiet);
    }
    for _ in 0..dirty / 100 {
        update(each, kind, count, 100, When::Later, random)?;
    }
    database.sync()?;
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        let checkpointer = scope.spawn(|| {
            let result = database.checkpoint();
            is_done.store(true, Ordering::Release);
            result
        });
        let patience = Instant::now() + LONGEST_CHECKPOINT;
        while Instant::now() < patience {
            let time = update(each, kind, count, 1, When::Synced, random)?;
            if is_done.load(Ordering::Acquire) {
                break;
            }
            times.beside.push(time);
        }
        checkpointer.join().map_err(|_| anyhow!("the checkpoint failed"))?.map(drop)
    })
}

fn update(
    each: &Opened,
    kind: Kind,
    count: u64,
    in_one: usize,
    when: When,
    random: &mut Random,
) -> Result<Duration> {
    let ids: Vec<u64> = (0..in_one).map(|_| 1 + random.below(count)).collect();
    let mut documents = Documents::new(kind);
    let version = random.next();
    for id in &ids {
        documents.push(*id, version);
    }
    let changes: Vec<_> =
        ids.iter().zip(documents.iter()).map(|(id, body)| Change::Update(*id, body)).collect();
    let begun = Instant::now();
    each.database.write(&changes, when)?;
    Ok(begun.elapsed())
}
