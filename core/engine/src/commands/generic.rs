//! The arguments that every command takes, checked once for all of them.
//!
//! Drivers send `lsid`, `$clusterTime`, `readConcern`, `writeConcern`, `apiVersion` and their kin with any
//! command. One table says which they are; a row checks its type and keeps what the dispatcher
//! needs. On one node every read concern is met by a snapshot and every write concern by a durable
//! commit, so they are checked and then have no further effect.

use super::args::{self, Field, Types, truth};
use multifora_model::{ElementType, Error, ErrorCode, RawDoc, RawValue, Result};
use std::time::Duration;

/// What the dispatcher needs to know of a command's generic arguments.
#[derive(Clone, Debug, Default)]
pub struct Generic<'a> {
    /// The logical session's id (`lsid.id`).
    pub session_id: Option<[u8; 16]>,
    /// `txnNumber`.
    pub txn_number: Option<i64>,
    /// `autocommit`.
    pub autocommit: Option<bool>,
    /// `startTransaction`.
    pub start_transaction: Option<bool>,
    /// `stmtId`.
    pub first_stmt_id: Option<i32>,
    /// `stmtIds`.
    pub stmt_ids: Option<RawDoc<'a>>,
    /// `maxTimeMS`, when it limits anything.
    pub max_time: Option<Duration>,
    /// `let`, for the commands that declare it.
    pub let_variables: Option<RawDoc<'a>>,
    /// `writeConcern.w`, when it asks for more members than there are.
    pub unsatisfiable_w: Option<RawValue<'a>>,
    /// `comment`, shown by currentOp.
    pub comment: Option<RawValue<'a>>,
    has_api_version: bool,
    api_strict: bool,
    has_api_option: bool,
}

/// One argument: its name, the types it may have, what is kept of it.
struct Row(&'static str, Types, Keep);

type Keep = for<'a> fn(&mut Generic<'a>, RawValue<'a>) -> Result<()>;

const IGNORE: Keep = |_, _| Ok(());

static ROWS: &[Row] = &[
    Row("lsid", Types::OBJECT, lsid),
    Row("$db", Types::STRING, IGNORE),
    Row("$clusterTime", Types::OBJECT, IGNORE),
    Row("$readPreference", Types::OBJECT, read_preference),
    Row("readConcern", Types::OBJECT, read_concern),
    Row("writeConcern", Types::OBJECT, write_concern),
    Row("maxTimeMS", Types::NUMBER, max_time_ms),
    Row("txnNumber", Types::LONG, txn_number),
    Row("autocommit", Types::STRICT_BOOL, |g, v| keep(&mut g.autocommit, v.as_bool())),
    Row("startTransaction", Types::STRICT_BOOL, |g, v| keep(&mut g.start_transaction, v.as_bool())),
    Row("stmtId", Types::INT, |g, v| keep(&mut g.first_stmt_id, v.as_i32())),
    Row("stmtIds", Types::ARRAY, |g, v| keep(&mut g.stmt_ids, v.as_array())),
    Row("apiVersion", Types::STRING, api_version),
    Row("apiStrict", Types::BOOL, api_strict),
    Row("apiDeprecationErrors", Types::BOOL, |g, _| keep(&mut g.has_api_option, true)),
    Row("comment", Types::ANY, |g, v| keep(&mut g.comment, Some(v))),
    Row("$audit", Types::ANY, IGNORE),
    Row("$client", Types::ANY, IGNORE),
    Row("$configServerState", Types::ANY, IGNORE),
    Row("$configTime", Types::ANY, IGNORE),
    Row("$oplogQueryData", Types::ANY, IGNORE),
    Row("$queryOptions", Types::ANY, IGNORE),
    Row("$replData", Types::ANY, IGNORE),
    Row("$tenant", Types::ANY, IGNORE),
    Row("$topologyTime", Types::ANY, IGNORE),
    Row("allowImplicitCollectionCreation", Types::ANY, IGNORE),
    Row("coordinator", Types::ANY, IGNORE),
    Row("databaseVersion", Types::ANY, IGNORE),
    Row("maxTimeMSOpOnly", Types::ANY, IGNORE),
    Row("mayBypassWriteBlocking", Types::ANY, IGNORE),
    Row("shardVersion", Types::ANY, IGNORE),
    Row("txnRetryCounter", Types::ANY, IGNORE),
    Row("usesDefaultMaxTimeMS", Types::ANY, IGNORE),
];

/// The commands of MongoDB's Stable API, version 1.
static STABLE_API_V1: &[&str] = &[
    "abortTransaction",
    "aggregate",
    "bulkWrite",
    "collMod",
    "commitTransaction",
    "count",
    "create",
    "createIndexes",
    "delete",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "endSessions",
    "explain",
    "find",
    "findAndModify",
    "getMore",
    "hello",
    "insert",
    "killCursors",
    "listCollections",
    "listDatabases",
    "listIndexes",
    "ping",
    "refreshSessions",
    "update",
];

/// Is this a command of the Stable API, version 1?
pub(super) fn is_in_stable_api(command: &str) -> bool {
    STABLE_API_V1.contains(&command)
}

/// Is this an argument that every command takes?
pub fn is_generic(name: &str) -> bool {
    ROWS.iter().any(|row| row.0 == name)
}

impl<'a> Generic<'a> {
    /// Checks the generic arguments of a command's body.
    pub fn parse(command: &'static str, body: RawDoc<'a>) -> Result<Self> {
        let mut generic = Generic::default();
        let mut seen: u64 = 0;
        for element in body.iter().skip(1) {
            let name = element.name();
            let Some(at) = ROWS.iter().position(|row| row.0 == name) else {
                if name == "let" {
                    generic.let_variables = element.value.as_doc();
                }
                continue;
            };
            if seen & (1 << at) != 0 {
                return Err(args::duplicate_field(command, name));
            }
            seen |= 1 << at;
            let Some(Row(name, types, keep)) = ROWS.get(at) else { continue };
            if args::check_type(command, name, *types, element.value)? {
                keep(&mut generic, element.value)?;
            }
        }
        generic.check_api(command)?;
        generic.check_transaction()?;
        Ok(generic)
    }

    fn check_api(&self, command: &str) -> Result<()> {
        if self.has_api_option && !self.has_api_version {
            let text = "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion";
            return Err(Error::location(4_886_600, text));
        }
        if self.api_strict && !is_in_stable_api(command) {
            let text = format!("Provided apiStrict:true, but the command {command} is not in API Version 1");
            return Err(Error::new(ErrorCode::APIStrictError, text));
        }
        Ok(())
    }

    fn check_transaction(&self) -> Result<()> {
        if self.txn_number.is_some() && self.session_id.is_none() {
            return Err(invalid("Transaction number requires a session ID to be specified"));
        }
        if self.autocommit.is_some() && self.txn_number.is_none() {
            return Err(invalid("'autocommit' field requires a transaction number to also be specified"));
        }
        if self.start_transaction.is_some() && self.autocommit.is_none() {
            return Err(invalid("'startTransaction' field requires 'autocommit' field to also be specified"));
        }
        if self.autocommit == Some(true) {
            return Err(invalid("Specifying autocommit=true is not allowed."));
        }
        if self.start_transaction == Some(false) {
            return Err(invalid("Specifying startTransaction=false is not allowed."));
        }
        Ok(())
    }
}

fn keep<T>(slot: &mut T, value: T) -> Result<()> {
    *slot = value;
    Ok(())
}

static LSID: &[Field] = &[
    Field::required("id", Types::BINARY),
    Field::optional("uid", Types::BINARY),
    Field::optional("txnNumber", Types::LONG),
    Field::optional("txnUUID", Types::BINARY),
];

fn lsid<'a>(generic: &mut Generic<'a>, value: RawValue<'a>) -> Result<()> {
    keep(&mut generic.session_id, Some(session_id(value.as_doc().unwrap_or(RawDoc::EMPTY))?))
}

/// The id in an `lsid` document (`{id: UUID}`).
pub fn session_id(lsid: RawDoc<'_>) -> Result<[u8; 16]> {
    let args = args::Args::nested("lsid", LSID, lsid)?;
    let id = args.get("id").unwrap_or(RawValue::NULL);
    match id.as_binary() {
        Some((4, bytes)) => <[u8; 16]>::try_from(bytes).map_err(|_| {
            Error::new(ErrorCode::InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype")
        }),
        _ => {
            let text = "BSON field 'lsid.id' is the wrong binData type, expected type 'UUID'";
            Err(Error::type_mismatch(text))
        }
    }
}

fn txn_number<'a>(generic: &mut Generic<'a>, value: RawValue<'a>) -> Result<()> {
    match value.as_i64() {
        Some(n) if n >= 0 => keep(&mut generic.txn_number, Some(n)),
        _ => Err(invalid("Transaction number cannot be negative")),
    }
}

fn max_time_ms<'a>(generic: &mut Generic<'a>, value: RawValue<'a>) -> Result<()> {
    let ms = args::to_i64(value).unwrap_or(0);
    if value.as_f64().is_some_and(|f| f.fract() != 0.0) {
        return Err(Error::bad_value("maxTimeMS has non-integral value"));
    }
    match u64::try_from(ms) {
        Ok(ms) if ms <= i32::MAX as u64 => {
            keep(&mut generic.max_time, (ms > 0).then(|| Duration::from_millis(ms)))
        }
        _ => Err(Error::bad_value(format!("maxTimeMS value {ms} is out of range [0,{}]", i32::MAX))),
    }
}

fn api_version<'a>(generic: &mut Generic<'a>, value: RawValue<'a>) -> Result<()> {
    if value.as_str() != Some("1") {
        return Err(Error::new(ErrorCode::APIVersionError, "API version must be \"1\""));
    }
    keep(&mut generic.has_api_version, true)
}

fn api_strict<'a>(generic: &mut Generic<'a>, value: RawValue<'a>) -> Result<()> {
    generic.has_api_option = true;
    keep(&mut generic.api_strict, truth(value).unwrap_or(false))
}

static READ_PREFERENCE_MODES: &[&str] =
    &["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"];

fn read_preference(_: &mut Generic<'_>, value: RawValue<'_>) -> Result<()> {
    let mode = value.as_doc().and_then(|d| d.get("mode")).and_then(RawValue::as_str);
    match mode {
        Some(mode) if READ_PREFERENCE_MODES.contains(&mode) => Ok(()),
        Some(mode) => {
            let text =
                format!("Enumeration value '{mode}' for field '$readPreference.mode' is not a valid value.");
            Err(Error::bad_value(text))
        }
        None => Err(args::missing_field("$readPreference", "mode")),
    }
}

static READ_CONCERN: &[Field] = &[
    Field::optional("level", Types::STRING),
    Field::optional("afterClusterTime", Types::TIMESTAMP),
    Field::optional("afterOpTime", Types::OBJECT),
    Field::optional("atClusterTime", Types::TIMESTAMP),
    Field::optional("allowTransactionTableSnapshot", Types::BOOL),
    Field::optional("waitLastStableRecoveryTimestamp", Types::BOOL),
    Field::optional("provenance", Types::STRING),
];

static READ_CONCERN_LEVELS: &[&str] = &["local", "majority", "linearizable", "available", "snapshot"];

fn read_concern(_: &mut Generic<'_>, value: RawValue<'_>) -> Result<()> {
    let args = args::Args::nested("readConcern", READ_CONCERN, value.as_doc().unwrap_or(RawDoc::EMPTY))?;
    let level = args.str("level").unwrap_or("local");
    if !READ_CONCERN_LEVELS.contains(&level) {
        let text = format!("Enumeration value '{level}' for field 'readConcern.level' is not a valid value.");
        return Err(Error::bad_value(text));
    }
    if args.get("atClusterTime").is_some() && level != "snapshot" {
        return Err(invalid("readConcern.atClusterTime field can be set only if level is equal to snapshot"));
    }
    Ok(())
}

static WRITE_CONCERN: &[Field] = &[
    Field::optional("w", Types::ANY),
    Field::optional("j", Types::BOOL),
    Field::optional("fsync", Types::BOOL),
    Field::optional("wtimeout", Types::ANY),
    Field::optional("wElectionId", Types::ANY),
    Field::optional("wOpTime", Types::ANY),
    Field::optional("getLastError", Types::ANY),
    Field::optional("provenance", Types::STRING),
];

/// Most members that `w` may ask for.
const MAX_W: i64 = 50;

fn write_concern<'a>(generic: &mut Generic<'a>, value: RawValue<'a>) -> Result<()> {
    let doc = value.as_doc().unwrap_or(RawDoc::EMPTY);
    let args = args::Args::nested("writeConcern", WRITE_CONCERN, doc)?;
    if args.bool("j") == Some(true) && args.bool("fsync") == Some(true) {
        return Err(Error::failed_to_parse("fsync and j options cannot be used together"));
    }
    let Some(w) = args.get("w").filter(|w| !w.is_nullish()) else { return Ok(()) };
    match (args::to_i64(w), w.ty) {
        (Some(members), _) => {
            if !(0..=MAX_W).contains(&members) {
                let text = format!(
                    "w has to be a non-negative number and not greater than {MAX_W}; found: {members}"
                );
                return Err(Error::failed_to_parse(text));
            }
            keep(&mut generic.unsatisfiable_w, (members > 1).then_some(w))
        }
        (None, ElementType::String) => {
            keep(&mut generic.unsatisfiable_w, (w.as_str() != Some("majority")).then_some(w))
        }
        (None, ElementType::Document) => keep(&mut generic.unsatisfiable_w, Some(w)),
        _ => Err(Error::failed_to_parse("w has to be a number, string, or object")),
    }
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorCode::InvalidOptions, message)
}
