//! The `multifora` command: serve a file, run commands on it, look into it, check it, copy and save it.
//!
//! A door and nothing more: it parses its arguments, calls the library, prints. Results go to standard output,
//! everything else to standard error; an error is one line that says what, where and what to do. Exit status: 0 done,
//! 1 failed (for `check`: the file is damaged), 2 not even begun (`check` could not read the file; bad arguments).

mod backup;
mod check;
mod compact;
mod opening;
mod progress;
mod salvage;
mod serve;
mod shell;
mod size;
mod stats;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Documents in one file, no server to install.
#[derive(Parser)]
#[command(name = "multifora", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a file to MongoDB drivers and tools (created when it does not exist)
    Serve(serve::Args),
    /// Run commands on a file, or start mongosh on it
    Shell(shell::Args),
    /// Show figures about a file
    Stats(stats::Args),
    /// Check a file: every block, document and index entry
    Check(check::Args),
    /// Copy a file into a new one that holds no free space
    Backup(backup::Args),
    /// Make a file as small as its data allows
    Compact(compact::Args),
    /// Save what is readable of a damaged file into a new one
    Salvage(salvage::Args),
}

/// Why the command failed, and with which status it ends.
pub(crate) struct Failure {
    line: String,
    status: u8,
    /// The file is there and can be read, and what it holds is broken.
    is_damage: bool,
}

impl Failure {
    /// Ends with status 1.
    pub(crate) fn new(line: impl Into<String>) -> Self {
        Failure { line: line.into(), status: 1, is_damage: false }
    }

    /// The same failure with another status.
    pub(crate) fn status(self, status: u8) -> Self {
        Failure { status, ..self }
    }

    /// The same failure with another text.
    pub(crate) fn line(self, line: String) -> Self {
        Failure { line, ..self }
    }

    /// What went wrong.
    pub(crate) fn text(&self) -> &str {
        &self.line
    }

    /// Whether the file itself is what is wrong.
    pub(crate) fn is_damage(&self) -> bool {
        self.is_damage
    }
}

impl From<multiforadb::Error> for Failure {
    fn from(error: multiforadb::Error) -> Self {
        let is_damage = error.code() == multiforadb::ErrorCode::DataCorruptionDetected;
        Failure { is_damage, ..Failure::new(error.message()) }
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Shell(args) => shell::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Salvage(args) => salvage::run(&args),
    };
    match done {
        Ok(status) => status,
        Err(failure) => {
            if !failure.line.is_empty() {
                // One line, whatever words of the system are in it.
                eprintln!("multifora: {}", failure.line.replace('\n', " "));
            }
            ExitCode::from(failure.status)
        }
    }
}
