//! Row 4, first half: how large the files are after a load, beside what LZ4 makes of the same bytes.

use crate::bench::Bench;
use crate::documents::{Documents, Kind};
use crate::measure::{MIB, allocated_bytes};
use crate::report::{Limit, Row};
use anyhow::Result;

/// Blocks in which everything but large values is compressed for the comparison.
const BLOCK_BYTES: usize = 128 << 10;
/// How much larger than the LZ4 size a file may be.
const BESIDE_LZ4: f64 = 1.10;

/// Looks at the loaded databases, open and at rest.
pub fn run(bench: &mut Bench, kind: Kind) -> Result<()> {
    bench.ensure_loaded(kind)?;
    let mut figures = Vec::new();
    for opened in bench.open_loaded(kind, 64 << 20)? {
        opened.database.checkpoint()?;
        let engine = bench.engines.iter().find(|engine| engine.name() == opened.name);
        if let Some(engine) = engine {
            figures.push((opened.name, allocated_bytes(&bench.loaded_folder(kind, *engine))? as f64 / MIB));
        }
    }
    let count = bench.scale.count(kind);
    let lz4 = lz4_bytes(kind, count) as f64 / MIB;
    let raw = count as f64 * kind.len_bytes() as f64 / MIB;
    bench.add(
        Row::new(
            format!("size.{}", kind.name()),
            format!("blocks on the disk after loading {count} {}, {raw:.0} MiB, open and at rest", kind.noun()),
            "MiB",
        )
        .figures(figures)
        .bar_by_best(Limit::AtMost, 1.0)
        .own_bar(
            format!("{BESIDE_LZ4} times the LZ4 size, {lz4:.1} MiB: each large value alone, the rest in 128 KiB blocks"),
            Limit::AtMost,
            BESIDE_LZ4 * lz4,
        ),
    );
    Ok(())
}

/// Compresses blocks and counts.
struct Blocks {
    pending: Vec<u8>,
    target: Vec<u8>,
    stored: u64,
}

impl Blocks {
    fn add(&mut self, parts: [&[u8]; 2]) {
        for part in parts {
            self.pending.extend_from_slice(part);
        }
        if self.pending.len() >= BLOCK_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.store(&pending);
        self.pending = pending;
        self.pending.clear();
    }

    fn store(&mut self, bytes: &[u8]) {
        self.target.resize(lz4_flex::block::get_maximum_output_size(bytes.len()), 0);
        let stored = lz4_flex::block::compress_into(bytes, &mut self.target).unwrap_or(bytes.len());
        self.stored += stored.min(bytes.len()) as u64;
    }
}

/// What LZ4 makes of keys, documents and index entries.
fn lz4_bytes(kind: Kind, count: u64) -> u64 {
    let mut blocks = Blocks { pending: Vec::new(), target: Vec::new(), stored: 0 };
    let mut documents = Documents::new(kind);
    let mut entries = Vec::with_capacity(count as usize);
    for first in (1..=count).step_by(1024) {
        let ids = first..(first + 1024).min(count + 1);
        documents.fill(ids.clone());
        for (id, document) in ids.zip(documents.iter()) {
            entries.push((document.k(), id));
            blocks.add([&id.to_be_bytes(), document.head()]);
            if let Some(tail) = document.tail() {
                blocks.store(tail);
            }
        }
    }
    blocks.flush();
    entries.sort_unstable();
    for (k, id) in entries {
        blocks.add([&k.to_be_bytes(), &id.to_be_bytes()]);
    }
    blocks.flush();
    blocks.stored
}
