//! A command as it arrives: validated bytes, the database it is for, document sequences beside it.

use multifora_model::RawDoc;

/// Documents that travel beside the command body (OP_MSG section kind 1, or a door's own batch).
#[derive(Clone, Debug)]
pub struct DocumentSequence<'a> {
    /// The argument they belong to (`documents`, `updates`, `deletes`).
    pub name: &'a str,
    /// The documents, each validated.
    pub docs: Vec<RawDoc<'a>>,
}

/// One command.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The database it is for.
    pub db: &'a str,
    /// The command document; its first field names the command.
    pub body: RawDoc<'a>,
    /// Document sequences.
    pub sequences: Vec<DocumentSequence<'a>>,
}
