//! What all rows share: how large things are, who takes part, the loaded databases, and the machine's own speeds.

use crate::documents::{Documents, Kind};
use crate::engine::{ALL, Change, Database, Engine, Settings, When};
use crate::machine::Machine;
use crate::report::{Report, Row};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Documents of one transaction of a load, in bytes.
pub const LOAD_BATCH_BYTES: usize = 8 << 20;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Bytes of documents in a database, about.
    pub total_bytes: u64,
    /// How often each engine has its turn.
    pub rounds: usize,
    /// How often a load is repeated.
    pub load_rounds: usize,
    /// How long one turn takes, where that can be chosen.
    pub turn: Duration,
}

impl Scale {
    /// About two minutes for everything.
    pub fn quick() -> Scale {
        Scale { total_bytes: 64 << 20, rounds: 2, load_rounds: 1, turn: Duration::from_millis(300) }
    }

    /// The sizes of the figures table, times `gib`.
    pub fn full(gib: u64) -> Scale {
        let load_rounds = if gib == 1 { 3 } else { 1 };
        Scale { total_bytes: gib << 30, rounds: 5, load_rounds, turn: Duration::from_secs(2) }
    }

    /// How many documents a database has: 65,536 large or five million small ones a GiB.
    pub fn count(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Small => ((u128::from(self.total_bytes) * 5_000_000) >> 30) as u64,
            _ => self.total_bytes / kind.len_bytes() as u64,
        }
    }

    /// Memory for "everything is in the cache".
    pub fn ample_cache_bytes(&self) -> u64 {
        3 * self.total_bytes + (64 << 20)
    }

    /// The cache of 64 MiB that some bars speak of; less when there is little data, so that it stays small beside it.
    pub fn small_cache_bytes(&self) -> u64 {
        (64 << 20).min(self.total_bytes / 16)
    }
}

/// The state of a run.
pub struct Bench {
    /// How much is measured.
    pub scale: Scale,
    /// Who takes part.
    pub engines: Vec<&'static dyn Engine>,
    folder: TempDir,
    report: Report,
    loaded: BTreeSet<&'static str>,
    machine: Option<Machine>,
}

impl Bench {
    /// A run that works in a folder of its own inside `folder`.
    pub fn new(
        scale: Scale,
        engines: Vec<&'static dyn Engine>,
        folder: &Path,
        report: Report,
    ) -> Result<Bench> {
        std::fs::create_dir_all(folder)?;
        let folder = TempDir::with_prefix_in("compare-", folder).context("a folder to work in")?;
        Ok(Bench { scale, engines, folder, report, loaded: BTreeSet::new(), machine: None })
    }

    /// Where the run works.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Prints a row.
    pub fn add(&mut self, row: Row) {
        self.report.add(&row);
    }

    /// Says that rows could not be measured.
    pub fn add_failure(&mut self, name: &str, error: &anyhow::Error) {
        self.report.add_failure(name, error);
    }

    /// Ends the run.
    pub fn finish(self) {
        self.report.finish();
    }

    /// The machine's own speeds, measured when first asked for.
    pub fn machine(&mut self) -> Result<Machine> {
        if let Some(machine) = self.machine {
            return Ok(machine);
        }
        let machine = Machine::measure(self.folder.path(), &self.scale)?;
        self.machine = Some(machine);
        Ok(machine)
    }

    /// An empty folder for one engine.
    pub fn fresh_folder(&self, name: &str, engine: &dyn Engine) -> Result<PathBuf> {
        let folder = self.folder.path().join(format!("{name}-{}", engine.name()));
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// Where the loaded database of that kind is.
    pub fn loaded_folder(&self, kind: Kind, engine: &dyn Engine) -> PathBuf {
        self.folder.path().join(format!("loaded-{}-{}", kind.name(), engine.name()))
    }

    /// Says that the loaded databases of that kind are there.
    pub fn note_loaded(&mut self, kind: Kind) {
        self.loaded.insert(kind.name());
    }

    /// Makes sure that the loaded databases of that kind are there.
    pub fn ensure_loaded(&mut self, kind: Kind) -> Result<()> {
        if self.loaded.contains(kind.name()) {
            return Ok(());
        }
        for engine in &self.engines {
            let folder = self.fresh_folder(&format!("loaded-{}", kind.name()), *engine)?;
            eprintln!("loading {} into {}", kind.noun(), engine.name());
            let database = engine.open(&folder, self.load_settings(kind))?;
            load(&*database, kind, self.scale.count(kind))?;
            database.checkpoint()?;
        }
        self.note_loaded(kind);
        Ok(())
    }

    /// Removes loaded databases of other kinds than `kind`.
    pub fn keep_loaded_only(&mut self, kind: Option<Kind>) -> Result<()> {
        for other in [Kind::Small, Kind::Medium, Kind::Large] {
            if Some(other) != kind && self.loaded.remove(other.name()) {
                for engine in &self.engines {
                    std::fs::remove_dir_all(self.loaded_folder(other, *engine))?;
                }
            }
        }
        Ok(())
    }

    /// With which cache databases are loaded.
    pub fn load_settings(&self, kind: Kind) -> Settings {
        Settings { kind, cache_bytes: (self.scale.total_bytes / 4).clamp(64 << 20, 1 << 30) }
    }

    /// Opens the loaded databases of all engines, side by side.
    pub fn open_loaded(&mut self, kind: Kind, cache_bytes: u64) -> Result<Vec<Opened>> {
        self.ensure_loaded(kind)?;
        let open = |engine: &&'static dyn Engine| {
            let database = engine.open(&self.loaded_folder(kind, *engine), Settings { kind, cache_bytes });
            let database = database.with_context(|| format!("opening {}", engine.name()))?;
            Ok(Opened { name: engine.name(), database })
        };
        self.engines.iter().map(open).collect()
    }
}

/// An open database and whose it is.
pub struct Opened {
    /// The engine's name.
    pub name: &'static str,
    /// The database.
    pub database: Box<dyn Database>,
}

/// Figures of one measurement, by engine: each round adds one.
#[derive(Debug, Default)]
pub struct Series(Vec<(&'static str, Vec<f64>)>);

impl Series {
    /// Adds an engine's figure of one round.
    pub fn push(&mut self, engine: &'static str, figure: f64) {
        match self.0.iter_mut().find(|(name, _)| *name == engine) {
            Some((_, figures)) => figures.push(figure),
            None => self.0.push((engine, vec![figure])),
        }
    }

    /// One figure for each engine, in their order: the best, the median, as `choose` says.
    pub fn choose(&self, choose: impl Fn(&[f64]) -> f64) -> Vec<(&'static str, f64)> {
        let figures_of = |engine: &&dyn Engine| {
            let found = self.0.iter().find(|(name, _)| *name == engine.name());
            found.map(|(name, figures)| (*name, choose(figures)))
        };
        ALL.iter().filter_map(figures_of).collect()
    }
}

/// Gives each of `items` its turn in every round, in another order each time.
pub fn interleave<T>(
    rounds: usize,
    items: &[T],
    mut turn: impl FnMut(usize, &T) -> Result<()>,
) -> Result<()> {
    for round in 0..rounds {
        for place in 0..items.len() {
            if let Some(item) = items.get((place + round) % items.len()) {
                turn(round, item)?;
            }
        }
    }
    Ok(())
}

/// Loads the documents 1 to `count`, and syncs. Gives the time spent in the database; making documents is not in it.
pub fn load(database: &dyn Database, kind: Kind, count: u64) -> Result<Duration> {
    let lb: usize =
        std::env::var("LB").ok().and_then(|s| s.parse().ok()).map_or(LOAD_BATCH_BYTES, |m: usize| m << 20);
    let batch = (lb / kind.len_bytes()) as u64;
    let mut documents = Documents::new(kind);
    let mut spent = Duration::ZERO;
    for first in (1..=count).step_by(batch as usize) {
        let ids = first..(first + batch).min(count + 1);
        documents.fill(ids.clone());
        let changes: Vec<_> =
            ids.zip(documents.iter()).map(|(id, document)| Change::Insert(id, document)).collect();
        let begun = Instant::now();
        database.write(&changes, When::Later)?;
        spent += begun.elapsed();
    }
    let begun = Instant::now();
    database.sync()?;
    Ok(spent + begun.elapsed())
}
