//! A collection as a command finds it: one snapshot, and what stands in the catalogue as of it.
//!
//! Commands look here before they compile anything, because how strings compare may be the collection's choice.

use crate::catalog::{self, CollectionInfo, Namespace};
use crate::database::Database;
use multifora_model::{Collation, RawDoc, Result};
use multifora_query::CompileContext;
use multifora_storage::Snapshot;
use std::borrow::Cow;
use std::sync::Arc;

/// A collection, or that there is none, as of one snapshot.
#[derive(Clone)]
pub struct Reading {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// The collection.
    pub collection: Option<Arc<CollectionInfo>>,
}

impl Reading {
    /// Opens a snapshot and looks the collection up.
    ///
    /// # Errors
    /// Storage errors, a damaged catalogue.
    pub fn open(database: &Database, ns: &Namespace) -> Result<Self> {
        let snapshot = database.store().snapshot();
        let collection = catalog::find(&snapshot, database.catalog_cache(), ns)?;
        Ok(Reading { snapshot, collection })
    }

    /// The collation that holds for a command: the one it asks for, else the collection's.
    ///
    /// # Errors
    /// Those of [`Collation::parse`].
    pub fn collation(&self, requested: Option<RawDoc<'_>>) -> Result<Option<Arc<Collation>>> {
        match requested.filter(|collation| !collation.is_empty()) {
            Some(collation) => Collation::parse(collation),
            None => Ok(self.collection.as_ref().and_then(|collection| collection.collation.clone())),
        }
    }
}

/// The default collation of a collection, for a write, which does not read through this snapshot.
///
/// # Errors
/// As [`Reading::open`].
pub fn default_collation(database: &Database, ns: &Namespace) -> Result<Option<Arc<Collation>>> {
    match catalog::may_have_collations() {
        true => Reading::open(database, ns)?.collation(None),
        false => Ok(None),
    }
}

/// The names of a command with the collation of one of its statements, which is the command's unless it asks for another.
///
/// # Errors
/// Those of [`Collation::parse`].
pub fn with_collation<'n>(
    names: &'n CompileContext,
    requested: Option<RawDoc<'_>>,
) -> Result<Cow<'n, CompileContext>> {
    Ok(match requested.filter(|collation| !collation.is_empty()) {
        Some(collation) => Cow::Owned(names.clone().with_collation(Collation::parse(collation)?)),
        None => Cow::Borrowed(names),
    })
}
