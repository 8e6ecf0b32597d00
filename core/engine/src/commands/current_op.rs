//! `currentOp`: what is running.

use super::CommandSpec;
use super::args::truth;
use super::generic;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, DocumentView, RawDoc, RawValue, Result};
use multifora_query::filter::Filter;
use multifora_query::{CompileContext, NoResources};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "currentOp",
    help: "lists what is running",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

fn run(ctx: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let all = request.body.get("$all").and_then(truth) == Some(true);
    let filter = Filter::compile(
        RawDoc::framed(&filter_of(request)).unwrap_or(RawDoc::EMPTY),
        &CompileContext::new(ctx.now_ms),
    )?;
    reply.start_array("inprog");
    for op in operations(ctx, all) {
        let op = RawDoc::framed(&op).unwrap_or(RawDoc::EMPTY);
        if filter.matches(&DocumentView::whole(op), &NoResources)? {
            reply.push(op.as_value());
        }
    }
    reply.end();
    Ok(())
}

/// Every field that is not an argument is a condition on the operations.
fn filter_of(request: &Request<'_>) -> Vec<u8> {
    let mut filter = DocBuilder::new();
    let is_argument =
        |name: &str| matches!(name, "$all" | "$ownOps" | "$truncateOps") || generic::is_generic(name);
    for field in request.body.iter().skip(1).filter(|e| !is_argument(e.name())) {
        filter.append(field.name(), field.value);
    }
    filter.finish()
}

/// One document for each running command, and with `idle` one for each connection that runs none.
pub(crate) fn operations(ctx: &CommandContext<'_>, idle: bool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for connection in ctx.database.connections() {
        let client = connection.client_metadata();
        let running = connection.operations();
        let describe = |active: bool| {
            let mut doc = DocBuilder::new();
            doc.str("type", "op").str("host", &crate::system_info::hostname());
            doc.str("desc", &format!("conn{}", connection.id))
                .i64("connectionId", i64::try_from(connection.id).unwrap_or(0));
            doc.str("client", &connection.info.peer);
            if let Some(client) = client.as_deref().and_then(RawDoc::framed) {
                let app = client.get("application").and_then(RawValue::as_doc).and_then(|a| a.get("name"));
                if let Some(app) = app {
                    doc.append("appName", app);
                }
                doc.doc("clientMetadata", client);
            }
            doc.bool("active", active);
            doc
        };
        for op in &running {
            let mut doc = describe(true);
            let micros = i64::try_from(op.started.elapsed().as_micros()).unwrap_or(i64::MAX);
            doc.i64("opid", i64::try_from(op.id).unwrap_or(0))
                .str("op", "command")
                .str("ns", &format!("{}.$cmd", op.ns));
            doc.i64("secs_running", micros / 1_000_000).i64("microsecs_running", micros);
            doc.start_doc("command").i32(op.command, 1).str("$db", &op.ns).end();
            if let Some(progress) = op.progress.seen() {
                doc.str("msg", &progress.message());
                doc.start_doc("progress").count("done", progress.done).count("total", progress.total).end();
            }
            found.push(doc.finish());
        }
        if running.is_empty() && idle {
            found.push(describe(false).finish());
        }
    }
    found
}
