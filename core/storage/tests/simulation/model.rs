//! What a store must hold, and comparing it with what it gives.

use multifora_storage::sim::Random;
use multifora_storage::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one record holds: its head and its values.
pub type ModelRecord = Arc<(Vec<u8>, Vec<Vec<u8>>)>;

#[derive(Clone)]
pub struct ModelTable {
    pub records: BTreeMap<Vec<u8>, ModelRecord>,
    pub next_row: u64,
}

impl ModelTable {
    pub fn new() -> ModelTable {
        ModelTable { records: BTreeMap::new(), next_row: 1 }
    }
}

/// All tables after one commit.
#[derive(Clone)]
pub struct ModelState {
    pub tables: BTreeMap<u64, Arc<ModelTable>>,
}

impl ModelState {
    pub fn empty() -> ModelState {
        ModelState { tables: BTreeMap::from([(0, Arc::new(ModelTable::new()))]) }
    }

    pub fn table_mut(&mut self, id: u64) -> &mut ModelTable {
        Arc::make_mut(self.tables.get_mut(&id).unwrap())
    }

    pub fn record(&self, table: u64, key: &[u8]) -> Option<&ModelRecord> {
        self.tables.get(&table).and_then(|table| table.records.get(key))
    }
}

/// How a store does not give what the model holds.
#[derive(Debug)]
pub enum Difference {
    /// It gives something else.
    Wrong(String),
    /// It gives an error.
    Failed(Error),
}

impl From<Error> for Difference {
    fn from(error: Error) -> Difference {
        Difference::Failed(error)
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Difference::Wrong(what) => f.write_str(what),
            Difference::Failed(error) => write!(f, "reading: {error}"),
        }
    }
}

pub type Compared = std::result::Result<(), Difference>;

fn wrong<T>(what: String) -> std::result::Result<T, Difference> {
    Err(Difference::Wrong(what))
}

/// Whether the entry is the one of the model, all values included.
pub fn compare_entry(table: u64, entry: &Entry<'_>, key: &[u8], record: &ModelRecord) -> Compared {
    let name = || String::from_utf8_lossy(key).into_owned();
    if entry.key != key {
        return wrong(format!("table {table}: key {:02x?} in place of {:02x?}", entry.key, key));
    }
    if entry.head() != record.0 || entry.value_count() != record.1.len() {
        return wrong(format!("table {table}, key {:?}: another record than was written", name()));
    }
    for (number, value) in record.1.iter().enumerate() {
        if *entry.value(number)? != **value {
            return wrong(format!("table {table}, key {:?}: value {number} is another one", name()));
        }
    }
    Ok(())
}

/// Reads one table from the beginning to the end.
pub fn compare_table(snapshot: &Snapshot, id: u64, model: &ModelTable) -> Compared {
    let table = TableId::from_u64(id);
    let next_row = snapshot.next_row(table)?.get();
    if next_row != model.next_row {
        return wrong(format!("table {id} goes on with row {next_row} instead of {}", model.next_row));
    }
    let count = snapshot.count(table)?;
    if count != model.records.len() as u64 {
        return wrong(format!("table {id} counts {count} records instead of {}", model.records.len()));
    }
    let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Forward)?;
    for (key, record) in &model.records {
        match scan.next()? {
            Some(entry) => compare_entry(id, &entry, key, record)?,
            None => return wrong(format!("table {id} ends before key {key:02x?}")),
        }
    }
    match scan.next()? {
        None => Ok(()),
        Some(entry) => wrong(format!("table {id} has a key too much: {:02x?}", entry.key)),
    }
}

/// Reads everything.
pub fn compare(snapshot: &Snapshot, model: &ModelState) -> Compared {
    model.tables.iter().try_for_each(|(id, table)| compare_table(snapshot, *id, table))
}

/// Asks each table a few questions other than for everything: a record, a count, a look from behind.
pub fn probe(snapshot: &Snapshot, model: &ModelState, random: &mut Random) -> Compared {
    for (&id, table) in &model.tables {
        let len = table.records.len() as u64;
        if len == 0 {
            continue;
        }
        let (a, b) = (random.below(len), random.below(len));
        let (a, b) = (a.min(b) as usize, a.max(b) as usize);
        let nth = |n: usize| table.records.iter().nth(n).unwrap();
        let ((from, record), (to, _)) = (nth(a), nth(b));
        let in_store = TableId::from_u64(id);
        let counted = snapshot.count_range(in_store, &KeyRange::between(from, to))?;
        if counted != (b - a) as u64 {
            return wrong(format!("table {id}: {counted} of {} keys from {from:02x?}", b - a));
        }
        match snapshot.get(in_store, from)? {
            Some(found) if found.head() == record.0 && found.value_count() == record.1.len() => {}
            _ => return wrong(format!("table {id}: no record like the one of key {from:02x?}")),
        }
        let missing = [from.as_slice(), b"\0"].concat();
        if snapshot.get(in_store, &missing)?.is_some() != table.records.contains_key(&missing) {
            return wrong(format!("table {id}: a record under key {missing:02x?}"));
        }
        let mut scan = snapshot.scan(in_store, KeyRange::all(), Direction::Backward)?;
        scan.skip(len - 1 - b as u64)?;
        match scan.next()? {
            Some(entry) if entry.key == to.as_slice() => {}
            _ => return wrong(format!("table {id}: from behind, another key than {to:02x?}")),
        }
    }
    Ok(())
}
