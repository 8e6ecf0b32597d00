//! Row 9: what a database without documents takes on the disk.

use crate::bench::Bench;
use crate::documents::Kind;
use crate::engine::Settings;
use crate::measure::{MIB, allocated_bytes};
use crate::report::{Limit, Row};
use anyhow::Result;

/// Creates one with each engine and looks while it is open.
pub fn run(bench: &mut Bench, _: Kind) -> Result<()> {
    let mut figures = Vec::new();
    for engine in bench.engines.clone() {
        let folder = bench.fresh_folder("empty", engine)?;
        let database = engine.open(&folder, Settings { kind: Kind::Small, cache_bytes: 64 << 20 })?;
        database.sync()?;
        figures.push((engine.name(), allocated_bytes(&folder)? as f64 / MIB));
        drop(database);
        std::fs::remove_dir_all(&folder)?;
    }
    let what = "blocks of an open database with a collection, an index and no documents";
    bench.add(Row::new("empty", what, "MiB").figures(figures).own_bar("1 MiB", Limit::AtMost, 1.0));
    Ok(())
}
