//! What is held over many commits and checkpoints: snapshots, scans, transactions, tables being built.

use crate::changes::{push_record, put_in_model, records_to_build};
use crate::model::{Compared, Difference, ModelRecord, ModelState, ModelTable, compare, compare_entry};
use crate::world::{Habits, World};
use multifora_storage::sim::Random;
use multifora_storage::*;
use std::sync::Arc;

pub enum Held {
    Snapshot(Snapshot, Arc<ModelState>),
    Scan(HeldScan),
    /// Another process that reads.
    Reader(Store),
    Keeping(Box<Keeping>),
    Building(TableBuilder, ModelTable, Vec<(Vec<u8>, ModelRecord)>),
    Built(BuiltTable, ModelTable),
}

/// A scan, and what it has yet to give.
pub struct HeldScan {
    scan: Scan,
    table: u64,
    left: std::vec::IntoIter<(Vec<u8>, ModelRecord)>,
    has_limit: bool,
}

/// A transaction that keeps a value of a record, as that stood when the transaction began.
pub struct Keeping {
    tx: Transaction,
    table: u64,
    key: Vec<u8>,
    base: ModelRecord,
    is_put: bool,
}

/// What may happen to a reader who stays long (if there is a limit that can be reached), or whose disk fails. Anything
/// else is a wrong answer.
fn is_excused(compared: Compared, has_limit: bool) -> bool {
    match compared {
        Ok(()) => false,
        Err(Difference::Failed(Error::SnapshotTooOld)) if has_limit => true,
        Err(Difference::Failed(Error::Io { .. })) => true,
        Err(other) => panic!("a snapshot that was held: {other}"),
    }
}

impl HeldScan {
    fn new(world: &World, store: &Store, random: &mut Random) -> Result<HeldScan> {
        let model = world.newest();
        let table = crate::changes::random_table(model, random);
        let direction = if random.one_in(2) { Direction::Forward } else { Direction::Backward };
        let scan = store.snapshot().scan(TableId::from_u64(table), KeyRange::all(), direction)?;
        let mut left: Vec<(Vec<u8>, ModelRecord)> = model.tables[&table]
            .records
            .iter()
            .map(|(key, record)| (key.clone(), Arc::clone(record)))
            .collect();
        if direction == Direction::Backward {
            left.reverse();
        }
        Ok(HeldScan { scan, table, left: left.into_iter(), has_limit: world.has_limit() })
    }

    /// Reads on; false when it is at its end.
    fn advance(&mut self, entries: u64) -> bool {
        for _ in 0..entries {
            let expected = self.left.next();
            let compared = (|| match (self.scan.next()?, &expected) {
                (Some(entry), Some((key, record))) => compare_entry(self.table, &entry, key, record),
                (None, None) => Ok(()),
                (found, _) => Err(Difference::Wrong(format!("a scan ends elsewhere: {}", found.is_some()))),
            })();
            if is_excused(compared, self.has_limit) || expected.is_none() {
                return false;
            }
        }
        true
    }
}

impl Keeping {
    fn begin(world: &World, store: &Store, random: &mut Random) -> Result<Option<Keeping>> {
        let with_values = world.newest().tables.iter().flat_map(|(id, table)| {
            let records = table.records.iter().filter(|(_, record)| !record.1.is_empty());
            records.map(move |(key, record)| (*id, key, record))
        });
        let all: Vec<_> = with_values.collect();
        if all.is_empty() {
            return Ok(None);
        }
        let (table, key, base) = all[random.below(all.len() as u64) as usize];
        let (key, base) = (key.clone(), Arc::clone(base));
        let mut keeping = Keeping { tx: store.begin(), table, key, base, is_put: false };
        if random.one_in(2) && !world.is_held(keeping.table, &keeping.key) {
            keeping.put()?;
        }
        Ok(Some(keeping))
    }

    fn values(&self) -> [NewValue<'static>; 2] {
        [NewValue::New(b"a value beside the one that is kept"), NewValue::Keep(self.base.1.len() as u32 - 1)]
    }

    fn put(&mut self) -> Result<()> {
        self.is_put = true;
        let (table, values) = (TableId::from_u64(self.table), self.values());
        self.tx.put(table, &self.key, NewRecord { head: b"kept for long", values: &values })
    }

    fn is_unchanged(&self, world: &World) -> bool {
        let there = world.newest().record(self.table, &self.key);
        there.is_some_and(|record| Arc::ptr_eq(record, &self.base))
    }

    /// Commits: it must conflict if, and only if, the record was changed meanwhile.
    fn commit(mut self, world: &mut World) -> Result<()> {
        if !self.is_put {
            match self.put() {
                Err(Error::SnapshotTooOld) => return Ok(()),
                Err(Error::Conflict { .. }) => {
                    let is_held = world.is_held(self.table, &self.key);
                    assert!(is_held || !self.is_unchanged(world), "a conflict with nobody");
                    return Ok(());
                }
                result => result?,
            }
        }
        let is_same = self.is_unchanged(world);
        let values = self.values();
        match self.tx.commit() {
            Ok(committed) => {
                assert!(is_same, "a conflict went unnoticed");
                let mut model = ModelState::clone(world.newest());
                put_in_model(&mut model, self.table, &self.key, b"kept for long", &values);
                world.push(model, committed.sequence);
                Ok(())
            }
            Err(Error::Conflict { .. }) => {
                assert!(!is_same, "a conflict with nobody");
                Ok(())
            }
            Err(other) => Err(other),
        }
    }
}

impl Held {
    pub fn take(world: &World, store: &Store, random: &mut Random, habits: &Habits) -> Result<Option<Held>> {
        Ok(match random.below(7) {
            5 | 6 => world.open_reader()?.map(Held::Reader),
            0 | 1 => Some(Held::Snapshot(store.snapshot(), Arc::clone(world.newest()))),
            2 => Some(Held::Scan(HeldScan::new(world, store, random)?)),
            3 => Keeping::begin(world, store, random)?.map(|keeping| Held::Keeping(Box::new(keeping))),
            _ => {
                let records = records_to_build(random, habits);
                Some(Held::Building(store.build_table()?, ModelTable::new(), records.into_iter().collect()))
            }
        })
    }

    /// The key that it has written and not committed.
    pub fn written(&self) -> Option<(u64, &[u8])> {
        match self {
            Held::Keeping(keeping) if keeping.is_put => Some((keeping.table, &keeping.key)),
            _ => None,
        }
    }

    /// Goes on with it; gives back what is to be held longer.
    pub fn go_on(self, world: &mut World, store: &Store, random: &mut Random) -> Result<Option<Held>> {
        match self {
            Held::Snapshot(snapshot, model) => {
                is_excused(compare(&snapshot, &model), world.has_limit());
                Ok(random.one_in(2).then_some(Held::Snapshot(snapshot, model)))
            }
            Held::Scan(mut scan) => Ok(scan.advance(1 + random.below(40)).then_some(Held::Scan(scan))),
            Held::Reader(reader) => {
                let (snapshot, model) = world.seen_by(&reader);
                let failed = is_excused(compare(&snapshot, &model), world.has_limit());
                if !failed && random.one_in(4) {
                    let report = reader.verify()?;
                    let mut wrong = report.problems.iter().map(|problem| &problem.error);
                    // Reads may have been made to fail.
                    let is_clean = wrong.all(|error| matches!(error, Error::Io { .. }));
                    assert!(is_clean, "a reader finds {:?}", report.problems);
                }
                Ok(match random.below(3) {
                    0 => None,
                    // It may end before what it read.
                    1 => Some(Held::Snapshot(snapshot, model)),
                    _ => Some(Held::Reader(reader)),
                })
            }
            Held::Keeping(keeping) => keeping.commit(world).map(|()| None),
            Held::Building(mut builder, mut table, mut left) => {
                let count = (1 + random.below(100)).min(left.len() as u64) as usize;
                for (key, record) in left.drain(..count) {
                    push_record(&mut builder, &key, &record)?;
                    table.records.insert(key, record);
                }
                match left.is_empty() {
                    false => Ok(Some(Held::Building(builder, table, left))),
                    true => Ok(Some(Held::Built(builder.finish()?, table))),
                }
            }
            // One in a few is built for nothing.
            Held::Built(built, table) if !random.one_in(4) => {
                world.attach(store, built, table).map(|()| None)
            }
            Held::Built(..) => Ok(None),
        }
    }

    /// The last look, before its store is closed.
    pub fn end(self, has_limit: bool) {
        match self {
            Held::Snapshot(snapshot, model) => drop(is_excused(compare(&snapshot, &model), has_limit)),
            Held::Scan(mut scan) => drop(scan.advance(u64::MAX)),
            Held::Reader(_) | Held::Keeping(_) | Held::Building(..) | Held::Built(..) => {}
        }
    }
}
