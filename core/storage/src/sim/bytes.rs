//! Bytes from anywhere given to everything that reads bytes: none may panic, hang, or take memory for lengths that only
//! the bytes promise. Driven by the fuzz targets (`core/storage/fuzz`) and by seeded mutations in the test suite.

use super::SimDisk;
use crate::fault::{Fault, plant};
use crate::space::{Extent, Space};
use crate::tree::{Link, Packed, stored_values};
use crate::{
    Direction, KeyRange, NewRecord, NewValue, Options, Read, Result, Snapshot, Store, TableId, Tuning,
    changes, frame, node_block, salvage_onto,
};
use std::sync::{Arc, OnceLock};

/// Tables that a reader looks for in a mutated file.
const TABLES: u64 = 12;
/// Entries that a reader takes of a table.
const ENTRIES: u64 = 5000;

/// Checksums are not compared while this lives.
struct Unsealed;

impl Unsealed {
    fn new() -> Unsealed {
        plant(Some(Fault::ChecksumsIgnored));
        Unsealed
    }
}

impl Drop for Unsealed {
    fn drop(&mut self) {
        plant(None);
    }
}

/// As a frame of the log, and what it carries.
pub fn frame(data: &[u8]) {
    let _unsealed = Unsealed::new();
    let Some(found) = frame::decode_header(data, 7, 4096) else { return commits(data) };
    let stored = data.get(frame::HEADER_BYTES..).unwrap_or_default();
    let len = stored.len().min(found.stored_len_bytes as usize);
    if let Some(payload) = found.payload(stored.get(..len).unwrap_or_default(), 7) {
        commits(&payload);
    }
}

fn commits(payload: &[u8]) {
    for (_, changes) in changes::commits(payload).flatten() {
        changes::ops(changes).for_each(drop);
    }
    changes::ops(payload).for_each(drop);
}

/// As a leaf and as a branch: what can be read is written again and read again, to the same.
pub fn node(data: &[u8]) {
    if let Some(leaf) = node_block::decode_leaf(data) {
        let values: Vec<_> = stored_values(leaf.values()).collect();
        let again = node_block::decode_leaf(&node_block::encode_leaf(&leaf, &values));
        assert!(again.is_some_and(|again| are_equal(&again, &leaf)), "a leaf does not survive being written");
        let keys: Vec<&[u8]> = leaf.iter().map(|entry| entry.key).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "keys of a leaf out of order");
        assert!((0..leaf.len()).all(|at| leaf.find(leaf.key(at)) == Ok(at)), "a key cannot be found");
    }
    if let Some(branch) = node_block::decode_branch(data) {
        let pointers: Vec<_> = branch.children.iter().filter_map(|child| child.link.pointer()).collect();
        let again = node_block::decode_branch(&node_block::encode_branch(&branch, &pointers));
        let facts = |branch: &crate::tree::Branch| -> Vec<_> {
            let of =
                |child: &crate::tree::Child| (child.key.to_vec(), child.count, Link::pointer(&child.link));
            branch.children.iter().map(of).collect()
        };
        assert!(again.is_some_and(|again| facts(&again) == facts(&branch)), "a branch does not survive");
        branch.count();
    }
}

fn are_equal(a: &Packed, b: &Packed) -> bool {
    let facts = |leaf: &Packed| -> Vec<_> {
        let of = |entry: crate::tree::EntryRef<'_>| {
            (entry.key.to_vec(), entry.head.to_vec(), entry.version, entry.values.len())
        };
        leaf.iter().map(of).collect()
    };
    facts(a) == facts(b)
}

/// As a list of free space: what can be read gives out nothing twice and is written again to the same.
pub fn space_map(data: &[u8]) {
    let Some(mut space) = Space::decode(data) else { return };
    let (end, free_bytes) = (space.end(), space.free_bytes());
    assert!(free_bytes <= end, "more is free than there is");
    let again = space.encode(&[], &[]).and_then(|bytes| Space::decode(&bytes));
    assert!(
        again.is_some_and(|again| (again.end(), again.free_bytes()) == (end, free_bytes)),
        "a list of free space does not survive"
    );
    let given: Vec<Extent> = (1..6).map(|units| space.allocate_below(units * 512, u64::MAX)).collect();
    for (number, extent) in given.iter().enumerate() {
        assert!(!space.touches_free(*extent), "given out and free");
        let others = given.iter().skip(number + 1);
        assert!(others.into_iter().all(|other| extent.end() <= other.offset || other.end() <= extent.offset));
    }
    given.into_iter().for_each(|extent| space.release(extent));
}

/// As a file. The first byte chooses: the bytes themselves, or one of a few files with the bytes as changes to it, with
/// or without checksums that fit.
pub fn image(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    if choice == 0 {
        return exercise(data.to_vec());
    }
    let images = images();
    let Some(image) = images.get(usize::from(choice / 2) % images.len()) else { return };
    let mutated = mutate(image, data);
    let _unsealed = choice.is_multiple_of(2).then(Unsealed::new);
    exercise(mutated);
}

/// Changes an image: each six bytes say where and how, counted in what is not empty.
fn mutate(image: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mutated = image.to_vec();
    let used: Vec<usize> = (0..image.len() / 512)
        .filter(|unit| image.iter().skip(unit * 512).take(512).any(|byte| *byte != 0))
        .collect();
    for change in data.chunks_exact(6) {
        let &[a, b, c, d, how, value] = change else { continue };
        let unit =
            used.get(usize::from(u16::from_le_bytes([a, b])) % used.len().max(1)).copied().unwrap_or(0);
        let at = unit * 512 + usize::from(u16::from_le_bytes([c, d])) % 512;
        let len = [1, 1, 2, 4, 8][usize::from(how >> 4) % 5];
        for byte in mutated.iter_mut().skip(at).take(len) {
            *byte = match how % 5 {
                0 => value,
                1 => *byte ^ (1 << (value % 8)),
                2 => byte.wrapping_add(1),
                3 => 0xff,
                _ => 0,
            };
        }
    }
    mutated
}

/// Opens a file in both ways, reads all of it, writes to it, and saves what can be saved. Errors are no matter.
fn exercise(image: Vec<u8>) {
    let options = Options { background: false, cache_bytes: 64 << 10, ..Options::default() };
    for read_only in [true, false] {
        let disk = SimDisk::from_image(image.clone(), 1);
        let Ok(store) = Store::open_on(disk, &Options { read_only, ..options.clone() }) else { continue };
        (0..TABLES).for_each(|table| drop(read_table(&store.snapshot(), TableId::from_u64(table))));
        let _ = store.verify();
        if !read_only {
            let _ = write_some(&store);
            let _ = store.verify();
            let _ = store.close();
        }
    }
    let _ = salvage_onto(SimDisk::from_image(image, 1), SimDisk::new(2), &options, &mut |_| Ok(()));
}

fn read_table(snapshot: &Snapshot, table: TableId) -> Result<()> {
    let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Forward)?;
    for _ in 0..ENTRIES {
        let Some(entry) = scan.next()? else { break };
        for number in 0..entry.value_count() {
            let _ = entry.value(number);
        }
    }
    let mut scan = snapshot.scan(table, KeyRange::all(), Direction::Backward)?;
    let _ = scan.skip(snapshot.count(table)? / 2);
    let _ = scan.next()?;
    snapshot.get(table, b"key 7")?;
    snapshot.count_range(table, &KeyRange::between(b"key 2", b"key 5"))?;
    Ok(())
}

fn write_some(store: &Store) -> Result<()> {
    for table in 0..TABLES {
        let mut tx = store.begin();
        for number in 0..4 {
            let key = format!("key {number}");
            let _ = tx.delete(TableId::from_u64(table), key.as_bytes());
            let record = NewRecord { head: b"new", values: &[NewValue::New(&[5; 3000])] };
            let _ = tx.put(TableId::from_u64(table), format!("key {number}b").as_bytes(), record);
        }
        let committed = tx.commit()?;
        store.wait_durable(committed.sequence)?;
    }
    let mut tx = store.begin();
    tx.drop_table(TableId::from_u64(1))?;
    tx.commit()?;
    store.checkpoint()?;
    store.checkpoint()
}

/// Files to begin with: one whose data is in blocks, one whose log is long, one that was closed.
fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| (0..3).filter_map(|kind| make_image(kind).ok()).collect())
}

fn make_image(kind: u64) -> Result<Vec<u8>> {
    let disk = SimDisk::new(kind);
    let tuning = Tuning { direct_from_bytes: 6000, ..Tuning::default() };
    let options = Options { background: false, compress: kind != 1, tuning, ..Options::default() };
    let store = Store::open_on(Arc::clone(&disk) as Arc<dyn crate::Disk>, &options)?;
    let put = |table: TableId, from: u64, to: u64| {
        let mut tx = store.begin();
        for number in from..to {
            let key = format!("key {number}");
            let value = vec![number as u8; 2500];
            let values = [NewValue::New(&value)];
            let values: &[NewValue<'_>] = if number.is_multiple_of(9) { &values } else { &[] };
            tx.put(table, key.as_bytes(), NewRecord { head: &[number as u8; 60], values })?;
        }
        store.wait_durable(tx.commit()?.sequence)
    };
    let mut builder = store.build_table()?;
    for number in 0..300u64 {
        builder.push_with_values(&number.to_be_bytes(), &[number as u8; 700], &[])?;
    }
    let mut tx = store.begin();
    tx.attach(builder.finish()?)?;
    let table = tx.create_table()?;
    tx.commit()?;
    for round in 0..6 {
        put(table, round * 40, round * 40 + 60)?;
        put(TableId::CATALOG, round, round + 3)?;
        if kind != 1 && round == 3 {
            store.checkpoint()?;
        }
    }
    if kind == 2 {
        store.close()?;
    }
    drop(store);
    Ok(disk.image())
}
