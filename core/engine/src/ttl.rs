//! Deleting expired documents (manual: TTL Indexes).
//!
//! A document expires when the date at the index's path, or the earliest of the dates in an array there, is at least
//! `expireAfterSeconds` old; other values never do. That is a filter, `{path: {$lte: <cutoff>}}`, which the index
//! answers by a range of dates; the deletes are ordinary ones, in chunks, each document checked again.

use crate::catalog::{self, CollectionInfo, IndexInfo};
use crate::database::{Database, now_ms};
use crate::interrupt::Interrupt;
use crate::plan::Hint;
use crate::write::Writer;
use crate::write::delete::delete_many;
use crate::write::target::Target;
use multifora_model::{DocBuilder, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::CompileContext;
use multifora_query::filter::Filter;
use std::sync::Arc;

/// One pass over all TTL indexes, called by the upkeep thread every `ttl_sweep_secs`; gives the number of documents
/// deleted.
///
/// # Errors
/// Interruption at once; the first error of a collection after the others have had their turn.
pub fn sweep(database: &Database, interrupt: &Interrupt) -> Result<u64> {
    sweep_at(database, interrupt, now_ms())
}

/// The pass as of a given time.
fn sweep_at(database: &Database, interrupt: &Interrupt, now_ms: i64) -> Result<u64> {
    let mut deleted = 0;
    let mut failed = None;
    for (collection, index, secs) in expiring(database)? {
        interrupt.check()?;
        match delete_expired(database, interrupt, &collection, &index, now_ms - secs * 1000) {
            Ok(n) => deleted += n,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(deleted),
    }
}

type Expiring = (Arc<CollectionInfo>, Arc<IndexInfo>, i64);

/// Every TTL index of the file.
fn expiring(database: &Database) -> Result<Vec<Expiring>> {
    let snapshot = database.store().snapshot();
    let mut found = Vec::new();
    for db in catalog::list_databases(&snapshot)? {
        for collection in catalog::list_collections(&snapshot, database.catalog_cache(), &db)? {
            for index in &collection.indexes {
                if let Some(secs) = index.expire_after_secs {
                    found.push((Arc::clone(&collection), Arc::clone(index), secs));
                }
            }
        }
    }
    Ok(found)
}

fn delete_expired(
    database: &Database,
    interrupt: &Interrupt,
    collection: &CollectionInfo,
    index: &IndexInfo,
    cutoff_ms: i64,
) -> Result<u64> {
    let Some(field) = index.fields.first() else { return Ok(0) };
    let mut query = DocBuilder::new();
    query.start_array("$and");
    query.push_start_doc().start_doc(field.path.as_str()).date_ms("$lte", cutoff_ms).end().end();
    // A partial index lets only those documents expire that it holds.
    if let Some(partial) = index.spec_doc().get("partialFilterExpression").and_then(RawValue::as_doc) {
        query.push(partial.as_value());
    }
    let query = query.finish();
    let filter =
        Filter::compile(RawDoc::framed(&query).unwrap_or(RawDoc::EMPTY), &CompileContext::default())?;
    let mut target = Target::new(filter);
    if !index.hidden {
        target.spec.hint = Some(Hint::Name(index.name.clone()));
    }
    let mut writer = Writer::for_work(database, interrupt);
    let deleted = delete_many(&mut writer, &collection.ns, &target);
    writer.wait_durable()?;
    match deleted {
        // The index was dropped meanwhile.
        Err(error) if target.spec.hint.is_some() && error.code() == ErrorCode::BadValue => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ConnectionInfo;
    use crate::database::OpenOptions;
    use multifora_model::extjson;

    const HOUR_MS: i64 = 3_600_000;

    fn run(database: &Database, command: &str) -> String {
        let connection = database.connect(ConnectionInfo::in_process("rust"));
        let reply = connection.command_bytes("d", &extjson::parse_document(command).unwrap());
        extjson::to_text(RawDoc::framed(&reply).unwrap(), extjson::Mode::Relaxed)
    }

    #[test]
    fn documents_expire_by_their_earliest_date_and_others_never() {
        let database = Database::open(":memory:", &OpenOptions::default().ttl_sweep_secs(0)).unwrap();
        let date = |ms: i64| format!(r#"{{"$date": {{"$numberLong": "{ms}"}}}}"#);
        let (old, new) = (date(1_000), date(100 * HOUR_MS));
        let docs = format!(
            r#"{{"_id": 1, "t": {old}}}, {{"_id": 2, "t": {new}}}, {{"_id": 3, "t": [{new}, {old}]}}, {{"_id": 4, "t": 5}},
               {{"_id": 5}}, {{"_id": 6, "t": null}}, {{"_id": 7, "t": [{new}, "x"]}}, {{"_id": 8, "t": "1970"}}"#
        );
        for direction in [1, -1] {
            run(
                &database,
                &format!(
                    r#"{{"createIndexes": "c", "indexes": [{{"key": {{"t": {direction}}}, "name": "t", "expireAfterSeconds": 3600}}]}}"#
                ),
            );
            assert!(
                run(&database, &format!(r#"{{"insert": "c", "documents": [{docs}]}}"#)).contains("\"n\":8")
            );
            let interrupt = Interrupt::new();
            assert_eq!(sweep_at(&database, &interrupt, HOUR_MS + 999).unwrap(), 0);
            assert_eq!(sweep_at(&database, &interrupt, HOUR_MS + 1_000).unwrap(), 2);
            let left = run(&database, r#"{"distinct": "c", "key": "_id"}"#);
            assert!(left.contains("[2,4,5,6,7,8]"), "{left}");
            run(&database, r#"{"drop": "c"}"#);
        }
    }

    #[test]
    fn a_partial_index_expires_only_what_it_holds() {
        let database = Database::open(":memory:", &OpenOptions::default().ttl_sweep_secs(0)).unwrap();
        run(
            &database,
            r#"{"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t", "expireAfterSeconds": 0,
                "partialFilterExpression": {"done": true}}]}"#,
        );
        run(
            &database,
            r#"{"insert": "c", "documents": [{"_id": 1, "t": {"$date": {"$numberLong": "1"}}, "done": true},
                {"_id": 2, "t": {"$date": {"$numberLong": "1"}}}]}"#,
        );
        assert_eq!(sweep(&database, &Interrupt::new()).unwrap(), 1);
        let interrupt = Interrupt::new();
        interrupt.shut_down();
        assert!(sweep(&database, &interrupt).is_err());
    }
}
