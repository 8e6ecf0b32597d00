//! `getParameter`: the settings that clients ask for, from one table.

use super::CommandSpec;
use super::args::truth;
use super::generic;
use crate::context::CommandContext;
use crate::database::Database;
use crate::limits::{CURSOR_IDLE, FEATURE_COMPATIBILITY_VERSION, SESSION_TIMEOUT_MINUTES};
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "getParameter",
    help: "tells settings: {getParameter: 1, <name>: 1}, or all with {getParameter: '*'}",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

/// One setting: its name, and how its value is written.
pub(super) struct Parameter(pub(super) &'static str, fn(&Database, &str, &mut DocBuilder));

pub(super) static PARAMETERS: &[Parameter] = &[
    Parameter("authenticationMechanisms", |_, name, out| {
        out.start_array(name).end();
    }),
    Parameter("cursorTimeoutMillis", |_, name, out| {
        out.i64(name, i64::try_from(CURSOR_IDLE.as_millis()).unwrap_or(0));
    }),
    Parameter("enableTestCommands", |_, name, out| {
        out.bool(name, false);
    }),
    Parameter("featureCompatibilityVersion", |_, name, out| {
        out.start_doc(name).str("version", FEATURE_COMPATIBILITY_VERSION).end();
    }),
    Parameter("localLogicalSessionTimeoutMinutes", |_, name, out| {
        out.i32(name, SESSION_TIMEOUT_MINUTES);
    }),
    Parameter("logLevel", |_, name, out| {
        out.i32(name, 0);
    }),
    Parameter("maxBSONDepth", |_, name, out| {
        out.count(name, multifora_model::limits::MAX_COMMAND_DEPTH as u64);
    }),
    Parameter("notablescan", |_, name, out| {
        out.bool(name, false);
    }),
    Parameter("quiet", |_, name, out| {
        out.bool(name, false);
    }),
    Parameter("requireApiVersion", |_, name, out| {
        out.bool(name, false);
    }),
    Parameter("ttlMonitorEnabled", |db, name, out| {
        out.bool(name, db.options().ttl_sweep_secs > 0);
    }),
    Parameter("ttlMonitorSleepSecs", |db, name, out| {
        out.count(name, db.options().ttl_sweep_secs);
    }),
];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let first = request.body.iter().next().map(|e| e.value);
    let inside = first.and_then(|v| v.as_doc()).and_then(|d| d.get("allParameters"));
    let beside = request.body.get("allParameters");
    let all = first.and_then(|v| v.as_str()) == Some("*")
        || [inside, beside].into_iter().flatten().any(|v| truth(v) == Some(true));
    let mut found = 0;
    for Parameter(name, write) in PARAMETERS {
        if all || request.body.get(name).is_some() {
            write(ctx.database, name, reply);
            found += 1;
        }
    }
    // A name that is not known is not an error beside one that is, as in MongoDB.
    let asked = request.body.iter().skip(1).any(|e| !generic::is_generic(e.name()));
    match found {
        0 if asked => Err(Error::new(ErrorCode::InvalidOptions, "no option found to get")),
        0 => Err(Error::new(
            ErrorCode::InvalidOptions,
            "no option found to get: name one, or use getParameter: '*'",
        )),
        _ => Ok(()),
    }
}
