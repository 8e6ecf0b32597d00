//! Random numbers that are hard to guess, from the standard library's keyed hash.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A random number: SipHash, under a key that the system drew for this process, of a counter.
pub(crate) fn u64() -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    KEY.hash_one(COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// A random (version 4) UUID.
pub(crate) fn uuid() -> [u8; 16] {
    let mut bytes = (u128::from(u64()) << 64 | u128::from(u64())).to_be_bytes();
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = *version & 0x0f | 0x40;
    *variant = *variant & 0x3f | 0x80;
    bytes
}
