//! The documents: bytes that look and compress like BSON documents, the same for every engine.
//!
//! A document is a function of its number and version alone, so nothing has to be kept to know what is stored.
//! Its `k`, the field of the secondary index, depends on the number only: updates leave the index alone. Making
//! documents is copying prepared pieces and writing a few random bytes over them, so that it costs little beside
//! storing them. Small ones compress with LZ4 about 2.5 times in blocks of 128 KiB, large ones about 4 times each.

use std::ops::Range;
use std::sync::OnceLock;

/// Which documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 200 bytes.
    Small,
    /// 2 KiB; all of it in the record's head.
    Medium,
    /// 16 KiB: 200 bytes of small fields, and one large field that an engine may keep apart.
    Large,
}

/// Length of a small document, and of the small fields of every other.
const HEAD_BYTES: usize = 200;
/// Where `k` stands in a document.
const K_AT: Range<usize> = 24..28;
/// Values of `k`: about five documents share one when there are five million.
const K_VALUES: u64 = 1 << 20;

impl Kind {
    /// Length of one document.
    pub fn len_bytes(self) -> usize {
        match self {
            Kind::Small => HEAD_BYTES,
            Kind::Medium => 2 << 10,
            Kind::Large => 16 << 10,
        }
    }

    /// How much of a document an engine that splits records keeps in the head.
    pub fn head_bytes(self) -> usize {
        match self {
            Kind::Small | Kind::Medium => self.len_bytes(),
            Kind::Large => HEAD_BYTES,
        }
    }

    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Small => "200",
            Kind::Medium => "2k",
            Kind::Large => "16k",
        }
    }

    /// The name in sentences.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Small => "200-byte documents",
            Kind::Medium => "2 KiB documents",
            Kind::Large => "16 KiB documents",
        }
    }
}

/// A document on its way to an engine.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// All of it.
    pub whole: &'a [u8],
    kind: Kind,
}

impl<'a> Document<'a> {
    /// The small fields.
    pub fn head(&self) -> &'a [u8] {
        self.whole.get(..self.kind.head_bytes()).unwrap_or(self.whole)
    }

    /// The large field, when there is one to be kept apart.
    pub fn tail(&self) -> Option<&'a [u8]> {
        self.whole.get(self.kind.head_bytes()..).filter(|tail| !tail.is_empty())
    }

    /// The indexed field.
    pub fn k(&self) -> u32 {
        k_of(self.whole)
    }
}

/// The indexed field of a document, or of its head.
pub fn k_of(head: &[u8]) -> u32 {
    let bytes = head.get(K_AT).and_then(|bytes| bytes.try_into().ok());
    u32::from_le_bytes(bytes.unwrap_or_default())
}

/// The indexed field of document `id`.
pub fn k_of_id(id: u64) -> u32 {
    (Random::new(id).next() % K_VALUES) as u32
}

/// Documents in memory, one behind the other.
pub struct Documents {
    kind: Kind,
    bytes: Vec<u8>,
}

impl Documents {
    /// None yet.
    pub fn new(kind: Kind) -> Documents {
        Documents { kind, bytes: Vec::new() }
    }

    /// The first versions of the documents `ids`, in place of what is there.
    pub fn fill(&mut self, ids: Range<u64>) {
        self.bytes.clear();
        for id in ids {
            self.push(id, 0);
        }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds one.
    pub fn push(&mut self, id: u64, version: u64) {
        let end = self.bytes.len() + self.kind.len_bytes();
        write_document(&mut self.bytes, self.kind, id, version);
        debug_assert_eq!(self.bytes.len(), end);
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Document<'_>> {
        let kind = self.kind;
        self.bytes.chunks_exact(kind.len_bytes()).map(move |whole| Document { whole, kind })
    }
}

/// Numbers that look random, by seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers that belong to `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xd129_0253_5e4b_7d1b))
    }

    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next one below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        from.get(self.below(from.len() as u64) as usize)
    }
}

const STATUSES: [&str; 6] = ["active", "pending", "closed", "on hold", "new", "archived"];
const CITIES: [&str; 12] = [
    "Lisbon", "Oslo", "Nairobi", "Lima", "Osaka", "Hanoi", "Dakar", "Quito", "Tallinn", "Perth", "Graz",
    "Leeds",
];
const WORDS: [&str; 16] = [
    "order", "shipped", "to", "the", "customer", "with", "invoice", "paid", "by", "card", "and", "returned",
    "late", "without", "label", "twice",
];
/// Digits of a token.
const HEX: &[u8; 16] = b"0123456789abcdef";

fn push_name(out: &mut Vec<u8>, kind: u8, name: &str) {
    out.push(kind);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
}

fn push_string(out: &mut Vec<u8>, name: &str, text: &[u8]) {
    push_name(out, 0x02, name);
    out.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(text);
    out.push(0);
}

fn write_document(out: &mut Vec<u8>, kind: Kind, id: u64, version: u64) {
    let begin = out.len();
    let mut random = Random::new(id);
    let k = (random.next() % K_VALUES) as u32;
    let mut random = Random::new(id ^ version.rotate_left(32) ^ 0x5bd1_e995);
    out.extend_from_slice(&(kind.len_bytes() as u32).to_le_bytes());
    push_name(out, 0x07, "_id");
    // Seconds, then five bytes of the process, then a counter: as drivers make them.
    out.extend_from_slice(&(0x6530_0000 + (id >> 8) as u32).to_be_bytes());
    out.extend_from_slice(&[0x1f, 0x8a, 0x44, 0xc3, 0x07]);
    out.extend_from_slice(id.to_be_bytes().get(5..).unwrap_or_default());
    push_name(out, 0x10, "k");
    out.extend_from_slice(&k.to_le_bytes());
    push_string(out, "name", format!("name-{id:09}").as_bytes());
    push_name(out, 0x09, "at");
    out.extend_from_slice(&(1_700_000_000_000 + id * 40 + random.below(40)).to_le_bytes());
    push_name(out, 0x01, "amount");
    out.extend_from_slice(&(random.below(1 << 24) as f64 / 100.0).to_le_bytes());
    push_string(out, "status", random.pick(&STATUSES).map_or("", |text| text).as_bytes());
    push_string(out, "city", random.pick(&CITIES).map_or("", |text| text).as_bytes());
    push_hex(out, &mut random);
    let tail = kind.len_bytes() - HEAD_BYTES;
    push_name(out, 0x02, if tail == 0 { "note" } else { "payload" });
    out.extend_from_slice(&(tail.max(1) as u32).to_le_bytes());
    while out.len() < begin + HEAD_BYTES {
        out.extend_from_slice(random.pick(&WORDS).map_or("", |text| text).as_bytes());
        out.push(b' ');
    }
    out.truncate(begin + HEAD_BYTES);
    push_events(out, begin + kind.len_bytes(), &mut random);
}

fn push_hex(out: &mut Vec<u8>, random: &mut Random) {
    let mut token = [0u8; 16];
    let bits = random.next();
    for (at, character) in token.iter_mut().enumerate() {
        *character = HEX.get((bits >> (4 * at)) as usize & 15).copied().unwrap_or(b'0');
    }
    push_string(out, "token", &token);
}

/// Length of one event of a payload.
const EVENT_BYTES: usize = 96;
/// Random bytes of an event, in two places.
const EVENT_RANDOM: [Range<usize>; 2] = [3..9, 60..63];
/// Events of which a payload repeats a few.
const EVENTS: u64 = 384;
/// How many different ones a payload repeats.
const EVENTS_PER_PAYLOAD: u64 = 12;

fn events() -> &'static [u8] {
    static EVENT_TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    EVENT_TEXT.get_or_init(|| {
        let mut random = Random::new(77);
        let mut out = Vec::new();
        for number in 1..=EVENTS {
            push_name(&mut out, 0x09, "t");
            out.extend_from_slice(&random.next().to_le_bytes());
            push_name(&mut out, 0x02, "event");
            while out.len() < number as usize * EVENT_BYTES {
                out.extend_from_slice(random.pick(&WORDS).map_or("", |text| text).as_bytes());
                out.extend_from_slice(format!(" {:x} ", random.below(4096)).as_bytes());
            }
            out.truncate(number as usize * EVENT_BYTES);
        }
        out
    })
}

fn push_events(out: &mut Vec<u8>, end: usize, random: &mut Random) {
    let base = random.below(EVENTS - EVENTS_PER_PAYLOAD);
    while out.len() < end {
        let number = (base + random.below(EVENTS_PER_PAYLOAD)) as usize;
        let at = out.len();
        let event = events().chunks_exact(EVENT_BYTES).nth(number).unwrap_or_default();
        out.extend_from_slice(event);
        for place in EVENT_RANDOM {
            let bits = random.next().to_le_bytes();
            let length = place.len();
            if let (Some(target), Some(bits)) =
                (out.get_mut(at + place.start..at + place.end), bits.get(..length))
            {
                target.copy_from_slice(bits);
            }
        }
    }
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(kind: Kind, block_bytes: usize) -> f64 {
        let mut documents = Documents::new(kind);
        documents.fill(1..1 + (4 << 20) / kind.len_bytes() as u64);
        let stored: usize =
            documents.bytes.chunks(block_bytes).map(|b| lz4_flex::block::compress(b).len()).sum();
        documents.bytes.len() as f64 / stored as f64
    }

    #[test]
    fn they_compress_as_promised() {
        let (small, medium, large) =
            (ratio(Kind::Small, 128 << 10), ratio(Kind::Medium, 128 << 10), ratio(Kind::Large, 16 << 10));

        assert!((2.0..3.2).contains(&small), "{small}");
        assert!((2.5..5.0).contains(&medium), "{medium}");
        assert!((3.5..4.6).contains(&large), "{large}");
    }

    #[test]
    fn lengths_and_k_are_right() {
        for kind in [Kind::Small, Kind::Medium, Kind::Large] {
            let mut documents = Documents::new(kind);
            documents.push(4711, 0);
            documents.push(4711, 1);
            let both: Vec<_> = documents.iter().collect();
            assert_eq!(both.len(), 2);
            assert_ne!(both.first().unwrap().whole, both.last().unwrap().whole);
            for document in both {
                assert_eq!(document.k(), k_of_id(4711));
                assert_eq!(document.head().len() + document.tail().map_or(0, <[u8]>::len), kind.len_bytes());
            }
        }
    }
}
