//! Random changes, made to a transaction and to the model alike.

use crate::model::{ModelRecord, ModelState, ModelTable};
use crate::world::Habits;
use multifora_storage::sim::Random;
use multifora_storage::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most tables that a life has beside the catalogue.
pub const MOST_TABLES: usize = 6;
const APPENDED: &[u8] = b"\xff\xff\xff\xff";

/// Appended rows stand in the model under a mark until the commit numbers them, in order.
pub fn give_rows(model: &mut ModelState) -> Vec<u64> {
    let mut given = BTreeMap::new();
    let ids: Vec<u64> = model.tables.keys().copied().collect();
    for id in ids {
        if !has_appended(&model.tables[&id]) {
            continue;
        }
        let table = model.table_mut(id);
        let keys: Vec<Vec<u8>> =
            table.records.range(APPENDED.to_vec()..).map(|(key, _)| key.clone()).collect();
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

fn has_appended(table: &ModelTable) -> bool {
    table.records.range(APPENDED.to_vec()..).next().is_some()
}

pub fn put(
    tx: &mut Transaction,
    model: &mut ModelState,
    table: u64,
    key: &[u8],
    head: &[u8],
    values: &[NewValue<'_>],
) -> Result<()> {
    tx.put(TableId::from_u64(table), key, NewRecord { head, values })?;
    put_in_model(model, table, key, head, values);
    Ok(())
}

pub fn put_in_model(model: &mut ModelState, table: u64, key: &[u8], head: &[u8], values: &[NewValue<'_>]) {
    let records = &mut model.table_mut(table).records;
    let old = records.get(key).map(|record| record.1.clone()).unwrap_or_default();
    let values = values.iter().map(|value| match value {
        NewValue::New(bytes) => bytes.to_vec(),
        NewValue::Keep(number) => old[*number as usize].clone(),
    });
    records.insert(key.to_vec(), Arc::new((head.to_vec(), values.collect())));
}

pub fn random_bytes(random: &mut Random, len: u64) -> Vec<u8> {
    // Half of them compress.
    if random.one_in(2) {
        return vec![random.next() as u8; len as usize];
    }
    (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(len as usize).collect()
}

pub fn random_table(model: &ModelState, random: &mut Random) -> u64 {
    *model.tables.keys().nth(random.below(model.tables.len() as u64) as usize).unwrap()
}

pub fn key_of(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

/// One change.
pub fn change(
    tx: &mut Transaction,
    model: &mut ModelState,
    random: &mut Random,
    habits: &Habits,
) -> Result<()> {
    let table = random_table(model, random);
    let in_store = TableId::from_u64(table);
    let key = key_of(random.below(habits.keys));
    let values = model.record(table, &key).map_or(0, |record| record.1.len() as u32);
    match random.below(20) {
        0 if model.tables.len() < MOST_TABLES => {
            let id = tx.create_table()?.get();
            model.tables.insert(id, Arc::new(ModelTable::new()));
        }
        1 if table != 0 && !has_appended(&model.tables[&table]) => {
            tx.drop_table(in_store)?;
            model.tables.remove(&table);
        }
        2..5 => {
            let found = tx.delete(in_store, &key)?;
            assert_eq!(found, model.table_mut(table).records.remove(&key).is_some());
        }
        5..8 if values > 0 => {
            let fresh = random_bytes(random, 3000);
            // The last one is kept, beside a new one before or behind it, or alone.
            let kept = NewValue::Keep(values - 1);
            let values = [NewValue::New(&fresh), kept, NewValue::New(&fresh)];
            let from = random.below(2) as usize;
            let values = if random.one_in(4) { &values[1..2] } else { &values[from..from + 2] };
            put(tx, model, table, &key, b"kept", values)?;
        }
        8..10 => {
            let len = 2048 + random.below(8000);
            let value = random_bytes(random, len);
            put(tx, model, table, &key, b"with a value", &[NewValue::New(&value)])?;
        }
        10..14 => {
            let head = random_bytes(random, 20);
            let row = tx.append(in_store, &head)?;
            let ordinal = row.get() & !(1 << 63);
            let key = [APPENDED, &ordinal.to_be_bytes()].concat();
            model.table_mut(table).records.insert(key, Arc::new((head, Vec::new())));
        }
        _ => {
            let len = random.below(habits.largest_head);
            let head = random_bytes(random, len);
            put(tx, model, table, &key, &head, &[])?;
        }
    }
    Ok(())
}

/// Many records at once: trees of several levels. What compresses costs the simulated disk little.
pub fn bulk(
    tx: &mut Transaction,
    model: &mut ModelState,
    random: &mut Random,
    habits: &Habits,
) -> Result<()> {
    let table = random_table(model, random);
    let from = random.below(habits.keys);
    let head = vec![random.next() as u8; 100 + random.below(3000) as usize];
    for number in 0..random.below(habits.bulk) {
        put(tx, model, table, &key_of(from + number), &head, &[])?;
    }
    Ok(())
}

/// Deletes neighbours, so that whole subtrees become empty; sometimes all of a table.
pub fn delete_many(tx: &mut Transaction, model: &mut ModelState, random: &mut Random) -> Result<()> {
    let table = random_table(model, random);
    let len = model.tables[&table].records.len() as u64;
    let (from, count) = match random.one_in(4) {
        true => (0, len),
        false => (random.below(len), 1 + random.below(len)),
    };
    let keys: Vec<Vec<u8>> =
        model.tables[&table].records.keys().skip(from as usize).take(count as usize).cloned().collect();
    for key in keys {
        assert!(tx.delete(TableId::from_u64(table), &key)?);
        model.table_mut(table).records.remove(&key);
    }
    Ok(())
}

/// The records of a table to be built.
pub fn records_to_build(random: &mut Random, habits: &Habits) -> BTreeMap<Vec<u8>, ModelRecord> {
    let mut records = BTreeMap::new();
    let largest = 1 + random.below(4000);
    for _ in 0..random.below(habits.bulk) {
        let head = vec![random.next() as u8; random.below(largest) as usize];
        let len = 2500 + random.below(3000);
        let values = if random.one_in(8) { vec![random_bytes(random, len)] } else { Vec::new() };
        records.insert(key_of(random.below(habits.keys.max(habits.bulk))), Arc::new((head, values)));
    }
    records
}

pub fn push_record(builder: &mut TableBuilder, key: &[u8], record: &ModelRecord) -> Result<()> {
    let values: Vec<&[u8]> = record.1.iter().map(Vec::as_slice).collect();
    builder.push_with_values(key, &record.0, &values)
}
