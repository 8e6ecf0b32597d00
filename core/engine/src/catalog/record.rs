//! The catalogue's records: one BSON document per collection.
//!
//! `{ uuid, options, records: <table>, indexes: [ { spec, table, multikey: [bool, …], sortKeys?, building? }, … ] }`,
//! where `building` is `{ changes: <table>, draining?: <table> }` and `sortKeys` names the rules by which an index with
//! a collation has made its keys. The name is the key. Unknown fields are an error: a
//! newer build's catalogue must not be half understood.

use super::{BuildingIndex, CollectionInfo, IndexInfo, Namespace, Validator};
use crate::index::{ParsedSpec, compile_partial_filter};
use multifora_model::collation::SORT_KEY_VERSION;
use multifora_model::path::FieldPath;
use multifora_model::{DocBuilder, Error, RawDoc, Result};
use multifora_storage::TableId;
use std::sync::Arc;

/// The record of a collection.
pub fn encode(info: &CollectionInfo) -> Vec<u8> {
    let mut out = DocBuilder::new();
    out.binary("uuid", 4, &info.uuid);
    out.doc("options", RawDoc::framed(&info.options).unwrap_or(RawDoc::EMPTY));
    out.i64("records", table_number(info.records)).start_array("indexes");
    let complete = info.indexes.iter().map(|index| (index, None));
    let building = info.building.iter().map(|building| (&building.index, Some(building)));
    for (index, building) in complete.chain(building) {
        out.push_start_doc().doc("spec", RawDoc::framed(&index.spec).unwrap_or(RawDoc::EMPTY));
        out.i64("table", table_number(index.table)).start_array("multikey");
        for flag in &index.multikey {
            out.push(multifora_model::OwnedValue::from(*flag).as_ref());
        }
        out.end();
        if let Some(version) = &index.sort_keys {
            out.str("sortKeys", version);
        }
        if let Some(building) = building {
            out.start_doc("building").i64("changes", table_number(building.changes));
            if let Some(draining) = building.draining {
                out.i64("draining", table_number(draining));
            }
            out.end();
        }
        out.end();
    }
    out.finish()
}

/// The collection that a record describes.
pub fn decode(ns: Namespace, bytes: &[u8]) -> Result<CollectionInfo> {
    let damaged = |what: &str| Error::internal(format!("the catalogue record of {ns} is damaged: {what}"));
    let doc = RawDoc::framed(bytes).ok_or_else(|| damaged("not a document"))?;
    let mut info = CollectionInfo {
        ns: ns.clone(),
        uuid: [0; 16],
        options: RawDoc::EMPTY.as_bytes().to_vec(),
        validator: None,
        collation: None,
        records: TableId::CATALOG,
        indexes: Vec::new(),
        building: Vec::new(),
    };
    for field in doc {
        let value = field.value;
        match field.name() {
            "uuid" => {
                let bytes = value.as_binary().and_then(|(_, bytes)| bytes.try_into().ok());
                info.uuid = bytes.ok_or_else(|| damaged("uuid"))?;
            }
            "options" => {
                let options = value.as_doc().ok_or_else(|| damaged("options"))?;
                info.validator = Validator::parse(options)?.map(Arc::new);
                info.collation = super::default_collation(options)?;
                info.options = options.as_bytes().to_vec();
            }
            "records" => info.records = table(value.as_i64()).ok_or_else(|| damaged("records"))?,
            "indexes" => {
                for index in value.as_array().ok_or_else(|| damaged("indexes"))? {
                    let parts = index.value.as_doc().ok_or_else(|| damaged("index"))?;
                    let index = Arc::new(decode_index(parts)?);
                    match parts.get("building") {
                        None => info.indexes.push(index),
                        Some(state) => {
                            let state = state.as_doc().and_then(|state| decode_building(index, state));
                            info.building.push(state.ok_or_else(|| damaged("building"))?);
                        }
                    }
                }
            }
            other => return Err(damaged(&format!("unknown field {other}"))),
        }
    }
    Ok(info)
}

fn decode_index(parts: RawDoc<'_>) -> Result<IndexInfo> {
    let damaged = |what| Error::internal(format!("a catalogue record is damaged: index {what}"));
    let spec = parts.get("spec").and_then(|v| v.as_doc()).ok_or_else(|| damaged("spec"))?;
    let number = table(parts.get("table").and_then(|v| v.as_i64())).ok_or_else(|| damaged("table"))?;
    let flags = parts.get("multikey").and_then(|v| v.as_array()).ok_or_else(|| damaged("multikey"))?;
    let multikey: Vec<bool> = flags.iter().map(|f| f.value.as_bool() == Some(true)).collect();
    let mut index = index_info(ParsedSpec::parse(spec)?, number)?;
    if multikey.len() == index.fields.len() {
        index.multikey = multikey;
    }
    // What the record says, not what this build makes: writing the record again must not make keys newer than they are.
    if index.collation.is_some() {
        let version = parts.get("sortKeys").and_then(|v| v.as_str()).unwrap_or_default();
        index.sort_keys = Some(version.to_owned());
    }
    Ok(index)
}

fn decode_building(index: Arc<IndexInfo>, state: RawDoc<'_>) -> Option<BuildingIndex> {
    let changes = table(state.get("changes")?.as_i64())?;
    let draining = match state.get("draining") {
        Some(number) => Some(table(number.as_i64())?),
        None => None,
    };
    Some(BuildingIndex { index, changes, draining })
}

/// The description of an index that has no entries yet.
pub fn index_info(spec: ParsedSpec, table: TableId) -> Result<IndexInfo> {
    let partial_filter = match &spec.partial_filter {
        Some(bytes) => {
            let doc = RawDoc::framed(bytes).unwrap_or(RawDoc::EMPTY);
            Some(Arc::new(compile_partial_filter(doc, spec.collation.as_ref())?))
        }
        None => None,
    };
    Ok(IndexInfo {
        name: spec.name,
        spec: spec.bson,
        paths: spec.fields.iter().map(|f| f.path.clone()).collect::<Vec<FieldPath>>(),
        multikey: vec![false; spec.fields.len()],
        fields: spec.fields,
        unique: spec.unique,
        sparse: spec.sparse,
        hidden: spec.hidden,
        expire_after_secs: spec.expire_after_secs,
        partial_filter,
        sort_keys: spec.collation.is_some().then(|| SORT_KEY_VERSION.to_owned()),
        collation: spec.collation,
        table,
    })
}

fn table_number(table: TableId) -> i64 {
    i64::try_from(table.get()).unwrap_or(i64::MAX)
}

fn table(number: Option<i64>) -> Option<TableId> {
    Some(TableId::from_u64(number?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::keys_of;
    use multifora_model::{DocumentView, ErrorCode, extjson};

    fn collection() -> CollectionInfo {
        let options = extjson::parse_document(r#"{"collation": {"locale": "en", "strength": 2}}"#).unwrap();
        let collation = super::super::default_collation(RawDoc::framed(&options).unwrap()).unwrap();
        let spec = ParsedSpec::id_index(collation.as_ref());
        CollectionInfo {
            ns: Namespace::new("d", "c").unwrap(),
            uuid: [7; 16],
            options,
            collation,
            validator: None,
            records: TableId::from_u64(2),
            indexes: vec![Arc::new(index_info(spec, TableId::from_u64(3)).unwrap())],
            building: Vec::new(),
        }
    }

    #[test]
    fn sort_keys_of_another_version_are_not_touched() {
        let encoded = encode(&collection());
        let decoded = decode(collection().ns, &encoded).unwrap();
        assert_eq!(decoded.collation, collection().collation);
        assert!(!decoded.indexes[0].is_outdated());
        let at =
            encoded.windows(SORT_KEY_VERSION.len()).position(|w| w == SORT_KEY_VERSION.as_bytes()).unwrap();
        let mut older = encoded.clone();
        older[at] = b'x';
        let decoded = decode(collection().ns, &older).unwrap();
        assert!(decoded.indexes[0].is_outdated());
        // Writing the record again, for whatever reason, does not make the keys newer than they are.
        assert_eq!(encode(&decoded), older);
        let error = keys_of(&decoded.indexes[0], &DocumentView::whole(RawDoc::EMPTY)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IncompatibleCollationVersion);
    }
}
