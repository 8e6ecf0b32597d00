//! Deleting expired documents (manual: TTL Indexes).
//!
//! A document expires when the date at the index's path, or the earliest of the dates in an array there, is at least
//! `expireAfterSeconds` old; other values never do. That is a filter, `{path: {$lte: <cutoff>}}`, which the index
//! answers by a range of dates; the deletes are ordinary ones, each document checked again.
//!
//! Documents go in small batches, each from a snapshot of its own and durable before the next, so that other writers
//! come in between and no snapshot is held for long. An index with very much to delete makes room for the others
//! after [`TTL_INDEX_SHARE_DOCS`]: the pass then goes round again (MongoDB's sub-passes).

use crate::catalog::{self, CollectionInfo, IndexInfo};
use crate::database::{Database, now_ms};
use crate::interrupt::Interrupt;
use crate::limits::{TTL_BATCH_DOCS, TTL_INDEX_SHARE_DOCS};
use crate::plan::Hint;
use crate::write::Writer;
use crate::write::delete::delete_many;
use crate::write::target::Target;
use multifora_model::{DocBuilder, ErrorCode, RawDoc, RawValue, Result};
use multifora_query::CompileContext;
use multifora_query::filter::Filter;
use std::sync::Arc;

/// One pass over all TTL indexes, called by the upkeep thread every `ttl_sweep_secs`. What it did is in the database's
/// counters, as it goes.
///
/// # Errors
/// Interruption at once; the first error of a collection after the others have had their turn.
pub fn sweep(database: &Database, interrupt: &Interrupt) -> Result<()> {
    sweep_at(database, interrupt, now_ms(), TTL_INDEX_SHARE_DOCS)
}

/// The pass as of a given time; an index may delete `share_docs` before it is the next one's turn.
fn sweep_at(database: &Database, interrupt: &Interrupt, now_ms: i64, share_docs: u64) -> Result<()> {
    let mut waiting = expiring(database)?;
    let mut failed = None;
    while !waiting.is_empty() {
        let mut unfinished = Vec::new();
        for expiring in waiting {
            interrupt.check()?;
            match delete_share(database, interrupt, &expiring, now_ms, share_docs) {
                Ok(true) => {}
                Ok(false) => unfinished.push(expiring),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        database.counters().ttl_sub_passes.add(1);
        waiting = unfinished;
    }
    failed.map_or(Ok(()), Err)
}

/// A TTL index: its collection, itself, its seconds.
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

/// Deletes by one index, in batches; false when it had its share and there is more.
fn delete_share(
    database: &Database,
    interrupt: &Interrupt,
    (collection, index, secs): &Expiring,
    now_ms: i64,
    share_docs: u64,
) -> Result<bool> {
    let cutoff_ms = now_ms.saturating_sub(secs.saturating_mul(1000));
    let Some(mut target) = expired_by(index, cutoff_ms)? else { return Ok(true) };
    // The planner does not use a hidden index: then everything is found in one go, not again for each batch.
    if !index.hidden {
        target.spec.hint = Some(Hint::Name(index.name.clone()));
        target.spec.limit = Some(TTL_BATCH_DOCS);
    }
    let mut deleted = 0;
    loop {
        interrupt.check()?;
        let mut writer = Writer::for_work(database, interrupt);
        let batch = delete_many(&mut writer, &collection.ns, &target);
        writer.wait_durable()?;
        let batch = match batch {
            // The index was dropped meanwhile.
            Err(error) if target.spec.hint.is_some() && error.code() == ErrorCode::BadValue => {
                return Ok(true);
            }
            batch => batch?,
        };
        database.counters().ttl_deleted_documents.add(batch);
        deleted += batch;
        if target.spec.limit.is_none_or(|limit| batch < limit) {
            return Ok(true);
        }
        if deleted >= share_docs {
            return Ok(false);
        }
    }
}

/// The documents that an index lets expire by then.
fn expired_by(index: &IndexInfo, cutoff_ms: i64) -> Result<Option<Target>> {
    let Some(field) = index.fields.first() else { return Ok(None) };
    let mut query = DocBuilder::new();
    query.start_array("$and");
    query.push_start_doc().start_doc(field.path.as_str()).date_ms("$lte", cutoff_ms).end().end();
    // A partial index lets only those documents expire that it holds.
    if let Some(partial) = index.spec_doc().get("partialFilterExpression").and_then(RawValue::as_doc) {
        query.push(partial.as_value());
    }
    let query = query.finish();
    let query = RawDoc::framed(&query).unwrap_or(RawDoc::EMPTY);
    Ok(Some(Target::new(Filter::compile(query, &CompileContext::default())?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ConnectionInfo;
    use crate::open_options::OpenOptions;
    use multifora_model::extjson;

    const HOUR_MS: i64 = 3_600_000;

    fn run(database: &Database, command: &str) -> String {
        let connection = database.connect(ConnectionInfo::in_process("rust"));
        let reply = connection.command_bytes("d", &extjson::parse_document(command).unwrap());
        extjson::to_text(RawDoc::framed(&reply).unwrap(), extjson::Mode::Relaxed)
    }

    fn deleted_at(database: &Database, now_ms: i64) -> u64 {
        let before = database.counters().ttl_deleted_documents.get();
        sweep_at(database, &Interrupt::new(), now_ms, TTL_INDEX_SHARE_DOCS).unwrap();
        database.counters().ttl_deleted_documents.get() - before
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
            assert_eq!(deleted_at(&database, HOUR_MS + 999), 0);
            assert_eq!(deleted_at(&database, HOUR_MS + 1_000), 2);
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
        assert_eq!(deleted_at(&database, now_ms()), 1);
        let interrupt = Interrupt::new();
        interrupt.shut_down();
        assert!(sweep(&database, &interrupt).is_err());
    }

    #[test]
    fn batches_and_shares_come_to_the_end_of_it() {
        let database = Database::open(":memory:", &OpenOptions::default().ttl_sweep_secs(0)).unwrap();
        let docs: Vec<String> =
            (1..=2_500).map(|i| format!(r#"{{"t": {{"$date": {{"$numberLong": "{i}"}}}}}}"#)).collect();
        for (collection, hidden) in [("a", false), ("b", true), ("c", false)] {
            run(
                &database,
                &format!(
                    r#"{{"createIndexes": "{collection}", "indexes": [{{"key": {{"t": 1}}, "name": "t", "expireAfterSeconds": 0, "hidden": {hidden}}}]}}"#
                ),
            );
            let insert = format!(r#"{{"insert": "{collection}", "documents": [{}]}}"#, docs.join(","));
            assert!(run(&database, &insert).contains("\"n\":2500"));
        }
        let counters = database.counters();
        // A and c: a batch of 1,000 in each of the first two rounds, the rest in the third.
        sweep_at(&database, &Interrupt::new(), 2_400, 1).unwrap();
        assert_eq!((counters.ttl_deleted_documents.get(), counters.ttl_sub_passes.get()), (3 * 2_400, 3));
        for collection in ["a", "b", "c"] {
            assert!(run(&database, &format!(r#"{{"count": "{collection}"}}"#)).contains("\"n\":100"));
        }
        let told = run(&database, r#"{"serverStatus": 1}"#);
        assert!(told.contains(r#""ttl":{"deletedDocuments":7200,"passes":0,"subPasses":3}"#), "{told}");
    }

    #[test]
    fn the_upkeep_thread_sweeps_by_itself() {
        let database = Database::open(":memory:", &OpenOptions::default().ttl_sweep_secs(1)).unwrap();
        run(
            &database,
            r#"{"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t", "expireAfterSeconds": 1}]}"#,
        );
        run(&database, r#"{"insert": "c", "documents": [{"t": {"$date": {"$numberLong": "1"}}}, {"t": 1}]}"#);
        let begun = std::time::Instant::now();
        while database.counters().ttl_passes.get() < 2 {
            assert!(begun.elapsed().as_secs() < 60, "no pass came");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(run(&database, r#"{"count": "c"}"#).contains("\"n\":1"));
        assert_eq!(database.counters().ttl_deleted_documents.get(), 1);
    }
}
