//! `multifora backup`: a copy of a file that nobody has open for writing. While it is being served, the copy is made
//! from inside: every door has a backup of its own.

use crate::progress::{Bar, interrupt_by_signal};
use crate::{Failure, opening, size};
use multiforadb::{ConnectionInfo, CopyProgress, DocBuilder, Interrupt};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `backup`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database file
    file: PathBuf,
    /// The new file; it must not exist
    new: PathBuf,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let database = opening::open_to_look(&args.file)?;
    let interrupt = Interrupt::new();
    interrupt_by_signal(&interrupt)?;
    let bar = Bar::begin("copying");
    let mut records = 0;
    let mut on_progress = |progress: CopyProgress| {
        bar.show(progress);
        records = progress.done;
        interrupt.check()
    };
    let copied = database.connect(ConnectionInfo::in_process("cli")).backup_to(&args.new, &mut on_progress);
    bar.end();
    copied?;
    database.close()?;
    let bytes = size::of_file(&args.new)?;
    match args.json {
        true => {
            let mut out = DocBuilder::new();
            out.count("records", records).count("bytes", bytes);
            println!("{}", opening::to_json(&out.finish()));
        }
        false => println!("{}: {records} records, {}", args.new.display(), size::show(bytes)),
    }
    Ok(ExitCode::SUCCESS)
}
