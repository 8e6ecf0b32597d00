//! What a table of the file is, in the words of whoever uses the database: a collection, an index.

use crate::catalog::{self, CollectionInfo};
use crate::session::SessionsTable;
use multifora_storage::{Problem, Read, TableId};
use std::collections::BTreeMap;

/// The names of tables, as far as the catalogue can be read.
pub(crate) struct TableNames {
    names: BTreeMap<TableId, String>,
}

impl TableNames {
    /// Reads the catalogue. What cannot be read of it leaves tables without a name.
    pub(crate) fn of(reads: &dyn Read) -> TableNames {
        let mut names = BTreeMap::from([(TableId::CATALOG, String::from("the catalogue"))]);
        if let Ok(Some(table)) = SessionsTable::default().find(reads) {
            names.insert(table, String::from("the sessions' latest writes"));
        }
        for collection in catalog::list_all(reads).unwrap_or_default() {
            add(&mut names, &collection);
        }
        TableNames { names }
    }

    /// The name of a table that has one.
    pub(crate) fn get(&self, table: TableId) -> Option<&str> {
        self.names.get(&table).map(String::as_str)
    }

    /// A problem in one line: which collection or index, where in the file, what is lost.
    pub(crate) fn describe(&self, problem: &Problem) -> String {
        match problem.table {
            None => problem.to_string(),
            Some(table) => match self.get(table) {
                Some(name) => format!("{name}: {problem}"),
                None => format!("table {table}, which no collection names: {problem}"),
            },
        }
    }
}

fn add(names: &mut BTreeMap<TableId, String>, collection: &CollectionInfo) {
    names.insert(collection.records, collection.ns.to_string());
    for index in &collection.indexes {
        names.insert(index.table, format!("{} index '{}'", collection.ns, index.name));
    }
    for building in &collection.building {
        for table in building.tables() {
            let name = format!("{} index '{}', which is being built", collection.ns, building.index.name);
            names.insert(table, name);
        }
    }
}
