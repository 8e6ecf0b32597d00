//! A disk that is really full: small file systems of the kernel's own, where this may mount any.

use crate::*;
use std::path::PathBuf;

/// A small file system, taken away again when dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let result = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    result.is_ok_and(|status| status.success())
}

impl SmallDisk {
    fn mount_point(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    fn new() -> SmallDisk {
        let disk = SmallDisk { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(disk.mount_point()).unwrap();
        disk
    }

    fn tmpfs(mib: u64) -> Option<SmallDisk> {
        let disk = SmallDisk::new();
        let size = format!("size={mib}m");
        let is_there = run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", disk.mount_point().to_str()?]);
        is_there.then_some(disk)
    }

    fn ext4(mib: u64) -> Option<SmallDisk> {
        let disk = SmallDisk::new();
        let image = disk.folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let (image, point) = (image.to_str()?, disk.mount_point());
        let is_there =
            run("mkfs.ext4", &["-q", image]) && run("mount", &["-o", "loop", image, point.to_str()?]);
        is_there.then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &[self.mount_point().to_str().unwrap_or_default()]);
    }
}

fn put(store: &Store, number: u64, value_len: usize) -> Result<()> {
    let (head, value) = (bytes_of(number | 1, 6000), bytes_of(number | 1, value_len));
    let values: &[NewValue] = if value_len > 0 { &[NewValue::New(&value)] } else { &[] };
    let mut tx = store.begin();
    tx.put(T, &number.to_be_bytes(), NewRecord { head: &head, values })?;
    store.wait_durable(tx.commit()?.sequence)
}

/// Fills the disk, empties it by deletes, and fills it again.
fn fill_and_empty(disk: &SmallDisk, value_len: usize) {
    let path = disk.mount_point().join("full");
    let options = Options { cache_bytes: 1 << 20, ..Options::default() };
    let store = open(&path, &options).unwrap();
    let mut stored = 0;
    for round in 0..2 {
        let full = loop {
            match put(&store, stored, value_len) {
                Ok(()) => stored += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::Full { .. }), "round {round}: {full}");
        assert!(stored >= 5, "round {round}: only {stored} records");
        match store.checkpoint() {
            Ok(()) | Err(Error::Full { .. }) => {}
            Err(other) => panic!("round {round}: a checkpoint: {other}"),
        }
        assert_eq!(store.snapshot().count(T).unwrap(), stored);
        let report = store.verify().unwrap();
        assert!(report.is_clean(), "round {round}: {:?}", report.problems);
        while stored > 3 {
            stored -= 1;
            let mut tx = store.begin();
            assert!(tx.delete(T, &stored.to_be_bytes()).unwrap());
            let committed =
                tx.commit().unwrap_or_else(|error| panic!("round {round}, delete {stored}: {error}"));
            store.wait_durable(committed.sequence).unwrap();
        }
        store.checkpoint().unwrap();
    }
    drop(store);
    let store = open(&path, &options).unwrap();
    assert_eq!(store.snapshot().count(T).unwrap(), stored);
    for number in 0..stored {
        let record = store.snapshot().get(T, &number.to_be_bytes()).unwrap().unwrap();
        assert_eq!(record.head(), bytes_of(number | 1, 6000));
    }
    assert!(store.verify().unwrap().is_clean());
}

#[test]
fn a_full_file_system_is_a_clean_error_and_deletes_make_room() {
    for value_len in [0, 50_000, 600_000] {
        for (kind, disk) in [("tmpfs", SmallDisk::tmpfs(8)), ("ext4", SmallDisk::ext4(12))] {
            match disk {
                Some(disk) => fill_and_empty(&disk, value_len),
                None => println!("skipped: cannot mount a {kind} here (that takes root)"),
            }
        }
    }
}
