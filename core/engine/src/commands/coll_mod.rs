//! `collMod`: changes the validator of a collection, or expiry and visibility of an index.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::catalog::{self, CollectionInfo, IndexInfo, Validator, index_info};
use crate::context::CommandContext;
use crate::index::ParsedSpec;
use crate::request::Request;
use crate::write::{Attempt, Writer};
use multifora_model::{
    DocBuilder, ElementType, Error, ErrorCode, OwnedValue, RawDoc, RawValue, Result, compare, text,
};
use std::sync::Arc;

/// The row in the registry.
pub const SPEC: CommandSpec = CommandSpec {
    name: "collMod",
    help: "Changes options of a collection or of an index.",
    writes: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::optional("index", Types::OBJECT),
    Field::optional("validator", Types::OBJECT),
    Field::optional("validationLevel", Types::STRING),
    Field::optional("validationAction", Types::STRING),
    Field::optional("viewOn", Types::STRING),
    Field::optional("pipeline", Types::ARRAY),
    Field::optional("expireAfterSeconds", Types::ANY),
    Field::optional("changeStreamPreAndPostImages", Types::OBJECT),
    Field::optional("timeseries", Types::OBJECT),
    Field::optional("cappedSize", Types::NUMBER),
    Field::optional("cappedMax", Types::NUMBER),
    Field::optional("dryRun", Types::BOOL),
];

static INDEX_FIELDS: &[Field] = &[
    Field::optional("name", Types::STRING),
    Field::optional("keyPattern", Types::OBJECT),
    Field::optional("expireAfterSeconds", Types::NUMBER),
    Field::optional("hidden", Types::BOOL),
    Field::optional("unique", Types::BOOL),
    Field::optional("prepareUnique", Types::BOOL),
    Field::optional("forceNonUnique", Types::BOOL),
];

/// Options that MongoDB has and this build does not change (yet).
static TO_COME: &[&str] = &[
    "viewOn",
    "pipeline",
    "expireAfterSeconds",
    "changeStreamPreAndPostImages",
    "timeseries",
    "cappedSize",
    "cappedMax",
    "dryRun",
];

/// Options of the collection that it changes.
static CHANGED: [&str; 3] = ["validator", "validationLevel", "validationAction"];

fn run(context: &CommandContext<'_>, request: &Request<'_>, reply: &mut DocBuilder) -> Result<()> {
    let args = Args::command("collMod", FIELDS, request)?;
    let ns = args.namespace(request)?;
    if let Some(name) = TO_COME.iter().find(|name| args.get(name).is_some()) {
        return Err(to_come(name));
    }
    let mut writer = Writer::new(context);
    let outcome = writer.run(|txn| {
        let opener = Writer::new(context);
        let Some(mut write) = opener.open(txn, &ns)? else {
            return Err(Error::new(ErrorCode::NamespaceNotFound, format!("ns does not exist: {ns}")));
        };
        let collection = Arc::make_mut(&mut write.collection);
        let mut told = DocBuilder::new();
        if let Some(change) = args.doc("index") {
            change_index(collection, change, &mut told)?;
        }
        change_validation(collection, &args)?;
        catalog::store(write.txn, collection)?;
        Ok(Attempt::Commit(told.finish()))
    });
    writer.wait_durable()?;
    reply.extend(RawDoc::framed(&outcome?).unwrap_or(RawDoc::EMPTY));
    Ok(())
}

fn to_come(name: &str) -> Error {
    let text = format!("the option '{name}' of collMod is not supported by this version of MultiforaDB");
    Error::new(ErrorCode::CommandNotSupported, text)
}

fn change_validation(collection: &mut CollectionInfo, args: &Args<'_>) -> Result<()> {
    if !CHANGED.iter().any(|name| args.get(name).is_some()) {
        return Ok(());
    }
    let before = collection.options_doc();
    let mut options = DocBuilder::new();
    for field in before.iter().filter(|field| !CHANGED.contains(&field.name())) {
        options.append(field.name(), field.value);
    }
    let rule = args.get("validator").or_else(|| before.get("validator"));
    if let Some(rule) = rule.filter(|rule| rule.as_doc().is_some_and(|doc| !doc.is_empty())) {
        options.append("validator", rule);
    }
    for (name, default) in [("validationLevel", "strict"), ("validationAction", "error")] {
        let default = OwnedValue::string(default);
        options.append(name, args.get(name).or_else(|| before.get(name)).unwrap_or(default.as_ref()));
    }
    let options = options.finish();
    let doc = RawDoc::framed(&options).unwrap_or(RawDoc::EMPTY);
    collection.validator = Validator::parse(doc)?.map(Arc::new);
    collection.options = options;
    Ok(())
}

fn change_index(collection: &mut CollectionInfo, change: RawDoc<'_>, told: &mut DocBuilder) -> Result<()> {
    let args = Args::nested("collMod.index", INDEX_FIELDS, change)?;
    for name in ["unique", "prepareUnique", "forceNonUnique"] {
        if args.get(name).is_some() {
            return Err(to_come(&format!("index.{name}")));
        }
    }
    let expiry = args.get("expireAfterSeconds");
    let hidden = args.bool("hidden");
    if expiry.is_none() && hidden.is_none() {
        let text = "no expireAfterSeconds, hidden, unique, or prepareUnique field";
        return Err(Error::new(ErrorCode::InvalidOptions, text));
    }
    let at = find_index(collection, &args)?;
    let Some(index) = collection.indexes.get_mut(at) else { return Ok(()) };
    if index.name == "_id_" {
        return Err(Error::bad_value("can't hide or expire the _id index"));
    }
    if let Some(expiry) = expiry {
        if let Some(old) = index.spec_doc().get("expireAfterSeconds") {
            told.append("expireAfterSeconds_old", old);
        }
        told.append("expireAfterSeconds_new", expiry);
    }
    if let Some(hidden) = hidden {
        told.bool("hidden_old", index.hidden).bool("hidden_new", hidden);
    }
    *index = Arc::new(changed(index, expiry, hidden)?);
    Ok(())
}

/// The index with another specification; its entries stay.
fn changed(index: &IndexInfo, expiry: Option<RawValue<'_>>, hidden: Option<bool>) -> Result<IndexInfo> {
    let mut spec = DocBuilder::new();
    for field in index.spec_doc() {
        match field.name() {
            "expireAfterSeconds" if expiry.is_some() => {}
            "hidden" if hidden.is_some() => {}
            name => drop(spec.append(name, field.value)),
        }
    }
    if let Some(expiry) = expiry {
        spec.append("expireAfterSeconds", expiry);
    }
    if hidden == Some(true) {
        spec.bool("hidden", true);
    }
    let spec = spec.finish();
    let parsed = ParsedSpec::parse(RawDoc::framed(&spec).unwrap_or(RawDoc::EMPTY))?;
    Ok(IndexInfo {
        multikey: index.multikey.clone(),
        sort_keys: index.sort_keys.clone(),
        ..index_info(parsed, index.table)?
    })
}

fn find_index(collection: &CollectionInfo, args: &Args<'_>) -> Result<usize> {
    let not_found = |what: String| {
        let text = format!("cannot find index {what} for ns {}", collection.ns);
        Err(Error::new(ErrorCode::IndexNotFound, text))
    };
    match (args.get("name"), args.doc("keyPattern")) {
        (Some(_), Some(_)) => {
            Err(Error::new(ErrorCode::InvalidOptions, "Cannot specify both key pattern and name."))
        }
        (Some(name), None) if name.ty == ElementType::String => {
            let name = name.as_str().unwrap_or_default();
            match collection.indexes.iter().position(|index| index.name == name) {
                Some(at) => Ok(at),
                None => not_found(name.to_owned()),
            }
        }
        (_, Some(pattern)) => {
            let mut found = collection
                .indexes
                .iter()
                .enumerate()
                .filter(|(_, index)| compare::compare_docs(index.key_pattern(), pattern).is_eq());
            match (found.next(), found.next()) {
                (Some((at, _)), None) => Ok(at),
                (None, _) => not_found(text::document(pattern)),
                _ => {
                    let text = format!(
                        "index keyPattern {} matches several indexes, identify by name instead",
                        text::document(pattern)
                    );
                    Err(Error::new(ErrorCode::AmbiguousIndexKeyPattern, text))
                }
            }
        }
        _ => Err(Error::new(ErrorCode::InvalidOptions, "Must specify either index name or key pattern.")),
    }
}
