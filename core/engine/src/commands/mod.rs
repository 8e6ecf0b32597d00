//! The registry of commands: one row and one file each.
//!
//! A command parses its arguments (`commands::args`), does its work through `plan`, `exec` and
//! `write`, and writes its reply fields into a `DocBuilder`; the dispatcher (`commands::dispatch`)
//! checks the arguments that every command takes (`commands::generic`), adds `ok` and turns
//! an `Err` into MongoDB's error reply.
//!
//! To add a command: a file with `pub const SPEC: CommandSpec`, a `mod` line, a row in `REGISTRY`.

use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, Result};

pub mod args;
mod count;
pub(crate) mod dispatch;
mod distinct;
pub mod generic;
mod ping;

/// One command.
pub struct CommandSpec {
    /// The name as MongoDB documents it.
    pub name: &'static str,
    /// Other spellings that are accepted (`findandmodify`, `ismaster`).
    pub aliases: &'static [&'static str],
    /// One line for listCommands and docs/compatibility.md.
    pub help: &'static str,
    /// Only on the `admin` database.
    pub admin_only: bool,
    /// Writes: refused on a read-only file, waits for a write concern.
    pub writes: bool,
    /// May be sent again with the same `txnNumber` (retryable writes).
    pub retryable: bool,
    /// Runs it; the reply's fields, without `ok`, go into the builder.
    pub run: fn(&CommandContext<'_>, &Request<'_>, &mut DocBuilder) -> Result<()>,
}

impl CommandSpec {
    /// What a row leaves out: `CommandSpec { name, help, run, ..CommandSpec::BASE }`.
    pub const BASE: CommandSpec = CommandSpec {
        name: "",
        aliases: &[],
        help: "",
        admin_only: false,
        writes: false,
        retryable: false,
        run: |_, _, _| Err(Error::internal("a command's row names no function")),
    };
}

/// Every command, in alphabetical order of its rows' names.
pub static REGISTRY: &[&CommandSpec] = &[
    &count::SPEC,
    &distinct::SPEC,
    &ping::SPEC,
];

/// The command with this name or alias; the letter case counts.
pub fn lookup(name: &str) -> Option<&'static CommandSpec> {
    REGISTRY.iter().copied().find(|spec| spec.name == name || spec.aliases.contains(&name))
}
