//! A small database with every kind of block, and where they are.

use multifora_storage::sim::SimDisk;
use multifora_storage::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a table holds: head and values by key.
pub type Rows = BTreeMap<Vec<u8>, (Vec<u8>, Vec<Vec<u8>>)>;
/// Everything that a store holds.
pub type Content = BTreeMap<u64, Rows>;

pub fn options() -> Options {
    Options { background: false, cache_bytes: 1 << 20, ..Options::default() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Leaf,
    Branch,
    Value,
    SpaceMap,
    Changes,
}

/// By their numbers, from 1.
const KINDS: [Kind; 5] = [Kind::Leaf, Kind::Branch, Kind::Value, Kind::SpaceMap, Kind::Changes];

/// A block in an image.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    pub kind: Kind,
    pub table: u64,
    pub at: usize,
    /// Header and stored payload.
    pub len: usize,
}

/// The number of what belongs to the list of tables.
pub const LIST: u64 = u64::MAX;

/// All blocks of an image, those that are not in use any more as well.
pub fn blocks(image: &[u8]) -> Vec<Block> {
    let number = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap());
    let is_block = |at: &usize| image[*at..].starts_with(b"MFBK") && number(at + 16) == *at as u64;
    let starts = (32768..image.len() - 64).step_by(128).filter(is_block);
    starts
        .map(|at| Block {
            kind: KINDS[usize::from(image[at + 4]) - 1],
            table: number(at + 8),
            at,
            len: 64 + (number(at + 24) & 0xffff_ffff) as usize,
        })
        .collect()
}

/// The blocks that the newest checkpoint reaches: those that a verification misses.
pub fn live_blocks(image: &[u8]) -> Vec<Block> {
    // Leaves and values hide nothing of their kind, so they can be damaged all at once.
    let is_many =
        |block: &Block| matches!(block.kind, Kind::Leaf | Kind::Value) && !matches!(block.table, 0 | LIST);
    let (many, few): (Vec<Block>, Vec<Block>) = blocks(image).into_iter().partition(is_many);
    let of_kind = |kind| many.iter().filter(move |block| block.kind == kind).copied().collect();
    let mut groups: Vec<Vec<Block>> = vec![of_kind(Kind::Leaf), of_kind(Kind::Value)];
    groups.extend(few.into_iter().map(|block| vec![block]));
    groups.into_iter().flat_map(|group| missed(image, &group)).collect()
}

/// Which of these are missed when all of them are damaged.
fn missed(image: &[u8], group: &[Block]) -> Vec<Block> {
    let mut damaged = image.to_vec();
    group.iter().for_each(|block| damaged[block.at + 70] ^= 1);
    let text = match open(damaged, true) {
        Ok((store, _)) => format!("{:?}", store.verify().unwrap().problems),
        Err(error) => format!("{error:?}"),
    };
    let is_named = |block: &&Block| text.contains(&format!("block at byte {}\"", block.at));
    group.iter().filter(is_named).copied().collect()
}

pub fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Bytes that do not compress.
pub fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = u64::from(seed) * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn put(
    tx: &mut Transaction,
    content: &mut Content,
    table: TableId,
    key: Vec<u8>,
    head: Vec<u8>,
    values: Vec<Vec<u8>>,
) {
    let new: Vec<NewValue<'_>> = values.iter().map(|value| NewValue::New(value)).collect();
    tx.put(table, &key, NewRecord { head: &head, values: &new }).unwrap();
    content.entry(table.get()).or_default().insert(key, (head, values));
}

fn commit(store: &Store, tx: Transaction) -> u64 {
    let sequence = tx.commit().unwrap().sequence;
    store.wait_durable(sequence).unwrap();
    sequence.get()
}

/// A file, and what it held after its last commits: those that are in the log only, and the one before.
pub struct Database {
    pub disk: Arc<SimDisk>,
    pub states: BTreeMap<u64, Content>,
}

impl Database {
    /// What it holds.
    pub fn content(&self) -> &Content {
        self.states.values().next_back().unwrap()
    }
}

/// Several tables: the catalogue, one of plain records over three levels, one with values out of line, an empty one.
/// With a log, the last commits are there only: some of them change what the checkpoint has.
pub fn database(has_log: bool) -> Database {
    let disk = SimDisk::new(7);
    let store = Store::open_on(disk.clone(), &options()).unwrap();
    let mut content = Content::new();
    let mut tx = store.begin();
    let tables = [(); 3].map(|()| tx.create_table().unwrap());
    let [small, large, empty] = tables;
    content.insert(empty.get(), Rows::new());
    for number in 0..60 {
        put(
            &mut tx,
            &mut content,
            TableId::CATALOG,
            format!("name {number}").into(),
            noise(number, 90),
            vec![],
        );
    }
    commit(&store, tx);
    for chunk in 0..6 {
        let mut tx = store.begin();
        for number in chunk * 300..(chunk + 1) * 300 {
            put(&mut tx, &mut content, small, key(number * 2), noise(number, 1000), vec![]);
        }
        for number in chunk * 10..(chunk + 1) * 10 {
            let values = (0..number % 3).map(|value| noise(number * 8 + value, 3000 + number as usize * 50));
            let values = values.collect();
            put(&mut tx, &mut content, large, key(number), noise(number, 200), values);
        }
        commit(&store, tx);
        store.checkpoint().unwrap();
    }
    // Leaves that older ones were replaced by, and keys that are gone.
    let mut tx = store.begin();
    for number in (0..600).step_by(7) {
        tx.delete(small, &key(number * 2)).unwrap();
        content.get_mut(&small.get()).unwrap().remove(&key(number * 2));
    }
    let sequence = commit(&store, tx);
    let mut states = BTreeMap::from([(sequence, content.clone())]);
    store.checkpoint().unwrap();
    store.checkpoint().unwrap();
    if has_log {
        changes_in_the_log(&store, &mut content, &mut states, [small, large, empty]);
    } else {
        store.close().unwrap();
    }
    drop(store);
    Database { disk, states }
}

fn changes_in_the_log(
    store: &Store,
    content: &mut Content,
    states: &mut BTreeMap<u64, Content>,
    [small, large, empty]: [TableId; 3],
) {
    let mut tx = store.begin();
    put(&mut tx, content, small, key(1), b"between".to_vec(), vec![]);
    put(&mut tx, content, small, key(2400), b"changed".to_vec(), vec![]);
    tx.delete(small, &key(2402)).unwrap();
    content.get_mut(&small.get()).unwrap().remove(&key(2402));
    put(&mut tx, content, empty, key(5), b"not empty".to_vec(), vec![noise(5, 5000)]);
    states.insert(commit(store, tx), content.clone());
    // A new head that keeps a value of the checkpoint, and one of the log.
    let mut tx = store.begin();
    for (table, number) in [(large, 23), (empty, 5)] {
        let keep = [NewValue::Keep(0), NewValue::New(b"new value")];
        tx.put(table, &key(number), NewRecord { head: b"new head", values: &keep }).unwrap();
        let row = content.get_mut(&table.get()).unwrap().get_mut(&key(number)).unwrap();
        row.0 = b"new head".to_vec();
        row.1.truncate(1);
        row.1.push(b"new value".to_vec());
    }
    states.insert(commit(store, tx), content.clone());
    let mut tx = store.begin();
    let created = tx.create_table().unwrap();
    put(&mut tx, content, created, key(1), b"of a new table".to_vec(), vec![]);
    states.insert(commit(store, tx), content.clone());
}

/// Everything that can be read of a store.
pub fn content_of(store: &Store) -> Content {
    let snapshot = store.snapshot();
    let mut content = Content::new();
    for table in (0..64).map(TableId::from_u64) {
        let Ok(mut scan) = snapshot.scan(table, KeyRange::all(), Direction::Forward) else { continue };
        let mut rows = Rows::new();
        while let Some(entry) = scan.next().unwrap() {
            let values = (0..entry.value_count()).map(|value| entry.value(value).unwrap().to_vec()).collect();
            rows.insert(entry.key.to_vec(), (entry.head().to_vec(), values));
        }
        content.insert(table.get(), rows);
    }
    content
}

/// Opens an image.
pub fn open(image: Vec<u8>, read_only: bool) -> Result<(Store, Arc<SimDisk>)> {
    let disk = SimDisk::from_image(image, 1);
    Store::open_on(disk.clone(), &Options { read_only, ..options() }).map(|store| (store, disk))
}
