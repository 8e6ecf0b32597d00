//! What a running command may touch.

use crate::database::{Connection, Database};
use crate::interrupt::Interrupt;
use crate::session::SessionRef;
use multifora_model::RawDoc;

/// Handed to every command: the database, who asks, how long it may take.
pub struct CommandContext<'a> {
    /// The open file.
    pub database: &'a Database,
    /// The connection or handle the command came through.
    pub connection: &'a Connection,
    /// The logical session, when the command carries an `lsid`.
    pub session: Option<SessionRef>,
    /// Stops this command.
    pub interrupt: Interrupt,
    /// `let` variables, when given.
    pub let_variables: Option<RawDoc<'a>>,
    /// Wall-clock time at which the command started (`$$NOW`), milliseconds since 1970.
    pub now_ms: i64,
}
