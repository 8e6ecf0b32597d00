//! The engine's limits, in one place.

use std::time::Duration;

/// Documents in a first batch when the command names no batch size.
pub const DEFAULT_FIRST_BATCH_DOCS: u64 = 101;
/// Bytes of documents in one batch (one document always fits).
pub const MAX_BATCH_BYTES: usize = multifora_model::limits::MAX_DOCUMENT_BYTES;
/// Cursors open at one time in one database.
pub const MAX_OPEN_CURSORS: usize = 10_000;
/// A cursor that nobody asked for more is closed after this time.
pub const CURSOR_IDLE: Duration = Duration::from_secs(10 * 60);
/// Logical sessions are forgotten after this time (`logicalSessionTimeoutMinutes`).
pub const SESSION_IDLE: Duration = Duration::from_secs(SESSION_TIMEOUT_MINUTES as u64 * 60);
/// What hello announces as `logicalSessionTimeoutMinutes`.
pub const SESSION_TIMEOUT_MINUTES: i32 = 30;
/// Logical sessions known at one time.
pub const MAX_SESSIONS: usize = 1_000_000;
/// Largest command message a client may send.
pub const MAX_MESSAGE_BYTES: usize = 48_000_000;
/// Most statements in one write command.
pub const MAX_WRITE_BATCH: usize = 100_000;
/// Highest wire version spoken (MongoDB 8.0).
pub const MAX_WIRE_VERSION: i32 = 25;
/// Most bytes of a client's name and address kept per connection.
pub const MAX_CLIENT_METADATA_BYTES: usize = 512;
/// Expired documents that are deleted in one go.
pub const TTL_BATCH_DOCS: u64 = 1_000;
/// Expired documents of one index before another index has its turn (MongoDB's `ttlIndexDeleteTargetDocs`).
pub const TTL_INDEX_SHARE_DOCS: u64 = 50_000;
/// Memory in which createIndexes sorts; what does not fit goes to temporary files.
pub const INDEX_SORT_BYTES: usize = 64 << 20;
/// The same for each of several indexes of one command, at least.
pub const MIN_INDEX_SORT_BYTES: usize = 1 << 20;
/// Changes of an index under construction that are worked in while writers wait.
pub const MAX_CHANGES_AT_HANDOVER: u64 = 1_000;
/// How often changes are worked in before writers are made to wait, however many changes are left.
pub const MAX_DRAINS: u32 = 30;
/// Bytes of documents after which the scan of an index build takes a new snapshot.
pub const INDEX_SCAN_SNAPSHOT_BYTES: usize = 256 << 20;
/// How often expired cursors and sessions are looked for.
pub const UPKEEP_INTERVAL: Duration = Duration::from_secs(10);
/// The version of MongoDB whose wire protocol and behaviour this one speaks: what buildInfo says, for tools that ask.
pub const COMPATIBLE_VERSION: [i32; 3] = [8, 0, 0];
/// The feature compatibility version that goes with it.
pub const FEATURE_COMPATIBILITY_VERSION: &str = "8.0";
/// Connections that a listener accepts at one time.
pub const MAX_CONNECTIONS: usize = 4096;
/// How often the file is looked through for records of sessions that are gone.
pub const SESSION_EXPIRY_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Most sessions whose records are deleted in one transaction.
pub const MAX_SESSIONS_EXPIRED_AT_ONCE: usize = 1_000;
