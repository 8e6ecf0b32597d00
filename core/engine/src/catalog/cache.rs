//! Parsed catalogue records, by name and version of the record.

use super::{CollectionInfo, Namespace};
use multifora_storage::Sequence;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Most collections whose records are kept parsed.
const MAX_ENTRIES: usize = 10_000;

/// One version per collection is kept: the one that was read last.
#[derive(Debug, Default)]
pub struct CatalogCache {
    entries: RwLock<HashMap<Namespace, (Sequence, Arc<CollectionInfo>)>>,
}

impl CatalogCache {
    /// The parsed record, when this very version is known.
    pub fn get(&self, ns: &Namespace, version: Sequence) -> Option<Arc<CollectionInfo>> {
        let entries = self.entries.read();
        let (known, info) = entries.get(ns)?;
        (*known == version).then(|| Arc::clone(info))
    }

    /// Keeps a parsed record, unless a later version is known already.
    pub fn put(&self, version: Sequence, info: Arc<CollectionInfo>) {
        let mut entries = self.entries.write();
        if entries.get(&info.ns).is_some_and(|(known, _)| *known > version) {
            return;
        }
        // Full: begin again. The hot collections are back after one read each.
        if entries.len() >= MAX_ENTRIES && !entries.contains_key(&info.ns) {
            entries.clear();
        }
        entries.insert(info.ns.clone(), (version, info));
    }
}
