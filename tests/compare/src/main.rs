//! MultiforaDB beside other embedded databases, in one run on one machine.
//!
//! `tests/compare/run storage` builds and starts this. It prints rows: what was measured, the figures of every
//! engine, and for each bar the figure, the bar and the verdict. `README.md` says how, and how fairly.

mod bench;
mod child;
mod documents;
mod engine;
mod machine;
mod measure;
mod report;
mod rows;

use anyhow::{Result, bail};
use bench::{Bench, Scale};
use clap::{Args, Parser, Subcommand};
use documents::Kind;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Parser)]
#[command(name = "tests/compare/run", about = "MultiforaDB beside other embedded databases")]
struct Command {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// The storage engine beside SQLite, redb and fjall
    Storage(Storage),
    #[command(hide = true)]
    Child(child::Task),
}

#[derive(Args)]
struct Storage {
    /// GiB of documents of each kind
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    gib: u64,
    /// About 64 MiB instead, in about two minutes
    #[arg(long, conflicts_with = "gib")]
    quick: bool,
    /// Only these rows (empty, commits, load, …), separated by commas
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    only: Vec<String>,
    /// Only these engines, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "ENGINE")]
    engines: Vec<String>,
    /// Tab-separated values, one line for each bar
    #[arg(long)]
    tsv: bool,
    /// Where the databases are made; on the disk that is to be measured
    #[arg(long, default_value = "build/compare")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    let result = match Command::parse().benchmark {
        Benchmark::Storage(options) => run_storage(&options),
        Benchmark::Child(task) => run_child(&task),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run_child(task: &child::Task) -> Result<()> {
    match task.work.as_str() {
        "kill" => rows::recovery::update_until_killed(task),
        "open" => rows::recovery::open_after_kill(task),
        "memory" => rows::memory::use_memory(task),
        other => bail!("no such work: {other}"),
    }
}

fn run_storage(options: &Storage) -> Result<()> {
    for name in &options.only {
        if !rows::names().contains(&name.as_str()) {
            bail!("no such row: {name} (rows: {})", rows::names().join(", "));
        }
    }
    let names = engine::ALL.map(|engine| engine.name());
    for name in &options.engines {
        if !names.contains(&name.as_str()) {
            bail!("no such engine: {name} (engines: {})", names.join(", "));
        }
    }
    let engines = engine::ALL
        .into_iter()
        .filter(|engine| {
            options.engines.is_empty() || options.engines.iter().any(|name| name == engine.name())
        })
        .collect();
    let scale = if options.quick { Scale::quick() } else { Scale::full(options.gib) };
    let mut bench = Bench::new(scale, engines, &options.folder, Report::new(options.tsv))?;
    if !options.tsv {
        print_head(&bench);
    }
    for step in &rows::STEPS {
        if !options.only.is_empty() && !options.only.iter().any(|name| name == step.name) {
            continue;
        }
        let begun = Instant::now();
        bench.keep_loaded_only(step.kind)?;
        if let Err(error) = (step.run)(&mut bench, step.kind.unwrap_or(Kind::Small)) {
            let name =
                step.kind.map_or(step.name.to_owned(), |kind| format!("{}.{}", step.name, kind.name()));
            bench.add_failure(&name, &error);
        }
        eprintln!("{} took {:.1} s", step.name, begun.elapsed().as_secs_f64());
    }
    bench.finish();
    Ok(())
}

fn print_head(bench: &Bench) {
    println!(
        "{} MiB of documents: {} of 200 bytes, {} of 16 KiB, each kind in databases of its own\n",
        bench.scale.total_bytes >> 20,
        bench.scale.count(Kind::Small),
        bench.scale.count(Kind::Large)
    );
    for engine in &bench.engines {
        for remark in engine.remarks() {
            println!("{}: {remark}", engine.name());
        }
    }
    println!();
}
