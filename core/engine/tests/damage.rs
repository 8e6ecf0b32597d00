//! Damaged files: the check names the collection and the place, a salvage saves the rest and leaves a sound database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use multifora_engine::{Database, ErrorCode, Interrupt, OpenOptions, SalvageReport, salvage};
use std::collections::BTreeMap;
use std::path::Path;
use support::{Session, open};

/// Text that does not compress and says where it belongs.
fn noise(number: usize, len: usize) -> String {
    let mut state = number as u64 * 2 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 57) as u8 % 90)
    };
    (0..len).map(|_| next()).filter(|c| !matches!(c, '"' | '\\')).collect()
}

/// Two collections, one of them with indexes and with values that are stored apart.
fn make_file(path: &Path) -> BTreeMap<String, Vec<String>> {
    let db = open(path);
    db.ok(
        r#"{"createIndexes": "large", "indexes": [{"key": {"k": 1}, "name": "k_1"}, {"key": {"u": 1}, "name": "u_1", "unique": true}]}"#,
    );
    for chunk in 0..10 {
        let docs = |from: usize, to: usize, doc: &dyn Fn(usize) -> String| {
            (from..to).map(doc).collect::<Vec<_>>().join(",")
        };
        let small =
            docs(chunk * 200, chunk * 200 + 200, &|n| format!(r#"{{"_id": {n}, "s": "{}"}}"#, noise(n, 150)));
        db.ok(&format!(r#"{{"insert": "small", "documents": [{small}]}}"#));
        let large = docs(chunk * 10, chunk * 10 + 10, &|n| {
            format!(r#"{{"_id": {n}, "k": "{}", "u": {n}, "big": "{}"}}"#, noise(n, 800), noise(n + 7, 5000))
        });
        db.ok(&format!(r#"{{"insert": "large", "documents": [{large}]}}"#));
    }
    let content = content_of(&db);
    db.database.close().unwrap();
    content
}

fn content_of(db: &Session) -> BTreeMap<String, Vec<String>> {
    ["small", "large"].map(|name| (name.to_owned(), db.docs(name))).into()
}

/// Blocks of an image: kind, table, position.
fn blocks(image: &[u8]) -> Vec<(u8, u64, usize)> {
    let number = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap());
    let is_block = |at: &usize| image[*at..].starts_with(b"MFBK") && number(at + 16) == *at as u64;
    let starts = (32_768..image.len() - 64).step_by(128).filter(is_block);
    starts.map(|at| (image[at + 4], number(at + 8), at)).collect()
}

struct Damaged {
    problems: Vec<String>,
    report: SalvageReport,
    content: BTreeMap<String, Vec<String>>,
}

/// Checks and saves a file with one byte flipped.
fn with_flipped(folder: &Path, image: &[u8], at: usize) -> Damaged {
    let (damaged, saved) = (folder.join("damaged"), folder.join("saved"));
    let mut bytes = image.to_vec();
    bytes[at] ^= 4;
    std::fs::write(&damaged, bytes).unwrap();
    let looked_at = Database::open(&damaged, &OpenOptions::default().read_only(true));
    let problems = match looked_at.and_then(|database| database.check(&Interrupt::new())) {
        Ok(checked) => checked.problems,
        Err(error) => vec![error.message().to_owned()],
    };
    let report = salvage(&damaged, &saved, &Interrupt::new(), &mut |_| Ok(())).unwrap();
    let db = open(&saved);
    let checked = db.database.check(&Interrupt::new()).unwrap();
    assert!(checked.is_clean(), "byte {at}: {:?} after {report:?}", checked.problems);
    let content = content_of(&db);
    db.database.close().unwrap();
    drop(db);
    std::fs::remove_file(&saved).unwrap();
    Damaged { problems, report, content }
}

#[test]
fn one_damaged_block_costs_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole");
    let expected = make_file(&path);
    let image = std::fs::read(&path).unwrap();
    let mut seen = BTreeMap::new();
    let mut alike = BTreeMap::new();
    for (kind, table, at) in blocks(&image) {
        // Of many that are alike some.
        let number: &mut u32 = alike.entry((kind, table)).or_default();
        *number += 1;
        if *number > 8 && !number.is_multiple_of(5) {
            continue;
        }
        let Damaged { problems, report, content } = with_flipped(folder.path(), &image, at + 70);
        for (name, docs) in &expected {
            let saved = &content[name];
            assert!(saved.iter().all(|doc| docs.contains(doc)), "{name} has something new");
            let missing = docs.len() - saved.len();
            let most = if kind == 3 { 1 } else { 110 };
            assert!(missing <= most && (missing == 0 || !report.is_complete), "{name}: {missing} {report:?}");
            if missing > 0 {
                let named =
                    |lines: &[String]| lines.iter().any(|line| line.starts_with(&format!("d.{name}: ")));
                assert!(named(&report.problems) && named(&problems), "{name}: {problems:?} {report:?}");
                assert!(problems.iter().any(|line| line.contains(&format!("block at byte {at}"))));
                *seen.entry((kind, name.clone())).or_insert(0) += 1;
            }
        }
        for index in ["k_1", "u_1", "_id_"] {
            let is_named = report.problems.iter().any(|line| line.contains(&format!(" index '{index}': ")));
            *seen.entry((kind, format!("{index} {table}"))).or_insert(0) += u32::from(is_named);
        }
        // A block that nobody uses, or one of two copies, or a branch over leaves that are found.
        assert!(report.is_complete || !problems.is_empty(), "{problems:?} {report:?}");
    }
    for (kind, name) in [(1, "small"), (1, "large"), (3, "large")] {
        assert!(
            seen.get(&(kind, name.to_owned())).is_some_and(|times| *times > 0),
            "{kind} {name}: {seen:?}"
        );
    }
    assert!(seen.iter().any(|((_, name), times)| name.starts_with("k_1") && *times > 0), "{seen:?}");
}

#[test]
fn a_lost_catalogue_leaves_collections_without_names() {
    let folder = tempfile::tempdir().unwrap();
    let (path, saved) = (folder.path().join("whole"), folder.path().join("saved"));
    let expected = make_file(&path);
    let mut image = std::fs::read(&path).unwrap();
    blocks(&image).into_iter().filter(|(_, table, _)| *table == 0).for_each(|(_, _, at)| image[at + 70] ^= 1);
    std::fs::write(&path, &image).unwrap();
    let report = salvage(&path, &saved, &Interrupt::new(), &mut |_| Ok(())).unwrap();
    assert!(!report.is_complete && report.problems[0].starts_with("the catalogue: "), "{report:?}");
    let mut found = Vec::new();
    let db = open(&saved);
    assert!(db.database.check(&Interrupt::new()).unwrap().is_clean());
    for collection in &report.collections {
        let name = collection.ns.strip_prefix("salvaged.").unwrap();
        let body = format!(r#"{{"find": "{name}", "sort": {{"_id": 1}}, "batchSize": 100000}}"#);
        let reply = db.run_on("salvaged", &body);
        let batch = reply.get("cursor.firstBatch").unwrap();
        found.push(batch.as_ref().as_array().unwrap().iter().count() as u64);
        assert_eq!(found.last(), Some(&collection.documents));
    }
    found.sort_unstable();
    assert_eq!(found, [expected["large"].len() as u64, expected["small"].len() as u64], "{report:?}");
}

#[test]
fn a_salvage_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (path, saved) = (folder.path().join("whole"), folder.path().join("saved"));
    make_file(&path);
    let interrupt = Interrupt::new();
    interrupt.interrupt();
    let stopped = salvage(&path, &saved, &interrupt, &mut |_| Ok(())).unwrap_err();
    assert_eq!(stopped.code(), ErrorCode::Interrupted);
    assert!(!saved.exists());
    std::fs::write(&saved, b"mine").unwrap();
    assert!(salvage(&path, &saved, &Interrupt::new(), &mut |_| Ok(())).is_err());
    assert_eq!(std::fs::read(&saved).unwrap(), b"mine");
}
