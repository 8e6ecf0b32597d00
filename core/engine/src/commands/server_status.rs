//! `serverStatus`: counters, cheaply: nothing here walks data.

use super::CommandSpec;
use crate::context::CommandContext;
use crate::limits::COMPATIBLE_VERSION;
use crate::open_options::Durability;
use crate::request::Request;
use crate::system_info;
use multifora_model::{DocBuilder, Result};

/// The command's row.
pub const SPEC: CommandSpec =
    CommandSpec { name: "serverStatus", help: "tells counters and figures", run, ..CommandSpec::BASE };

/// A section: its name, and how it is written.
struct Section(&'static str, fn(&CommandContext<'_>, &mut DocBuilder));

static SECTIONS: &[Section] = &[
    Section("asserts", asserts),
    Section("connections", connections),
    Section("mem", memory),
    Section("metrics", metrics),
    Section("network", network),
    Section("opcounters", operations),
    Section("repl", replica_set),
    Section("storageEngine", storage_engine),
    Section("multifora", storage_figures),
];

/// A section is left out with `{serverStatus: 1, <section>: 0}`.
fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let [major, minor, patch] = COMPATIBLE_VERSION;
    let uptime = ctx.database.uptime();
    reply.str("host", &system_info::hostname()).str("version", &format!("{major}.{minor}.{patch}"));
    reply.str("process", "multifora").i64("pid", i64::from(std::process::id()));
    reply.f64("uptime", uptime.as_secs_f64().floor());
    reply.i64("uptimeMillis", i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX));
    reply.i64("uptimeEstimate", i64::try_from(uptime.as_secs()).unwrap_or(i64::MAX));
    reply.date_ms("localTime", ctx.now_ms);
    for Section(name, write) in SECTIONS {
        let refused = request.body.get(name).and_then(super::args::truth) == Some(false);
        let absent = *name == "repl" && ctx.connection.info().replica_set.is_none();
        if refused || absent {
            continue;
        }
        reply.start_doc(name);
        write(ctx, reply);
        reply.end();
    }
    Ok(())
}

fn long(out: &mut DocBuilder, name: &str, n: u64) {
    out.i64(name, i64::try_from(n).unwrap_or(i64::MAX));
}

fn asserts(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    let counters = ctx.database.counters();
    out.i32("regular", 0).i32("warning", 0).count("msg", counters.asserts_internal.get());
    out.count("user", counters.asserts_user.get()).i32("tripwire", 0).i32("rollovers", 0);
}

fn connections(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    let open = ctx.database.connections();
    let active = open.iter().filter(|c| !c.operations().is_empty()).count();
    out.count("current", open.len() as u64)
        .count("available", crate::limits::MAX_CONNECTIONS.saturating_sub(open.len()) as u64);
    out.count("totalCreated", ctx.database.counters().connections_created.get())
        .count("active", active as u64);
}

fn memory(_: &CommandContext<'_>, out: &mut DocBuilder) {
    let (resident, virtual_size) = system_info::process_memory_bytes();
    out.i32("bits", i32::try_from(usize::BITS).unwrap_or(64));
    out.count("resident", resident >> 20).count("virtual", virtual_size >> 20).bool("supported", true);
}

fn metrics(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    let counters = ctx.database.counters();
    let cursors = ctx.database.cursors().counts();
    out.start_doc("cursor");
    long(out, "timedOut", counters.cursors_timed_out.get());
    long(out, "totalOpened", counters.cursors_opened.get());
    out.start_doc("open");
    long(out, "noTimeout", cursors.no_timeout as u64);
    long(out, "pinned", cursors.pinned as u64);
    long(out, "total", cursors.total as u64);
    out.end().end();
    out.start_doc("commands");
    long(out, "total", counters.commands.get());
    long(out, "failed", counters.failed_commands.get());
    out.end();
    out.start_doc("operation");
    long(out, "writeConflicts", counters.write_conflicts.get());
    out.end();
    out.start_doc("ttl");
    long(out, "deletedDocuments", counters.ttl_deleted_documents.get());
    long(out, "passes", counters.ttl_passes.get());
    long(out, "subPasses", counters.ttl_sub_passes.get());
    out.end();
}

fn network(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    let counters = ctx.database.counters();
    long(out, "bytesIn", counters.bytes_in.get());
    long(out, "bytesOut", counters.bytes_out.get());
    long(out, "numRequests", counters.requests.get());
}

fn operations(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    let counters = ctx.database.counters();
    long(out, "insert", counters.inserts.get());
    long(out, "query", counters.queries.get());
    long(out, "update", counters.updates.get());
    long(out, "delete", counters.deletes.get());
    long(out, "getmore", counters.get_mores.get());
    long(out, "command", counters.commands.get());
}

fn replica_set(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    if let Some(set) = &ctx.connection.info().replica_set {
        out.str("setName", &set.name).bool("isWritablePrimary", true).bool("secondary", false);
        out.start_array("hosts").push(multifora_model::OwnedValue::string(&set.host).as_ref()).end();
        out.str("primary", &set.host).str("me", &set.host);
    }
}

fn storage_engine(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    out.str("name", "multifora")
        .bool("supportsCommittedReads", true)
        .bool("persistent", ctx.database.path() != crate::open_options::MEMORY_PATH);
    out.bool("supportsSnapshotReadConcern", true).bool("readOnly", ctx.database.is_read_only());
}

/// Values that documents keep out of line: read, written, and kept by changed documents without either.
fn values_out_of_line(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    let counters = ctx.database.counters();
    out.start_doc("values");
    long(out, "fetched", counters.values_fetched.get());
    long(out, "written", counters.values_written.get());
    long(out, "kept", counters.values_kept.get());
    out.end();
}

fn storage_figures(ctx: &CommandContext<'_>, out: &mut DocBuilder) {
    values_out_of_line(ctx, out);
    let stats = ctx.database.store().stats();
    out.str("version", env!("CARGO_PKG_VERSION")).str("path", ctx.database.path());
    for (name, figure) in [
        ("fileBytes", stats.file_bytes),
        ("freeBytes", stats.free_bytes),
        ("logBytes", stats.log_bytes),
        ("tables", stats.tables),
        ("entries", stats.entries),
        ("lastSequence", stats.last_sequence),
        ("durableSequence", stats.durable_sequence),
        ("replayedCommits", ctx.database.replayed_commits()),
        ("logSyncs", stats.log_syncs),
        ("checkpoints", stats.checkpoints),
    ] {
        long(out, name, figure);
    }
    let options = ctx.database.options();
    out.start_doc("options");
    long(out, "cacheBytes", options.cache_size_bytes() as u64);
    long(
        out,
        "syncEveryMs",
        match options.durability {
            Durability::Sync => 0,
            Durability::Relaxed { sync_every_ms } => sync_every_ms,
        },
    );
    out.bool("readOnly", options.read_only).bool("create", options.create && !options.read_only);
    out.bool("compress", options.compress);
    long(out, "ttlSweepSecs", options.ttl_sweep_secs);
    out.end();
}
