//! find, count, distinct, aggregate and explain through the command interface.

mod support;

use support::{Reply, Session, memory};

fn numbers(n: i32) -> Session {
    let db = memory();
    let docs: Vec<String> =
        (0..n).map(|i| format!(r#"{{"_id": {i}, "a": {}, "b": {}}}"#, i % 10, i)).collect();
    db.ok(&format!(r#"{{"insert": "c", "documents": [{}]}}"#, docs.join(", ")));
    db
}

fn index(db: &Session, key: &str, name: &str, options: &str) {
    db.ok(&format!(r#"{{"createIndexes": "c", "indexes": [{{"key": {key}, "name": "{name}"{options}}}]}}"#));
}

fn stage(reply: &Reply, path: &str) -> Option<String> {
    reply.str(&format!("queryPlanner.winningPlan.{path}"))
}

#[test]
fn options_of_find_are_checked() {
    let db = numbers(3);
    for (options, code) in [
        (r#""limit": -1"#, 51024),
        (r#""skip": -1"#, 51024),
        (r#""batchSize": -1"#, 51024),
        (r#""limit": "x""#, 14),
        (r#""sort": {"a": 2}"#, 15975),
        (r#""hint": "nope""#, 2),
        (r#""hint": {"z": 1}"#, 2),
        (r#""hint": {"$natural": 2}"#, 2),
        (r#""hint": 3"#, 14),
        (r#""min": {"a": 1}"#, 51173),
        (r#""min": {"a": 1}, "hint": "_id_""#, 51174),
        (r#""min": {"_id": 2}, "max": {"_id": 1}, "hint": "_id_""#, 51175),
        (r#""min": {"_id": 2}, "max": {"a": 1}, "hint": "_id_""#, 51176),
        (r#""tailable": true"#, 2),
        (r#""awaitData": true"#, 9),
        (r#""collation": {"strength": 2}"#, 40414),
        (r#""unheardOf": 1"#, 40415),
        (r#""sort": {"$natural": 1}, "hint": "_id_""#, 2),
    ] {
        db.fails(&format!(r#"{{"find": "c", {options}}}"#), code);
    }
    assert_eq!(db.find(r#"{"find": "nowhere", "filter": {"a": 1}}"#).len(), 0);
    db.fails(r#"{"find": "nowhere", "filter": {"a": {"$nope": 1}}}"#, 2);
}

#[test]
fn natural_order_and_record_ids() {
    let db = numbers(3);
    let backwards = [r#"{"_id":2}"#, r#"{"_id":1}"#, r#"{"_id":0}"#];
    let shown = r#""projection": {"_id": 1}"#;
    assert_eq!(db.find(&format!(r#"{{"find": "c", "hint": {{"$natural": -1}}, {shown}}}"#)), backwards);
    assert_eq!(db.find(&format!(r#"{{"find": "c", "sort": {{"$natural": -1}}, {shown}}}"#)), backwards);
    let reply = db.ok(r#"{"find": "c", "showRecordId": true, "filter": {"_id": 1}}"#);
    assert!(reply.i64("cursor.firstBatch.0.$recordId").is_some());
    assert_eq!(db.find(r#"{"find": "c", "returnKey": true, "filter": {"_id": 1}}"#), [r#"{"_id":1}"#]);
    assert_eq!(db.find(r#"{"find": "c", "returnKey": true, "filter": {"a": 1}}"#), ["{}"]);
}

#[test]
fn let_variables_reach_expressions() {
    let db = numbers(20);
    let found = db.find(
        r#"{"find": "c", "filter": {"$expr": {"$eq": ["$b", "$$wanted"]}}, "let": {"wanted": {"$add": [3, 4]}}}"#,
    );
    assert_eq!(found, [r#"{"_id":7,"a":7,"b":7}"#]);
    db.fails(r#"{"find": "c", "let": {"Wanted": 1}}"#, 9);
}

#[test]
fn plans_are_shown() {
    let db = numbers(100);
    index(&db, r#"{"a": 1, "b": -1}"#, "ab", "");
    let explain = |query: &str| db.ok(&format!(r#"{{"explain": {query}, "verbosity": "executionStats"}}"#));

    let by_id = explain(r#"{"find": "c", "filter": {"_id": 5}}"#);
    assert_eq!(stage(&by_id, "stage").as_deref(), Some("IDHACK"));
    assert_eq!(by_id.i64("executionStats.totalDocsExamined"), Some(1));

    let by_index = explain(r#"{"find": "c", "filter": {"a": 3, "b": {"$gt": 50}}}"#);
    assert_eq!(stage(&by_index, "inputStage.indexName").as_deref(), Some("ab"));
    assert_eq!(stage(&by_index, "inputStage.indexBounds.a.0").as_deref(), Some("[3, 3]"));
    assert_eq!(stage(&by_index, "inputStage.indexBounds.b.0").as_deref(), Some("[inf, 50)"));
    assert_eq!(by_index.i64("executionStats.nReturned"), Some(5));
    assert_eq!(by_index.i64("executionStats.totalKeysExamined"), Some(5));

    let sorted = explain(r#"{"find": "c", "filter": {"a": 3}, "sort": {"b": 1}, "limit": 2}"#);
    assert_eq!(stage(&sorted, "stage").as_deref(), Some("LIMIT"));
    assert_eq!(stage(&sorted, "inputStage.inputStage.direction").as_deref(), Some("backward"));
    assert_eq!(sorted.i64("executionStats.totalDocsExamined"), Some(2));

    let blocking = explain(r#"{"find": "c", "filter": {"b": {"$gt": 3}}, "sort": {"b": 1}}"#);
    assert_eq!(stage(&blocking, "stage").as_deref(), Some("SORT"));
    assert_eq!(stage(&blocking, "inputStage.stage").as_deref(), Some("COLLSCAN"));

    let either = explain(r#"{"find": "c", "filter": {"$or": [{"a": 1}, {"_id": 3}]}}"#);
    assert_eq!(stage(&either, "inputStage.stage").as_deref(), Some("OR"));
    assert_eq!(either.i64("executionStats.nReturned"), Some(11));

    let counted = explain(r#"{"count": "c", "query": {"a": 3}}"#);
    assert_eq!(stage(&counted, "inputStage.stage").as_deref(), Some("COUNT_SCAN"));
    assert_eq!(counted.i64("executionStats.totalDocsExamined"), Some(0));

    let nothing = db.ok(r#"{"explain": {"find": "nowhere"}, "verbosity": "queryPlanner"}"#);
    assert_eq!(stage(&nothing, "stage").as_deref(), Some("EOF"));
    assert!(nothing.get("executionStats").is_none());
}

#[test]
fn counts_are_read_off_and_documents_left_alone() {
    let db = numbers(3_000);
    index(&db, r#"{"a": 1, "b": -1}"#, "ab", "");
    let group = r#"{"$group": {"_id": 1, "n": {"$sum": 1}}}"#;
    let matched = r#"{"$match": {"a": {"$gte": 2}}}"#;
    for (pipeline, wanted, stage) in [
        (format!("[{matched}, {group}]"), r#"{"_id":1,"n":2400}"#, "COUNT_SCAN"),
        (format!(r#"[{matched}, {{"$sort": {{"b": 1}}}}, {group}]"#), r#"{"_id":1,"n":2400}"#, "COUNT_SCAN"),
        (format!(r#"[{matched}, {{"$count": "n"}}]"#), r#"{"n":2400}"#, "COUNT_SCAN"),
        (format!(r#"[{{"$match": {{}}}}, {group}]"#), r#"{"_id":1,"n":3000}"#, "RECORD_STORE_FAST_COUNT"),
        (
            r#"[{"$group": {"_id": null, "n": {"$count": {}}, "twice": {"$sum": 2}}}, {"$project": {"_id": 0}}]"#.into(),
            r#"{"n":3000,"twice":6000}"#,
            "RECORD_STORE_FAST_COUNT",
        ),
    ] {
        assert_eq!(db.find(&format!(r#"{{"aggregate": "c", "pipeline": {pipeline}, "cursor": {{}}}}"#)), [wanted]);
        let told = db.ok(&format!(
            r#"{{"explain": {{"aggregate": "c", "pipeline": {pipeline}, "cursor": {{}}}}, "verbosity": "executionStats"}}"#
        ));
        let at = |path: &str| format!("stages.0.$cursor.{path}");
        assert_eq!(told.str(&at("queryPlanner.winningPlan.stage")).as_deref(), Some(stage), "{}", told.text());
        assert_eq!(told.i64(&at("executionStats.totalDocsExamined")), Some(0), "{pipeline}");
    }
    // Skip and limit count too; a limit before a skip leaves what it leaves.
    for (stages, wanted) in [
        (r#"{"$skip": 2390}, {"$limit": 100}"#, Some(10)),
        (r#"{"$limit": 100}, {"$skip": 30}"#, Some(70)),
        (r#"{"$limit": 30}, {"$skip": 30}"#, None),
        (r#"{"$skip": 5000}"#, None),
    ] {
        let pipeline = format!("[{matched}, {stages}, {group}]");
        let found = db.find(&format!(r#"{{"aggregate": "c", "pipeline": {pipeline}, "cursor": {{}}}}"#));
        let wanted: Vec<String> = wanted.iter().map(|n| format!(r#"{{"_id":1,"n":{n}}}"#)).collect();
        assert_eq!(found, wanted, "{stages}");
    }
    let one = db.ok(r#"{"explain": {"count": "c", "query": {"_id": 7}}, "verbosity": "executionStats"}"#);
    assert_eq!(one.i64("executionStats.totalDocsExamined"), Some(0));
    assert_eq!(db.ok(r#"{"count": "c", "query": {"_id": 7}}"#).i64("n"), Some(1));
}

#[test]
fn skipping_does_not_read_what_it_skips() {
    let db = numbers(3_000);
    index(&db, r#"{"a": 1, "b": -1}"#, "ab", "");
    for (query, docs) in [
        (r#""skip": 2990"#, 10),
        (r#""sort": {"_id": -1}, "skip": 1000, "limit": 5"#, 5),
        (r#""filter": {"a": {"$gte": 9}}, "sort": {"a": 1, "b": -1}, "skip": 280"#, 20),
        (r#""filter": {"a": 3, "b": {"$lt": 100}}, "sort": {"b": 1}, "skip": 4, "limit": 2"#, 2),
        // A filter that the bounds do not decide is asked about every row.
        (r#""filter": {"a": 9, "c": null}, "skip": 10"#, 300),
        (r#""filter": {"b": {"$gte": 2000}}, "skip": 10"#, 3_000),
    ] {
        let told =
            db.ok(&format!(r#"{{"explain": {{"find": "c", {query}}}, "verbosity": "executionStats"}}"#));
        assert_eq!(told.i64("executionStats.totalDocsExamined"), Some(docs), "{query}: {}", told.text());
        // The same rows as without skipping.
        let skip: usize =
            query.split("\"skip\": ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let all = query
            .replace(&format!("\"skip\": {skip}"), "\"skip\": 0")
            .replace("\"limit\"", "\"batchSize\": 10000, \"comment\"");
        let found = db.find(&format!(r#"{{"find": "c", "batchSize": 10000, {query}}}"#));
        let mut whole = db.find(&format!(
            r#"{{"find": "c", {all}{}}}"#,
            if all.contains("batchSize") { "" } else { r#", "batchSize": 10000"# }
        ));
        whole.drain(..skip);
        whole.truncate(found.len());
        assert_eq!(found, whole, "{query}");
    }
}

#[test]
fn explain_knows_its_commands() {
    let db = numbers(3);
    db.fails(r#"{"explain": {"find": "c"}, "verbosity": "loud"}"#, 2);
    db.fails(r#"{"explain": {"nope": 1}}"#, 59);
    db.fails(r#"{"explain": {"ping": 1}}"#, 20);
    db.fails(r#"{"explain": {"find": "c", "nope": 1}}"#, 40415);
    for command in [
        r#"{"update": "c", "updates": [{"q": {"a": 1}, "u": {"$set": {"x": 1}}}]}"#,
        r#"{"delete": "c", "deletes": [{"q": {"a": 1}, "limit": 1}]}"#,
        r#"{"findAndModify": "c", "query": {"a": 1}, "remove": true}"#,
        r#"{"distinct": "c", "key": "a"}"#,
        r#"{"aggregate": "c", "pipeline": [{"$match": {"a": 1}}, {"$group": {"_id": "$a"}}]}"#,
    ] {
        db.ok(&format!(r#"{{"explain": {command}, "verbosity": "executionStats"}}"#));
    }
    // Nothing was written.
    assert_eq!(db.docs("c").len(), 3);
    assert_eq!(db.find(r#"{"find": "c", "filter": {"x": 1}}"#).len(), 0);
}

#[test]
fn indexes_that_leave_documents_out() {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2}, {"_id": 3, "a": 9}]}"#);
    index(&db, r#"{"a": 1}"#, "sparse", r#", "sparse": true"#);
    let plan = |filter: &str, more: &str| {
        db.ok(&format!(r#"{{"explain": {{"find": "c", "filter": {filter}{more}}}}}"#))
    };
    assert_eq!(stage(&plan(r#"{"a": 1}"#, ""), "inputStage.indexName").as_deref(), Some("sparse"));
    assert_eq!(
        stage(&plan(r#"{"a": {"$exists": true}}"#, ""), "inputStage.indexName").as_deref(),
        Some("sparse")
    );
    assert_eq!(stage(&plan(r#"{"a": null}"#, ""), "stage").as_deref(), Some("COLLSCAN"));
    assert_eq!(stage(&plan(r#"{"a": {"$ne": 5}}"#, ""), "stage").as_deref(), Some("COLLSCAN"));
    assert_eq!(stage(&plan("{}", r#", "sort": {"a": 1}"#), "stage").as_deref(), Some("SORT"));
    assert_eq!(db.find(r#"{"find": "c", "hint": "sparse"}"#).len(), 2);
    db.ok(r#"{"dropIndexes": "c", "index": "sparse"}"#);

    index(&db, r#"{"a": 1}"#, "partial", r#", "partialFilterExpression": {"a": {"$gt": 5}}"#);
    assert_eq!(stage(&plan(r#"{"a": 9}"#, ""), "inputStage.indexName").as_deref(), Some("partial"));
    assert_eq!(stage(&plan(r#"{"a": {"$gte": 7}}"#, ""), "inputStage.indexName").as_deref(), Some("partial"));
    assert_eq!(stage(&plan(r#"{"a": {"$gt": 4}}"#, ""), "stage").as_deref(), Some("COLLSCAN"));
    db.fails(r#"{"find": "c", "hint": "partial"}"#, 291);

    index(&db, r#"{"b": 1}"#, "hidden", r#", "hidden": true"#);
    assert_eq!(stage(&plan(r#"{"b": 1}"#, ""), "stage").as_deref(), Some("COLLSCAN"));
    db.fails(r#"{"find": "c", "hint": "hidden"}"#, 2);
}

#[test]
fn counts_and_their_limits() {
    let db = numbers(100);
    for (query, expected) in [
        (r#""query": {}"#, 100),
        (r#""query": {"a": 3}"#, 10),
        (r#""query": {"a": 3}, "skip": 4"#, 6),
        (r#""query": {"a": 3}, "limit": -3"#, 3),
        (r#""limit": 0, "skip": 99"#, 1),
        (r#""skip": 200"#, 0),
    ] {
        assert_eq!(db.ok(&format!(r#"{{"count": "c", {query}}}"#)).i64("n"), Some(expected), "{query}");
    }
    db.fails(r#"{"count": "c", "skip": -1}"#, 51024);
    assert_eq!(db.ok(r#"{"count": "nowhere"}"#).i64("n"), Some(0));
    let pipeline =
        |stages: &str| db.find(&format!(r#"{{"aggregate": "c", "pipeline": [{stages}], "cursor": {{}}}}"#));
    let group = r#"{"$group": {"_id": 1, "n": {"$sum": 1}}}"#;
    assert_eq!(pipeline(group), [r#"{"_id":1,"n":100}"#]);
    assert_eq!(
        pipeline(&format!(r#"{{"$match": {{"a": 3}}}}, {{"$skip": 2}}, {{"$limit": 5}}, {group}"#)),
        [r#"{"_id":1,"n":5}"#]
    );
    assert_eq!(pipeline(&format!(r#"{{"$match": {{"a": 77}}}}, {group}"#)).len(), 0);
    assert_eq!(
        pipeline(r#"{"$match": {"a": 3}}, {"$count": "n"}, {"$addFields": {"m": 1}}"#),
        [r#"{"n":10,"m":1}"#]
    );
}

#[test]
fn aggregate_checks_its_arguments() {
    let db = numbers(3);
    db.fails(r#"{"aggregate": "c", "pipeline": []}"#, 9);
    db.fails(r#"{"aggregate": "c", "pipeline": {}, "cursor": {}}"#, 14);
    db.fails(r#"{"aggregate": "c", "cursor": {}}"#, 40414);
    db.fails(r#"{"aggregate": "c", "pipeline": [], "cursor": {"nope": 1}}"#, 40415);
    db.fails(r#"{"aggregate": "c", "pipeline": [], "cursor": {"batchSize": -1}}"#, 51024);
    db.fails(r#"{"aggregate": 1, "pipeline": [{"$match": {}}], "cursor": {}}"#, 73);
    db.fails(r#"{"aggregate": 2, "pipeline": [], "cursor": {}}"#, 9);
    let explained = db.ok(r#"{"aggregate": "c", "pipeline": [{"$match": {"_id": 1}}], "explain": true}"#);
    assert_eq!(stage(&explained, "stage").as_deref(), Some("IDHACK"));
}

#[test]
fn distinct_values() {
    let db = memory();
    db.ok(r#"{"insert": "c", "documents": [{"a": [1, [2]]}, {"a": 1.0}, {"a": null}, {}, {"x": [{"a": 5}, {"a": 6}]}]}"#);
    let reply = db.ok(r#"{"distinct": "c", "key": "a"}"#);
    assert_eq!(reply.text().split("\"ok\"").next(), Some(r#"{"values":[1,[2],null],"#));
    let reply = db.ok(r#"{"distinct": "c", "key": "x.a", "query": {"x": {"$exists": true}}}"#);
    assert_eq!(reply.text().split("\"ok\"").next(), Some(r#"{"values":[5,6],"#));
    db.fails(r#"{"distinct": "c", "key": 1}"#, 14);
    db.fails(r#"{"distinct": "c"}"#, 40414);
}

#[test]
fn large_collections_weigh_the_table_against_indexes() {
    let db = numbers(3_000);
    index(&db, r#"{"a": 1, "b": -1}"#, "ab", "");
    let plan = |find: &str| {
        db.ok(&format!(r#"{{"explain": {{"find": "c", {find}}}, "verbosity": "executionStats"}}"#))
    };
    let all = plan(r#""filter": {"a": {"$gte": 0}}"#);
    assert_eq!(stage(&all, "stage").as_deref(), Some("COLLSCAN"));
    let few = plan(r#""filter": {"a": {"$gte": 9}}"#);
    assert_eq!(stage(&few, "inputStage.indexName").as_deref(), Some("ab"));
    // From interval to interval: one jump per value of `a`, and the matches.
    let both = plan(r#""filter": {"a": {"$gte": 0}, "b": {"$gt": 2970}}"#);
    assert_eq!(both.i64("executionStats.nReturned"), Some(29));
    assert!(both.i64("executionStats.totalKeysExamined").unwrap() < 60, "{}", both.text());
    let first = plan(r#""sort": {"_id": -1}, "limit": 20"#);
    assert_eq!(first.i64("executionStats.totalDocsExamined"), Some(20));
    let found = plan(r#""filter": {"a": 3}, "limit": 2"#);
    assert_eq!(found.i64("executionStats.nReturned"), Some(2));
    let ids = plan(r#""filter": {"_id": {"$in": [5, 2999, 7, 5.0, 9000]}}, "sort": {"_id": -1}"#);
    assert_eq!(ids.i64("executionStats.nReturned"), Some(3));
    assert_eq!(ids.i64("executionStats.totalKeysExamined"), Some(3));
    let ordered = r#"{"find": "c", "filter": {"_id": {"$in": [5, 2999, 7]}}, "sort": {"_id": -1}, "projection": {"_id": 1}}"#;
    assert_eq!(db.find(ordered), [r#"{"_id":2999}"#, r#"{"_id":7}"#, r#"{"_id":5}"#]);
}
