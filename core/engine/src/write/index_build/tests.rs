//! Builds step by step, with writes between the steps; crashes and drops on the way.

use super::*;
use crate::connection::ConnectionInfo;
use crate::open_options::OpenOptions;
use multifora_model::{RawDoc, extjson};
use proptest::prelude::*;
use std::collections::BTreeMap;

const NS: &str = "c";

fn options() -> OpenOptions {
    OpenOptions::default().ttl_sweep_secs(0)
}

fn run(database: &Database, command: &str) -> String {
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    let reply = connection.command_bytes("d", &extjson::parse_document(command).unwrap());
    extjson::to_text(RawDoc::framed(&reply).unwrap(), extjson::Mode::Relaxed)
}

fn ns() -> Namespace {
    Namespace::new("d", NS).unwrap()
}

fn specs(indexes: &[&str]) -> Vec<ParsedSpec> {
    let parse =
        |text: &&str| ParsedSpec::parse(RawDoc::framed(&extjson::parse_document(text).unwrap()).unwrap());
    indexes.iter().map(|text| parse(text).unwrap()).collect()
}

/// Enters indexes as being built, whatever the size of the collection.
fn enter_all(database: &Database, specs: &[ParsedSpec]) -> Entered {
    let interrupt = Interrupt::new();
    let mut writer = Writer::for_work(database, &interrupt);
    writer
        .run_exclusive(|txn| {
            let mut write = Writer::for_work(database, &interrupt).open(txn, &ns())?.unwrap();
            let entered = enter(&mut write, database, &specs.iter().collect::<Vec<_>>())?;
            finish(write, entered)
        })
        .unwrap()
}

fn clean(database: &Database) {
    let report = database.check(&Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// The indexes that are complete, and those being built.
fn known(database: &Database) -> (usize, usize) {
    let snapshot = database.store().snapshot();
    let collection = catalog::find(&snapshot, database.catalog_cache(), &ns()).unwrap().unwrap();
    (collection.indexes.len(), collection.building.len())
}

/// A write between two steps of a build. Values are small, so that unique keys collide now and then.
#[derive(Clone, Debug)]
enum Write {
    Put { id: u8, values: Vec<u8> },
    Delete { id: u8 },
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        3 => (0u8..12, prop::collection::vec(0u8..40, 1..3)).prop_map(|(id, values)| Write::Put { id, values }),
        1 => (0u8..12).prop_map(|id| Write::Delete { id }),
    ]
}

/// What the collection holds, and whether any key was ever in two documents while a build watched.
#[derive(Default)]
struct Model {
    docs: BTreeMap<u8, Vec<u8>>,
    shared_a_key: bool,
}

impl Model {
    fn apply(&mut self, database: &Database, writes: &[Write]) {
        for write in writes {
            let reply = match write {
                Write::Put { id, values } => {
                    self.docs.insert(*id, values.clone());
                    let a = match values.as_slice() {
                        [one] => one.to_string(),
                        several => format!("{several:?}"),
                    };
                    run(
                        database,
                        &format!(
                            r#"{{"update": "{NS}", "updates": [{{"q": {{"_id": {id}}}, "u": {{"$set": {{"a": {a}, "b": {id}}}}}, "upsert": true}}]}}"#
                        ),
                    )
                }
                Write::Delete { id } => {
                    self.docs.remove(id);
                    run(
                        database,
                        &format!(
                            r#"{{"delete": "{NS}", "deletes": [{{"q": {{"_id": {id}}}, "limit": 1}}]}}"#
                        ),
                    )
                }
            };
            assert!(reply.contains("\"ok\":1") && !reply.contains("writeErrors"), "{reply}");
            self.look();
        }
    }

    fn look(&mut self) {
        let mut seen = std::collections::BTreeSet::new();
        for values in self.docs.values() {
            let own: std::collections::BTreeSet<_> = values.iter().collect();
            for value in own {
                self.shared_a_key |= !seen.insert(*value);
            }
        }
    }
}

/// All steps of a build with writes between them.
fn build_beside_writes(
    database: &Database,
    model: &mut Model,
    specs: &[ParsedSpec],
    steps: &[Vec<Write>],
) -> Result<()> {
    let (interrupt, progress, ns) = (Interrupt::new(), Progress::default(), ns());
    let mut writer = Writer::for_work(database, &interrupt);
    let mut between = steps.iter();
    let mut write = |model: &mut Model| between.next().into_iter().for_each(|w| model.apply(database, w));
    let entered = enter_all(database, specs);
    model.shared_a_key = false;
    model.look();
    let mut build = Build { database, interrupt: &interrupt, progress: &progress, ns: &ns, entered };
    let mut steps = || -> Result<()> {
        write(model);
        let scanned = scan::scan(&build)?;
        write(model);
        let mut loaded = Vec::new();
        for part in scanned {
            loaded.push(load::load(&build, part)?);
        }
        write(model);
        build.entered.tables = load::attach(&build, &mut writer, loaded)?;
        write(model);
        drain::drain_round(&build, &mut writer)?;
        write(model);
        drain::drain_round(&build, &mut writer)?;
        write(model);
        drain::hand_over(&build, &mut writer)
    };
    let outcome = steps();
    if outcome.is_err() {
        build.take_out();
    }
    outcome
}

proptest! {
    #[test]
    fn an_index_built_beside_writers_is_complete_and_exact(
        before in prop::collection::vec(write(), 0..15),
        steps in prop::collection::vec(prop::collection::vec(write(), 0..8), 6),
        after in prop::collection::vec(write(), 0..5),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.mfdb");
        let mut model = Model::default();
        let plain = specs(&[
            r#"{"key": {"a": 1}, "name": "a"}"#,
            r#"{"key": {"b": -1, "a": 1}, "name": "ba", "partialFilterExpression": {"b": {"$gt": 3}}}"#,
        ]);
        {
            let database = Database::open(&path, &options()).unwrap();
            run(&database, &format!(r#"{{"create": "{NS}"}}"#));
            model.apply(&database, &before);
            build_beside_writes(&database, &mut model, &plain, &steps).unwrap();
            prop_assert_eq!(known(&database), (3, 0));
            clean(&database);
            model.apply(&database, &after);
            clean(&database);
            // Not closed in order: what was committed is found in the log.
        }
        let database = Database::open(&path, &options()).unwrap();
        prop_assert_eq!(known(&database), (3, 0));
        clean(&database);
    }

    #[test]
    fn a_unique_index_is_built_exactly_or_refused_for_a_reason(
        before in prop::collection::vec(write(), 0..6),
        steps in prop::collection::vec(prop::collection::vec(write(), 0..4), 6),
    ) {
        let database = Database::open(":memory:", &options()).unwrap();
        run(&database, &format!(r#"{{"create": "{NS}"}}"#));
        let mut model = Model::default();
        model.apply(&database, &before);
        let unique = specs(&[r#"{"key": {"a": 1}, "name": "a", "unique": true}"#]);
        match build_beside_writes(&database, &mut model, &unique, &steps) {
            Ok(()) => {
                model.shared_a_key = false;
                model.look();
                prop_assert!(!model.shared_a_key, "two documents share a key: {:?}", model.docs);
                prop_assert_eq!(known(&database), (2, 0));
            }
            Err(error) => {
                prop_assert_eq!(error.code(), ErrorCode::DuplicateKey);
                prop_assert!(model.shared_a_key, "{} without two documents that shared a key", error);
                prop_assert!(error.message().contains("index: a dup key: { a: "), "{}", error);
                prop_assert_eq!(known(&database), (1, 0));
            }
        }
        clean(&database);
    }
}

#[test]
fn a_build_that_a_crash_left_behind_is_gone_after_opening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.mfdb");
    // With step 0 nothing was attached yet, with step 1 no round was drained.
    for step in 0..3 {
        {
            let database = Database::open(&path, &options()).unwrap();
            run(&database, r#"{"insert": "c", "documents": [{"_id": 1, "a": [1]}]}"#);
            let entered =
                enter_all(&database, &specs(&[r#"{"key": {"a": 1}, "name": "a", "unique": true}"#]));
            let (interrupt, progress, ns) = (Interrupt::new(), Progress::default(), ns());
            let mut build =
                Build { database: &database, interrupt: &interrupt, progress: &progress, ns: &ns, entered };
            let mut writer = Writer::for_work(&database, &interrupt);
            if step > 0 {
                let scanned = scan::scan(&build).unwrap();
                let loaded = scanned.into_iter().map(|part| load::load(&build, part).unwrap()).collect();
                build.entered.tables = load::attach(&build, &mut writer, loaded).unwrap();
            }
            // Writers note what they do, readers do not see the index, and nobody is refused for its sake.
            let insert = r#"{"insert": "c", "documents": [{"_id": 2, "a": 5}, {"_id": 3, "a": 5}]}"#;
            assert!(run(&database, insert).contains("\"n\":2"));
            if step > 1 {
                drain::drain_round(&build, &mut writer).unwrap_err();
            }
            assert!(!run(&database, r#"{"listIndexes": "c"}"#).contains("\"name\":\"a\""));
            assert_eq!(known(&database), (1, 1));
            writer.wait_durable().unwrap();
        }
        let database = Database::open(&path, &options()).unwrap();
        assert_eq!(known(&database), (1, 0));
        clean(&database);
        // The records' table, that of `_id_`, the catalogue.
        assert_eq!(database.store().stats().tables, 3);
        assert!(run(&database, r#"{"drop": "c"}"#).contains("\"ok\":1"));
    }
}

#[test]
fn a_dropped_collection_or_index_stops_the_build() {
    for drop in
        [r#"{"drop": "c"}"#, r#"{"dropIndexes": "c", "index": "a"}"#, r#"{"dropIndexes": "c", "index": "*"}"#]
    {
        let database = Database::open(":memory:", &options()).unwrap();
        run(&database, r#"{"insert": "c", "documents": [{"_id": 1, "a": 1}]}"#);
        let entered = enter_all(&database, &specs(&[r#"{"key": {"a": 1}, "name": "a"}"#]));
        let (interrupt, progress, ns) = (Interrupt::new(), Progress::default(), ns());
        let build =
            Build { database: &database, interrupt: &interrupt, progress: &progress, ns: &ns, entered };
        let mut writer = Writer::for_work(&database, &interrupt);
        let scanned = scan::scan(&build).unwrap();
        let loaded = scanned.into_iter().map(|part| load::load(&build, part).unwrap()).collect();
        assert!(run(&database, drop).contains("\"ok\":1"));
        let error = load::attach(&build, &mut writer, loaded).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexBuildAborted);
        build.take_out();
        let tables = if drop.contains("dropIndexes") { 3 } else { 1 };
        assert_eq!(database.store().stats().tables, tables, "{drop}");
    }
}

#[test]
fn a_document_that_no_index_can_take_may_go_while_the_build_runs() {
    let database = Database::open(":memory:", &options()).unwrap();
    run(
        &database,
        r#"{"insert": "c", "documents": [{"_id": 1, "a": [1], "b": [2]}, {"_id": 2, "a": [1], "b": 1}]}"#,
    );
    let parallel = specs(&[r#"{"key": {"a": 1, "b": 1}, "name": "ab"}"#]);
    let mut model = Model::default();
    let error = build_beside_writes(&database, &mut model, &parallel, &[]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CannotIndexParallelArrays);
    let deletion = [vec![Write::Delete { id: 1 }]];
    build_beside_writes(&database, &mut model, &parallel, &deletion).unwrap();
    assert_eq!(known(&database), (2, 0));
    clean(&database);
}

#[test]
fn what_nobody_builds_any_more_does_not_keep_others_from_it() {
    let database = Database::open(":memory:", &options()).unwrap();
    run(&database, r#"{"insert": "c", "documents": [{"_id": 1, "a": 1}]}"#);
    drop(enter_all(&database, &specs(&[r#"{"key": {"a": 1}, "name": "a"}"#])));
    assert_eq!(known(&database), (1, 1));
    let create = r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]}"#;
    assert!(run(&database, create).contains("\"numIndexesAfter\":2"));
    assert_eq!(known(&database), (2, 0));
    clean(&database);
}
