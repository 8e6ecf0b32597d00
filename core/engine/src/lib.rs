//! What a database does: catalogue, indexes, planner, executor, sessions, cursors, commands.
//!
//! Module order (each may use those before it): `interrupt` · `progress` · `limits` · `random` · `storage_error` · `stored` · `counters` ·
//! `request` · `external_sort` · `system_info` · `open_options` · `catalog` · `index` · `session` · `cursor` · `table_names` · `check` · `repair` · `rescue` · `stats` · `database` · `connection` · `backup` · `context` · `plan` ·
//! `exec` · `write` · `commands` (registry and one file each) · `ttl` · `upkeep`.
#![forbid(unsafe_code)]

mod backup;
pub mod catalog;
pub mod check;
pub mod commands;
pub mod connection;
pub mod context;
pub mod counters;
pub mod cursor;
pub mod database;
pub mod exec;
mod external_sort;
pub mod index;
pub mod interrupt;
pub mod limits;
pub mod open_options;
pub mod plan;
pub mod progress;
mod random;
mod repair;
pub mod request;
pub mod rescue;
pub mod session;
pub mod stats;
pub mod storage_error;
pub mod stored;
mod system_info;
mod table_names;
pub mod ttl;
mod upkeep;
pub mod write;

pub use check::CheckReport;
pub use connection::{Connection, ConnectionInfo, ReplicaSet};
pub use context::CommandContext;
pub use database::Database;
pub use interrupt::Interrupt;
pub use multifora_model::{Error, ErrorCode, Result};
pub use multifora_storage::{Compacted, CopyProgress};
pub use open_options::{Durability, OpenOptions};
pub use request::{DocumentSequence, Request};
pub use rescue::{OnProgress, SalvageReport, SalvagedCollection, compact, salvage};
pub use stats::{CollectionStats, DatabaseStats};
