//! One version for everything that is released together (docs/versioning.md).

use std::ffi::CStr;
use std::path::Path;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn the_library_tells_its_version() {
    // SAFETY: `mf_version` gives a NUL-terminated string that is never freed.
    let told = unsafe { CStr::from_ptr(multifora::version::mf_version()) };
    assert_eq!(told.to_str(), Ok(VERSION));
}

#[test]
fn the_node_package_has_the_same_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/node/package.json");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(
        text.contains(&format!("\"version\": \"{VERSION}\"")),
        "package.json has another version than {VERSION}"
    );
}

#[test]
fn the_python_package_takes_its_version_from_cargo() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/python/pyproject.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("dynamic = [\"version\"]"), "pyproject.toml states a version of its own");
}
