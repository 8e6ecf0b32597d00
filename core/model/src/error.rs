//! The one error type above storage, and the one table of MongoDB's codes.

use crate::builder::DocBuilder;
use std::fmt;

/// Result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($name:ident = $code:literal,)*) => {
        /// MongoDB's error codes; `name()` gives the `codeName` that clients see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are MongoDB's own")]
        pub enum ErrorCode { $($name,)* /** A code that MongoDB reports as `Location<N>`. */ Location(i32) }

        impl ErrorCode {
            /// The number.
            pub fn code(self) -> i32 {
                match self { $(ErrorCode::$name => $code,)* ErrorCode::Location(n) => n }
            }

            /// The code with this number.
            pub fn from_code(code: i32) -> Self {
                match code { $($code => ErrorCode::$name,)* n => ErrorCode::Location(n) }
            }

            /// The `codeName`.
            pub fn name(self) -> String {
                match self {
                    $(ErrorCode::$name => String::from(stringify!($name)),)*
                    ErrorCode::Location(n) => format!("Location{n}"),
                }
            }
        }
    };
}

codes! {
    InternalError = 1,
    BadValue = 2,
    NoSuchKey = 4,
    GraphContainsCycle = 5,
    HostUnreachable = 6,
    HostNotFound = 7,
    UnknownError = 8,
    FailedToParse = 9,
    CannotMutateObject = 10,
    UserNotFound = 11,
    UnsupportedFormat = 12,
    Unauthorized = 13,
    TypeMismatch = 14,
    Overflow = 15,
    InvalidLength = 16,
    ProtocolError = 17,
    AuthenticationFailed = 18,
    BackgroundOperationInProgressForNamespace = 12587,
    IllegalOperation = 20,
    InvalidBSON = 22,
    AlreadyInitialized = 23,
    LockTimeout = 24,
    NamespaceNotFound = 26,
    IndexNotFound = 27,
    PathNotViable = 28,
    NonExistentPath = 29,
    InvalidPath = 30,
    RoleNotFound = 31,
    CannotBackfillArray = 34,
    FileNotOpen = 38,
    FileStreamFailed = 39,
    ConflictingUpdateOperators = 40,
    CursorNotFound = 43,
    NamespaceExists = 48,
    MaxTimeMSExpired = 50,
    DollarPrefixedFieldName = 52,
    InvalidIdField = 53,
    NotSingleValueField = 54,
    NotExactValueField = 111,
    InvalidDBRef = 55,
    EmptyFieldName = 56,
    DottedFieldName = 57,
    CommandNotFound = 59,
    ImmutableField = 66,
    CannotCreateIndex = 67,
    IndexAlreadyExists = 68,
    InvalidOptions = 72,
    InvalidNamespace = 73,
    NoReplicationEnabled = 76,
    UnknownReplWriteConcern = 79,
    IndexOptionsConflict = 85,
    IndexKeySpecsConflict = 86,
    NetworkTimeout = 89,
    ShutdownInProgress = 91,
    OperationFailed = 96,
    DBPathInUse = 98,
    UnsatisfiableWriteConcern = 100,
    WriteConflict = 112,
    CommandNotSupported = 115,
    DocumentValidationFailure = 121,
    ExceededMemoryLimit = 146,
    ViewDepthLimitExceeded = 165,
    CommandNotSupportedOnView = 166,
    OptionNotSupportedOnView = 167,
    InvalidPipelineOperator = 168,
    CannotIndexParallelArrays = 171,
    InvalidIndexSpecificationOption = 197,
    CursorInUse = 205,
    TransactionTooOld = 225,
    InvalidUUID = 207,
    QueryFeatureNotAllowed = 224,
    NoSuchTransaction = 251,
    TransactionCommitted = 256,
    NotWritablePrimary = 10107,
    BSONObjectTooLarge = 10334,
    DuplicateKey = 11000,
    SocketException = 9001,
    InterruptedAtShutdown = 11600,
    Interrupted = 11601,
    IndexBuildAborted = 276,
    AmbiguousIndexKeyPattern = 181,
    UnsatisfiableCommitQuorum = 277,
    CollectionUUIDMismatch = 361,
    DatabaseDifferCase = 13297,
    StaleConfig = 13388,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    ConversionFailure = 241,
    OperationNotSupportedInTransaction = 263,
    TooManyLogicalSessions = 261,
    DataCorruptionDetected = 301,
    ChecksumMismatch = 288,
    UnsupportedOpQueryCommand = 352,
    APIVersionError = 322,
    APIStrictError = 323,
    ExceededTimeLimit = 262,
    NoQueryExecutionPlans = 291,
    TooManyDocumentSequences = 233,
    SnapshotTooOld = 239,
    SnapshotUnavailable = 246,
    CappedPositionLost = 136,
    IncompatibleCollationVersion = 161,
    CollectionIsEmpty = 162,
    OutOfDiskSpace = 14031,
    IDLUnknownField = 40415,
    IDLFailedToParse = 40414,
    IDLDuplicateField = 40413,
}

/// What went wrong, in MongoDB's terms: every door maps from this one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Parts>);

/// The longest text of an error.
const MAX_MESSAGE_BYTES: usize = 128 * 1024;

#[derive(Clone, Debug, PartialEq)]
struct Parts {
    code: ErrorCode,
    message: String,
    labels: Vec<&'static str>,
    /// Further fields of the error reply (`keyPattern`, `keyValue`, `errInfo`), as a BSON document.
    details: Option<Vec<u8>>,
}

impl Error {
    /// An error with a code and a text.
    ///
    /// A text beyond 128 KiB is cut: it repeats what the client sent, and must fit into a reply with others.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE_BYTES {
            let end = (0..=MAX_MESSAGE_BYTES).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            message.truncate(end);
            message.push_str("...");
        }
        Error(Box::new(Parts { code, message, labels: Vec::new(), details: None }))
    }

    /// An error with a code that has no name (`Location40353`).
    pub fn location(code: i32, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Location(code), message)
    }

    /// `BadValue` (2).
    pub fn bad_value(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadValue, message)
    }

    /// `FailedToParse` (9).
    pub fn failed_to_parse(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::FailedToParse, message)
    }

    /// `TypeMismatch` (14).
    pub fn type_mismatch(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::TypeMismatch, message)
    }

    /// `InternalError` (1): a broken promise of our own.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InternalError, message)
    }

    /// `DataCorruptionDetected` (301): stored bytes are not what they were.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::DataCorruptionDetected, message)
    }

    /// Adds an error label (`TransientTransactionError`).
    #[must_use]
    pub fn with_label(mut self, label: &'static str) -> Self {
        self.0.labels.push(label);
        self
    }

    /// Adds further fields of the reply, as a finished BSON document.
    #[must_use]
    pub fn with_details(mut self, details: Vec<u8>) -> Self {
        self.0.details = Some(details);
        self
    }

    /// Puts words in front of the message (where it happened).
    #[must_use]
    pub fn context(mut self, prefix: &str) -> Self {
        self.0.message = format!("{prefix}{}", self.0.message);
        self
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The labels.
    pub fn labels(&self) -> &[&'static str] {
        &self.0.labels
    }

    /// Further fields of the reply, as a BSON document.
    pub fn details(&self) -> Option<&[u8]> {
        self.0.details.as_deref()
    }

    /// The error as a command reply: `{ok: 0, errmsg, code, codeName, …}`.
    pub fn to_reply(&self) -> Vec<u8> {
        let mut reply = DocBuilder::new();
        reply.f64("ok", 0.0).str("errmsg", self.message());
        reply.i32("code", self.code().code()).str("codeName", &self.code().name());
        if let Some(details) = self.details().and_then(crate::raw::RawDoc::framed) {
            reply.extend(details);
        }
        if !self.labels().is_empty() {
            reply.start_array("errorLabels");
            for label in self.labels() {
                reply.push(crate::value::OwnedValue::string(label).as_ref());
            }
            reply.end();
        }
        reply.finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.0.code.name(), self.0.code.code(), self.0.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_repeats_a_document_is_cut_between_characters() {
        let error = Error::bad_value("é".repeat(200_000));
        assert!(error.message().len() <= MAX_MESSAGE_BYTES + 3);
        assert!(error.message().ends_with("é..."));
        assert_eq!(Error::bad_value("short").message(), "short");
    }
}
