//! The commands in docs/backups.md do what the page says: each block is run by a shell and must succeed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

#[test]
fn the_commands_of_the_page_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/backups.md");
    let text = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "the page has examples");
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_multifora")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for block in blocks {
        let done = Command::new("sh")
            .args(["-e", "-c", block])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(done.status.success(), "{block}{done:?}");
    }
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["backup.mfdb", "demo.mfdb", "saved.mfdb"]);
}
