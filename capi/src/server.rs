//! The embedded listener: MongoDB's wire protocol on the open file.

use crate::database::{Database, Shared, on_database};
use crate::guard::{call, call_on};
use crate::input::{optional_text, out_handle, sized_options};
use crate::status::{Failure, MF_OK, MfError};
use multiforadb::ServeOptions;
use std::ffi::c_char;
use std::sync::Arc;

/// Where to listen. Zero in a field means its default, so begin with all zeros:
/// `mf_serve_options options = { .size = sizeof options };`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct MfServeOptions {
    /// `sizeof(mf_serve_options)`: tells the library which fields you know.
    pub size: usize,
    /// Address to bind, "127.0.0.1" when NULL.
    pub bind: *const c_char,
    /// Path of a Unix socket to listen on as well; none when NULL.
    pub socket_path: *const c_char,
    /// Present the server as the only member of a replica set of this name; not when NULL.
    pub replica_set: *const c_char,
    /// HOST:PORT that the replica set announces; the bound address when NULL.
    pub advertise: *const c_char,
    /// TCP port; 0 lets the system choose a free one (see `mf_server_port`), -1 listens on no TCP port.
    pub port: i32,
    /// Must be 0.
    pub reserved: i32,
}

/// A running listener. Opaque.
pub struct Server {
    shared: Arc<Shared>,
    server: multiforadb::Server,
    port: i32,
}

/// Starts a listener on the open file, so that MongoDB drivers and tools can connect. `options` may be
/// NULL: a free port on the loopback address. On success `*server` is a handle for `mf_server_stop`.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_serve(
    database: *mut Database,
    options: *const MfServeOptions,
    server: *mut *mut Server,
    error: *mut MfError,
) -> i32 {
    // SAFETY: the caller keeps to the header's rules for every pointer.
    unsafe {
        let slot = out_handle(server, "server");
        on_database(database, error, |shared| {
            let slot = slot?;
            let options = serve_options(&sized_options(options, "options")?)?;
            let running = multiforadb::serve(&shared.engine, options)?;
            let port = running.local_addr().map_or(-1, |address| i32::from(address.port()));
            let shared = Arc::clone(shared);
            *slot = Box::into_raw(Box::new(Server { shared, server: running, port }));
            Ok(MF_OK)
        })
    }
}

/// # Safety
/// The pointers in `given` are NULL or NUL-terminated strings.
unsafe fn serve_options(given: &MfServeOptions) -> Result<ServeOptions, Failure> {
    let mut options = ServeOptions::default();
    // SAFETY: the caller's promise is passed on.
    unsafe {
        if let Some(bind) = optional_text(given.bind, "options.bind")? {
            options.bind = String::from(bind);
        }
        options.socket = optional_text(given.socket_path, "options.socket_path")?.map(Into::into);
        options.replica_set = optional_text(given.replica_set, "options.replica_set")?.map(String::from);
        options.advertise = optional_text(given.advertise, "options.advertise")?.map(String::from);
    }
    options.port = match given.port {
        -1 => None,
        port => Some(
            u16::try_from(port)
                .map_err(|_| Failure::misuse(format!("options.port is {port}: not a port")))?,
        ),
    };
    match given.reserved {
        0 => Ok(options),
        _ => Err(Failure::misuse("options.reserved must be 0")),
    }
}

/// The TCP port the listener is bound to, -1 when it has none or `server` is NULL.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_server_port(server: *const Server) -> i32 {
    // SAFETY: the caller promises a live handle behind a non-NULL pointer.
    unsafe { server.as_ref() }.map_or(-1, |server| server.port)
}

/// Stops a listener: closes its connections, waits for their running commands and frees the handle,
/// whatever the status says. The database stays open. NULL is a no-op.
///
/// # Safety
/// See the rules at the top of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mf_server_stop(server: *mut Server, error: *mut MfError) -> i32 {
    // SAFETY: `mf_serve` made this allocation with `Box`, and the caller stops it once; the caller's
    // promise about `error` is passed on.
    unsafe {
        if server.is_null() {
            return call(error, || Ok(MF_OK));
        }
        let Server { shared, server, .. } = *Box::from_raw(server);
        call_on(&shared.poison, error, || {
            server.stop();
            Ok(MF_OK)
        })
    }
}
