//! Link arguments of the shared library: its SONAME and the list of symbols it exports.
//!
//! Only `mf_*` leaves the library (`exports.map`), so that an application may load other Rust or C
//! libraries beside it without their symbols meeting. `tests/symbols.rs` checks the result.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=exports.map");
    let target_os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    match target_os.as_str() {
        "linux" | "freebsd" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmultifora.so.{major}");
            println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/exports.map");
        }
        "macos" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmultifora.{major}.dylib");
        }
        _ => {}
    }
}
