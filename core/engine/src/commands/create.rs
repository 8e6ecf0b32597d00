//! `create`: a collection with options.
//!
//! Options that this build cannot keep its word about are refused with a clear error, never
//! stored without effect.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{self, CollectionInfo, Namespace, Validator};
use crate::context::CommandContext;
use crate::request::Request;
use crate::write::{Attempt, Writer};
use multifora_model::{Collation, DocBuilder, Error, ErrorCode, RawDoc, RawValue, Result, compare, text};

/// The row in the registry.
pub const SPEC: CommandSpec =
    CommandSpec { name: "create", help: "Creates a collection.", writes: true, run, ..CommandSpec::BASE };

static FIELDS: &[Field] = &[
    Field::optional("capped", Types::BOOL),
    Field::optional("autoIndexId", Types::BOOL),
    Field::optional("idIndex", Types::OBJECT),
    Field::optional("size", Types::NUMBER),
    Field::optional("max", Types::NUMBER),
    Field::optional("storageEngine", Types::OBJECT),
    Field::optional("validator", Types::OBJECT),
    Field::optional("validationLevel", Types::STRING),
    Field::optional("validationAction", Types::STRING),
    Field::optional("indexOptionDefaults", Types::OBJECT),
    Field::optional("viewOn", Types::STRING),
    Field::optional("pipeline", Types::ARRAY),
    Field::optional("collation", Types::OBJECT),
    Field::optional("changeStreamPreAndPostImages", Types::OBJECT),
    Field::optional("timeseries", Types::OBJECT),
    Field::optional("clusteredIndex", Types::ANY),
    Field::optional("expireAfterSeconds", Types::ANY),
    Field::optional("encryptedFields", Types::OBJECT),
    Field::optional("flags", Types::NUMBER),
    Field::optional("temp", Types::BOOL),
    Field::optional("recordIdsReplicated", Types::BOOL),
];

/// Options that MongoDB has and this build cannot honour (yet): a collection that ignored them would lie.
static TO_COME: &[&str] = &[
    "viewOn",
    "pipeline",
    "timeseries",
    "clusteredIndex",
    "expireAfterSeconds",
    "encryptedFields",
    "changeStreamPreAndPostImages",
];

/// Options that are kept and shown by listCollections.
static KEPT: &[&str] =
    &["storageEngine", "validator", "validationLevel", "validationAction", "indexOptionDefaults"];

/// What a validator does when it is not told.
static VALIDATION_DEFAULTS: [(&str, &str); 2] =
    [("validationLevel", "strict"), ("validationAction", "error")];

fn run(context: &CommandContext<'_>, request: &Request<'_>, _reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("create", FIELDS, request)?;
    let ns = args.namespace(request)?;
    let options = kept_options(&args)?;
    let options = RawDoc::framed(&options).unwrap_or(RawDoc::EMPTY);
    let cache = context.database.catalog_cache();
    let mut writer = Writer::new(context);
    let outcome = writer.run(|txn| {
        if let Some(existing) = catalog::find(&*txn, cache, &ns)? {
            return check_same(&existing, &args, options).map(|()| Attempt::Leave(()));
        }
        check_options(&ns, &args, options)?;
        catalog::create(txn, &ns, options)?;
        Ok(Attempt::Commit(()))
    });
    writer.wait_durable()?;
    outcome
}

fn kept_options(args: &Args<'_>) -> Result<Vec<u8>> {
    let mut kept = DocBuilder::new();
    for name in KEPT {
        if let Some(value) = args.get(name) {
            kept.append(name, value);
        }
    }
    if args.doc("validator").is_some() {
        for (name, default) in VALIDATION_DEFAULTS {
            if args.get(name).is_none() {
                kept.str(name, default);
            }
        }
    }
    // Complete; the simple one is none.
    if let Some(collation) = args.doc("collation")
        && let Some(collation) = Collation::parse(collation)?
    {
        kept.doc("collation", collation.document());
    }
    Ok(kept.finish())
}

fn check_options(ns: &Namespace, args: &Args<'_>, options: RawDoc<'_>) -> Result<()> {
    let to_come = TO_COME.iter().copied().find(|name| args.get(name).is_some());
    let capped = args.bool("capped").unwrap_or(false);
    if let Some(name) = to_come.or(capped.then_some("capped")) {
        let text = format!("the option '{name}' of create is not supported by this version of MultiforaDB");
        return Err(Error::new(ErrorCode::CommandNotSupported, text));
    }
    for name in ["size", "max"] {
        if args.get(name).is_some() {
            let text = format!("the '{name}' field is only valid for capped collections");
            return Err(Error::new(ErrorCode::InvalidOptions, text));
        }
    }
    if args.bool("autoIndexId") == Some(false) {
        let text =
            "The option 'autoIndexId' can only be set to 'false' for collections on the 'local' database";
        return Err(Error::new(ErrorCode::InvalidOptions, text));
    }
    check_id_index(args.doc("idIndex"), options)?;
    if args.doc("validator").is_some_and(|v| !v.is_empty())
        && matches!(ns.db.as_str(), "admin" | "config" | "local")
    {
        let text =
            format!("Document validators are not allowed on collection {ns} in the {} database", ns.db);
        return Err(Error::new(ErrorCode::InvalidOptions, text));
    }
    Validator::parse(options).map(drop)
}

fn check_id_index(spec: Option<RawDoc<'_>>, options: RawDoc<'_>) -> Result<()> {
    let Some(spec) = spec else { return Ok(()) };
    let parsed = crate::index::ParsedSpec::parse(spec)?;
    if parsed.name != "_id_" {
        let told = text::document(parsed.key());
        let text = format!("The field 'key' for an _id index must be {{_id: 1}}, but got {told}");
        return Err(Error::bad_value(text));
    }
    parsed.in_collection(catalog::default_collation(options)?.as_ref()).map(drop)
}

/// Creating again what is there with the same options is fine.
fn check_same(existing: &CollectionInfo, args: &Args<'_>, options: RawDoc<'_>) -> Result<()> {
    let asked_otherwise =
        TO_COME.iter().any(|name| args.get(name).is_some()) || args.bool("capped") == Some(true);
    if !asked_otherwise && same_options(existing.options_doc(), options) {
        return Ok(());
    }
    let text = format!(
        "namespace {} already exists, but with different options: {}",
        existing.ns,
        text::document(existing.options_doc())
    );
    Err(Error::new(ErrorCode::NamespaceExists, text))
}

fn same_options(a: RawDoc<'_>, b: RawDoc<'_>) -> bool {
    let same = |name: &&str| match (a.get(name), b.get(name)) {
        (Some(a), Some(b)) => compare::equal(a, b),
        (None, None) => true,
        (Some(one), None) | (None, Some(one)) => is_default(name, one),
    };
    KEPT.iter().chain(&["collation"]).all(same)
}

fn is_default(name: &str, value: RawValue<'_>) -> bool {
    match VALIDATION_DEFAULTS.iter().find(|row| row.0 == name) {
        Some((_, default)) => value.as_str() == Some(default),
        None => value.as_doc().is_some_and(RawDoc::is_empty),
    }
}
