//! The handle on an open file: open, close, interrupt.

use crate::guard::{Poison, call, call_on};
use crate::input::{out_handle, required, sized_options, text};
use crate::status::{Failure, MF_OK, MfError};
use multiforadb::{Connection, ConnectionInfo, Durability, OpenOptions};
use std::ffi::c_char;
use std::sync::Arc;

/// Opens for reading only; the file must exist and nothing is written to it.
pub const MF_OPEN_READ_ONLY: u32 = 1;
/// Fails when the file does not exist, instead of creating it.
pub const MF_OPEN_EXISTING: u32 = 2;
/// Writes new data without compressing it.
pub const MF_OPEN_UNCOMPRESSED: u32 = 4;

/// How to open a file. Zero in a field means its default, so begin with all zeros:
/// `mf_open_options options = { .size = sizeof options };`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct MfOpenOptions {
    /// `sizeof(mf_open_options)`: tells the library which fields you know.
    pub size: usize,
    /// Memory for cached data, in bytes.
    pub cache_bytes: u64,
    /// `MF_OPEN_…`, added together.
    pub flags: u32,
    /// Acknowledge writes before they are on disk, and sync at the latest after this many milliseconds.
    /// 0: every acknowledged write is on disk.
    pub sync_every_ms: u32,
    /// Seconds between two removals of expired documents (TTL indexes); -1: never.
    pub ttl_sweep_secs: i32,
    /// Must be 0.
    pub reserved: i32,
}

/// An open file. Opaque.
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// What a database handle, its sessions, cursors and servers hold together.
pub(crate) struct Shared {
    pub engine: multiforadb::Database,
    pub connection: Connection,
    pub poison: Poison,
}

/// Runs the body of a function on a database handle: [`call_on`] with the handle looked at first.
///
/// # Safety
/// `database` is NULL or a live handle; `error` is NULL or writable.
pub(crate) unsafe fn on_database(
    database: *const Database,
    error: *mut MfError,
    body: impl FnOnce(&Arc<Shared>) -> Result<i32, Failure>,
) -> i32 {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        match required(database, "database") {
            Ok(handle) => call_on(&handle.shared.poison, error, || body(&handle.shared)),
            Err(failure) => call(error, || Err(failure)),
        }
    }
}

/// Opens the file at `path`, creating it when it is not there; ":memory:" gives a private database
/// in memory. `options` may be NULL. On success `*database` is a handle for `mf_close`; on failure it
/// is NULL and nothing needs closing.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_open(
    path: *const c_char,
    options: *const MfOpenOptions,
    database: *mut *mut Database,
    error: *mut MfError,
) -> i32 {
    let open = || {
        // SAFETY: the caller keeps to the header's rules for out parameters, strings and sized options.
        let (slot, path, options) = unsafe {
            (out_handle(database, "database")?, text(path, "path")?, sized_options(options, "options")?)
        };
        let engine = multiforadb::Database::open(path, &open_options(&options)?)?;
        let connection = engine.connect(ConnectionInfo::in_process("c"));
        let shared = Arc::new(Shared { engine, connection, poison: Poison::default() });
        *slot = Box::into_raw(Box::new(Database { shared }));
        Ok(MF_OK)
    };
    // SAFETY: the caller's promise about `error` is passed on.
    unsafe { call(error, open) }
}

fn open_options(given: &MfOpenOptions) -> Result<OpenOptions, Failure> {
    let unknown = given.flags & !(MF_OPEN_READ_ONLY | MF_OPEN_EXISTING | MF_OPEN_UNCOMPRESSED);
    if unknown != 0 || given.reserved != 0 {
        return Err(Failure::misuse(format!(
            "options.flags has unknown bits {unknown:#x}, or reserved is not 0"
        )));
    }
    let is_set = |flag: u32| given.flags & flag != 0;
    let cache_bytes = usize::try_from(given.cache_bytes)
        .map_err(|_| Failure::misuse("options.cache_bytes is more than this machine can address"))?;
    let mut options = OpenOptions::default()
        .read_only(is_set(MF_OPEN_READ_ONLY))
        .create(!is_set(MF_OPEN_READ_ONLY) && !is_set(MF_OPEN_EXISTING))
        .compress(!is_set(MF_OPEN_UNCOMPRESSED))
        .cache_bytes(cache_bytes);
    if given.sync_every_ms != 0 {
        let sync_every_ms = u64::from(given.sync_every_ms);
        options = options.durability(Durability::Relaxed { sync_every_ms });
    }
    match given.ttl_sweep_secs {
        0 => Ok(options),
        -1 => Ok(options.ttl_sweep_secs(0)),
        secs => match u64::try_from(secs) {
            Ok(secs) => Ok(options.ttl_sweep_secs(secs)),
            Err(_) => Err(Failure::misuse(format!("options.ttl_sweep_secs is {secs}"))),
        },
    }
}

/// Closes the file: stops what runs, writes a checkpoint and releases the lock. The handle is freed
/// whatever the status says. Must be the last call on the handle and run beside no other; close its
/// cursors, sessions and servers first. NULL is a no-op.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_close(database: *mut Database, error: *mut MfError) -> i32 {
    let close = || {
        if database.is_null() {
            return Ok(MF_OK);
        }
        // SAFETY: `mf_open` made this allocation with `Box`, and the caller closes it once.
        let handle = unsafe { Box::from_raw(database) };
        handle.shared.engine.close()?;
        Ok(MF_OK)
    };
    // SAFETY: the caller's promise about `error` is passed on.
    unsafe { call(error, close) }
}

/// Stops every command that runs at this moment through this handle (sessions and cursors included);
/// each fails with code 11601, Interrupted. Commands that start later are not affected. May be called
/// from any thread.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_interrupt(database: *mut Database, error: *mut MfError) -> i32 {
    let interrupt = |shared: &Arc<Shared>| {
        shared.connection.interrupt();
        Ok(MF_OK)
    };
    // SAFETY: the caller's promises are passed on.
    unsafe { on_database(database, error, interrupt) }
}
