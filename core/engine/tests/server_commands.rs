//! What every command takes, and the commands about the server itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{ConnectionInfo, Database, OpenOptions, ReplicaSet};
use support::{Session, memory};

#[test]
fn names_of_commands() {
    let session = memory();
    for name in ["ping", "hello", "isMaster", "ismaster", "buildInfo", "buildinfo"] {
        session.ok(&format!(r#"{{"{name}": 1}}"#));
    }
    for name in ["Ping", "atlasVersion", "getFreeMonitoringStatus", ""] {
        session.fails(&format!(r#"{{"{name}": 1}}"#), 59);
    }
    session.fails("{}", 59);
}

#[test]
fn databases_that_cannot_be() {
    let session = memory();
    for db in ["", "a b", "a.b", "a$b", "a/b", &"x".repeat(64)] {
        assert_eq!(session.run_on(db, r#"{"ping": 1}"#).code(), Some(73), "{db}");
    }
    session.fails(r#"{"listDatabases": 1}"#, 13);
    assert!(session.run_on("admin", r#"{"listDatabases": 1}"#).is_ok());
}

/// Arguments of every command, and the code they give on `find` (0: accepted).
const GENERIC: &[(&str, i32)] = &[
    (r#""comment": {"x": 1}"#, 0),
    (r#""$clusterTime": {"clusterTime": {"$timestamp": {"t": 1, "i": 1}}}"#, 0),
    (r#""$clusterTime": 1"#, 14),
    (r#""$readPreference": {"mode": "secondary"}"#, 0),
    (r#""$readPreference": {"mode": "nowhere"}"#, 2),
    (r#""readConcern": {"level": "majority"}"#, 0),
    (r#""readConcern": {}"#, 0),
    (r#""readConcern": {"level": "bogus"}"#, 2),
    (r#""readConcern": {"bogus": 1}"#, 40415),
    (r#""readConcern": "local""#, 14),
    (r#""writeConcern": {"w": "majority", "wtimeout": 5}"#, 0),
    (r#""writeConcern": {"w": 51}"#, 9),
    (r#""writeConcern": {"w": -1}"#, 9),
    (r#""writeConcern": {"j": true, "fsync": true}"#, 9),
    (r#""writeConcern": {"bogus": 1}"#, 40415),
    (r#""writeConcern": 1"#, 14),
    (r#""maxTimeMS": 60000"#, 0),
    (r#""maxTimeMS": 60000.0"#, 0),
    (r#""maxTimeMS": -1"#, 2),
    (r#""maxTimeMS": 2147483648"#, 2),
    (r#""maxTimeMS": 1.5"#, 2),
    (r#""maxTimeMS": "1""#, 14),
    (r#""apiVersion": "1""#, 0),
    (r#""apiVersion": "2""#, 322),
    (r#""apiVersion": 1"#, 14),
    (r#""apiVersion": "1", "apiStrict": true, "apiDeprecationErrors": true"#, 0),
    (r#""apiStrict": true"#, 4_886_600),
    (r#""comment": 1, "comment": 2"#, 40413),
    (r#""maxTimeMS": 1000, "maxTimeMS": 1000"#, 40413),
    (r#""autocommit": false"#, 72),
    (r#""bogus": 1"#, 40415),
    (r#""limit": 1, "limit": 1"#, 40413),
    (r#""limit": "x""#, 14),
    (r#""limit": 2.0"#, 0),
    (r#""limit": null"#, 0),
    (r#""find": "c""#, 40413),
];

#[test]
fn arguments_that_every_command_takes() {
    let session = memory();
    for (argument, code) in GENERIC {
        let reply = session.run(&format!(r#"{{"find": "c", {argument}}}"#));
        assert_eq!(reply.code().unwrap_or(0), *code, "{argument}: {}", reply.text());
    }
    session.fails(r#"{"serverStatus": 1, "apiVersion": "1", "apiStrict": true}"#, 323);
}

#[test]
fn messages_of_the_argument_parser() {
    let session = memory();
    let message = |command: &str| session.run(command).str("errmsg").unwrap();
    assert_eq!(message(r#"{"find": "c", "foo": 1}"#), "BSON field 'find.foo' is an unknown field.");
    assert_eq!(
        message(r#"{"find": "c", "limit": "x"}"#),
        "BSON field 'find.limit' is the wrong type 'string', expected types '[long, int, decimal, double]'"
    );
    assert_eq!(
        message(r#"{"find": "c", "filter": 1}"#),
        "BSON field 'find.filter' is the wrong type 'int', expected type 'object'"
    );
    assert_eq!(
        message(r#"{"insert": "c"}"#),
        "BSON field 'insert.documents' is missing but a required field"
    );
    assert_eq!(message(r#"{"nope": 1}"#), "no such command: 'nope'");
}

#[test]
fn write_concerns_that_one_node_cannot_meet() {
    let session = memory();
    session.fails(r#"{"insert": "c", "documents": [{}], "writeConcern": {"w": 2}}"#, 2);
    assert_eq!(session.docs("c").len(), 0);
    let set = replica_set_session();
    let reply = set.run(r#"{"insert": "c", "documents": [{}], "writeConcern": {"w": 2}}"#);
    assert_eq!((reply.is_ok(), reply.i64("writeConcernError.code")), (true, Some(100)));
    let reply = set.run(r#"{"insert": "c", "documents": [{}], "writeConcern": {"w": "mode"}}"#);
    assert_eq!(reply.i64("writeConcernError.code"), Some(79));
    assert_eq!(set.docs("c").len(), 2);
}

fn replica_set_session() -> Session {
    let database = Database::open(":memory:", &OpenOptions::default()).unwrap();
    let replica_set = Some(ReplicaSet { name: "rs".into(), host: "h:1".into() });
    let connection = database.connect(ConnectionInfo { door: "tcp", peer: "p:1".into(), replica_set });
    Session { database, connection }
}

#[test]
fn hello_with_and_without_a_replica_set() {
    let alone = memory().ok(r#"{"hello": 1, "helloOk": true, "somethingNew": 1}"#);
    for field in ["setName", "hosts", "topologyVersion", "saslSupportedMechs", "$clusterTime", "ismaster"] {
        assert!(alone.get(field).is_none(), "{field}");
    }
    assert_eq!((alone.i64("maxWireVersion"), alone.i64("maxWriteBatchSize")), (Some(25), Some(100_000)));
    let session = replica_set_session();
    let hello = session.ok(r#"{"isMaster": 1}"#);
    assert_eq!((hello.str("setName"), hello.str("hosts.0")), (Some("rs".into()), Some("h:1".into())));
    assert_eq!((hello.str("me"), hello.str("primary")), (Some("h:1".into()), Some("h:1".into())));
    assert!(hello.get("$clusterTime.clusterTime").is_some() && hello.get("operationTime").is_some());
    assert!(hello.get("isWritablePrimary").is_none() && hello.get("ismaster").is_some());
}

#[test]
fn server_commands_answer() {
    let session = memory();
    session.ok(r#"{"insert": "c", "documents": [{"_id": 1}]}"#);
    let admin = |command: &str| session.run_on("admin", command);
    for command in [
        r#"{"hostInfo": 1}"#,
        r#"{"getParameter": "*"}"#,
        r#"{"getParameter": 1, "featureCompatibilityVersion": 1}"#,
        r#"{"getParameter": {"allParameters": true}}"#,
        r#"{"getLog": "*"}"#,
        r#"{"getLog": "startupWarnings"}"#,
        r#"{"connectionStatus": 1, "showPrivileges": true}"#,
        r#"{"whatsmyuri": 1}"#,
        r#"{"serverStatus": 1, "metrics": 0}"#,
        r#"{"listCommands": 1}"#,
        r#"{"getCmdLineOpts": 1}"#,
        r#"{"listDatabases": 1, "nameOnly": true}"#,
        r#"{"startSession": 1}"#,
        r#"{"killAllSessions": []}"#,
        r#"{"killAllSessionsByPattern": [{"lsid": {"id": {"$uuid": "01020304-0506-0708-090a-0b0c0d0e0f10"}}}]}"#,
        r#"{"killSessions": []}"#,
        r#"{"currentOp": 1, "$all": true}"#,
        r#"{"killOp": 1, "op": 12345}"#,
        r#"{"setFeatureCompatibilityVersion": "8.0", "confirm": true}"#,
        r#"{"fsync": 1}"#,
    ] {
        let reply = admin(command);
        assert!(reply.is_ok(), "{command}: {}", reply.text());
    }
    for (command, code) in [
        (r#"{"getParameter": 1, "noSuchParameter": 1}"#, 72),
        (r#"{"setParameter": 1, "quiet": true}"#, 20),
        (r#"{"setParameter": 1, "bogus": true}"#, 72),
        (r#"{"getLog": "bogus"}"#, 96),
        (r#"{"getLog": 1}"#, 14),
        (r#"{"replSetGetStatus": 1}"#, 76),
        (r#"{"killOp": 1}"#, 4),
        (r#"{"setFeatureCompatibilityVersion": "3.6"}"#, 2),
        (r#"{"fsync": 1, "lock": true}"#, 115),
        (r#"{"endSessions": 1}"#, 14),
        (r#"{"endSessions": [1]}"#, 14),
    ] {
        let reply = admin(command);
        assert_eq!(reply.code(), Some(code), "{command}: {}", reply.text());
    }
    let listed = admin(r#"{"listDatabases": 1, "filter": {"name": "d"}}"#);
    assert_eq!((listed.str("databases.0.name"), listed.get("databases.1")), (Some("d".into()), None));
    let running = admin(r#"{"currentOp": 1}"#);
    assert_eq!(running.i64("inprog.0.command.currentOp"), Some(1));
}

#[test]
fn hostile_bytes_are_an_error_reply() {
    let session = memory();
    for (bytes, code) in
        [(&b""[..], 22), (b"\x05\0\0\0", 22), (b"\xff\xff\xff\x7f\0", 10334), (b"\x04\0\0\0\0", 22)]
    {
        let reply = support::Reply(session.connection.command_bytes("d", bytes));
        assert_eq!(reply.code(), Some(code), "{bytes:?}");
    }
}

#[test]
fn a_read_only_file_refuses_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.mfdb");
    let session = support::open(&path);
    session.ok(r#"{"insert": "c", "documents": [{"_id": 1}]}"#);
    session.database.close().unwrap();
    let database = Database::open(&path, &OpenOptions::default().read_only(true)).unwrap();
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    let session = Session { database, connection };
    assert_eq!(session.docs("c").len(), 1);
    session.fails(r#"{"insert": "c", "documents": [{"_id": 2}]}"#, 20);
    session.fails(r#"{"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]}"#, 20);
    session.fails(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}"#, 20);
    session.fails(r#"{"drop": "c"}"#, 20);
    session.database.close().unwrap();
}

#[test]
fn a_reader_beside_a_writer_sees_what_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared.mfdb");
    let writer = support::open(&path);
    writer.ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}]}"#);
    let database = Database::open(&path, &OpenOptions::default().read_only(true)).unwrap();
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    let reader = Session { database, connection };
    let first = reader.ok(r#"{"find": "c", "batchSize": 1}"#).i64("cursor.id").unwrap();
    writer.ok(r#"{"update": "c", "updates": [{"q": {}, "u": {"$inc": {"a": 1}}, "multi": true}]}"#);
    writer.ok(r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}"#);
    assert!(writer.run_on("admin", r#"{"fsync": 1}"#).is_ok());
    writer.ok(r#"{"insert": "new", "documents": [{"_id": 1}]}"#);
    assert_eq!(reader.ok(r#"{"count": "c", "query": {"a": 2}, "hint": "a_1"}"#).i64("n"), Some(2));
    assert_eq!(reader.docs("new").len(), 1);
    // The cursor goes on with what it began with.
    let rest = reader.ok(&format!(r#"{{"getMore": {{"$numberLong": "{first}"}}, "collection": "c"}}"#));
    assert_eq!(rest.i64("cursor.nextBatch.0.a"), Some(1));
    writer.ok(r#"{"drop": "new"}"#);
    assert_eq!(reader.docs("new").len(), 0);
    writer.database.close().unwrap();
    assert_eq!(reader.docs("c").len(), 2);
    assert!(reader.database.check(&multifora_engine::Interrupt::new()).unwrap().is_clean());
}

#[test]
fn a_check_finds_what_does_not_belong_together() {
    let session = memory();
    session
        .ok(r#"{"insert": "c", "documents": [{"_id": 1, "a": [1, 2]}, {"_id": 2, "a": null}, {"_id": 3}]}"#);
    session.ok(
        r#"{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}, {"key": {"a": -1}, "name": "s", "sparse": true}]}"#,
    );
    let report = session.database.check(&multifora_engine::Interrupt::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!((report.collections, report.documents, report.index_entries), (1, 3, 3 + 4 + 3));
    let stats = session.database.stats().unwrap();
    assert_eq!((stats.collections[0].ns.as_str(), stats.collections[0].documents), ("d.c", 3));
}

#[test]
fn sizes_of_collections_and_databases() {
    let session = memory();
    session.ok(r#"{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]}"#);
    let stats = session.ok(r#"{"collStats": "c"}"#);
    assert_eq!(stats.str("ns"), Some("d.c".into()));
    assert_eq!(
        (stats.i64("count"), stats.i64("size"), stats.i64("avgObjSize")),
        (Some(2), Some(28), Some(14))
    );
    assert_eq!((stats.i64("nindexes"), stats.i64("scaleFactor")), (Some(1), Some(1)));
    assert!(stats.i64("indexSizes._id_") > Some(0));
    assert_eq!(session.ok(r#"{"collStats": "c", "scale": 14}"#).i64("size"), Some(2));
    assert_eq!(session.ok(r#"{"collStats": "none"}"#).i64("count"), Some(0));
    session.fails(r#"{"collStats": "c", "scale": 0}"#, 51024);
    let stats = session.ok(r#"{"dbStats": 1}"#);
    assert_eq!((stats.str("db"), stats.i64("collections")), (Some("d".into()), Some(1)));
    assert_eq!(
        (stats.i64("objects"), stats.i64("dataSize"), stats.i64("indexes")),
        (Some(2), Some(28), Some(1))
    );
}
