//! How fast an index is built over existing documents, and with how much memory: `index_build [DOCUMENTS] [FILE]`.
//!
//! Documents have about 200 bytes. Each index is built alone, durably, in the same file; keys a second and the
//! process's memory before and after are printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

use multifora_engine::{
    Connection, ConnectionInfo, Database, DocumentSequence, Interrupt, OpenOptions, Request,
};
use multifora_model::{DocBuilder, RawDoc, RawValue, extjson};
use std::time::Instant;

fn run(connection: &Connection, command: &str) -> Vec<u8> {
    let reply = connection.command_bytes("d", &extjson::parse_document(command).unwrap());
    let doc = RawDoc::framed(&reply).unwrap();
    assert_eq!(
        doc.get("ok").and_then(RawValue::as_f64),
        Some(1.0),
        "{}",
        extjson::to_text(doc, extjson::Mode::Relaxed)
    );
    reply
}

fn load(connection: &Connection, count: u64) {
    let pad = "p".repeat(110);
    let insert = extjson::parse_document(r#"{"insert": "c"}"#).unwrap();
    let mut random = 88_172_645_463_325_252_u64;
    for start in (0..count).step_by(10_000) {
        let docs: Vec<Vec<u8>> = (start..count.min(start + 10_000))
            .map(|i| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let mut doc = DocBuilder::new();
                doc.i64("_id", i as i64).i32("n", (random >> 33) as i32).i32("k", (i % 1000) as i32);
                doc.str("s", &format!("user-{:016x}", random)).str("pad", &pad);
                doc.finish()
            })
            .collect();
        let docs = docs.iter().map(|bytes| RawDoc::framed(bytes).unwrap()).collect();
        let mut request = Request::new("d", RawDoc::framed(&insert).unwrap());
        request.sequences.push(DocumentSequence { name: "documents", docs });
        let reply = connection.command(&request);
        assert_eq!(
            RawDoc::framed(&reply).unwrap().get("n").and_then(|n| n.as_i32()),
            Some((count - start).min(10_000) as i32)
        );
    }
}

/// Memory that the process holds, in MiB: now, and at its peak.
fn memory_mib() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    (field("VmRSS:"), field("VmHWM:"))
}

fn main() {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().map_or(1_000_000, |n| n.parse().expect("a number of documents"));
    let dir = std::env::temp_dir().join(format!("multifora-index-build-{}.mfdb", std::process::id()));
    let path = args.next().map_or(dir, Into::into);
    let options = OpenOptions::default().cache_bytes(256 << 20).ttl_sweep_secs(0);
    let database = Database::open(&path, &options).unwrap();
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    let begun = Instant::now();
    load(&connection, count);
    let (now, _) = memory_mib();
    println!("loaded {count} documents in {:.1} s; memory {now} MiB", begun.elapsed().as_secs_f64());
    for (key, unique) in [
        (r#"{"n": 1}"#, false),
        (r#"{"k": 1}"#, false),
        (r#"{"s": 1}"#, true),
        (r#"{"k": 1, "n": -1}"#, false),
    ] {
        let begun = Instant::now();
        run(
            &connection,
            &format!(
                r#"{{"createIndexes": "c", "indexes": [{{"key": {key}, "name": {key:?}, "unique": {unique}}}]}}"#
            ),
        );
        let secs = begun.elapsed().as_secs_f64();
        let (now, peak) = memory_mib();
        println!(
            "{key}: {secs:.2} s, {:.2} million keys a second; memory {now} MiB, peak {peak} MiB",
            count as f64 / secs / 1e6
        );
    }
    let begun = Instant::now();
    let report = database.check(&Interrupt::new()).unwrap();
    println!("checked in {:.1} s: {:?}", begun.elapsed().as_secs_f64(), report.problems);
    database.close().unwrap();
    std::fs::remove_file(&path).unwrap();
}
