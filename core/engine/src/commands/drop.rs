//! `drop`: a collection with its documents and indexes.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog;
use crate::context::CommandContext;
use crate::request::Request;
use crate::write::{Attempt, Writer};
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The row in the registry.
pub const SPEC: CommandSpec =
    CommandSpec { name: "drop", help: "Drops a collection.", writes: true, run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[Field::optional("collectionUUID", Types::BINARY)];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("drop", FIELDS, request)?;
    let ns = args.namespace(request)?;
    if ns.is_system() && !ns.coll.starts_with("system.js") {
        return Err(Error::new(ErrorCode::IllegalOperation, format!("can't drop system collection {ns}")));
    }
    let wanted_uuid = args.get("collectionUUID").and_then(|v| v.as_binary()).map(|(_, bytes)| bytes);
    let cache = context.database.catalog_cache();
    let mut writer = Writer::new(context);
    let outcome = writer.run(|txn| {
        let Some(collection) = catalog::find(&*txn, cache, &ns)? else { return Ok(Attempt::Leave(None)) };
        if wanted_uuid.is_some_and(|uuid| uuid != collection.uuid) {
            let text = format!("Collection UUID does not match that specified for {ns}");
            return Err(Error::new(ErrorCode::CollectionUUIDMismatch, text));
        }
        catalog::drop_collection(txn, &collection)?;
        Ok(Attempt::Commit(Some(collection.indexes.len())))
    });
    writer.wait_durable()?;
    // Since 7.0 dropping what is not there is fine, and says nothing more.
    if let Some(index_count) = outcome? {
        let full = ns.to_string();
        context.database.cursors().kill_namespace(|known| known == full);
        reply.count("nIndexesWas", index_count as u64).str("ns", &full);
    }
    Ok(())
}
