//! ObjectIds: four bytes of time, five random ones per process, a counter of three.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What makes the ids of this process different from those of every other one.
struct Origin {
    /// A forked child inherits the memory, but must not give the parent's ids again.
    pid: u32,
    random: [u8; 5],
}

static ORIGIN: Mutex<Option<Origin>> = Mutex::new(None);
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A new id that carries the present second.
pub fn generate() -> [u8; 12] {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // The format holds 32 bits of seconds and wraps in 2106.
    generate_at(since_epoch.as_secs() as u32)
}

/// A new id that carries the given second.
pub fn generate_at(unix_secs: u32) -> [u8; 12] {
    let random = process_random();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut id = [0; 12];
    id[..4].copy_from_slice(&unix_secs.to_be_bytes());
    id[4..9].copy_from_slice(&random);
    id[9..].copy_from_slice(&count[1..]);
    id
}

/// The second an id carries.
pub fn unix_secs(id: &[u8; 12]) -> u32 {
    u32::from_be_bytes([id[0], id[1], id[2], id[3]])
}

/// The 24 hexadecimal digits of an id.
pub fn to_hex(id: &[u8; 12]) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or('0');
    id.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// Reads 24 hexadecimal digits.
pub fn from_hex(text: &str) -> Option<[u8; 12]> {
    let digits = text.as_bytes();
    if digits.len() != 24 {
        return None;
    }
    let value = |d: u8| char::from(d).to_digit(16).map(|n| n as u8);
    let mut id = [0; 12];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(id)
}

fn process_random() -> [u8; 5] {
    let pid = std::process::id();
    let mut origin = ORIGIN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match origin.as_ref() {
        Some(origin) if origin.pid == pid => origin.random,
        _ => {
            let mut seed = [0; 8];
            fill_random(&mut seed);
            let [random @ .., c0, c1, c2] = seed;
            COUNTER.store(u32::from_be_bytes([0, c0, c1, c2]), Ordering::Relaxed);
            *origin = Some(Origin { pid, random });
            random
        }
    }
}

/// Bytes from the operating system.
fn fill_random(seed: &mut [u8; 8]) {
    if getrandom::fill(seed).is_err() {
        // No source of randomness: time and the hasher's own seed still tell processes apart.
        use std::hash::{BuildHasher, RandomState};
        *seed = RandomState::new().hash_one(SystemTime::now()).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_and_carry_their_second() {
        let ids: std::collections::HashSet<_> = (0..10_000).map(|_| generate_at(77)).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| unix_secs(id) == 77 && id[4..9] == process_random()));
    }

    #[test]
    fn hex_goes_both_ways() {
        let id = generate();
        assert_eq!(from_hex(&to_hex(&id)), Some(id));
        assert_eq!(to_hex(&[0xAB; 12]), "abababababababababababab");
        assert_eq!(from_hex("ABABABABABABABABABABABAB"), Some([0xAB; 12]));
        assert_eq!(from_hex("abababababababababababa"), None);
        assert_eq!(from_hex("abababababababababababag"), None);
        assert_eq!(from_hex("+babababababababababab12"), None);
    }
}
