//! The `multifora` command.
fn main() {}
