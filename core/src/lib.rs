//! MultiforaDB: documents in one file, no server to install.
//!
//! ```
//! use multiforadb::{Connection, ConnectionInfo, Database, OpenOptions, extjson};
//!
//! # fn main() -> Result<(), multiforadb::Error> {
//! let database = Database::open(":memory:", &OpenOptions::default())?;
//! let connection = database.connect(ConnectionInfo::in_process("rust"));
//! let command = extjson::parse_document(r#"{"ping": 1}"#)?;
//! let reply = connection.command_bytes("admin", &command);
//! let reply = multiforadb::RawDoc::framed(&reply).unwrap_or(multiforadb::RawDoc::EMPTY);
//! assert_eq!(reply.get("ok").and_then(|ok| ok.as_f64()), Some(1.0));
//! database.close()
//! # }
//! ```
//!
//! A database command, BSON in and BSON out, is the only verb; [`Connection::command_bytes`] runs it. With the
//! feature `server`, [`serve`] lets MongoDB drivers and tools connect to the open file.

pub use multifora_engine::connection::check_bytes;
pub use multifora_engine::{
    CheckReport, CollectionStats, Compacted, Connection, ConnectionInfo, CopyProgress, Database,
    DatabaseStats, DocumentSequence, Durability, Interrupt, OnProgress, OpenOptions, ReplicaSet, Request,
    SalvageReport, SalvagedCollection, compact, salvage,
};
pub use multifora_model::{
    DocBuilder, Element, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result, extjson,
    limits, validate,
};
#[cfg(feature = "server")]
pub use multifora_server::{Log, ServeOptions, Server, serve};

/// The version of MultiforaDB, `major.minor.patch`.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
