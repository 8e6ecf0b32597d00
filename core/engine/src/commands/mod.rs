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

mod aggregate;
pub mod args;
mod build_info;
mod bulk_write;
mod coll_mod;
mod coll_stats;
mod connection_status;
mod count;
mod create;
mod create_indexes;
pub(crate) mod current_op;
mod db_stats;
mod delete;
pub(crate) mod dispatch;
mod distinct;
mod drop;
mod drop_database;
mod drop_indexes;
mod end_sessions;
mod explain;
mod find;
mod find_and_modify;
mod fsync;
pub mod generic;
mod get_cmd_line_opts;
mod get_log;
mod get_more;
mod get_parameter;
mod hello;
mod host_info;
mod insert;
mod kill_cursors;
mod kill_op;
mod kill_sessions;
mod list_collections;
mod list_commands;
mod list_cursor;
mod list_databases;
mod list_indexes;
mod ping;
mod refresh_sessions;
mod rename_collection;
mod replica_set_status;
mod server_status;
mod session_ids;
mod set_feature_compatibility_version;
mod set_parameter;
mod start_session;
mod update;
mod whats_my_uri;
mod write_args;

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
    &aggregate::SPEC,
    &build_info::SPEC,
    &bulk_write::SPEC,
    &coll_mod::SPEC,
    &coll_stats::SPEC,
    &connection_status::SPEC,
    &count::SPEC,
    &create::SPEC,
    &create_indexes::SPEC,
    &current_op::SPEC,
    &db_stats::SPEC,
    &delete::SPEC,
    &distinct::SPEC,
    &drop::SPEC,
    &drop_database::SPEC,
    &drop_indexes::SPEC,
    &end_sessions::SPEC,
    &explain::SPEC,
    &find::SPEC,
    &find_and_modify::SPEC,
    &fsync::SPEC,
    &get_cmd_line_opts::SPEC,
    &get_log::SPEC,
    &get_more::SPEC,
    &get_parameter::SPEC,
    &hello::SPEC,
    &host_info::SPEC,
    &insert::SPEC,
    &kill_cursors::SPEC,
    &kill_op::SPEC,
    &kill_sessions::ALL,
    &kill_sessions::BY_PATTERN,
    &kill_sessions::SPEC,
    &list_collections::SPEC,
    &list_commands::SPEC,
    &list_databases::SPEC,
    &list_indexes::SPEC,
    &ping::SPEC,
    &refresh_sessions::SPEC,
    &rename_collection::SPEC,
    &replica_set_status::SPEC,
    &server_status::SPEC,
    &set_feature_compatibility_version::SPEC,
    &set_parameter::SPEC,
    &start_session::SPEC,
    &update::SPEC,
    &whats_my_uri::SPEC,
];

/// The command with this name or alias; the letter case counts.
pub fn lookup(name: &str) -> Option<&'static CommandSpec> {
    REGISTRY.iter().copied().find(|spec| spec.name == name || spec.aliases.contains(&name))
}
