//! `buildInfo`: which MongoDB version this speaks like, and what it really is.

use super::CommandSpec;
use super::args::Args;
use crate::context::CommandContext;
use crate::limits::COMPATIBLE_VERSION;
use crate::request::Request;
use multifora_model::limits::MAX_DOCUMENT_BYTES;
use multifora_model::{DocBuilder, OwnedValue, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "buildInfo",
    aliases: &["buildinfo"],
    help: "tells the version",
    run,
    ..CommandSpec::BASE
};

fn run(_: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::open_command("buildInfo", &[], request)?;
    let [major, minor, patch] = COMPATIBLE_VERSION;
    reply.str("version", &format!("{major}.{minor}.{patch}"));
    reply.str("gitVersion", "none");
    reply.start_array("modules").end();
    reply.str("allocator", "system").str("javascriptEngine", "none");
    reply.str("sysInfo", "deprecated");
    reply.start_array("versionArray");
    for part in [major, minor, patch, 0] {
        reply.push(OwnedValue::from(part).as_ref());
    }
    reply.end();
    reply.start_doc("openssl").str("running", "disabled").str("compiled", "disabled").end();
    reply.start_doc("buildEnvironment");
    reply.str("target_arch", std::env::consts::ARCH).str("target_os", std::env::consts::OS);
    reply.end();
    reply.i32("bits", i32::try_from(usize::BITS).unwrap_or(64)).bool("debug", cfg!(debug_assertions));
    reply.i32("maxBsonObjectSize", i32::try_from(MAX_DOCUMENT_BYTES).unwrap_or(i32::MAX));
    reply.start_array("storageEngines").push(OwnedValue::string("multifora").as_ref()).end();
    reply.start_doc("multifora");
    reply.str("product", "MultiforaDB").str("version", env!("CARGO_PKG_VERSION"));
    reply.end();
    Ok(())
}
