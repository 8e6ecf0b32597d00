//! Work in a process of its own: to be killed, or to have its memory looked at.
//!
//! The program starts itself with the hidden command `child`; the child prints one line of numbers.

use crate::documents::Kind;
use crate::engine::{ALL, Engine, Settings};
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The signal's number.
const KILLED: i32 = 9;

/// What a child is to do, as it stands on its command line.
#[derive(Debug, Clone, Args)]
pub struct Task {
    /// Which work.
    pub work: String,
    /// With which engine.
    pub engine: String,
    /// On which database.
    pub folder: PathBuf,
    /// Of which documents.
    pub kind: String,
    /// How many it has.
    pub count: u64,
    /// With which cache.
    pub cache_bytes: u64,
    /// How much, where that is to be said.
    pub amount: u64,
    /// In which round.
    pub round: u64,
}

impl Task {
    /// Work for a child on that database.
    pub fn new(work: &str, engine: &dyn Engine, folder: &Path, kind: Kind, count: u64) -> Task {
        Task {
            work: work.to_owned(),
            engine: engine.name().to_owned(),
            folder: folder.to_owned(),
            kind: kind.name().to_owned(),
            count,
            cache_bytes: 64 << 20,
            amount: 0,
            round: 0,
        }
    }

    /// The engine of that name.
    pub fn engine(&self) -> Result<&'static dyn Engine> {
        ALL.into_iter().find(|engine| engine.name() == self.engine).context("no engine of that name")
    }

    /// How the database is opened.
    pub fn settings(&self) -> Result<Settings> {
        let kinds = [Kind::Small, Kind::Medium, Kind::Large];
        let kind =
            kinds.into_iter().find(|kind| kind.name() == self.kind).context("no documents of that name")?;
        Ok(Settings { kind, cache_bytes: self.cache_bytes })
    }

    /// Starts a child and waits for its end. Gives the numbers that it printed. `is_killed` says which end is right.
    pub fn run(&self, is_killed: bool) -> Result<Vec<u64>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("child").args([&self.work, &self.engine]).arg(&self.folder).arg(&self.kind);
        command
            .args([self.count, self.cache_bytes, self.amount, self.round].map(|number| number.to_string()));
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        ensure!(
            if is_killed { output.status.signal() == Some(KILLED) } else { output.status.success() },
            "the process for {} {} ended with {}",
            self.engine,
            self.work,
            output.status
        );
        let text = String::from_utf8(output.stdout)?;
        let numbers =
            text.split_whitespace().map(|number| Ok(number.parse::<u64>()?)).collect::<Result<Vec<_>>>()?;
        if numbers.is_empty() {
            Err(anyhow!("the process for {} said nothing", self.engine))
        } else {
            Ok(numbers)
        }
    }
}
