//! `hostInfo`: the machine underneath.

use super::CommandSpec;
use super::args::Args;
use crate::context::CommandContext;
use crate::request::Request;
use crate::system_info;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "hostInfo", help: "describes the machine", run, ..CommandSpec::BASE };

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::open_command("hostInfo", &[], request)?;
    let mib = system_info::total_memory_bytes() >> 20;
    reply.start_doc("system");
    reply.date_ms("currentTime", ctx.now_ms).str("hostname", &system_info::hostname());
    reply.i32("cpuAddrSize", i32::try_from(usize::BITS).unwrap_or(64));
    reply
        .i64("memSizeMB", i64::try_from(mib).unwrap_or(0))
        .i64("memLimitMB", i64::try_from(mib).unwrap_or(0));
    reply.count("numCores", system_info::cores() as u64);
    reply.str("cpuArch", std::env::consts::ARCH).bool("numaEnabled", false);
    reply.end();
    reply.start_doc("os");
    reply.str("type", if cfg!(target_os = "linux") { "Linux" } else { std::env::consts::OS });
    reply.str("name", std::env::consts::OS).str("version", &system_info::os_version());
    reply.end();
    reply.start_doc("extra").end();
    Ok(())
}
