//! What a running command may touch.

use crate::commands::CommandSpec;
use crate::connection::Connection;
use crate::database::Database;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::session::{RetryableWrite, SessionRef};
use multifora_model::RawDoc;
use std::sync::Arc;

/// Handed to every command: the database, who asks, how long it may take.
pub struct CommandContext<'a> {
    /// The open file.
    pub database: &'a Database,
    /// The connection or handle the command came through.
    pub connection: &'a Connection,
    /// The command's row.
    pub command: &'static CommandSpec,
    /// The logical session, when the command carries an `lsid`.
    pub session: Option<SessionRef>,
    /// Stops this command.
    pub interrupt: Interrupt,
    /// What currentOp shows of how far it has come.
    pub progress: Arc<Progress>,
    /// `let` variables, when given.
    pub let_variables: Option<RawDoc<'a>>,
    /// Wall-clock time at which the command started (`$$NOW`), milliseconds since 1970.
    pub now_ms: i64,
    pub(crate) retry: Option<RetryableWrite>,
}

impl CommandContext<'_> {
    /// The session's record of this write, when the command carries a `txnNumber`: ask it before each
    /// statement whether that statement is done already, and put each outcome into the
    /// transaction that does the statement (see [`RetryableWrite`]).
    pub fn retry_state(&self) -> Option<&RetryableWrite> {
        self.retry.as_ref()
    }

    /// The id of the logical session.
    pub fn session_id(&self) -> Option<[u8; 16]> {
        self.session.as_ref().map(|s| s.id())
    }
}
