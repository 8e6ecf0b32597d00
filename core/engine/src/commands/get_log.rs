//! `getLog`: there is no log kept in memory, so every log is empty.

use super::CommandSpec;
use super::args::Args;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, OwnedValue, RawValue, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "getLog",
    help: "tells recent log lines (there are none)",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

static LOGS: &[&str] = &["global", "startupWarnings"];

fn run(_: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("getLog", &[], request)?;
    let value = args.get("getLog").unwrap_or(RawValue::NULL);
    let Some(name) = value.as_str() else {
        let text = format!(
            "Argument to getLog must be of type String; found {} of type {}",
            "value",
            value.ty.name()
        );
        return Err(Error::type_mismatch(text));
    };
    if name == "*" {
        reply.start_array("names");
        for log in LOGS {
            reply.push(OwnedValue::string(log).as_ref());
        }
        reply.end();
    } else if LOGS.contains(&name) {
        reply.i32("totalLinesWritten", 0).start_array("log").end();
    } else {
        return Err(Error::new(ErrorCode::OperationFailed, format!("No log named '{name}'")));
    }
    Ok(())
}
