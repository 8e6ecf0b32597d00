//! One token that stops work: killOp, a time limit, a door's interrupt, shutdown.
//!
//! Every loop over documents or keys calls [`Interrupt::check`]; the clock is read only now and then.

use multifora_model::{Error, ErrorCode, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Instant;

/// How many checks pass between two looks at the clock.
const CHECKS_PER_CLOCK_READ: u32 = 64;

const RUNNING: u8 = 0;
const INTERRUPTED: u8 = 1;
const SHUTDOWN: u8 = 2;

/// A handle on one operation's token; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
    deadline: Option<Instant>,
}

#[derive(Debug, Default)]
struct Shared {
    state: AtomicU8,
    checks: AtomicU32,
}

impl Interrupt {
    /// A token without a time limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same token with a time limit.
    #[must_use]
    pub fn with_deadline(&self, deadline: Option<Instant>) -> Self {
        Interrupt { shared: Arc::clone(&self.shared), deadline }
    }

    /// Stops the operation at its next check with `Interrupted` (11601).
    pub fn interrupt(&self) {
        self.shared.state.store(INTERRUPTED, Ordering::Relaxed);
    }

    /// Stops the operation at its next check with `InterruptedAtShutdown` (11600).
    pub fn shut_down(&self) {
        self.shared.state.store(SHUTDOWN, Ordering::Relaxed);
    }

    /// The time limit, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// `Ok` while the operation may go on.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.shared.state.load(Ordering::Relaxed) {
            RUNNING => {}
            SHUTDOWN => {
                return Err(Error::new(ErrorCode::InterruptedAtShutdown, "the database is shutting down"));
            }
            _ => return Err(Error::new(ErrorCode::Interrupted, "operation was interrupted")),
        }
        match self.deadline {
            None => Ok(()),
            Some(deadline) => self.check_deadline(deadline),
        }
    }

    fn check_deadline(&self, deadline: Instant) -> Result<()> {
        let n = self.shared.checks.fetch_add(1, Ordering::Relaxed);
        if n.is_multiple_of(CHECKS_PER_CLOCK_READ) && Instant::now() >= deadline {
            return Err(Error::new(ErrorCode::MaxTimeMSExpired, "operation exceeded time limit"));
        }
        Ok(())
    }
}
