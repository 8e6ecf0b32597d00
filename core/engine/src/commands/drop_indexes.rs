//! `dropIndexes`: by name, by names, by key pattern, or all but `_id_`.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{self, CollectionInfo};
use crate::context::CommandContext;
use crate::request::Request;
use crate::storage_error::MapStorage;
use crate::write::{Attempt, Writer};
use multifora_model::{DocBuilder, ElementType, Error, ErrorCode, RawDoc, RawValue, Result, compare, text};
use std::sync::Arc;

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "dropIndexes",
    aliases: &["deleteIndexes"],
    help: "Drops indexes of a collection.",
    writes: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[Field::required("index", Types::STRING_OR_OBJECT_OR_ARRAY)];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("dropIndexes", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let wanted = args.get("index").unwrap_or(RawValue::NULL);
    let mut writer = Writer::new(context);
    let outcome = writer.run(|txn| {
        let opener = Writer::new(context);
        let Some(mut write) = opener.open(txn, &ns)? else {
            return Err(Error::new(ErrorCode::NamespaceNotFound, format!("ns not found {ns}")));
        };
        let was = write.collection.indexes.len();
        let names = names_to_drop(&write.collection, wanted)?;
        let collection = Arc::make_mut(&mut write.collection);
        for index in collection.indexes.extract_if(.., |index| names.contains(&index.name)) {
            write.txn.drop_table(index.table).mapped()?;
        }
        // Whoever is building one finds it gone, and stops.
        for building in collection.building.extract_if(.., |b| names.contains(&b.index.name)) {
            building.tables().try_for_each(|table| write.txn.drop_table(table).mapped())?;
        }
        catalog::store(write.txn, &write.collection)?;
        Ok(Attempt::Commit(was))
    });
    writer.wait_durable()?;
    reply.count("nIndexesWas", outcome? as u64);
    if wanted.as_str() == Some("*") {
        reply.str("msg", "non-_id indexes dropped for collection");
    }
    Ok(())
}

fn names_to_drop(collection: &CollectionInfo, wanted: RawValue<'_>) -> Result<Vec<String>> {
    if let Some(name) = wanted.as_str() {
        if name == "*" {
            return Ok(collection.maintained().skip(1).map(|index| index.name.clone()).collect());
        }
        return name_to_drop(collection, name).map(|name| vec![name]);
    }
    if let Some(pattern) = wanted.as_doc() {
        return by_pattern(collection, pattern).map(|name| vec![name]);
    }
    let mut names = Vec::new();
    for element in wanted.as_array().unwrap_or(RawDoc::EMPTY) {
        let Some(name) = element.value.as_str().filter(|_| element.value.ty == ElementType::String) else {
            let path = format!("dropIndexes.index.{}", element.name());
            return Err(super::args::wrong_type(&path, element.value, Types::STRING));
        };
        names.push(name_to_drop(collection, name)?);
    }
    Ok(names)
}

fn name_to_drop(collection: &CollectionInfo, name: &str) -> Result<String> {
    if name == "_id_" {
        return Err(cannot_drop_id());
    }
    match collection.maintained().find(|index| index.name == name) {
        Some(index) => Ok(index.name.clone()),
        None => Err(Error::new(ErrorCode::IndexNotFound, format!("index not found with name [{name}]"))),
    }
}

fn by_pattern(collection: &CollectionInfo, pattern: RawDoc<'_>) -> Result<String> {
    let told = || text::document(pattern);
    let mut found =
        collection.maintained().filter(|i| compare::compare_docs(i.key_pattern(), pattern).is_eq());
    let Some(index) = found.next() else {
        return Err(Error::new(ErrorCode::IndexNotFound, format!("can't find index with key: {}", told())));
    };
    if let Some(other) = found.next() {
        let text = format!(
            "{} indexes found for key: {}, identify by name instead. Conflicting indexes: {}, {}",
            2 + found.count(),
            told(),
            index.name,
            other.name
        );
        return Err(Error::new(ErrorCode::AmbiguousIndexKeyPattern, text));
    }
    if index.name == "_id_" { Err(cannot_drop_id()) } else { Ok(index.name.clone()) }
}

fn cannot_drop_id() -> Error {
    Error::new(ErrorCode::InvalidOptions, "cannot drop _id index")
}
