//! `multifora check`: is the file sound? Status 0: yes, 1: no, 2: it could not be looked at.

use crate::progress::{Waiting, interrupt_by_signal};
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

/// What to do about damage.
const RESCUE: &str = "restore a backup, or save what is readable with 'multifora salvage FILE NEW'";

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let shown = args.file.display().to_string();
    let database = match opening::open_to_look(&args.file) {
        Ok(database) => database,
        Err(failure) if !failure.is_damage() => return Err(failure.status(UNREADABLE)),
        Err(failure) => {
            // Scripts are told of damage in one way, wherever it is.
            if args.json {
                let problems = vec![failure.text().to_owned()];
                let report = CheckReport { problems, problem_count: 1, ..CheckReport::default() };
                println!("{}", opening::to_json(&to_document(&report)));
            }
            return Err(failure);
        }
    };
    let interrupt = Interrupt::new();
    interrupt_by_signal(&interrupt)?;
    let waiting = Waiting::begin("checking");
    let checked = database.check(&interrupt);
    waiting.end();
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
        1 => format!("1 problem; {RESCUE}"),
        n => format!("{n} problems; {RESCUE}"),
    };
    println!(
        "{path}: {verdict} (collections: {}, documents: {}, index entries: {}, in use: {})",
        report.collections,
        report.documents,
        report.index_entries,
        size::show(report.used_bytes)
    );
}
