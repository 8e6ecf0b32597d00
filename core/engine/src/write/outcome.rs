//! What became of the statements of a write command, and how the reply says it.

use multifora_model::{DocBuilder, Error, ErrorCode, RawDoc};

/// A statement that failed.
#[derive(Clone, Debug)]
pub struct WriteError {
    /// Its place in the command.
    pub index: usize,
    /// Why.
    pub error: Error,
}

/// The failures of one command.
#[derive(Clone, Debug, Default)]
pub struct WriteErrors {
    errors: Vec<WriteError>,
    details_bytes: usize,
}

/// Beyond this many bytes of error texts in one reply, further texts are left out (their codes stay).
const MAX_ERROR_TEXT_BYTES: usize = 1024 * 1024;
/// Beyond this many bytes of `keyValue`, `errInfo` and the like in one reply, further ones are left out.
const MAX_ERROR_DETAILS_BYTES: usize = 8 * 1024 * 1024;

impl WriteErrors {
    /// Adds a failure.
    pub fn push(&mut self, index: usize, mut error: Error) {
        if self.details_bytes > MAX_ERROR_DETAILS_BYTES {
            error = Error::new(error.code(), error.message());
        }
        self.details_bytes += error.details().map_or(0, <[u8]>::len);
        self.errors.push(WriteError { index, error });
    }

    /// Everything went well.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The failures in order.
    pub fn iter(&self) -> impl Iterator<Item = &WriteError> {
        self.errors.iter()
    }

    /// Writes `writeErrors`, when there are any.
    pub fn append_to(self, reply: &mut DocBuilder) {
        if self.errors.is_empty() {
            return;
        }
        let mut room = ErrorRoom::default();
        reply.start_array("writeErrors");
        for failure in self.errors {
            reply.push_start_doc().count("index", failure.index as u64);
            room.append(&failure.error, reply);
            reply.end();
        }
        reply.end();
    }
}

/// What errors may still take of one reply.
#[derive(Clone, Debug, Default)]
pub struct ErrorRoom {
    text_bytes: usize,
    details_bytes: usize,
}

impl ErrorRoom {
    /// Writes `code`, the details (`keyValue`, `errInfo`) and `errmsg` into the open document, as far as there is room.
    pub fn append(&mut self, error: &Error, out: &mut DocBuilder) {
        out.i32("code", error.code().code());
        if let Some(details) = error.details().and_then(RawDoc::framed)
            && self.details_bytes <= MAX_ERROR_DETAILS_BYTES
        {
            self.details_bytes += details.as_bytes().len();
            out.extend(details);
        }
        let text = if self.text_bytes > MAX_ERROR_TEXT_BYTES { "" } else { error.message() };
        self.text_bytes += text.len();
        out.str("errmsg", text);
    }
}

/// Fails the command as a whole, not one statement of it.
pub fn fails_command(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::Interrupted
            | ErrorCode::InterruptedAtShutdown
            | ErrorCode::MaxTimeMSExpired
            | ErrorCode::InternalError
            | ErrorCode::UnknownError
            | ErrorCode::OutOfDiskSpace
            | ErrorCode::InvalidNamespace
            | ErrorCode::DatabaseDifferCase
            | ErrorCode::FileStreamFailed
            | ErrorCode::DataCorruptionDetected
    )
}
