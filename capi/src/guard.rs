//! The one way into the library: catches panics, clears and fills the caller's error, gives the status.

use crate::status::{Failure, MF_INTERNAL, MfError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once a call on a handle has panicked; from then on its state cannot be trusted.
#[derive(Debug, Default)]
pub(crate) struct Poison(AtomicBool);

impl Poison {
    /// Fails when an earlier call has panicked.
    pub fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Failure::internal("an earlier call failed inside the library: close this database")),
        }
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs the body of an exported function and turns its outcome into a status and, where the caller
/// gave one, an error.
///
/// # Safety
/// `error` is NULL or points to an `mf_error` that the caller may write.
pub(crate) unsafe fn call(error: *mut MfError, body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    let outcome = caught(body).unwrap_or_else(Err);
    // SAFETY: the caller promises that a non-NULL pointer is writable.
    let slot = unsafe { error.as_mut() };
    if let Some(slot) = slot {
        *slot = MfError::CLEAR;
        if let Err(failure) = &outcome {
            slot.fill(failure);
        }
    }
    outcome.unwrap_or_else(|failure| failure.status)
}

/// Like [`call`], for work on a handle: refuses when the handle is poisoned, and poisons it on a panic
/// or another failure with `MF_INTERNAL`.
///
/// # Safety
/// As for [`call`].
pub(crate) unsafe fn call_on(
    poison: &Poison,
    error: *mut MfError,
    body: impl FnOnce() -> Result<i32, Failure>,
) -> i32 {
    let guarded = || {
        poison.check()?;
        let outcome = caught(body).unwrap_or_else(Err);
        if outcome.as_ref().is_err_and(|failure| failure.status == MF_INTERNAL) {
            poison.set();
        }
        outcome
    };
    // SAFETY: the caller's promise about `error` is the same.
    unsafe { call(error, guarded) }
}

/// For functions that cannot report: a panic ends here.
pub(crate) fn quietly(body: impl FnOnce()) {
    let _ = caught(body);
}

fn caught<T>(body: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|s| String::from(*s))
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| String::from("no message"));
        Failure::internal(format!("internal error: {text}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{MF_DONE, MF_MISUSE, MF_OK};

    #[test]
    fn a_panic_becomes_a_status_and_poisons() {
        let poison = Poison::default();
        let mut error = MfError::CLEAR;
        // SAFETY: `error` is a local.
        let mut run = |body: fn() -> Result<i32, Failure>| unsafe { call_on(&poison, &raw mut error, body) };
        assert_eq!(run(|| Ok(MF_DONE)), MF_DONE);
        assert_eq!(run(|| Err(Failure::misuse("x"))), MF_MISUSE);
        assert_eq!(run(|| Ok(MF_OK)), MF_OK);
        assert_eq!(run(|| panic!("broken")), MF_INTERNAL);
        assert_eq!(run(|| Ok(MF_OK)), MF_INTERNAL, "poisoned");
        assert_eq!(error.code, 1);
    }

    #[test]
    fn without_an_error_to_fill() {
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { call(std::ptr::null_mut(), || Err(Failure::misuse("x"))) }, MF_MISUSE);
    }
}
