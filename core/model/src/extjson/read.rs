//! Extended JSON text to BSON bytes.

use super::json::Json;
use super::wrapper;
use crate::builder::DocBuilder;
use crate::error::{Error, Result};
use crate::types::ElementType;
use crate::value::OwnedValue;

/// Reads one document.
pub fn parse_document(text: &str) -> Result<Vec<u8>> {
    document(&serde_json::from_str(text).map_err(|e| syntax(&e))?)
}

/// Reads documents that stand one after the other, with or without white space between them (JSON lines).
pub fn parse_documents(text: &str) -> impl Iterator<Item = Result<Vec<u8>>> {
    serde_json::Deserializer::from_str(text)
        .into_iter::<Json>()
        .map(|json| json.map_err(|e| syntax(&e)).and_then(|json| document(&json)))
}

/// Reads one value of any type.
pub fn parse_value(text: &str) -> Result<OwnedValue> {
    value(&serde_json::from_str(text).map_err(|e| syntax(&e))?)
}

fn syntax(error: &serde_json::Error) -> Error {
    Error::failed_to_parse(format!("invalid JSON: {error}"))
}

fn document(json: &Json) -> Result<Vec<u8>> {
    match value(json)? {
        value if value.ty == ElementType::Document => Ok(value.as_ref().bytes.to_vec()),
        value => Err(Error::failed_to_parse(format!("expected a document, found {}", value.ty.name()))),
    }
}

/// A value on its own.
fn value(json: &Json) -> Result<OwnedValue> {
    match json {
        Json::Null => Ok(OwnedValue::null()),
        Json::Bool(v) => Ok((*v).into()),
        Json::Int(v) => Ok(int(*v)),
        Json::Double(v) => Ok((*v).into()),
        Json::Text(v) => Ok(OwnedValue::string(v)),
        Json::Array(items) => {
            let mut out = DocBuilder::new();
            elements(&mut out, items)?;
            Ok(OwnedValue::from_vec(ElementType::Array, out.finish()))
        }
        Json::Object(members) => match wrapper::read(members)? {
            Some(value) => Ok(value),
            None => object(members).map(OwnedValue::document),
        },
    }
}

fn int(v: i64) -> OwnedValue {
    i32::try_from(v).map_or_else(|_| v.into(), OwnedValue::from)
}

/// An object that is an ordinary document.
pub(super) fn object(members: &[(String, Json)]) -> Result<Vec<u8>> {
    let mut out = DocBuilder::new();
    fields(&mut out, members)?;
    Ok(out.finish())
}

fn fields(out: &mut DocBuilder, members: &[(String, Json)]) -> Result<()> {
    members.iter().try_for_each(|(name, json)| append(out, name, json))
}

fn elements(out: &mut DocBuilder, items: &[Json]) -> Result<()> {
    items.iter().enumerate().try_for_each(|(index, json)| append(out, &index.to_string(), json))
}

/// Writes nested documents in place, so that depth costs no copies.
fn append(out: &mut DocBuilder, name: &str, json: &Json) -> Result<()> {
    if name.contains('\0') {
        return Err(Error::failed_to_parse("a field name contains a NUL character"));
    }
    match json {
        Json::Object(members) => match wrapper::read(members)? {
            Some(value) => {
                out.append(name, value.as_ref());
            }
            None => {
                out.start_doc(name);
                fields(out, members)?;
                out.end();
            }
        },
        Json::Array(items) => {
            out.start_array(name);
            elements(out, items)?;
            out.end();
        }
        scalar => {
            out.append(name, value(scalar)?.as_ref());
        }
    }
    Ok(())
}
