//! Salvage: what one damaged byte does not hold is there afterwards, and the report names the rest.

use crate::blocks::*;
use multifora_storage::sim::SimDisk;
use multifora_storage::*;

struct Saved {
    report: SalvageReport,
    content: Content,
}

fn save(image: Vec<u8>) -> Saved {
    let target = SimDisk::new(3);
    let report = salvage_onto(SimDisk::from_image(image, 1), target.clone(), &options(), &mut |progress| {
        assert!(progress.done <= progress.total);
        Ok(())
    });
    let report = report.unwrap();
    let store = Store::open_on(target, &options()).unwrap();
    let verified = store.verify().unwrap();
    assert!(verified.is_clean(), "{:?}", verified.problems);
    let content = content_of(&store);
    let counts = content.iter().map(|(id, rows)| (*id, rows.len() as u64));
    let reported = report.tables.iter().map(|table| (table.table.get(), table.entries));
    assert!(counts.eq(reported), "{report:?}");
    Saved { report, content }
}

/// Whether to try everything.
fn is_long() -> bool {
    std::env::var_os("MULTIFORA_SIM_SEEDS").is_some()
}

fn is_named(report: &SalvageReport, table: u64, key: &[u8]) -> bool {
    report.problems.iter().filter(|problem| problem.table.is_some_and(|id| id.get() == table)).any(
        |problem| match &problem.lost {
            LostKeys::Nothing => false,
            LostKeys::Entry(lost) => lost == key,
            LostKeys::Range { from, to, .. } => {
                from.as_slice() <= key && to.as_ref().is_none_or(|to| key < to.as_slice())
            }
        },
    )
}

/// Everything that was saved is right, and everything that was not is named and counted; says how much that is.
fn check(database: &Database, saved: &Saved, what: &str) -> u64 {
    let Saved { report, content } = saved;
    let expected =
        database.states.get(&report.sequence.get()).unwrap_or_else(|| panic!("{what}: {report:?}"));
    assert!(expected.keys().eq(content.keys()), "{what}: {:?} {report:?}", content.keys());
    let mut missing = 0;
    for (table, rows) in expected {
        let found = &content[table];
        for (key, row) in rows {
            match found.get(key) {
                Some(saved) => assert!(saved == row, "{what}: table {table} {key:?} is another"),
                None => {
                    missing += 1;
                    assert!(is_named(report, *table, key), "{what}: table {table} {key:?}: {report:?}");
                }
            }
        }
        assert!(found.keys().all(|key| rows.contains_key(key)), "{what}: table {table} has more than it had");
    }
    assert_eq!(missing, report.lost_entries(), "{what}: {:?}", report.problems);
    missing
}

#[test]
fn every_kind_of_block_damaged_once() {
    for has_log in [false, true] {
        let database = database(has_log);
        let image = database.disk.image();
        assert_eq!(check(&database, &save(image.clone()), "sound"), 0);
        let live = live_blocks(&image);
        for kind in [Kind::Leaf, Kind::Branch, Kind::Value, Kind::SpaceMap] {
            assert!(live.iter().any(|block| block.kind == kind), "{kind:?}");
        }
        // Leaves of the large table are alike.
        let is_tried = |number: usize, block: &Block| {
            is_long() || (block.kind, block.table) != (Kind::Leaf, 1) || number.is_multiple_of(9)
        };
        for (_, block) in live.into_iter().enumerate().filter(|(number, block)| is_tried(*number, block)) {
            let mut damaged = image.clone();
            damaged[block.at + block.len / 2] ^= 0x10;
            let saved = save(damaged);
            let missing = check(&database, &saved, &format!("{block:?}"));
            let problems = &saved.report.problems;
            match (block.kind, block.table) {
                // Records of this table may have been changed in the log.
                (Kind::Leaf, 1) => assert!(missing > 3 && missing < 30, "{block:?} {problems:?}"),
                (Kind::Leaf, 2) => assert!(missing > 8 && missing <= 60, "{block:?} {problems:?}"),
                (Kind::Value, _) => {
                    assert!(missing == 1 || (has_log && missing == 0), "{block:?} {problems:?}")
                }
                _ => assert!(missing == 0 && saved.report.is_complete(), "{block:?} {problems:?}"),
            }
            let place = format!("block at byte {}", block.at);
            // The second of two copies is not looked at, nor a value that the log has replaced.
            let is_copy = matches!(block.table, 0 | LIST) || (block.kind == Kind::Value && missing == 0);
            assert!(
                is_copy || problems.iter().any(|problem| problem.to_string().contains(&place)),
                "{place}: {problems:?}"
            );
        }
    }
}

#[test]
fn one_byte_anywhere() {
    let database = database(true);
    let image = database.disk.image();
    let newest = *database.states.keys().next_back().unwrap();
    let (step, step_in_front) = if is_long() { (397, 97) } else { (14_983, 1_201) };
    for at in (0..image.len()).step_by(step).chain((0..40_000).step_by(step_in_front)) {
        let mut damaged = image.clone();
        damaged[at] ^= 1 << (at % 8);
        let saved = save(damaged);
        // A byte of the log may end it; the commits before are there.
        if saved.report.sequence.get() != newest {
            assert!(!saved.report.is_complete());
            let Saved { mut report, content } = saved;
            report.problems.retain(|problem| problem.table.is_some());
            check(&database, &Saved { report, content }, &format!("byte {at}"));
        } else {
            assert!(check(&database, &saved, &format!("byte {at}")) <= 60);
        }
    }
}

#[test]
fn a_large_commit_that_is_damaged_ends_the_log() {
    let disk = SimDisk::new(11);
    let store = Store::open_on(disk.clone(), &options()).unwrap();
    let mut states = std::collections::BTreeMap::new();
    let mut content = Content::from([(0, Rows::new())]);
    for round in 0..3 {
        let mut tx = store.begin();
        // The second is too large for the log.
        for number in 0..if round == 1 { 1000 } else { 10 } {
            let (key, head) = (key(round * 10_000 + number), noise(round * 10_000 + number, 1000));
            tx.put(TableId::CATALOG, &key, &head).unwrap();
            content.get_mut(&0).unwrap().insert(key, (head, vec![]));
        }
        let sequence = tx.commit().unwrap().sequence;
        store.wait_durable(sequence).unwrap();
        states.insert(sequence.get(), content.clone());
    }
    drop(store);
    let image = disk.image();
    let database = Database { disk, states };
    assert_eq!(check(&database, &save(image.clone()), "sound"), 0);
    let changes: Vec<Block> =
        blocks(&image).into_iter().filter(|block| block.kind == Kind::Changes).collect();
    assert_eq!(changes.len(), 1);
    let mut damaged = image;
    damaged[changes[0].at + 70_000] ^= 1;
    let saved = save(damaged);
    assert!(saved.report.sequence.get() == 1 && !saved.report.is_complete(), "{:?}", saved.report);
    let Saved { mut report, content } = saved;
    report.problems.clear();
    assert_eq!(check(&database, &Saved { report, content }, "without it"), 0);
}

/// Damages all copies of something.
fn without(image: &[u8], is_gone: impl Fn(&Block) -> bool) -> Vec<u8> {
    let mut damaged = image.to_vec();
    live_blocks(image).iter().filter(|block| is_gone(block)).for_each(|block| damaged[block.at + 70] ^= 1);
    damaged
}

fn is_list(block: &Block) -> bool {
    block.table == LIST && block.kind != Kind::SpaceMap
}

#[test]
fn without_the_list_of_tables_they_are_found_by_their_leaves() {
    for has_log in [false, true] {
        let database = database(has_log);
        let damaged = without(&database.disk.image(), is_list);
        let Err(Error::Corrupt { .. }) = open(damaged.clone(), true) else { panic!("opened without a list") };
        let mut saved = save(damaged);
        assert!(!saved.report.is_complete(), "nobody knows whether that is all");
        // A table without entries has no leaves.
        saved.content.entry(3).or_default();
        assert_eq!(check(&database, &saved, "no list"), 0);
        assert!(saved.report.tables.iter().all(|table| !table.may_be_stale));
    }
}

#[test]
fn without_the_list_of_free_space_the_newest_leaves_count() {
    let database = database(false);
    let image = database.disk.image();
    let all_branches =
        |block: &Block| block.kind == Kind::SpaceMap || (block.table, block.kind) == (1, Kind::Branch);
    let saved = save(without(&image, all_branches));
    let table = &saved.report.tables[1];
    assert!(table.scanned_entries > 1500 && table.may_be_stale, "{table:?}");
    // Every record is there as it was last; records that were deleted may be there again.
    let (expected, found) = (&database.content()[&1], &saved.content[&1]);
    assert!(expected.iter().all(|(key, row)| found.get(key) == Some(row)));
}

#[test]
fn without_superblocks_the_last_checkpoint_is_found() {
    for has_log in [false, true] {
        let database = database(has_log);
        let image = database.disk.image();
        let slot =
            |image: &mut Vec<u8>, slot: usize| [slot, slot + 2].map(|unit| image[unit * 4096 + 100] ^= 1);
        let mut none = image.clone();
        (0..2).for_each(|number| {
            slot(&mut none, number);
        });
        let saved = save(none);
        assert!(!saved.report.is_complete());
        let mut report = saved.report.clone();
        report.problems.clear();
        check(&database, &Saved { report, content: saved.content }, "no superblock");
        assert_eq!(saved.report.sequence.get(), *database.states.keys().next().unwrap());
        for number in 0..2 {
            let mut one = image.clone();
            slot(&mut one, number);
            let saved = save(one);
            assert!(!saved.report.problems.is_empty());
            check(&database, &saved, &format!("slot {number}"));
        }
    }
}

#[test]
fn foreign_files_are_refused_and_nothing_is_left_of_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    assert!(matches!(salvage(&from, &to, &mut |_| Ok(())), Err(Error::Io { .. })));
    std::fs::write(&from, noise(1, 100_000)).unwrap();
    assert!(matches!(salvage(&from, &to, &mut |_| Ok(())), Err(Error::NotADatabase { .. })));
    assert!(!to.exists());
    let database = database(true);
    std::fs::write(&from, database.disk.image()).unwrap();
    assert_eq!(salvage(&from, &to, &mut |_| Err(Error::Interrupted)), Err(Error::Interrupted));
    assert!(!to.exists());
    let before = std::fs::read(&from).unwrap();
    let report = salvage(&from, &to, &mut |_| Ok(())).unwrap();
    assert!(report.is_complete() && report.lost_entries() == 0, "{report:?}");
    assert!(std::fs::read(&from).unwrap() == before, "it is only read");
    assert!(matches!(salvage(&from, &to, &mut |_| Ok(())), Err(Error::Io { .. })), "not over a file");
    let store = Store::open(&Location::File(from.clone()), &options()).unwrap();
    let third = folder.path().join("third");
    assert!(matches!(salvage(&from, &third, &mut |_| Ok(())), Err(Error::Locked { .. })));
    assert!(!third.exists());
    drop(store);
}
