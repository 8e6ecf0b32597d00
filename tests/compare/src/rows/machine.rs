//! Row 1: the machine's own speeds, to which other rows are held.

use crate::bench::Bench;
use crate::documents::Kind;
use crate::report::{Row, number};
use anyhow::Result;

/// Prints them; they have no bars.
pub fn run(bench: &mut Bench, _: Kind) -> Result<()> {
    let machine = bench.machine()?;
    bench.add(
        Row::new("machine.write", "one synced write of 4 KiB into blocks that the file has", "us").note(
            format!("p50 {}, p99 {}", number(machine.write_p50_micros), number(machine.write_p99_micros)),
        ),
    );
    bench.add(Row::new("machine.speed", "LZ4, memory and disk, no database", "MiB/s").note(format!(
        "LZ4 {} on one core and {} on all (large values, {:.2} times smaller), memcpy {}, disk {}",
        number(machine.lz4_one),
        number(machine.lz4_all),
        machine.lz4_ratio,
        number(machine.memcpy),
        number(machine.disk)
    )));
    Ok(())
}
