//! The commands that look after files, as a script meets them: output, exit status, what they leave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn multifora(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multifora"));
    arguments.iter().for_each(|argument| {
        command.arg(argument.as_ref());
    });
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a command that must succeed; gives what it printed.
#[track_caller]
fn done(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let output = multifora(arguments);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "", "no bar where there is no terminal");
    text(&output.stdout)
}

/// A file with two collections, most of which is free space.
fn make_file(folder: &Path) -> PathBuf {
    let path = folder.join("shop.mfdb");
    let insert = |collection: &str, count: usize| {
        let docs: Vec<String> = (0..count)
            .map(|n| {
                let noise: String = (0..1500)
                    .map(|at| char::from(b'a' + ((n * 7919 + at * at * 31 + at) % 23) as u8))
                    .collect();
                format!(r#"{{"_id": {n}, "a": {}, "text": "{n} {noise}"}}"#, n % 10)
            })
            .collect();
        format!(r#"{{"insert": "{collection}", "documents": [{}]}}"#, docs.join(","))
    };
    let index = r#"{"createIndexes": "orders", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}"#;
    // One command line is not long enough for more.
    let (orders, rest) = (insert("orders", 60), insert("rest", 60));
    let delete = r#"{"delete": "rest", "deletes": [{"q": {}, "limit": 0}]}"#;
    done(&[&"shell", &path, &"--db", &"shop", &"--eval", &index, &"--eval", &orders]);
    done(&[&"shell", &path, &"--db", &"shop", &"--eval", &rest]);
    done(&[&"shell", &path, &"--db", &"shop", &"--eval", &delete]);
    path
}

/// Damages every value, leaf and so on of a kind in a table; says how many blocks.
fn damage(path: &Path, is_hit: impl Fn(u8, u64) -> bool) -> usize {
    let mut image = std::fs::read(path).unwrap();
    let number = |image: &[u8], at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap());
    let mut hit = 0;
    for at in (32_768..image.len() - 64).step_by(128) {
        if image[at..].starts_with(b"MFBK") && is_hit(image[at + 4], number(&image, at + 8)) {
            image[at + 70] ^= 1;
            hit += 1;
        }
    }
    std::fs::write(path, image).unwrap();
    hit
}

#[test]
fn a_sound_file_is_checked_copied_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = make_file(folder.path());
    let copy = folder.path().join("copy.mfdb");
    assert!(done(&[&"check", &path]).contains("sound (collections: 2, documents: 60, index entries: 120"));
    let json = done(&[&"backup", &path, &copy, &"--json"]);
    let bytes = std::fs::metadata(&copy).unwrap().len();
    assert!(json.contains(&format!("\"bytes\":{bytes}")) && json.contains("\"records\":"), "{json}");
    assert!(done(&[&"check", &copy, &"--json"]).starts_with(r#"{"clean":true,"problemCount":0,"#));
    let again = multifora(&[&"backup", &path, &copy]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("copy.mfdb") && text(&again.stderr).lines().count() == 1);
    assert!(done(&[&"compact", &path]).contains("shop.mfdb: "));
    let json = done(&[&"compact", &path, &"--json"]);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(json.contains(&format!("\"afterBytes\":{bytes}")), "{json}");
    assert!(done(&[&"check", &path]).contains("documents: 60"));
    let stats = done(&[&"stats", &path, &"--json"]);
    for figure in ["fileBytes", "logBytes", "cacheBytes", "cachedBytes", "blocksRead", "durableSequence"] {
        assert!(stats.contains(&format!("\"{figure}\":")), "{stats}");
    }
    let saved = folder.path().join("saved.mfdb");
    assert!(done(&[&"salvage", &path, &saved]).contains("everything was saved"));
    assert!(done(&[&"check", &saved]).contains("documents: 60"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn damage_is_named_and_the_rest_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = make_file(folder.path());
    let saved = folder.path().join("saved.mfdb");
    // The leaves of the tables that were made first: the documents of the first collection.
    assert!(damage(&path, |kind, table| kind == 1 && table == 1) > 0);
    let before = std::fs::read(&path).unwrap();
    let checked = multifora(&[&"check", &path]);
    let lines = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(1), "{lines}");
    assert!(
        lines.contains("shop.orders: ") && lines.contains("block at byte ") && lines.contains("lost"),
        "{lines}"
    );
    assert!(lines.contains("'multifora salvage FILE NEW'"), "{lines}");
    let json = text(&multifora(&[&"check", &path, &"--json"]).stdout);
    assert!(json.starts_with(r#"{"clean":false,"problemCount":"#), "{json}");
    // Neither a copy nor a compaction makes it look whole.
    for command in [vec![&"compact" as &dyn AsRef<std::ffi::OsStr>, &path], vec![&"backup", &path, &saved]] {
        let refused = multifora(&command);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(text(&refused.stderr).contains("'multifora salvage FILE NEW'"), "{refused:?}");
    }
    assert!(!saved.exists() && std::fs::read(&path).unwrap() == before);
    let output = multifora(&[&"salvage", &path, &saved]);
    let lines = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{lines}");
    assert!(lines.contains("shop.orders: ") && lines.contains("are lost"), "{lines}");
    assert!(std::fs::read(&path).unwrap() == before, "it is only read");
    assert!(done(&[&"check", &saved]).contains("sound"));
    std::fs::remove_file(&saved).unwrap();
    let json = text(&multifora(&[&"salvage", &path, &saved, &"--json"]).stdout);
    assert!(json.starts_with(r#"{"complete":false,"lostEntries":"#) && json.lines().count() == 1, "{json}");
}

#[test]
fn a_file_that_cannot_be_opened_can_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = make_file(folder.path());
    // The list of tables, both copies.
    assert!(damage(&path, |kind, table| kind != 4 && table == u64::MAX) > 1);
    let checked = multifora(&[&"check", &path, &"--json"]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stdout).starts_with(r#"{"clean":false,"problemCount":1,"#), "{checked:?}");
    let saved = folder.path().join("saved.mfdb");
    let output = multifora(&[&"salvage", &path, &saved]);
    assert_eq!(output.status.code(), Some(1), "nobody knows whether that is all");
    assert!(text(&output.stdout).contains("shop.orders: 60 documents"), "{output:?}");
    assert!(done(&[&"check", &saved]).contains("documents: 60"));
}

#[test]
fn what_is_no_database_is_told_from_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (foreign, new) = (folder.path().join("foreign"), folder.path().join("new"));
    std::fs::write(&foreign, "text\n".repeat(50_000)).unwrap();
    for (command, status) in [
        (vec![&"check" as &dyn AsRef<std::ffi::OsStr>, &foreign], 2),
        (vec![&"salvage", &foreign, &new], 2),
        (vec![&"compact", &foreign], 1),
        (vec![&"backup", &foreign, &new], 1),
        (vec![&"stats", &foreign], 1),
    ] {
        let refused = multifora(&command);
        assert_eq!(refused.status.code(), Some(status), "{refused:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("not a MultiforaDB file") && !said.contains("damaged"), "{said}");
    }
    assert!(!new.exists());
}

#[test]
fn a_compaction_without_room_for_the_copy_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = make_file(folder.path());
    let before = std::fs::read(&path).unwrap();
    // A limit on the length of files stands for a full disk: the system's error is mapped to the same one.
    let script = "ulimit -f 200; trap '' XFSZ; exec \"$0\" compact \"$1\"";
    let full = Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_multifora"))
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(full.status.code(), Some(1), "{full:?}");
    let said = text(&full.stderr);
    assert!(said.contains("no space left for") && said.contains("nothing was changed"), "{said}");
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}
