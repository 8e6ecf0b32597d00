//! What commits cost: one synced write of the disk beside durable commits of one and of many threads, and bulk loads.
//!
//! `cargo bench -p multifora-storage --bench commits [-- FOLDER]`; FOLDER lies on the disk to be measured.

#![expect(clippy::expect_used, reason = "a benchmark stops at the first thing that fails")]

use multifora_storage::*;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const SECONDS: u64 = 3;

fn main() {
    let folder = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"))
        .unwrap_or_else(|| ".".to_owned());
    let folder = tempfile::tempdir_in(folder).expect("a folder to work in");
    let write = synced_write(folder.path());
    println!("one synced write of 4 KiB            {:>9.1} us", micros(write));
    for threads in [1u64, 8, 32] {
        let (rate, p99) = durable_commits(folder.path(), threads);
        let per_commit = 1e6 * threads as f64 / rate;
        println!(
            "durable commits, {threads:>2} threads          {rate:>9.0} /s  {per_commit:>8.1} us each, p99 {:.1} us",
            micros(p99)
        );
    }
    for (len, count) in [(200usize, 1_000_000u64), (16 << 10, 16_384)] {
        bulk(folder.path(), len, count);
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn synced_write(folder: &Path) -> Duration {
    let file = std::fs::File::create(folder.join("plain")).expect("a file");
    file.write_all_at(&vec![0; 1 << 20], 0).expect("writing");
    file.sync_all().expect("syncing");
    let start = Instant::now();
    let count = 2000;
    for number in 0..count {
        file.write_all_at(&[number as u8; 4096], (number % 256) * 4096).expect("writing");
        file.sync_data().expect("syncing");
    }
    start.elapsed() / count as u32
}

fn body(len: usize, seed: u64) -> Vec<u8> {
    // Half text, half noise: about what documents compress to.
    let mut state = seed;
    let mut out = Vec::with_capacity(len);
    while out.len() < len {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        out.extend_from_slice(&state.to_be_bytes()[..4]);
        out.extend_from_slice(b"name");
    }
    out.truncate(len);
    out
}

/// Each commit appends one record of 200 bytes, with one unique and one plain entry, and waits for the disk.
fn durable_commits(folder: &Path, threads: u64) -> (f64, Duration) {
    let location = Location::File(folder.join(format!("commits-{threads}")));
    let store = Store::open(&location, &Options::default()).expect("opening");
    let tables = create_tables(&store);
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let store = store.clone();
                scope.spawn(move || {
                    let mut times = Vec::new();
                    while Instant::now() < end {
                        let start = Instant::now();
                        let committed = insert(&store, tables, 200, thread << 32 | times.len() as u64, 1);
                        store.wait_durable(committed).expect("waiting");
                        times.push(start.elapsed());
                    }
                    times
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    (times.len() as f64 / SECONDS as f64, p99)
}

fn create_tables(store: &Store) -> [TableId; 3] {
    let mut tx = store.begin();
    let tables = [(); 3].map(|()| tx.create_table().expect("a table"));
    tx.commit().expect("a commit");
    tables
}

fn insert(
    store: &Store,
    [rows, unique, plain]: [TableId; 3],
    len: usize,
    first: u64,
    count: u64,
) -> Sequence {
    let mut tx = store.begin();
    for number in first..first + count {
        let row = tx.append(rows, &body(len, number)).expect("append");
        tx.put_entry(unique, &number.to_be_bytes(), row, EntryKind::Unique).expect("an entry");
        tx.put_entry(plain, &number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), row, EntryKind::Plain)
            .expect("an entry");
    }
    tx.commit().expect("a commit").sequence
}

fn bulk(folder: &Path, len: usize, count: u64) {
    let location = Location::File(folder.join(format!("bulk-{len}")));
    let store = Store::open(&location, &Options::default()).expect("opening");
    let tables = create_tables(&store);
    let batch = 1000.min((4 << 20) / len as u64);
    let start = Instant::now();
    let mut last = Sequence::default();
    for first in (0..count).step_by(batch as usize) {
        last = insert(&store, tables, len, first, batch);
        store.wait_durable(last).expect("waiting");
    }
    let loaded = start.elapsed();
    store.close().expect("closing");
    let closed = start.elapsed();
    let Location::File(path) = &location else { return };
    let file_bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    let start = Instant::now();
    let store = Store::open(&location, &Options::default()).expect("opening");
    let opened = start.elapsed();
    let start = Instant::now();
    let mut scan = store.snapshot().scan(tables[0], KeyRange::all(), Direction::Forward).expect("a scan");
    let mut sum = 0usize;
    while let Some(entry) = scan.next().expect("an entry") {
        sum += entry.head().len();
    }
    let mib = sum as f64 / (1 << 20) as f64;
    println!(
        "bulk load, {count} of {len} bytes      {:>6.0} MiB/s, closed after {closed:.1?}, file {:.0} MiB of {mib:.0}, opened in {opened:.1?}, scanned at {:.0} MiB/s, sequence {last}",
        mib / loaded.as_secs_f64(),
        file_bytes as f64 / (1 << 20) as f64,
        mib / start.elapsed().as_secs_f64(),
    );
}
