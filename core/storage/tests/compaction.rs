//! Compaction: the same content in a smaller file, under the same name, or nothing changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first thing that fails")]

use multifora_storage::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

fn options() -> Options {
    Options { background: false, ..Options::default() }
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// A file that is mostly free space.
fn loose_file(folder: &Path) -> PathBuf {
    let path = folder.join("loose.mfdb");
    let store = Store::open(&Location::File(path.clone()), &options()).unwrap();
    let mut tx = store.begin();
    let table = tx.create_table().unwrap();
    for number in 0..4000u32 {
        let noise: Vec<u8> = (0..600u32)
            .map(|at| (at.wrapping_mul(number + 7).wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        tx.put(
            table,
            &key(number),
            NewRecord { head: &noise, values: &[NewValue::New(&[number as u8; 3000])] },
        )
        .unwrap();
    }
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    let mut tx = store.begin();
    for number in (0..4000u32).filter(|number| !number.is_multiple_of(50)) {
        assert!(tx.delete(table, &key(number)).unwrap());
    }
    tx.commit().unwrap();
    store.close().unwrap();
    path
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_same_content_in_a_smaller_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = loose_file(folder.path());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    // What a compaction that was killed leaves.
    std::fs::write(folder.path().join(".loose.mfdb.multifora-compact"), b"half").unwrap();
    let before = std::fs::metadata(&path).unwrap();
    let mut reports = 0;
    let done = compact(&link, &options(), &mut |_| {
        reports += 1;
        let copy = std::fs::metadata(folder.path().join(".loose.mfdb.multifora-compact")).unwrap();
        assert_eq!(copy.mode() & 0o777, 0o600, "nobody else reads the copy");
        Ok(())
    });
    let done = done.unwrap();
    let after = std::fs::metadata(&path).unwrap();
    assert!(reports > 0 && link.is_symlink());
    assert_eq!((done.before_bytes, done.after_bytes), (before.len(), after.len()));
    assert!(after.len() < before.len() * 3 / 4, "{done:?}");
    assert_eq!(after.mode() & 0o777, 0o600);
    assert_eq!(names(folder.path()).len(), 2);
    let store = Store::open(&Location::File(path), &options()).unwrap();
    assert!(store.verify().unwrap().is_clean());
    let (table, snapshot) = (TableId::from_u64(1), store.snapshot());
    assert_eq!(snapshot.count(table).unwrap(), 80);
    let record = snapshot.get(table, &key(150)).unwrap().unwrap();
    assert_eq!(&*record.value(0).unwrap(), &[150; 3000]);
}

#[test]
fn a_failure_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = loose_file(folder.path());
    let before = std::fs::read(&path).unwrap();
    let stopped = compact(&path, &options(), &mut |_| Err(Error::Interrupted));
    assert_eq!(stopped, Err(Error::Interrupted));
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(names(folder.path()), ["loose.mfdb"]);
    // Open elsewhere, for writing or for reading.
    for read_only in [false, true] {
        let other = Store::open(&Location::File(path.clone()), &Options { read_only, ..options() }).unwrap();
        assert!(matches!(compact(&path, &options(), &mut |_| Ok(())), Err(Error::Locked { .. })));
        drop(other);
    }
    // And nobody opens it meanwhile.
    let mut on_progress = |_| {
        let other = Store::open(&Location::File(path.clone()), &Options { read_only: true, ..options() });
        assert!(matches!(other, Err(Error::Locked { .. })));
        Ok(())
    };
    compact(&path, &options(), &mut on_progress).unwrap();
    assert!(matches!(
        compact(&folder.path().join("missing"), &options(), &mut |_| Ok(())),
        Err(Error::Io { .. })
    ));
    let foreign = folder.path().join("foreign");
    std::fs::write(&foreign, [7; 100_000]).unwrap();
    assert!(matches!(compact(&foreign, &options(), &mut |_| Ok(())), Err(Error::NotADatabase { .. })));
    assert!(std::fs::read(&foreign).unwrap() == [7; 100_000]);
}

#[test]
fn a_damaged_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = loose_file(folder.path());
    let mut image = std::fs::read(&path).unwrap();
    // The middle of every block: whichever of them are in use.
    let starts: Vec<usize> =
        (32_768..image.len()).step_by(128).filter(|at| image[*at..].starts_with(b"MFBK")).collect();
    starts.iter().for_each(|at| image[at + 100] ^= 1);
    std::fs::write(&path, &image).unwrap();
    assert!(matches!(compact(&path, &options(), &mut |_| Ok(())), Err(Error::Corrupt { .. })));
    assert!(std::fs::read(&path).unwrap() == image);
    assert_eq!(names(folder.path()), ["loose.mfdb"]);
}
