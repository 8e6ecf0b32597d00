//! `ping`: answers.

use super::CommandSpec;
use super::args::{Args, Field, Types};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "ping",
    help: "answers, to show that the connection works",
    run: |_, request, _| Args::open_command("ping", FIELDS, request).map(drop),
    ..CommandSpec::BASE
};

const FIELDS: &[Field] = &[Field::optional("ping", Types::ANY)];
