//! What is written twice, and what can be worked out again, is no loss; opening for writing puts it right.

use crate::blocks::*;
use multifora_storage::*;

/// The blocks in use that are written twice, each with its copies.
fn twins(image: &[u8]) -> Vec<[Block; 2]> {
    let all = live_blocks(image);
    let mut found = Vec::new();
    for (number, first) in all.iter().enumerate() {
        let is_important = matches!(first.table, 0 | LIST);
        let copy = all.get(number + 1).filter(|second| {
            (second.table, second.kind, second.len) == (first.table, first.kind, first.len)
                && image[first.at + 64..][..first.len - 64] == image[second.at + 64..][..second.len - 64]
        });
        if let (true, Some(second)) = (is_important, copy) {
            found.push([*first, *second]);
        }
    }
    found
}

#[test]
fn one_bad_copy_loses_nothing_and_is_mended() {
    let database = database(false);
    let (image, content) = (database.disk.image(), database.content());
    let twins = twins(&image);
    let kinds: Vec<(u64, Kind)> = twins.iter().map(|[first, _]| (first.table, first.kind)).collect();
    for expected in [(LIST, Kind::Leaf), (LIST, Kind::SpaceMap), (0, Kind::Leaf)] {
        assert!(kinds.contains(&expected), "{kinds:?}");
    }
    for block in twins.iter().flatten() {
        assert!(twins.iter().all(|[a, b]| a.at / 4096 != b.at / 4096), "copies share no sector");
        for at in (block.at..block.at + block.len).step_by(97) {
            let mut damaged = image.clone();
            damaged[at] ^= 0x40;
            // A header's spare bytes are checked, too, so every flip counts.
            let (store, _) = open(damaged.clone(), true).unwrap();
            let report = store.verify().unwrap();
            assert_eq!(report.problems.len(), 1, "{block:?} {report:?}");
            assert_eq!(report.problems[0].lost, LostKeys::Nothing);
            let names_it = report.problems[0].to_string().contains(&format!("block at byte {}", block.at));
            assert!(names_it, "{:?}", report.problems);
            assert_eq!(&content_of(&store), content);
            let (store, disk) = open(damaged, false).unwrap();
            assert!(store.verify().unwrap().is_clean(), "mended");
            store.close().unwrap();
            drop(store);
            let mended = &disk.image()[block.at..block.at + block.len];
            assert!(mended == &image[block.at..block.at + block.len], "as it was");
        }
    }
}

#[test]
fn a_list_of_free_space_that_is_lost_is_worked_out_again() {
    let database = database(true);
    let (image, content) = (database.disk.image(), database.content());
    let damaged = without_space_map(&image);
    let used_before = {
        let (store, _) = open(image.clone(), false).unwrap();
        store.verify().unwrap().used_bytes
    };
    let (store, _) = open(damaged.clone(), true).unwrap();
    assert_eq!(&content_of(&store), content);
    assert!(!store.verify().unwrap().is_clean());
    let (store, disk) = open(damaged, false).unwrap();
    assert_eq!(store.verify().unwrap().used_bytes, used_before);
    store.checkpoint().unwrap();
    store.checkpoint().unwrap();
    let report = store.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!(&content_of(&store), content);
    store.close().unwrap();
    drop(store);
    let (store, _) = open(disk.image(), false).unwrap();
    assert!(store.verify().unwrap().is_clean());
}

/// Damages both copies of the list.
fn without_space_map(image: &[u8]) -> Vec<u8> {
    let map = twins(image).into_iter().find(|[first, _]| first.kind == Kind::SpaceMap).unwrap();
    let mut damaged = image.to_vec();
    map.iter().for_each(|block| damaged[block.at + 70] ^= 1);
    damaged
}

#[test]
fn where_more_is_lost_nothing_is_taken_for_free() {
    let image = database(false).disk.image();
    let live = live_blocks(&image);
    let branch = live.iter().rfind(|block| (block.table, block.kind) == (1, Kind::Branch)).unwrap();
    assert!(
        live.iter().filter(|block| (block.table, block.kind) == (1, Kind::Branch)).count() > 2,
        "three levels"
    );
    let mut damaged = without_space_map(&image);
    damaged[branch.at + 70] ^= 1;
    let (store, disk) = open(damaged, false).unwrap();
    let mut tx = store.begin();
    (0..500).for_each(|number| tx.put(TableId::from_u64(3), &key(number), &noise(number, 500)).unwrap());
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    drop(store);
    let after = disk.image();
    for block in live.iter().filter(|block| block.table == 1 && block.at != branch.at) {
        assert!(
            after[block.at..][..block.len] == image[block.at..][..block.len],
            "{block:?} was written over"
        );
    }
}
