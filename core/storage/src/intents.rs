//! Intents: who is about to write which key.
//!
//! A transaction takes an intent on a key with its first write there, and gives it up with its end. Whoever meets
//! another's gets [`Error::Conflict`] at once, instead of doing all of its work for nothing. Work that lost a key takes
//! its place in that key's queue before it begins anew, so it cannot lose the key again: see
//! [`Store::begin_holding`]. Intents are advice: what commits is decided by versions, in the commit section.

use crate::error::{Error, Result};
use crate::ids::KeyId;
use crate::store::Store;
use crate::transaction::Transaction;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SHARDS: usize = 32;
/// Keys of which one transaction takes intents. A larger one meets conflicts on further keys when it commits.
const MOST_KEYS: usize = 1024;
/// How often whoever waits for a key asks whether to go on waiting.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// The keys that are about to be written.
pub(crate) struct Intents {
    shards: [Shard; SHARDS],
    next_id: AtomicU64,
}

#[derive(Default)]
struct Shard {
    keys: Mutex<HashMap<u64, Intent, BuildHasherDefault<AsItIs>>>,
    changed: Condvar,
}

#[derive(Default)]
struct Intent {
    /// 0: nobody; those who wait are about to see that.
    holder: u64,
    waiting: VecDeque<u64>,
}

/// The numbers of keys are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

impl Default for Intents {
    fn default() -> Intents {
        Intents { shards: std::array::from_fn(|_| Shard::default()), next_id: AtomicU64::new(1) }
    }
}

impl Intents {
    fn shard(&self, key: KeyId) -> &Shard {
        // The map's own buckets go by the low bits.
        let at = (key.get() >> 48) as usize % SHARDS;
        self.shards.get(at).unwrap_or(&self.shards[0])
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a key unless somebody else has it or waits for it.
    fn take(&self, key: KeyId, id: u64) -> Taken {
        let mut keys = self.shard(key).keys.lock();
        let intent = keys.entry(key.get()).or_default();
        if intent.holder == id {
            return Taken::Before;
        }
        if intent.holder != 0 || !intent.waiting.is_empty() {
            return Taken::ByAnother;
        }
        intent.holder = id;
        Taken::Now
    }

    /// Waits for a key, in order of arrival. False when `should_stop` said so.
    fn wait(&self, key: KeyId, id: u64, should_stop: &mut dyn FnMut() -> bool) -> bool {
        let shard = self.shard(key);
        let mut keys = shard.keys.lock();
        keys.entry(key.get()).or_default().waiting.push_back(id);
        loop {
            let intent = keys.entry(key.get()).or_default();
            if intent.holder == 0 && intent.waiting.front() == Some(&id) {
                intent.waiting.pop_front();
                intent.holder = id;
                return true;
            }
            if shard.changed.wait_for(&mut keys, ASK_EVERY).timed_out() && should_stop() {
                let intent = keys.entry(key.get()).or_default();
                intent.waiting.retain(|waiting| *waiting != id);
                if intent.holder == 0 && intent.waiting.is_empty() {
                    keys.remove(&key.get());
                }
                shard.changed.notify_all();
                return false;
            }
        }
    }

    fn give_up(&self, key: KeyId) {
        let shard = self.shard(key);
        let mut keys = shard.keys.lock();
        match keys.get_mut(&key.get()) {
            Some(intent) if !intent.waiting.is_empty() => {
                intent.holder = 0;
                shard.changed.notify_all();
            }
            _ => drop(keys.remove(&key.get())),
        }
    }
}

enum Taken {
    Now,
    Before,
    ByAnother,
}

/// The intents of one transaction.
pub(crate) struct OwnIntents {
    id: u64,
    keys: Vec<KeyId>,
}

impl OwnIntents {
    pub(crate) fn none() -> OwnIntents {
        OwnIntents { id: 0, keys: Vec::new() }
    }

    /// Takes a key. False when somebody else has it.
    pub(crate) fn take(&mut self, intents: &Intents, key: KeyId) -> bool {
        if self.keys.len() >= MOST_KEYS {
            return true;
        }
        if self.id == 0 {
            self.id = intents.new_id();
        }
        match intents.take(key, self.id) {
            Taken::Now => self.keys.push(key),
            Taken::Before => {}
            Taken::ByAnother => return false,
        }
        true
    }

    /// Gives all of them up.
    pub(crate) fn give_up(&mut self, intents: &Intents) {
        self.keys.drain(..).for_each(|key| intents.give_up(key));
    }
}

/// Keys that some work has lost to others, and is going to wait for.
#[derive(Debug, Clone, Default)]
pub struct ContendedKeys {
    /// In one order for all, so that nobody waits for somebody who waits for him.
    keys: BTreeSet<KeyId>,
}

impl ContendedKeys {
    /// Adds a key.
    pub fn add(&mut self, key: KeyId) {
        self.keys.insert(key);
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Store {
    /// A transaction that has intents on keys which earlier attempts at the same work lost: waits for its turn at each,
    /// in order of arrival, and cannot lose them again. `should_stop` is asked now and then while it waits. The thread
    /// must have no other transaction open, or it may wait for itself.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `should_stop` says so.
    pub fn begin_holding(
        &self,
        lost: &ContendedKeys,
        should_stop: &mut dyn FnMut() -> bool,
    ) -> Result<Transaction> {
        let intents = &self.shared().intents;
        let mut own = OwnIntents { id: intents.new_id(), keys: Vec::new() };
        for &key in &lost.keys {
            if !intents.wait(key, own.id, should_stop) {
                own.give_up(intents);
                return Err(Error::Interrupted);
            }
            own.keys.push(key);
        }
        Ok(Transaction::new(self.clone(), self.snapshot(), None, own))
    }
}
