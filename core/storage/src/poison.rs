//! The end of a handle: after a failure that leaves the outcome of writes unknown, nothing is tried again.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The first such failure, once there was one.
pub(crate) struct Poison {
    cause: OnceLock<String>,
    owner_process: u32,
}

impl Default for Poison {
    fn default() -> Poison {
        Poison { cause: OnceLock::new(), owner_process: std::process::id() }
    }
}

impl Poison {
    /// Whether the file may be written by this handle in this process: a child of fork shares the file, and knows
    /// nothing of what its parent does with it.
    pub(crate) fn check(&self) -> Result<()> {
        match self.cause.get() {
            None if std::process::id() == self.owner_process => Ok(()),
            None => Err(Error::Misuse {
                what: "the database was opened by the parent process: open it again after a fork",
            }),
            Some(cause) => Err(Error::Poisoned { cause: cause.clone() }),
        }
    }

    /// Poisons the handle; returns what to tell the caller.
    pub(crate) fn set(&self, error: &Error) -> Error {
        let cause = match error {
            Error::Poisoned { cause } => cause.clone(),
            other => other.to_string(),
        };
        self.set_cause(&cause)
    }

    pub(crate) fn set_cause(&self, cause: &str) -> Error {
        let cause = self.cause.get_or_init(|| cause.to_owned());
        Error::Poisoned { cause: cause.clone() }
    }
}
