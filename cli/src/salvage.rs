//! `multifora salvage`: what is readable of a damaged file goes into a new one. Status 0: everything, 1: something is
//! lost, 2: nothing could be saved.

use crate::progress::{Bar, interrupt_by_signal};
use crate::{Failure, opening};
use multiforadb::{CopyProgress, DocBuilder, Interrupt, OwnedValue, SalvageReport};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `salvage`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The damaged file; it is only read
    file: PathBuf,
    /// The new file; it must not exist
    new: PathBuf,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The status when there is no new file.
const NOTHING_SAVED: u8 = 2;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt_by_signal(&interrupt)?;
    let bar = Bar::begin("saving");
    let mut on_progress = |progress: CopyProgress| {
        bar.show(progress);
        Ok(())
    };
    let saved = multiforadb::salvage(&args.file, &args.new, &interrupt, &mut on_progress);
    bar.end();
    let report = saved.map_err(|error| Failure::from(error).status(NOTHING_SAVED))?;
    match args.json {
        true => println!("{}", opening::to_json(&to_document(&report))),
        false => print(args, &report),
    }
    Ok(if report.is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn to_document(report: &SalvageReport) -> Vec<u8> {
    let mut out = DocBuilder::new();
    out.bool("complete", report.is_complete).count("lostEntries", report.lost_entries);
    out.start_array("collections");
    for collection in &report.collections {
        out.push_start_doc().str("ns", &collection.ns).count("documents", collection.documents);
        out.bool("mayBeStale", collection.may_be_stale).end();
    }
    out.end();
    for (name, lines) in [("problems", &report.problems), ("repairs", &report.repairs)] {
        out.start_array(name);
        for line in lines {
            out.push(OwnedValue::string(line).as_ref());
        }
        out.end();
    }
    out.finish()
}

fn print(args: &Args, report: &SalvageReport) {
    let (from, to) = (args.file.display(), args.new.display());
    for problem in &report.problems {
        println!("{from}: {problem}");
    }
    for repair in &report.repairs {
        println!("{to}: {repair}");
    }
    for collection in &report.collections {
        let stale = if collection.may_be_stale { ", some of them perhaps old" } else { "" };
        println!("{to}: {}: {} documents{stale}", collection.ns, collection.documents);
    }
    let verdict = match (report.is_complete, report.lost_entries) {
        (true, _) => String::from("everything was saved"),
        (false, 0) => String::from("something is lost, nobody knows how much"),
        (false, entries) => format!("at least {entries} documents and index entries are lost"),
    };
    println!("{to}: {verdict}");
}
