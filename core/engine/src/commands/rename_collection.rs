//! `renameCollection`: another name for a collection, in the same database or another one.
//!
//! Only the catalogue's record moves: documents and indexes stay in their tables.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{self, CollectionInfo, Namespace};
use crate::context::CommandContext;
use crate::request::Request;
use crate::write::{Attempt, Writer};
use multifora_model::{DocBuilder, Error, ErrorCode, RawValue, Result};

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "renameCollection",
    help: "Renames a collection.",
    admin_only: true,
    writes: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("to", Types::STRING),
    Field::optional("dropTarget", Types::BOOL),
    Field::optional("stayTemp", Types::BOOL),
    Field::optional("collectionUUID", Types::BINARY),
];

fn run(context: &CommandContext<'_>, request: &Request<'_>, _reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("renameCollection", FIELDS, request)?;
    let named = args.get("renameCollection").unwrap_or(RawValue::NULL);
    let Some(from) = named.as_str() else {
        return Err(super::args::wrong_type("renameCollection.renameCollection", named, Types::STRING));
    };
    let from = Namespace::parse(from)?;
    let to = Namespace::parse(args.str("to").unwrap_or_default())?;
    check_names(&from, &to)?;
    let drop_target = args.bool("dropTarget").unwrap_or(false);
    let cache = context.database.catalog_cache();
    let mut writer = Writer::new(context);
    let outcome = writer.run(|txn| {
        let Some(source) = catalog::find(&*txn, cache, &from)? else {
            let text = format!("Source collection {from} does not exist");
            return Err(Error::new(ErrorCode::NamespaceNotFound, text));
        };
        if !source.building.is_empty() {
            let text = format!("cannot rename {from} while indexes of it are being built");
            return Err(Error::new(ErrorCode::BackgroundOperationInProgressForNamespace, text));
        }
        if let Some(target) = catalog::find(&*txn, cache, &to)? {
            if !drop_target {
                return Err(Error::new(ErrorCode::NamespaceExists, "target namespace exists"));
            }
            catalog::drop_collection(txn, &target)?;
        }
        let renamed = CollectionInfo { ns: to.clone(), ..CollectionInfo::clone(&source) };
        catalog::rename(txn, &from, &renamed)?;
        Ok(Attempt::Commit(()))
    });
    writer.wait_durable()?;
    outcome?;
    let gone = [from.to_string(), to.to_string()];
    context.database.cursors().kill_namespace(|known| gone.iter().any(|ns| ns == known));
    Ok(())
}

fn check_names(from: &Namespace, to: &Namespace) -> Result<()> {
    if from == to {
        return Err(Error::new(ErrorCode::IllegalOperation, "Can't rename a collection to itself"));
    }
    from.check_writable()?;
    if from.is_system() || to.is_system() {
        let text = format!("renaming system collections is not allowed: {from} to {to}");
        return Err(Error::new(ErrorCode::IllegalOperation, text));
    }
    to.check_creatable()
}
