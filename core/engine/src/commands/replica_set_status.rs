//! `replSetGetStatus`: the one member, when a replica set is announced.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "replSetGetStatus",
    help: "describes the replica set that is announced",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] =
    &[Field::optional("initialSync", Types::NUMBER), Field::optional("forShell", Types::NUMBER)];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    Args::open_command("replSetGetStatus", FIELDS, request)?;
    let Some(set) = &ctx.connection.info().replica_set else {
        return Err(Error::new(ErrorCode::NoReplicationEnabled, "not running with --replSet"));
    };
    let time = ctx.database.cluster_clock().now();
    reply.str("set", &set.name).date_ms("date", ctx.now_ms).i32("myState", 1).i64("term", 1);
    reply.i32("majorityVoteCount", 1).i32("writeMajorityCount", 1);
    reply.i32("votingMembersCount", 1).i32("writableVotingMembersCount", 1);
    reply.start_array("members").push_start_doc();
    reply.i32("_id", 0).str("name", &set.host).f64("health", 1.0).i32("state", 1).str("stateStr", "PRIMARY");
    reply.count("uptime", ctx.database.uptime().as_secs());
    reply.start_doc("optime").timestamp("ts", time).i64("t", 1).end();
    reply.date_ms("optimeDate", i64::try_from((time >> 32) * 1000).unwrap_or(0));
    reply.i32("configVersion", 1).i32("configTerm", 1).bool("self", true);
    reply.end().end();
    Ok(())
}
