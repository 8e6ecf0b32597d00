//! A random life of a store beside a model of it: what it must hold after every commit.

use crate::changes::{MOST_TABLES, bulk, change, delete_many, give_rows, put};
use crate::held::Held;
use crate::model::{ModelState, ModelTable, compare, probe};
use multifora_storage::sim::{Random, SimDisk};
use multifora_storage::*;
use std::sync::Arc;

/// More than any life writes.
const NO_LIMIT_BYTES: u64 = 1 << 40;

/// How a life is led.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Bytes of the largest heads; large ones fill log regions quickly.
    pub largest_head: u64,
    /// Keys that are in use.
    pub keys: u64,
    /// Most records that are written at once.
    pub bulk: u64,
    pub cache_bytes: usize,
    pub tuning: Tuning,
}

impl Habits {
    /// Habits by seed: hardly any cache or a little, values that go straight to their place always to never, readers
    /// that may pin little or much.
    pub fn of(seed: u64, largest_head: u64) -> Habits {
        let mut random = Random::new(seed ^ 0xab17);
        let mut one_of = |choices: [u64; 4]| choices[random.below(4) as usize];
        Habits {
            largest_head,
            keys: one_of([30, 30, 60, 400]),
            bulk: one_of([10, 40, 120, 300]),
            cache_bytes: one_of([0, 4 << 10, 64 << 10, 4 << 20]) as usize,
            tuning: Tuning {
                direct_from_bytes: one_of([0, 4_000, 9_000, 512 << 10]) as usize,
                pinned_min_bytes: one_of([32 << 10, 256 << 10, 1 << 20, NO_LIMIT_BYTES]),
            },
        }
    }
}

impl Habits {
    /// Whether readers can keep more from being freed than they may.
    pub fn has_limit(&self) -> bool {
        self.tuning.pinned_min_bytes < NO_LIMIT_BYTES
    }
}

/// The states of a store after each of its commits, and how far they were acknowledged.
pub struct World {
    pub states: Vec<Arc<ModelState>>,
    pub acknowledged: u64,
    random: Random,
    habits: Habits,
    openings: u64,
    disk: Option<Arc<SimDisk>>,
    held: Vec<Held>,
}

/// Options of a store that is only looked at.
pub fn options() -> Options {
    Options { background: false, ..Options::default() }
}

impl World {
    pub fn new(seed: u64, habits: Habits) -> World {
        let (states, random) = (vec![Arc::new(ModelState::empty())], Random::new(seed));
        World { states, acknowledged: 0, random, habits, openings: 0, disk: None, held: Vec::new() }
    }

    /// The same past, to go on from it in another way.
    pub fn branch(&self) -> World {
        let mut random = self.random.clone();
        let random = Random::new(random.next());
        let states = self.states.clone();
        World { states, random, disk: None, held: Vec::new(), habits: self.habits, ..*self }
    }

    pub fn newest(&self) -> &Arc<ModelState> {
        &self.states[self.states.len() - 1]
    }

    /// Opens the store by this life's habits, compressing in most openings.
    pub fn open(&mut self, disk: &Arc<SimDisk>) -> Result<Store> {
        self.openings += 1;
        let Habits { cache_bytes, tuning, .. } = self.habits;
        let compress = self.openings % 3 != 2;
        self.disk = Some(disk.clone());
        Store::open_on(disk.clone(), &Options { cache_bytes, compress, tuning, ..options() })
    }

    /// One step of the store's life: usually a commit that is waited for.
    pub fn step(&mut self, store: &Store) -> Result<()> {
        let mut random = Random::new(self.random.next());
        let habits = self.habits;
        match random.below(32) {
            0..3 => store.checkpoint(),
            3..5 => self.commit(store, &mut random),
            5 => self.contend(store),
            6..10 => self.hold(store, &mut random),
            10..14 => self.go_on_with_held(store, &mut random),
            14 => self.back_up(store, &mut random),
            15 => self.commit_with(store, |tx, model| bulk(tx, model, &mut random, &habits)),
            16 => self.commit_with(store, |tx, model| delete_many(tx, model, &mut random)),
            _ => {
                self.commit(store, &mut random)?;
                self.acknowledge(store)
            }
        }
    }

    /// A step that can be taken while a checkpoint is being written.
    pub fn step_in_checkpoint(&mut self, store: &Store) -> Result<()> {
        let mut random = Random::new(self.random.next());
        let habits = self.habits;
        match random.below(12) {
            0 | 1 => self.hold(store, &mut random),
            2 | 3 => self.go_on_with_held(store, &mut random),
            4 => self.commit_with(store, |tx, model| bulk(tx, model, &mut random, &habits)),
            5 => self.commit_with(store, |tx, model| delete_many(tx, model, &mut random)),
            _ => {
                self.commit(store, &mut random)?;
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

    fn commit(&mut self, store: &Store, random: &mut Random) -> Result<()> {
        let habits = self.habits;
        self.commit_with(store, |tx, model| {
            (0..1 + random.below(4)).try_for_each(|_| change(tx, model, random, &habits))
        })
    }

    /// Two transactions on one key: the second to write it must lose.
    fn contend(&mut self, store: &Store) -> Result<()> {
        let mut loser = store.begin();
        self.commit_with(store, |tx, model| {
            put(tx, model, 0, b"contended", b"winner", &[])?;
            match loser.put(TableId::CATALOG, b"contended", b"loser") {
                Err(Error::Conflict { .. }) => Ok(()),
                Err(other) => Err(other),
                Ok(()) => Err(Error::Misuse { what: "a conflict went unnoticed" }),
            }
        })?;
        match loser.commit() {
            Err(Error::Conflict { .. }) => Ok(()),
            Err(other) => Err(other),
            Ok(_) => Err(Error::Misuse { what: "a conflict was forgotten" }),
        }
    }

    fn commit_with(
        &mut self,
        store: &Store,
        write: impl FnOnce(&mut Transaction, &mut ModelState) -> Result<()>,
    ) -> Result<()> {
        let mut tx = store.begin();
        let mut model = ModelState::clone(self.newest());
        match write(&mut tx, &mut model) {
            // A transaction that is held has written the key.
            Err(Error::Conflict { .. }) if self.held.iter().any(|held| held.written().is_some()) => {
                return Ok(());
            }
            result => result?,
        }
        if tx.is_empty() {
            return Ok(());
        }
        let expected_rows = give_rows(&mut model);
        let committed = tx.commit()?;
        assert_eq!(committed.rows.iter().map(|row| row.get()).collect::<Vec<_>>(), expected_rows);
        self.push(model, committed.sequence);
        Ok(())
    }

    /// Notes the state after a commit.
    pub fn push(&mut self, model: ModelState, sequence: Sequence) {
        assert_eq!(sequence.get(), self.states.len() as u64);
        self.states.push(Arc::new(model));
    }

    /// Whether readers can keep more from being freed than they may.
    pub fn has_limit(&self) -> bool {
        self.habits.has_limit()
    }

    /// Opens the file once more, as another process would that only reads.
    pub fn open_reader(&self) -> Result<Option<Store>> {
        let Some(disk) = &self.disk else { return Ok(None) };
        let cache_bytes = self.habits.cache_bytes;
        Store::open_on(disk.clone(), &Options { read_only: true, cache_bytes, ..options() }).map(Some)
    }

    /// What a reader sees that looks at the file now, and the model of it: everything acknowledged if the file could be
    /// read, else what it saw before.
    pub fn seen_by(&self, reader: &Store) -> (Snapshot, Arc<ModelState>) {
        let failures = || self.disk.as_ref().map_or(0, |disk| disk.failures());
        let before = failures();
        let snapshot = reader.snapshot();
        let sequence = snapshot.sequence().get();
        let is_all = sequence >= self.acknowledged || failures() > before;
        assert!(is_all, "sees {sequence}, acknowledged {}", self.acknowledged);
        (snapshot, Arc::clone(&self.states[sequence as usize]))
    }

    fn hold(&mut self, store: &Store, random: &mut Random) -> Result<()> {
        if self.held.len() >= 6 {
            return self.go_on_with_held(store, random);
        }
        let taken = Held::take(self, store, random, &self.habits)?;
        self.held.extend(taken);
        Ok(())
    }

    fn go_on_with_held(&mut self, store: &Store, random: &mut Random) -> Result<()> {
        if self.held.is_empty() {
            return self.hold(store, random);
        }
        let held = self.held.swap_remove(random.below(self.held.len() as u64) as usize);
        let left = held.go_on(self, store, random)?;
        self.held.extend(left);
        Ok(())
    }

    /// Makes a table that was built one of the store's, and perhaps changes or drops it at once.
    pub fn attach(&mut self, store: &Store, built: BuiltTable, table: ModelTable) -> Result<()> {
        if self.newest().tables.len() >= MOST_TABLES {
            return Ok(());
        }
        let mut random = Random::new(self.random.next());
        let habits = self.habits;
        let id = built.id().get();
        assert_eq!(built.count(), table.records.len() as u64);
        self.commit_with(store, |tx, model| {
            tx.attach(built)?;
            model.tables.insert(id, Arc::new(table));
            (0..random.below(3)).try_for_each(|_| change(tx, model, &mut random, &habits))
        })?;
        if random.one_in(3) && self.newest().tables.contains_key(&id) {
            self.commit_with(store, |tx, model| {
                tx.drop_table(TableId::from_u64(id))?;
                model.tables.remove(&id);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Copies the store onto another disk, and compares the copy.
    fn back_up(&mut self, store: &Store, random: &mut Random) -> Result<()> {
        let disk = SimDisk::new(random.next());
        store.backup_onto(disk.clone(), &options(), &mut |_| Ok(()))?;
        let copy = Store::open_on(disk, &options()).unwrap();
        compare(&copy.snapshot(), self.newest()).unwrap();
        assert_eq!(copy.stats().tables, self.newest().tables.len() as u64);
        let report = copy.verify().unwrap();
        assert!(report.is_clean(), "a copy: {:?}", report.problems);
        Ok(())
    }

    /// Deletes all records, one table after the other.
    pub fn delete_everything(&mut self, store: &Store) -> Result<()> {
        let ids: Vec<u64> = self.newest().tables.keys().copied().collect();
        for id in ids {
            self.commit_with(store, |tx, model| {
                let keys: Vec<Vec<u8>> = model.tables[&id].records.keys().cloned().collect();
                model.table_mut(id).records.clear();
                keys.iter().try_for_each(|key| tx.delete(TableId::from_u64(id), key).map(drop))
            })?;
            self.acknowledge(store)?;
        }
        Ok(())
    }

    /// Whether a transaction that is held has written this key.
    pub fn is_held(&self, table: u64, key: &[u8]) -> bool {
        self.held.iter().any(|held| held.written() == Some((table, key)))
    }

    /// Ends everything that is held, which the store has to give exactly until then.
    pub fn let_go(&mut self) {
        let has_limit = self.has_limit();
        self.held.drain(..).for_each(|held| held.end(has_limit));
    }

    /// Compares the store with the model: it must stand after a commit that is not older than the acknowledged ones,
    /// hold exactly what the model held then, and verify.
    pub fn check(&mut self, store: &Store) -> std::result::Result<(), String> {
        let stats = store.stats();
        let sequence = stats.last_sequence;
        if sequence < self.acknowledged || sequence >= self.states.len() as u64 {
            return Err(format!(
                "stands after commit {sequence}; acknowledged {}, made {}",
                self.acknowledged,
                self.states.len() - 1
            ));
        }
        let model = Arc::clone(&self.states[sequence as usize]);
        let snapshot = store.snapshot();
        if stats.tables != model.tables.len() as u64 {
            return Err(format!("after commit {sequence} it has {} tables", stats.tables));
        }
        compare(&snapshot, &model)
            .and_then(|()| probe(&snapshot, &model, &mut self.random))
            .map_err(|difference| format!("after commit {sequence}: {difference}"))?;
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
