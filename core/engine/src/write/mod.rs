//! Changing documents: what insert, update, delete, findAndModify and the expiry sweep share.
//!
//! Module order: `new_document` · `outcome` · `transaction` · `insert` · `index_build` · `target` · `delete` · `update`.

pub mod delete;
pub mod index_build;
pub mod insert;
pub mod new_document;
pub mod outcome;
pub mod target;
pub mod transaction;
pub mod update;

pub use transaction::{Attempt, CollectionWrite, Writer};
