//! How a database is opened. What each option means, and its name at every door: `docs/options.md`.

use crate::system_info::available_memory_bytes;
use multifora_model::{Error, Result};

/// The largest cache that is taken unasked.
const MAX_DEFAULT_CACHE_BYTES: usize = 1 << 30;

/// The path that means "a private database in memory".
pub const MEMORY_PATH: &str = ":memory:";

/// When a write is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before it is acknowledged.
    #[default]
    Sync,
    /// At most this many milliseconds after it was acknowledged.
    Relaxed {
        /// The longest time a write may stay in memory only.
        sync_every_ms: u64,
    },
}

/// How to open a database. Start from `OpenOptions::default()`.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Memory for cached data, in bytes; 0 takes a quarter of the machine's memory, at most 1 GiB.
    pub cache_bytes: usize,
    /// When a write is on disk.
    pub durability: Durability,
    /// Refuse writes, and open beside a writer.
    pub read_only: bool,
    /// Create the file when it does not exist.
    pub create: bool,
    /// Compress what is written.
    pub compress: bool,
    /// Seconds between two looks for expired documents; 0 never looks.
    pub ttl_sweep_secs: u64,
    /// The replica-set name that connections announce unless they bring their own.
    pub replica_set: Option<String>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            cache_bytes: 0,
            durability: Durability::Sync,
            read_only: false,
            create: true,
            compress: true,
            ttl_sweep_secs: 60,
            replica_set: None,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty,)*) => {
        impl OpenOptions {
            $($(#[$doc])* #[must_use] pub fn $name(mut self, value: $ty) -> Self { self.$name = value; self })*
        }
    };
}

setters! {
    /// Sets [`cache_bytes`](Self::cache_bytes).
    cache_bytes: usize,
    /// Sets [`durability`](Self::durability).
    durability: Durability,
    /// Sets [`read_only`](Self::read_only).
    read_only: bool,
    /// Sets [`create`](Self::create).
    create: bool,
    /// Sets [`compress`](Self::compress).
    compress: bool,
    /// Sets [`ttl_sweep_secs`](Self::ttl_sweep_secs).
    ttl_sweep_secs: u64,
    /// Sets [`replica_set`](Self::replica_set).
    replica_set: Option<String>,
}

impl OpenOptions {
    /// The cache's size in bytes, chosen where it was left open.
    pub fn cache_size_bytes(&self) -> usize {
        match self.cache_bytes {
            0 => match usize::try_from(available_memory_bytes() / 4).unwrap_or(usize::MAX) {
                // The system does not say.
                0 => multifora_storage::Options::default().cache_bytes,
                quarter => quarter.min(MAX_DEFAULT_CACHE_BYTES),
            },
            bytes => bytes,
        }
    }

    /// The same for storage.
    ///
    /// # Errors
    /// `BadValue` for relaxed durability without an interval.
    pub(crate) fn for_storage(&self) -> Result<multifora_storage::Options> {
        let durability = match self.durability {
            Durability::Sync => multifora_storage::Durability::Sync,
            Durability::Relaxed { sync_every_ms: 0 } => {
                return Err(Error::bad_value(
                    "relaxed durability needs at least 1 millisecond between two syncs",
                ));
            }
            Durability::Relaxed { sync_every_ms } => {
                multifora_storage::Durability::Relaxed { every_ms: sync_every_ms }
            }
        };
        Ok(multifora_storage::Options {
            cache_bytes: self.cache_size_bytes(),
            durability,
            read_only: self.read_only,
            create: self.create,
            compress: self.compress,
            ..multifora_storage::Options::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_chosen_and_nonsense_refused() {
        let default = OpenOptions::default().for_storage().unwrap();
        assert!(default.cache_bytes > 0 && default.cache_bytes <= MAX_DEFAULT_CACHE_BYTES);
        let given = OpenOptions::default().cache_bytes(5 << 20).compress(false).create(false);
        let given = given.durability(Durability::Relaxed { sync_every_ms: 7 }).for_storage().unwrap();
        assert_eq!((given.cache_bytes, given.compress, given.create), (5 << 20, false, false));
        assert_eq!(given.durability, multifora_storage::Durability::Relaxed { every_ms: 7 });
        let never = OpenOptions::default().durability(Durability::Relaxed { sync_every_ms: 0 });
        assert!(never.for_storage().is_err());
    }
}
