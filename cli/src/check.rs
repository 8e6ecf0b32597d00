//! `multifora check`: is the file sound? Status 0: yes, 1: no, 2: it could not be looked at.

use crate::{Failure, opening, size};
use multiforadb::{CheckReport, DocBuilder, Interrupt, OwnedValue};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `check`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database file
    file: PathBuf,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The status of a file that could not be looked at.
const UNREADABLE: u8 = 2;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let shown = args.file.display().to_string();
    let database = opening::open_to_look(&args.file).map_err(|failure| match failure.is_damage() {
        true => failure,
        false => failure.status(UNREADABLE),
    })?;
    let checked = database.check(&Interrupt::new());
    // It was only read; the report is what counts.
    let _ = database.close();
    let report = checked.map_err(|error| {
        Failure::new(format!("{shown}: the check could not go on: {}", error.message())).status(UNREADABLE)
    })?;
    match args.json {
        true => println!("{}", opening::to_json(&to_document(&report))),
        false => print(&shown, &report),
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn to_document(report: &CheckReport) -> Vec<u8> {
    let mut out = DocBuilder::new();
    out.bool("clean", report.is_clean()).count("problemCount", report.problem_count);
    out.count("tables", report.tables).count("entries", report.entries).count("blocks", report.blocks);
    out.count("usedBytes", report.used_bytes).count("freeBytes", report.free_bytes);
    out.count("collections", report.collections).count("documents", report.documents);
    out.count("indexEntries", report.index_entries);
    out.start_array("problems");
    for problem in &report.problems {
        out.push(OwnedValue::string(problem).as_ref());
    }
    out.finish()
}

fn print(path: &str, report: &CheckReport) {
    for problem in &report.problems {
        println!("{path}: {problem}");
    }
    let unnamed = report.problem_count - report.problems.len() as u64;
    if unnamed > 0 {
        println!("{path}: and {unnamed} more");
    }
    let verdict = match report.problem_count {
        0 => String::from("sound"),
        1 => String::from("1 problem; restore a backup, or save what is readable"),
        n => format!("{n} problems; restore a backup, or save what is readable"),
    };
    println!(
        "{path}: {verdict} (collections: {}, documents: {}, index entries: {}, in use: {})",
        report.collections,
        report.documents,
        report.index_entries,
        size::show(report.used_bytes)
    );
}
