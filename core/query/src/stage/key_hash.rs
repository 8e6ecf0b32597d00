//! The hash of grouping keys: xxh3 over the encoded bytes, seeded anew for each table so that nobody
//! can choose keys that collide.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Makes hashers with the table's seed.
#[derive(Clone, Debug)]
pub(super) struct KeyHash {
    seed: u64,
}

impl Default for KeyHash {
    fn default() -> Self {
        KeyHash { seed: RandomState::new().hash_one(0) }
    }
}

impl BuildHasher for KeyHash {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { state: self.seed }
    }
}

/// A hash under way.
#[derive(Debug)]
pub(super) struct KeyHasher {
    state: u64,
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.state = xxh3_64_with_seed(bytes, self.state);
    }

    /// Lengths, written before bytes that already tell them.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.state
    }
}
