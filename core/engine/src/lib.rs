//! What a database does: catalogue, indexes, planner, executor, sessions, cursors, commands.
//!
//! Module order (each may use those before it): `interrupt` · `request` · `catalog` · `index` ·
//! `session` · `cursor` · `database` (with `Connection`) · `context` · `plan` · `exec` · `write` ·
//! `commands` (registry and one file each) · `ttl`.
#![forbid(unsafe_code)]

pub mod catalog;
pub mod commands;
pub mod context;
pub mod cursor;
pub mod database;
pub mod exec;
pub mod index;
pub mod interrupt;
pub mod plan;
pub mod request;
pub mod session;
pub mod ttl;
pub mod write;

pub use context::CommandContext;
pub use database::{Connection, ConnectionInfo, Database, OpenOptions};
pub use interrupt::Interrupt;
pub use multifora_model::{Error, ErrorCode, Result};
pub use request::{DocumentSequence, Request};
