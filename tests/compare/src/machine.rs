//! What the machine does without any database: the yardsticks of several bars.

use crate::bench::Scale;
use crate::documents::{Documents, Kind};
use crate::measure::{MIB, micros, percentile, repeat_for};
use anyhow::Result;
use std::fs::File;
use std::io::{IoSlice, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Speeds of this machine, now.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// One synced write of 4 KiB into a file that has its blocks, microseconds.
    pub write_p50_micros: f64,
    /// What one in a hundred passes.
    pub write_p99_micros: f64,
    /// LZ4 over large values, one thread, MiB/s of input.
    pub lz4_one: f64,
    /// The same on all cores.
    pub lz4_all: f64,
    /// How far LZ4 gets with large values.
    pub lz4_ratio: f64,
    /// Copying memory, MiB/s.
    pub memcpy: f64,
    /// Writing a file in order and syncing it, MiB/s.
    pub disk: f64,
}

/// Bytes of the file into which synced writes go.
const TARGET_BYTES: u64 = 16 << 20;

impl Machine {
    /// Measures all of it; takes a few turns.
    pub fn measure(folder: &Path, scale: &Scale) -> Result<Machine> {
        let mut times = SyncedWrites::create(folder, 4096)?.run(2 * scale.turn)?;
        let cores = std::thread::available_parallelism()?.get();
        let (lz4_one, lz4_ratio) = lz4_speed(1, scale.turn)?;
        let (lz4_all, _) = lz4_speed(cores, scale.turn)?;
        Ok(Machine {
            write_p50_micros: micros(percentile(&mut times, 0.5)),
            write_p99_micros: micros(percentile(&mut times, 0.99)),
            lz4_one,
            lz4_all,
            lz4_ratio,
            memcpy: memcpy_speed(scale.turn)?,
            disk: disk_speed(folder, scale.total_bytes.min(1 << 30))?,
        })
    }
}

/// Synced writes of one length, each behind the one before, into a file that has its blocks already.
pub struct SyncedWrites {
    file: File,
    block: Vec<u8>,
    number: u64,
}

impl SyncedWrites {
    /// Makes the file.
    pub fn create(folder: &Path, len_bytes: usize) -> Result<SyncedWrites> {
        let path = folder.join("synced-writes");
        let mut file = File::create(&path)?;
        std::fs::remove_file(&path)?;
        file.write_all(&vec![0; TARGET_BYTES as usize])?;
        file.sync_all()?;
        // Not what is there already, and nothing that could be compressed.
        let mut random = crate::documents::Random::new(1);
        let block = (0..len_bytes).map(|_| random.next() as u8).collect();
        Ok(SyncedWrites { file, block, number: 0 })
    }

    /// Writes for a time.
    pub fn run(&mut self, time: Duration) -> Result<Vec<Duration>> {
        repeat_for(time, || self.write())
    }

    fn write(&mut self) -> Result<()> {
        let places = TARGET_BYTES / self.block.len() as u64;
        let offset = (self.number % places) * self.block.len() as u64;
        self.number += 1;
        write_synced(&self.file, &self.block, offset)
    }
}

#[cfg(target_os = "linux")]
fn write_synced(file: &File, bytes: &[u8], offset: u64) -> Result<()> {
    let flags = rustix::io::ReadWriteFlags::DSYNC;
    let written = rustix::io::pwritev2(file, &[IoSlice::new(bytes)], offset, flags)?;
    anyhow::ensure!(written == bytes.len(), "a short write");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn write_synced(file: &File, bytes: &[u8], offset: u64) -> Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)?;
    Ok(file.sync_data()?)
}

/// MiB/s of input on that many threads, and input by output.
fn lz4_speed(threads: usize, time: Duration) -> Result<(f64, f64)> {
    let mut documents = Documents::new(Kind::Large);
    documents.fill(1..257);
    let compress = || -> Result<(u64, u64)> {
        let mut target = vec![0; lz4_flex::block::get_maximum_output_size(Kind::Large.len_bytes())];
        let (mut input, mut output) = (0, 0);
        repeat_for(time, || {
            for tail in documents.iter().filter_map(|document| document.tail()) {
                input += tail.len() as u64;
                output += lz4_flex::block::compress_into(tail, &mut target)? as u64;
            }
            Ok(())
        })?;
        Ok((input, output))
    };
    let begun = Instant::now();
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(compress)).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (mut input, mut output) = (0, 0);
    for result in results {
        let (read, written) = result.map_err(|_| anyhow::anyhow!("a thread failed"))??;
        input += read;
        output += written;
    }
    Ok((input as f64 / MIB / seconds, input as f64 / output as f64))
}

fn memcpy_speed(time: Duration) -> Result<f64> {
    let source = vec![1u8; 64 << 20];
    let mut target = vec![0u8; 64 << 20];
    target.copy_from_slice(&source);
    let times = repeat_for(time, || {
        target.copy_from_slice(std::hint::black_box(&source));
        std::hint::black_box(&target);
        Ok(())
    })?;
    let best = times.into_iter().min().unwrap_or_default();
    Ok(source.len() as f64 / MIB / best.as_secs_f64())
}

fn disk_speed(folder: &Path, len_bytes: u64) -> Result<f64> {
    let mut random = crate::documents::Random::new(2);
    let chunk: Vec<u8> = (0..1 << 20).map(|_| random.next() as u8).collect();
    let path = folder.join("disk-speed");
    let begun = Instant::now();
    let mut file = File::create(&path)?;
    let chunks = len_bytes.div_ceil(chunk.len() as u64);
    for _ in 0..chunks {
        file.write_all(&chunk)?;
    }
    file.sync_data()?;
    let seconds = begun.elapsed().as_secs_f64();
    drop(file);
    std::fs::remove_file(&path)?;
    Ok(chunks as f64 / seconds)
}
