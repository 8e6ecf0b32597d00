//! `libmultifora`: the C door. Conversion, error mapping and handles; no behaviour of its own.
//!
//! Everything a C program sees is in `include/multifora.h`, generated from this crate by
//! `tests/header.rs`. The text at the top of that header (`header.h.in`) states ownership and
//! threading once for all functions; the doc comments here only add what is particular.
//!
//! Every exported function passes through [`guard::call`], which catches panics: none crosses the
//! boundary. A panic marks the database handle as poisoned, and every later call on it fails.
//!
//! Module order (each may use those before it): `status` · `guard` · `input` · `bytes` · `database` ·
//! `backup` · `session` · `command` · `cursor` · `server` · `json` · `version`.

pub mod backup;
pub mod bytes;
pub mod command;
pub mod cursor;
pub mod database;
mod guard;
mod input;
pub mod json;
pub mod server;
pub mod session;
pub mod status;
pub mod version;
