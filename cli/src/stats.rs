//! `multifora stats`: figures about a file.

use crate::{Failure, opening, size};
use multiforadb::{DatabaseStats, DocBuilder};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `stats`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database file
    file: PathBuf,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let database = opening::open_to_look(&args.file)?;
    let stats = database.stats()?;
    match args.json {
        true => println!("{}", opening::to_json(&to_document(&stats))),
        false => print(&args.file.display().to_string(), &stats),
    }
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

fn to_document(stats: &DatabaseStats) -> Vec<u8> {
    let mut out = DocBuilder::new();
    out.count("fileBytes", stats.file_bytes)
        .count("freeBytes", stats.free_bytes)
        .count("logBytes", stats.log_bytes);
    out.count("entries", stats.entries).count("lastSequence", stats.last_sequence);
    out.count("durableSequence", stats.durable_sequence);
    out.count("checkpointSequence", stats.checkpoint_sequence);
    out.count("replayedCommits", stats.replayed_commits);
    out.count("cacheBytes", stats.cache_bytes).count("cachedBytes", stats.cached_bytes);
    out.count("blocksRead", stats.blocks_read);
    out.start_array("collections");
    for collection in &stats.collections {
        out.push_start_doc().str("ns", &collection.ns).count("documents", collection.documents);
        out.start_array("indexes");
        for (name, entries) in &collection.indexes {
            out.push_start_doc().str("name", name).count("entries", *entries).end();
        }
        out.end().end();
    }
    out.finish()
}

fn print(path: &str, stats: &DatabaseStats) {
    println!("{path}");
    println!("  file      {}", size::show(stats.file_bytes));
    println!("  free      {}", size::show(stats.free_bytes));
    println!("  log       {}", size::show(stats.log_bytes));
    println!(
        "  commits   {} ({} of them after the last checkpoint)",
        stats.last_sequence, stats.replayed_commits
    );
    println!(
        "  cache     {} of {} ({} blocks read for this)",
        size::show(stats.cached_bytes),
        size::show(stats.cache_bytes),
        stats.blocks_read
    );
    println!("  collections");
    let width = stats.collections.iter().map(|c| c.ns.len()).max().unwrap_or(0);
    for collection in &stats.collections {
        let indexes: Vec<&str> = collection.indexes.iter().map(|(name, _)| name.as_str()).collect();
        println!(
            "    {:width$}  {:>12} documents  {}",
            collection.ns,
            collection.documents,
            indexes.join(" ")
        );
    }
}
