//! From a request to a reply: lookup, generic arguments, session, time limit, the command, `ok`.
//!
//! The reply is built once, behind whatever stands in the buffer already (a message header).

use super::args;
use super::generic::Generic;
use super::{CommandSpec, lookup};
use crate::catalog;
use crate::connection::Connection;
use crate::context::CommandContext;
use crate::database::now_ms;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::request::Request;
use crate::session::{RetryableWrite, SessionRef};
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, RawDoc, RawValue, Result};
use std::sync::Arc;
use std::time::Instant;

/// Runs one command; `reply` is an open document at the end of a buffer.
pub(crate) fn run(connection: &Connection, request: &Request<'_>, mut reply: DocBuilder) -> Result<Vec<u8>> {
    let database = connection.database();
    let counters = database.counters();
    counters.commands.add(1);
    let outcome = run_command(connection, request, &mut reply);
    if let Err(error) = outcome {
        counters.failed_commands.add(1);
        counters.asserts_user.add(1);
        return Err(error);
    }
    reply.f64("ok", 1.0);
    if connection.info().replica_set.is_some() {
        append_cluster_time(database.cluster_clock().now(), &mut reply);
    }
    Ok(reply.finish())
}

fn run_command(connection: &Connection, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let spec = find_spec(request)?;
    let generic = Generic::parse(spec.name, request.body)?;
    execute(connection, request, spec, &generic, reply).map_err(|error| {
        let retry = spec.retryable && generic.txn_number.is_some() && RETRYABLE.contains(&error.code());
        if retry { error.with_label("RetryableWriteError") } else { error }
    })
}

/// Errors after which a driver may send a retryable write again (to this file, once it is served again).
const RETRYABLE: &[ErrorCode] = &[ErrorCode::InterruptedAtShutdown, ErrorCode::ShutdownInProgress];

fn execute(
    connection: &Connection,
    request: &Request<'_>,
    spec: &'static CommandSpec,
    generic: &Generic<'_>,
    reply: &mut DocBuilder,
) -> Result<()> {
    check_place(connection, request, spec, generic)?;
    let database = connection.database();
    let _open = database.enter()?;
    let deadline = generic.max_time.and_then(|limit| Instant::now().checked_add(limit));
    let interrupt = Interrupt::new().with_deadline(deadline);
    let progress = Arc::new(Progress::default());
    let _running = connection.begin(spec.name, request.db, &interrupt, &progress);
    let session = generic.session_id.map(|id| database.sessions().get(id)).transpose()?;
    let retry = check_out_for_retry(connection, spec, generic, session.as_ref(), &interrupt)?;
    let context = CommandContext {
        database,
        connection,
        command: spec,
        session,
        interrupt,
        progress,
        let_variables: generic.let_variables,
        now_ms: now_ms(),
        retry,
    };
    (spec.run)(&context, request, reply)?;
    if spec.writes {
        database.cluster_clock().tick();
        append_write_concern_error(generic, reply);
    }
    Ok(())
}

fn find_spec(request: &Request<'_>) -> Result<&'static CommandSpec> {
    let Some(first) = request.body.iter().next() else {
        return Err(Error::new(ErrorCode::CommandNotFound, "no command: the command document is empty"));
    };
    let name = first.name();
    lookup(name).ok_or_else(|| Error::new(ErrorCode::CommandNotFound, format!("no such command: '{name}'")))
}

/// Is the command allowed here: on this database, in this file, in a transaction?
fn check_place(
    connection: &Connection,
    request: &Request<'_>,
    spec: &'static CommandSpec,
    generic: &Generic<'_>,
) -> Result<()> {
    catalog::check_database_name(request.db)?;
    if spec.admin_only && request.db != "admin" {
        let text = format!("{} may only be run against the admin database.", spec.name);
        return Err(Error::new(ErrorCode::Unauthorized, text));
    }
    if generic.autocommit.is_some() || generic.start_transaction.is_some() {
        let text = "multi-document transactions are not supported by this version of MultiforaDB; \
                    single-document writes are atomic, and retryable writes work";
        return Err(Error::new(ErrorCode::IllegalOperation, text));
    }
    if spec.writes && connection.database().is_read_only() {
        let text =
            format!("{} is refused: '{}' was opened read-only", spec.name, connection.database().path());
        return Err(Error::new(ErrorCode::IllegalOperation, text));
    }
    let alone = connection.info().replica_set.is_none();
    match generic.unsatisfiable_w {
        Some(w) if spec.writes && alone => Err(Error::bad_value(match w.as_str() {
            Some(mode) => {
                format!(
                    "cannot use non-majority 'w' mode {mode} when a host is not a member of a replica set"
                )
            }
            None => String::from("cannot use 'w' > 1 when a host is not replicated"),
        })),
        _ => Ok(()),
    }
}

fn check_out_for_retry(
    connection: &Connection,
    spec: &'static CommandSpec,
    generic: &Generic<'_>,
    session: Option<&SessionRef>,
    interrupt: &Interrupt,
) -> Result<Option<RetryableWrite>> {
    let (Some(number), Some(session)) = (generic.txn_number, session) else { return Ok(None) };
    if !spec.retryable {
        let text = format!(
            "txnNumber may only be provided for multi-document transactions and retryable write commands. \
             autocommit:false was not provided, and {} is not a retryable write command.",
            spec.name
        );
        return Err(Error::location(50768, text));
    }
    let mut write = RetryableWrite::check_out(connection.database(), session, number, interrupt)?;
    write.set_stmt_ids(generic.first_stmt_id, generic.stmt_ids.map(stmt_ids).transpose()?);
    Ok(Some(write))
}

fn stmt_ids(array: RawDoc<'_>) -> Result<Vec<i32>> {
    let id = |value: RawValue<'_>| {
        value.as_i32().ok_or_else(|| args::wrong_type("stmtIds", value, args::Types::INT))
    };
    array.iter().map(|element| id(element.value)).collect()
}

/// On a one-member set a write concern that asks for more members fails after the write, as MongoDB's does.
fn append_write_concern_error(generic: &Generic<'_>, reply: &mut DocBuilder) {
    let Some(w) = generic.unsatisfiable_w else { return };
    let (code, text) = match (w.ty, w.as_str()) {
        (ElementType::String, Some(mode)) => (
            ErrorCode::UnknownReplWriteConcern,
            format!("No write concern mode named '{mode}' found in replica set configuration"),
        ),
        _ => (ErrorCode::UnsatisfiableWriteConcern, String::from("Not enough data-bearing nodes")),
    };
    reply.start_doc("writeConcernError");
    reply.i32("code", code.code()).str("codeName", &code.name()).str("errmsg", &text);
    reply.end();
}

/// `$clusterTime` and `operationTime`, which drivers of a replica set gossip.
pub(crate) fn append_cluster_time(time: u64, reply: &mut DocBuilder) {
    reply.start_doc("$clusterTime").timestamp("clusterTime", time);
    reply.start_doc("signature").binary("hash", 0, &[0; 20]).i64("keyId", 0).end().end();
    reply.timestamp("operationTime", time);
}
