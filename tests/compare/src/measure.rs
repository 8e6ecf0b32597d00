//! Measuring: times, what the process used, what the files take, and a sum over every byte that an engine returns.

use crate::documents::Kind;
use anyhow::{Context, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// A MiB.
pub const MIB: f64 = (1 << 20) as f64;

/// The sum of the hashes of documents, whatever their order and whether they came in one part or two.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// How many documents.
    pub count: u64,
    /// Their bytes, all of them hashed.
    pub bytes: u64,
    sum: u64,
}

impl Fingerprint {
    /// Adds a document that an engine showed.
    pub fn add(&mut self, kind: Kind, first: &[u8], second: &[u8]) {
        let (head, tail) = match first.split_at_checked(kind.head_bytes()) {
            Some((head, tail)) if second.is_empty() => (head, tail),
            _ => (first, second),
        };
        let hash = xxh3_64(head).rotate_left(1) ^ xxh3_64(tail);
        self.sum = self.sum.wrapping_add(hash);
        self.count += 1;
        self.bytes += (head.len() + tail.len()) as u64;
    }
}

/// The value that a share `quantile` of the times does not pass.
pub fn percentile(times: &mut [Duration], quantile: f64) -> Duration {
    times.sort_unstable();
    let at = (times.len() as f64 * quantile) as usize;
    times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// The middle one of some figures.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The largest of some figures.
pub fn largest(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NAN, f64::max)
}

/// The smallest of some figures.
pub fn smallest(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NAN, f64::min)
}

/// Microseconds.
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Does something again and again for a time, at least once; how long each took.
pub fn repeat_for(time: Duration, mut each: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let end = Instant::now() + time;
    loop {
        let begun = Instant::now();
        each()?;
        let done = Instant::now();
        times.push(done - begun);
        if done >= end {
            return Ok(times);
        }
    }
}

/// Bytes that this process sent towards the disk so far (pages made dirty count once until written back).
pub fn written_bytes() -> Result<u64> {
    field("/proc/self/io", "write_bytes:")
}

/// Memory of this process in bytes: `VmRSS:` now, `VmHWM:` at most so far.
pub fn memory_bytes(which: &str) -> Result<u64> {
    Ok(field("/proc/self/status", which)? * 1024)
}

/// Memory of the machine that programs can have, in bytes.
pub fn available_memory_bytes() -> Result<u64> {
    Ok(field("/proc/meminfo", "MemAvailable:")? * 1024)
}

fn field(path: &str, name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {path} (Linux only)"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|line| line.split_whitespace().next());
    Ok(value.with_context(|| format!("{path} has no {name}"))?.parse()?)
}

/// Blocks that the file system allocated for a folder's files, in bytes.
pub fn allocated_bytes(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A file may go away while we look.
        let Ok(found) = entry.metadata() else { continue };
        total += if found.is_dir() { allocated_bytes(&entry.path())? } else { found.blocks() * 512 };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_in_two_parts_is_the_same_document() {
        let whole = vec![7; Kind::Large.len_bytes()];
        let (head, tail) = whole.split_at(Kind::Large.head_bytes());
        let (mut one, mut two) = (Fingerprint::default(), Fingerprint::default());
        one.add(Kind::Large, &whole, &[]);
        two.add(Kind::Large, head, tail);
        assert_eq!(one, two);
        two.add(Kind::Large, head, tail);
        assert_ne!(one, two);
    }

    #[test]
    fn percentiles() {
        let mut times: Vec<_> = (1..=100).map(Duration::from_micros).collect();
        assert_eq!(percentile(&mut times, 0.5), Duration::from_micros(51));
        assert_eq!(percentile(&mut times, 0.99), Duration::from_micros(100));
        assert_eq!(percentile(&mut [], 0.5), Duration::ZERO);
    }
}
