//! The shared library exports the functions of the header and nothing else, under its SONAME.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The library cargo built beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libmultifora.so")
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Every word in the header that is `mf_…(`.
fn functions_of_the_header() -> BTreeSet<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../include/multifora.h");
    let header = std::fs::read_to_string(path).unwrap();
    let code = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let calls = code.flat_map(|line| {
        line.match_indices('(').filter_map(move |(at, _)| {
            let before = line.get(..at)?;
            let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |i| i + 1);
            before.get(start..).filter(|word| word.starts_with("mf_")).map(String::from)
        })
    });
    calls.collect()
}

#[test]
fn exactly_the_header_is_exported() {
    let listing = output_of(Command::new("nm").args(["-D", "--defined-only", "-P"]).arg(library()));
    let exported: BTreeSet<String> =
        listing.lines().filter_map(|l| l.split_whitespace().next()).map(String::from).collect();
    assert!(exported.len() > 10, "nm shows {exported:?}");
    assert_eq!(exported, functions_of_the_header());
}

#[test]
fn the_soname_carries_the_major_version() {
    let dynamic = output_of(Command::new("readelf").arg("-d").arg(library()));
    let wanted = format!("[libmultifora.so.{}]", env!("CARGO_PKG_VERSION_MAJOR"));
    assert!(dynamic.lines().any(|l| l.contains("SONAME") && l.contains(&wanted)), "{dynamic}");
}
