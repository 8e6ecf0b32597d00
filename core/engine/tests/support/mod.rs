//! Commands in and replies out as Extended JSON, for tests that read like a shell session.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use multifora_engine::{Connection, ConnectionInfo, Database, OpenOptions};
use multifora_model::extjson;
use multifora_model::{OwnedValue, RawDoc};
use std::path::Path;

/// An open database with one connection to it.
pub struct Session {
    pub database: Database,
    pub connection: Connection,
}

/// A private database in memory.
pub fn memory() -> Session {
    open(Path::new(":memory:"))
}

/// The database in a file.
pub fn open(path: &Path) -> Session {
    let database = Database::open(path, &OpenOptions::default().ttl_sweep_secs(0)).unwrap();
    let connection = database.connect(ConnectionInfo::in_process("rust"));
    Session { database, connection }
}

/// A reply, with lookups by path.
pub struct Reply(pub Vec<u8>);

impl Session {
    /// Runs a command on database `d`.
    pub fn run(&self, command: &str) -> Reply {
        self.run_on("d", command)
    }

    /// Runs a command on a database.
    pub fn run_on(&self, db: &str, command: &str) -> Reply {
        let body = extjson::parse_document(command).unwrap_or_else(|e| panic!("{command}: {e}"));
        Reply(self.connection.command_bytes(db, &body))
    }

    /// Runs a command that must succeed without write errors.
    #[track_caller]
    pub fn ok(&self, command: &str) -> Reply {
        let reply = self.run(command);
        assert!(reply.is_ok() && reply.get("writeErrors").is_none(), "{command} gave {}", reply.text());
        reply
    }

    /// Runs a command that must fail with this code.
    #[track_caller]
    pub fn fails(&self, command: &str, code: i32) -> Reply {
        let reply = self.run(command);
        assert_eq!(reply.code(), Some(code), "{command} gave {}", reply.text());
        reply
    }

    /// Runs a write whose first write error must have this code.
    #[track_caller]
    pub fn write_fails(&self, command: &str, code: i32) -> Reply {
        let reply = self.run(command);
        assert_eq!(reply.i64("writeErrors.0.code"), Some(i64::from(code)), "{command} gave {}", reply.text());
        reply
    }

    /// The documents of a collection in order of `_id`, as one line of Extended JSON each.
    pub fn docs(&self, collection: &str) -> Vec<String> {
        self.find(&format!(r#"{{"find": "{collection}", "sort": {{"_id": 1}}, "batchSize": 100000}}"#))
    }

    /// The first batch of a cursor.
    pub fn find(&self, command: &str) -> Vec<String> {
        let reply = self.ok(command);
        let batch = reply.get("cursor.firstBatch").unwrap_or_else(OwnedValue::null);
        let docs = batch.as_ref().as_array().unwrap_or(RawDoc::EMPTY);
        docs.iter()
            .filter_map(|e| e.value.as_doc())
            .map(|d| extjson::to_text(d, extjson::Mode::Relaxed))
            .collect()
    }
}

impl Reply {
    pub fn doc(&self) -> RawDoc<'_> {
        RawDoc::framed(&self.0).expect("a reply is a document")
    }

    pub fn text(&self) -> String {
        extjson::to_text(self.doc(), extjson::Mode::Relaxed)
    }

    pub fn is_ok(&self) -> bool {
        self.doc().get("ok").and_then(|v| v.as_f64()) == Some(1.0)
    }

    pub fn code(&self) -> Option<i32> {
        self.doc().get("code").and_then(|v| v.as_i32())
    }

    /// The value at a dotted path (array positions as numbers).
    pub fn get(&self, path: &str) -> Option<OwnedValue> {
        let mut value = self.doc().as_value();
        for part in path.split('.') {
            value = value.as_doc_or_array()?.get(part)?;
        }
        Some(value.into())
    }

    pub fn i64(&self, path: &str) -> Option<i64> {
        let value = self.get(path)?;
        let raw = value.as_ref();
        raw.as_i32().map(i64::from).or(raw.as_i64()).or(raw.as_f64().map(|n| n as i64))
    }

    pub fn str(&self, path: &str) -> Option<String> {
        self.get(path)?.as_ref().as_str().map(str::to_owned)
    }
}

/// Sets a flag when it goes, also by a panic: so that threads that run until then do not run for ever.
pub struct SetOnDrop<'a>(pub &'a std::sync::atomic::AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
