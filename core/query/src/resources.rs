//! What a computation needs from outside, and the only way it gets it.
//!
//! Every loop over documents or elements of unknown number takes a [`Resources`] and asks it to
//! check for interruption (killOp, maxTimeMS, shutdown, a door's own interrupt) now and then.

use multifora_model::Result;

/// How many cheap steps a loop may take between two calls of [`Resources::check_interrupt`].
pub const STEPS_BETWEEN_CHECKS: u32 = 256;

/// The outside world, as a query sees it.
pub trait Resources {
    /// Fails when the operation has to stop. Cheap enough to be called once per document.
    ///
    /// # Errors
    /// `Interrupted`, `MaxTimeMSExpired`, `InterruptedAtShutdown`.
    fn check_interrupt(&self) -> Result<()>;

    /// Milliseconds since 1970 when the command began (the same during the whole command).
    fn now_ms(&self) -> i64;

    /// A random number in `[0, 1)`.
    fn random_f64(&self) -> f64;
}

/// Resources that never interrupt: for tests, and for evaluating constants.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResources;

impl Resources for NoResources {
    fn check_interrupt(&self) -> Result<()> {
        Ok(())
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn random_f64(&self) -> f64 {
        0.5
    }
}
