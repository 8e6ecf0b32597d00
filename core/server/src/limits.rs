//! The listener's limits, in one place.

use std::time::Duration;

/// Bytes of a message header.
pub const HEADER_BYTES: usize = 16;
/// Largest message: what hello announces, and room for the envelope.
pub const MAX_MESSAGE_BYTES: usize = multifora_engine::limits::MAX_MESSAGE_BYTES + 16 * 1024;
/// Connections at one time.
pub const MAX_CONNECTIONS: usize = multifora_engine::limits::MAX_CONNECTIONS;
/// Bytes read ahead of what a message says it needs; a connection's buffer starts with them.
pub const READ_BYTES: usize = 16 * 1024;
/// A buffer larger than this is given back after the message that needed it.
pub const KEPT_BUFFER_BYTES: usize = 1024 * 1024;
/// Document sequences in one message.
pub const MAX_SEQUENCES: usize = 16;
/// How long a stopping listener waits for replies to be read before it cuts connections off.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
