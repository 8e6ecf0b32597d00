//! `hello` (and its old name `isMaster`): limits, wire versions, and who the primary is.
//!
//! No `topologyVersion` is announced: a server that does must also stream changes of the topology
//! (awaitable hello), and one file has only one topology.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::connection::ReplicaSet;
use crate::context::CommandContext;
use crate::limits::{MAX_MESSAGE_BYTES, MAX_WIRE_VERSION, MAX_WRITE_BATCH, SESSION_TIMEOUT_MINUTES};
use crate::request::Request;
use multifora_model::limits::MAX_DOCUMENT_BYTES;
use multifora_model::{DocBuilder, OwnedValue, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "hello",
    aliases: &["isMaster", "ismaster"],
    help: "describes this server to drivers: limits, wire versions, replica set",
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::optional("helloOk", Types::BOOL),
    Field::optional("client", Types::OBJECT),
    Field::optional("compression", Types::ARRAY),
    Field::optional("saslSupportedMechs", Types::STRING),
    Field::optional("speculativeAuthenticate", Types::OBJECT),
    Field::optional("topologyVersion", Types::OBJECT),
    Field::optional("maxAwaitTimeMS", Types::NUMBER),
    Field::optional("loadBalanced", Types::BOOL),
    Field::optional("forShell", Types::BOOL),
    Field::optional("hostInfo", Types::STRING),
    Field::optional("internalClient", Types::OBJECT),
];

/// Election ids grow with elections; this set never holds another one.
const ELECTION_ID: [u8; 12] = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1];

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::open_command("hello", FIELDS, request)?;
    if let Some(client) = args.doc("client") {
        ctx.connection.shared().set_client_metadata(client);
    }
    if args.bool("helloOk") == Some(true) {
        reply.bool("helloOk", true);
    }
    let primary = if request.command_name() == "hello" { "isWritablePrimary" } else { "ismaster" };
    reply.bool(primary, true);
    if let Some(set) = &ctx.connection.info().replica_set {
        append_replica_set(ctx, set, reply);
    }
    reply.i32("maxBsonObjectSize", i32_of(MAX_DOCUMENT_BYTES));
    reply.i32("maxMessageSizeBytes", i32_of(MAX_MESSAGE_BYTES));
    reply.i32("maxWriteBatchSize", i32_of(MAX_WRITE_BATCH));
    reply.date_ms("localTime", ctx.now_ms);
    reply.i32("logicalSessionTimeoutMinutes", SESSION_TIMEOUT_MINUTES);
    reply.i32("connectionId", i32::try_from(ctx.connection.id()).unwrap_or(i32::MAX));
    reply.i32("minWireVersion", 0).i32("maxWireVersion", MAX_WIRE_VERSION);
    reply.bool("readOnly", ctx.database.is_read_only());
    Ok(())
}

fn append_replica_set(ctx: &CommandContext<'_>, set: &ReplicaSet, reply: &mut DocBuilder) {
    reply.bool("secondary", false).str("setName", &set.name).i32("setVersion", 1);
    reply.start_array("hosts").push(OwnedValue::string(&set.host).as_ref()).end();
    reply.str("primary", &set.host).str("me", &set.host);
    reply.object_id("electionId", &ELECTION_ID);
    let time = ctx.database.cluster_clock().now();
    let wall_ms = i64::try_from((time >> 32) * 1000).unwrap_or(i64::MAX);
    reply.start_doc("lastWrite");
    for (op_time, date) in [("opTime", "lastWriteDate"), ("majorityOpTime", "majorityWriteDate")] {
        reply.start_doc(op_time).timestamp("ts", time).i64("t", 1).end();
        reply.date_ms(date, wall_ms);
    }
    reply.end();
}

fn i32_of(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
