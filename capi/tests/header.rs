//! `include/multifora.h` is what this crate generates. `UPDATE_HEADER=1` rewrites it.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::path::Path;

/// The order in which a reader meets things.
const SOURCES: [&str; 10] =
    ["version", "status", "bytes", "database", "session", "command", "cursor", "server", "backup", "json"];

fn generate(folder: &Path) -> String {
    let preamble = std::fs::read_to_string(folder.join("header.h.in")).unwrap();
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    let version = env!("CARGO_PKG_VERSION");
    let mut config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    config.header = Some(preamble.replace("@VERSION@", version));
    config.after_includes = Some(format!(
        "\n/* The version of this header; mf_version() tells that of the library. */\n\
         #define MF_VERSION \"{version}\"\n\
         #define MF_VERSION_MAJOR {major}\n\
         #define MF_VERSION_MINOR {minor}\n\
         #define MF_VERSION_PATCH {patch}"
    ));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for name in SOURCES {
        builder = builder.with_src(folder.join(format!("src/{name}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    without_safety_sections(&String::from_utf8(text).unwrap())
}

/// In C every function is unsafe; the rules stand at the top of the header.
fn without_safety_sections(text: &str) -> String {
    let section = " *\n * # Safety\n * See the rules at the top of the header.\n";
    let plain = text.replace(section, "");
    assert!(!plain.contains("# Safety"), "a safety section with other words is left in the header");
    plain
}

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("../include/multifora.h");
    let wanted = generate(folder);
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "include/multifora.h is out of date: UPDATE_HEADER=1 cargo test -p multifora-capi --test header"
    );
}
