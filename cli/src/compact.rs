//! `multifora compact`: a copy without free space takes the file's place.

use crate::progress::{Bar, interrupt_by_signal};
use crate::{Failure, opening, size};
use multiforadb::{CopyProgress, DocBuilder, Interrupt, OpenOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `compact`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database file; nobody else may have it open, and its folder needs room for the copy
    file: PathBuf,
    /// Write the copy without compressing it
    #[arg(long)]
    uncompressed: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt_by_signal(&interrupt)?;
    let bar = Bar::begin("compacting");
    let mut on_progress = |progress: CopyProgress| {
        bar.show(progress);
        Ok(())
    };
    let options = OpenOptions::default().compress(!args.uncompressed);
    let compacted = multiforadb::compact(&args.file, &options, &interrupt, &mut on_progress);
    bar.end();
    let done = compacted?;
    match args.json {
        true => {
            let mut out = DocBuilder::new();
            out.count("beforeBytes", done.before_bytes).count("afterBytes", done.after_bytes);
            println!("{}", opening::to_json(&out.finish()));
        }
        false => println!(
            "{}: {}, before {}",
            args.file.display(),
            size::show(done.after_bytes),
            size::show(done.before_bytes)
        ),
    }
    Ok(ExitCode::SUCCESS)
}
