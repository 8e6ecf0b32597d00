//! The end of a handle: after a failure that leaves the outcome of writes unknown, nothing is tried again.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The first such failure, once there was one.
#[derive(Default)]
pub(crate) struct Poison(OnceLock<String>);

impl Poison {
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.get() {
            None => Ok(()),
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
        let cause = self.0.get_or_init(|| cause.to_owned());
        Error::Poisoned { cause: cause.clone() }
    }
}
