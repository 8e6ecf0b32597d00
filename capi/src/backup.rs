//! Copies of an open database.

use crate::database::{Database, on_database};
use crate::input::text;
use crate::status::{MF_OK, MfError};
use multiforadb::{CopyProgress, Error, ErrorCode};
use std::ffi::{c_char, c_void};

/// Told now and then how far long work is: `done` of `total` records. Return 0 to go on; anything else stops the work,
/// which then fails with code 11601, Interrupted. Called on the thread that does the work; must not unwind.
pub type MfProgress = Option<unsafe extern "C" fn(done: u64, total: u64, user_data: *mut c_void) -> i32>;

/// Writes the database as it is now into the new file at `path`, while other threads go on reading and
/// writing; what they commit later is not in it. The file must not exist, and none is left when this fails.
/// `progress` may be NULL; it is given `user_data`. `mf_interrupt` stops it like a command.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_database_backup(
    database: *mut Database,
    path: *const c_char,
    progress: MfProgress,
    user_data: *mut c_void,
    error: *mut MfError,
) -> i32 {
    let mut tell = |copied: CopyProgress| {
        let Some(progress) = progress else { return Ok(()) };
        // SAFETY: the caller gives a function of this type, for the time of this call.
        match unsafe { progress(copied.done, copied.total, user_data) } {
            0 => Ok(()),
            _ => Err(Error::new(ErrorCode::Interrupted, "the backup was stopped by its progress callback")),
        }
    };
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        on_database(database, error, |shared| {
            let path = text(path, "path")?;
            shared.connection.backup_to(path, &mut tell)?;
            Ok(MF_OK)
        })
    }
}
