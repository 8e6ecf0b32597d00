//! An update that puts another document in the place of the old one, which keeps its `_id`.

use super::validate;
use crate::CompileContext;
use crate::write::frame;
use multifora_model::{Element, ElementType, RawDoc, RawValue, Result};

/// A replacement document.
#[derive(Debug)]
pub(super) struct Replacement {
    /// The document's fields without the `_id`, as they will be stored.
    fields: Vec<u8>,
    /// The `_id` it names, as a document of one field.
    id: Option<Vec<u8>>,
    /// The first field whose name begins with a dollar sign.
    dollar_field: Option<String>,
}

impl Replacement {
    /// Takes the document in; empty timestamps at its top level become the current time.
    pub(super) fn compile(doc: RawDoc<'_>, context: &CompileContext) -> Self {
        let mut replacement = Replacement { fields: Vec::new(), id: None, dollar_field: None };
        let now = current_timestamp(context);
        for field in doc {
            if field.name() == "_id" && replacement.id.is_none() {
                let mut id = vec![0; 4];
                put(&mut id, &field, field.value);
                frame(&mut id, 0);
                replacement.id = Some(id);
                continue;
            }
            if field.name().starts_with('$') && replacement.dollar_field.is_none() {
                replacement.dollar_field = Some(field.name().to_owned());
            }
            let is_empty_timestamp = field.value.as_timestamp() == Some(0);
            let value = match is_empty_timestamp {
                true => RawValue { ty: ElementType::Timestamp, bytes: &now },
                false => field.value,
            };
            put(&mut replacement.fields, &field, value);
        }
        replacement
    }

    /// The document after the update; nothing when it stays as it is.
    pub(super) fn apply(&self, doc: RawDoc<'_>, is_insert: bool) -> Result<Option<Vec<u8>>> {
        if let Some(name) = &self.dollar_field {
            return Err(validate::dollar_field(name, name));
        }
        let own_id = self.id.as_deref().and_then(RawDoc::framed);
        let mut out = Vec::with_capacity(self.fields.len() + 32);
        out.extend_from_slice(&[0; 4]);
        let ids = own_id.unwrap_or(doc);
        if let Some(id) = ids.iter().find(|e| e.name() == "_id") {
            put(&mut out, &id, id.value);
        }
        out.extend_from_slice(&self.fields);
        frame(&mut out, 0);
        if out == doc.as_bytes() {
            return Ok(None);
        }
        if let Some(own_id) = own_id {
            validate::same_id(doc, own_id)?;
        }
        validate::result(&out, is_insert, true)?;
        Ok(Some(out))
    }
}

fn put(out: &mut Vec<u8>, field: &Element<'_>, value: RawValue<'_>) {
    out.push(value.ty as u8);
    out.extend_from_slice(field.name_bytes());
    out.push(0);
    out.extend_from_slice(value.bytes);
}

/// The time at which the command began, as a timestamp.
pub(super) fn current_timestamp(context: &CompileContext) -> [u8; 8] {
    let cluster_time = context.constant("CLUSTER_TIME").and_then(|v| v.as_ref().as_timestamp());
    let now = || {
        let ms = context.constant("NOW").and_then(|v| v.as_ref().as_date_ms()).unwrap_or(0);
        u64::try_from(ms.div_euclid(1000)).unwrap_or(0) << 32 | 1
    };
    cluster_time.unwrap_or_else(now).to_le_bytes()
}
