//! The registry of commands: one row and one file each.
//!
//! A command parses its arguments (`commands::args`), does its work through `plan`, `exec` and
//! `write`, and writes its reply fields into a `DocBuilder`; the dispatcher adds `ok` and turns
//! an `Err` into MongoDB's error reply.

use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Result};

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
    /// Writes: may be retried with a txnNumber, refused on a read-only file.
    pub writes: bool,
    /// Runs it; the reply's fields, without `ok`, go into the builder.
    pub run: fn(&CommandContext<'_>, &Request<'_>, &mut DocBuilder) -> Result<()>,
}
