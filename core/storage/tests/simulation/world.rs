//! A model of a store, and a random life of one: what the store must hold after every commit.

use multifora_storage::sim::Random;
use multifora_storage::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one record holds.
pub type ModelRecord = Arc<(Vec<u8>, Vec<Vec<u8>>)>;

#[derive(Clone, Default, PartialEq)]
pub struct ModelTable {
    pub records: BTreeMap<Vec<u8>, ModelRecord>,
    pub next_row: u64,
}

/// All tables after one commit.
#[derive(Clone, PartialEq)]
pub struct ModelState {
    pub tables: BTreeMap<u64, ModelTable>,
}

/// The states of a store after each of its commits, and how far they were acknowledged.
pub struct World {
    pub states: Vec<Arc<ModelState>>,
    pub acknowledged: u64,
    random: Random,
    /// Bytes of the largest heads; large ones fill log regions quickly.
    largest_head: u64,
}

pub fn options() -> Options {
    Options { background: false, ..Options::default() }
}

impl World {
    pub fn new(seed: u64, largest_head: u64) -> World {
        let catalog = ModelTable { records: BTreeMap::new(), next_row: 1 };
        let empty = ModelState { tables: BTreeMap::from([(0, catalog)]) };
        World { states: vec![Arc::new(empty)], acknowledged: 0, random: Random::new(seed), largest_head }
    }

    /// The same past, to go on from it in another way.
    pub fn branch(&self) -> World {
        let mut random = self.random.clone();
        let random = Random::new(random.next());
        World {
            states: self.states.clone(),
            acknowledged: self.acknowledged,
            random,
            largest_head: self.largest_head,
        }
    }

    pub fn newest(&self) -> &Arc<ModelState> {
        &self.states[self.states.len() - 1]
    }

    /// One step of the store's life: usually a commit that is waited for.
    pub fn step(&mut self, store: &Store) -> Result<()> {
        match self.random.below(12) {
            0 => store.checkpoint(),
            1 => self.commit(store),
            2 => {
                // Two transactions on one key: the second to commit must lose.
                let mut loser = store.begin();
                loser.put(TableId::CATALOG, b"contended", b"loser")?;
                self.commit_with(store, |tx, model| put(tx, model, 0, b"contended", b"winner", &[]))?;
                match loser.commit() {
                    Err(Error::Conflict) => Ok(()),
                    Err(other) => Err(other),
                    Ok(_) => Err(Error::Misuse { what: "a conflict went unnoticed" }),
                }
            }
            _ => {
                self.commit(store)?;
                self.acknowledge(store)
            }
        }
    }

    pub fn acknowledge(&mut self, store: &Store) -> Result<()> {
        let newest = self.states.len() as u64 - 1;
        store.wait_durable(Sequence::from_u64(newest))?;
        self.acknowledged = newest;
        Ok(())
    }

    /// Commits something and waits until it is on the disk.
    pub fn commit_durably(&mut self, store: &Store) -> Result<()> {
        self.commit(store)?;
        self.acknowledge(store)
    }

    fn commit(&mut self, store: &Store) -> Result<()> {
        let mut random = self.random.clone();
        let largest = self.largest_head;
        let result = self.commit_with(store, |tx, model| {
            for _ in 0..1 + random.below(4) {
                change(tx, model, &mut random, largest)?;
            }
            Ok(())
        });
        self.random.next();
        self.random.next();
        result
    }

    fn commit_with(
        &mut self,
        store: &Store,
        write: impl FnOnce(&mut Transaction, &mut ModelState) -> Result<()>,
    ) -> Result<()> {
        let mut tx = store.begin();
        let mut model = ModelState::clone(self.newest());
        write(&mut tx, &mut model)?;
        if tx.is_empty() {
            return Ok(());
        }
        let expected_rows = give_rows(&mut model);
        let committed = tx.commit()?;
        assert_eq!(committed.rows.iter().map(|row| row.get()).collect::<Vec<_>>(), expected_rows);
        assert_eq!(committed.sequence.get(), self.states.len() as u64);
        self.states.push(Arc::new(model));
        Ok(())
    }

    /// Compares the store with the model: it must stand after a commit that is not older than the acknowledged ones,
    /// hold exactly what the model held then, and verify.
    pub fn check(&mut self, store: &Store) -> std::result::Result<(), String> {
        let sequence = store.stats().last_sequence;
        if sequence < self.acknowledged || sequence >= self.states.len() as u64 {
            return Err(format!(
                "stands after commit {sequence}; acknowledged {}, made {}",
                self.acknowledged,
                self.states.len() - 1
            ));
        }
        let model = Arc::clone(&self.states[sequence as usize]);
        let found = read_all(store).map_err(|error| format!("reading: {error}"))?;
        if found != records_of(&model) {
            return Err(format!("after commit {sequence} it holds something else than was written"));
        }
        check_next_rows(store, &model)?;
        let report = store.verify().map_err(|error| format!("verify: {error}"))?;
        if !report.is_clean() {
            return Err(format!("after commit {sequence}: {:?}", report.problems));
        }
        // What was not there after all did not happen; the life goes on from here.
        self.states.truncate(sequence as usize + 1);
        self.acknowledged = sequence;
        Ok(())
    }
}

/// Row numbers are never used again: the next one of each table is the model's. Nothing is committed to find out.
fn check_next_rows(store: &Store, model: &ModelState) -> std::result::Result<(), String> {
    for (id, table) in &model.tables {
        let next_row =
            store.snapshot().next_row(TableId::from_u64(*id)).map_err(|error| error.to_string())?;
        if next_row.get() != table.next_row {
            return Err(format!("table {id} goes on with row {next_row} instead of {}", table.next_row));
        }
    }
    Ok(())
}

const APPENDED: &[u8] = b"\xff\xff\xff\xff";

/// Appended rows stand in the model under a mark until the commit numbers them, in order.
fn give_rows(model: &mut ModelState) -> Vec<u64> {
    let mut given = BTreeMap::new();
    for table in model.tables.values_mut() {
        let keys: Vec<Vec<u8>> =
            table.records.keys().filter(|key| key.starts_with(APPENDED)).cloned().collect();
        for key in keys {
            let ordinal = u64::from_be_bytes(key[4..12].try_into().unwrap());
            let record = table.records.remove(&key).unwrap();
            table.records.insert(table.next_row.to_be_bytes().to_vec(), record);
            given.insert(ordinal, table.next_row);
            table.next_row += 1;
        }
    }
    given.into_values().collect()
}

fn put(
    tx: &mut Transaction,
    model: &mut ModelState,
    table: u64,
    key: &[u8],
    head: &[u8],
    values: &[NewValue<'_>],
) -> Result<()> {
    tx.put(TableId::from_u64(table), key, NewRecord { head, values })?;
    let records = &mut model.tables.get_mut(&table).unwrap().records;
    let old = records.get(key).map(|record| record.1.clone()).unwrap_or_default();
    let values = values.iter().map(|value| match value {
        NewValue::New(bytes) => bytes.to_vec(),
        NewValue::Keep(number) => old[*number as usize].clone(),
    });
    records.insert(key.to_vec(), Arc::new((head.to_vec(), values.collect())));
    Ok(())
}

pub fn random_bytes(random: &mut Random, len: u64) -> Vec<u8> {
    // Half of them compress.
    if random.one_in(2) {
        return vec![random.next() as u8; len as usize];
    }
    (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(len as usize).collect()
}

fn change(tx: &mut Transaction, model: &mut ModelState, random: &mut Random, largest: u64) -> Result<()> {
    let tables: Vec<u64> = model.tables.keys().copied().collect();
    let table = tables[random.below(tables.len() as u64) as usize];
    let key = format!("key {}", random.below(30)).into_bytes();
    let is_there = model.tables[&table].records.get(&key).map(|record| record.1.len());
    match random.below(20) {
        0 if tables.len() < 5 => {
            let id = tx.create_table()?.get();
            model.tables.insert(id, ModelTable { records: BTreeMap::new(), next_row: 1 });
        }
        1 if table != 0 && model.tables[&table].records.keys().all(|key| !key.starts_with(APPENDED)) => {
            tx.drop_table(TableId::from_u64(table))?;
            model.tables.remove(&table);
        }
        2..5 => {
            let found = tx.delete(TableId::from_u64(table), &key)?;
            assert_eq!(found, model.tables.get_mut(&table).unwrap().records.remove(&key).is_some());
        }
        5..8 if is_there.is_some_and(|count| count > 0) => {
            let fresh = random_bytes(random, 3000);
            put(tx, model, table, &key, b"kept", &[NewValue::Keep(0), NewValue::New(&fresh)])?;
        }
        8..10 => {
            let len = 2048 + random.below(8000);
            let value = random_bytes(random, len);
            put(tx, model, table, &key, b"with a value", &[NewValue::New(&value)])?;
        }
        10..14 => {
            let head = random_bytes(random, 20);
            let row = tx.append(TableId::from_u64(table), &head)?;
            let ordinal = row.get() & !(1 << 63);
            let key = [APPENDED, &ordinal.to_be_bytes()].concat();
            model.tables.get_mut(&table).unwrap().records.insert(key, Arc::new((head, Vec::new())));
        }
        _ => {
            let len = random.below(largest);
            let head = random_bytes(random, len);
            put(tx, model, table, &key, &head, &[])?;
        }
    }
    Ok(())
}

type Contents = BTreeMap<u64, BTreeMap<Vec<u8>, ModelRecord>>;

fn records_of(model: &ModelState) -> Contents {
    model.tables.iter().map(|(id, table)| (*id, table.records.clone())).collect()
}

/// Everything that the store holds, by table; tables are found by trying numbers.
fn read_all(store: &Store) -> Result<Contents> {
    let snapshot = store.snapshot();
    let mut contents = Contents::new();
    for id in 0..400 {
        let table = TableId::from_u64(id);
        if snapshot.next_row(table).is_err() {
            continue;
        }
        let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Forward)?;
        let records = contents.entry(id).or_default();
        while let Some(entry) = scan.next()? {
            let values = (0..entry.value_count())
                .map(|number| Ok(entry.value(number)?.to_vec()))
                .collect::<Result<_>>()?;
            records.insert(entry.key.to_vec(), Arc::new((entry.head().to_vec(), values)));
        }
    }
    assert_eq!(contents.len() as u64, store.stats().tables, "more tables than the test looks for");
    Ok(contents)
}

/// Whether the store gives nothing but what the model holds: all of it, or an error that says that it is damaged.
pub fn holds(store: &Store, model: &ModelState) -> bool {
    match read_all(store) {
        Ok(found) => found == records_of(model),
        Err(error) => matches!(error, Error::Corrupt { .. }),
    }
}
