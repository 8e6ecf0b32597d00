//! `dropDatabase`: every collection of a database.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog;
use crate::context::CommandContext;
use crate::request::Request;
use crate::write::{Attempt, Writer};
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The row in the registry.
pub const SPEC: CommandSpec =
    CommandSpec { name: "dropDatabase", help: "Drops a database.", writes: true, run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[Field::required("dropDatabase", Types::NUMBER)];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("dropDatabase", FIELDS, request)?;
    if args.i64("dropDatabase") != Some(1) {
        return Err(Error::location(5255100, "have to pass 1 as db parameter"));
    }
    let db = request.db;
    if matches!(db, "admin" | "config" | "local") {
        return Err(Error::new(
            ErrorCode::IllegalOperation,
            format!("Dropping the '{db}' database is prohibited."),
        ));
    }
    let cache = context.database.catalog_cache();
    let mut writer = Writer::new(context);
    let outcome = writer.run(|txn| {
        let collections = catalog::list_collections(&*txn, cache, db)?;
        for collection in &collections {
            catalog::drop_collection(txn, collection)?;
        }
        Ok(if collections.is_empty() { Attempt::Leave(false) } else { Attempt::Commit(true) })
    });
    writer.wait_durable()?;
    if outcome? {
        let prefix = format!("{db}.");
        context.database.cursors().kill_namespace(|known| known.starts_with(&prefix));
        reply.str("dropped", db);
    }
    Ok(())
}
