//! What the commands share: opening the file they name, with options and with errors that name it, and printing JSON.

use crate::{Failure, size};
use multiforadb::{Database, Durability, OpenOptions, RawDoc, extjson};
use std::path::Path;

/// How to open the file (docs/options.md).
#[derive(clap::Args)]
#[command(next_help_heading = "Opening the file")]
pub(crate) struct OpenArgs {
    /// Memory for cached data, for example 256MiB [default: a quarter of memory, at most 1 GiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    cache: Option<usize>,
    /// When a write is acknowledged: once it is on disk, or before
    #[arg(long, value_enum, value_name = "HOW", default_value_t = DurabilityArg::Sync)]
    durability: DurabilityArg,
    /// With --durability relaxed: the longest time until a write is on disk
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    sync_every_ms: u64,
    /// Refuse writes
    #[arg(long)]
    read_only: bool,
    /// Fail when the file does not exist, instead of creating it
    #[arg(long)]
    existing: bool,
    /// Write new data without compressing it
    #[arg(long)]
    uncompressed: bool,
    /// Seconds between two looks for expired documents; 0 never looks
    #[arg(long, value_name = "N", default_value_t = 60)]
    ttl_sweep_secs: u64,
}

/// `--durability`.
#[derive(Clone, Copy, clap::ValueEnum)]
enum DurabilityArg {
    /// An acknowledged write survives power loss
    Sync,
    /// It survives a crash or power loss after at most --sync-every-ms
    Relaxed,
}

impl OpenArgs {
    /// The same for the library.
    pub(crate) fn options(&self) -> OpenOptions {
        let durability = match self.durability {
            DurabilityArg::Sync => Durability::Sync,
            DurabilityArg::Relaxed => Durability::Relaxed { sync_every_ms: self.sync_every_ms },
        };
        OpenOptions::default()
            .cache_bytes(self.cache.unwrap_or(0))
            .durability(durability)
            .read_only(self.read_only)
            .create(!self.read_only && !self.existing)
            .compress(!self.uncompressed)
            .ttl_sweep_secs(self.ttl_sweep_secs)
    }
}

/// Opens `path`; every failure says which file it was.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Database, Failure> {
    Database::open(path, options).map_err(|error| {
        let shown = path.display().to_string();
        let line = match error.message().contains(&shown) {
            true => error.message().to_owned(),
            false => format!("cannot open {shown}: {}", error.message()),
        };
        Failure::from(error).line(line)
    })
}

/// Opens a file that must exist, for looking only.
pub(crate) fn open_to_look(path: &Path) -> Result<Database, Failure> {
    open(path, &OpenOptions::default().read_only(true).create(false))
}

/// A document as one line of relaxed Extended JSON.
pub(crate) fn to_json(document: &[u8]) -> String {
    extjson::to_text(RawDoc::framed(document).unwrap_or(RawDoc::EMPTY), extjson::Mode::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        open: OpenArgs,
    }

    fn options(args: &[&str]) -> Option<OpenOptions> {
        let parsed = Alone::try_parse_from(std::iter::once(&"multifora").chain(args));
        parsed.ok().map(|alone| alone.open.options())
    }

    #[test]
    fn every_option_is_passed_on() {
        let none = options(&[]).unwrap();
        assert_eq!(format!("{none:?}"), format!("{:?}", OpenOptions::default()));
        let all = options(&[
            "--cache=64MiB",
            "--durability=relaxed",
            "--sync-every-ms=20",
            "--existing",
            "--uncompressed",
            "--ttl-sweep-secs=0",
        ]);
        let wanted = OpenOptions::default()
            .cache_bytes(64 << 20)
            .durability(Durability::Relaxed { sync_every_ms: 20 })
            .create(false)
            .compress(false)
            .ttl_sweep_secs(0);
        assert_eq!(format!("{:?}", all.unwrap()), format!("{wanted:?}"));
        let reading = options(&["--read-only"]).unwrap();
        assert!(reading.read_only && !reading.create);
        for refused in ["--cache=much", "--durability=none", "--sync-every-ms=0", "--ttl-sweep-secs=-1"] {
            assert!(options(&[refused]).is_none(), "{refused}");
        }
    }
}
