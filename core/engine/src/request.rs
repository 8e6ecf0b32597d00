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

impl<'a> Request<'a> {
    /// A command without document sequences.
    pub fn new(db: &'a str, body: RawDoc<'a>) -> Self {
        Request { db, body, sequences: Vec::new() }
    }

    /// The command's name: its first field. Empty for `{}`.
    pub fn command_name(&self) -> &'a str {
        self.body.iter().next().map_or("", |first| first.name())
    }

    /// The documents that came as the sequence `name`.
    pub fn sequence(&self, name: &str) -> Option<&[RawDoc<'a>]> {
        self.sequences.iter().find(|s| s.name == name).map(|s| s.docs.as_slice())
    }
}
