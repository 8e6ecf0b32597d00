//! The wire listener: who may talk to a database over a socket, and how its bytes are framed.
//!
//! It knows messages and sockets and nothing about what a command means: a message becomes an engine
//! `Request`, the engine's reply document becomes a message. Plain threads, one per connection.
//!
//! Module order (each may use those before it): `limits` · `message` · `reader` · `exchange` (one connection's
//! loop) · `socket` · `listener` (accepting and stopping).
#![forbid(unsafe_code)]

mod exchange;
mod limits;
mod listener;
mod message;
mod reader;
mod socket;

use listener::Shared;
use multifora_engine::{Database, ReplicaSet};
use multifora_model::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use socket::Listener;
use std::fmt;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

pub use limits::{MAX_CONNECTIONS, MAX_MESSAGE_BYTES};

/// How to listen. Start from `ServeOptions::default()`: a free port on the loopback address, no Unix socket.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The TCP address to bind to.
    pub bind: String,
    /// The TCP port; 0 takes any that is free, `None` does without TCP.
    pub port: Option<u16>,
    /// A Unix socket to listen on, too.
    pub socket: Option<PathBuf>,
    /// Announce a one-member replica set of this name (drivers then retry writes).
    pub replica_set: Option<String>,
    /// The member's address as clients reach it, `host:port`; without it, the address that is bound.
    pub advertise: Option<String>,
    /// Where a line goes when a connection ends for a reason worth knowing.
    pub log: Log,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            bind: String::from("127.0.0.1"),
            port: Some(0),
            socket: None,
            replica_set: None,
            advertise: None,
            log: Log::default(),
        }
    }
}

/// Takes the listener's few log lines; by default nobody does.
#[derive(Clone, Default)]
pub struct Log(Option<Arc<Sink>>);

type Sink = dyn Fn(&str) + Send + Sync;

impl Log {
    /// Lines go to this function.
    pub fn to(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Log(Some(Arc::new(sink)))
    }

    /// Lines go to standard error.
    pub fn stderr() -> Self {
        Self::to(|line| eprintln!("multifora: {line}"))
    }

    fn line(&self, line: &str) {
        if let Some(sink) = &self.0 {
            sink(line);
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Log(function)" } else { "Log(none)" })
    }
}

/// A running listener; dropped, it stops.
pub struct Server {
    shared: Arc<Shared>,
    accepting: Mutex<Option<JoinHandle<()>>>,
    address: Option<SocketAddr>,
    socket: Option<PathBuf>,
}

/// Starts a listener on an open database.
///
/// # Errors
/// The address or socket cannot be had; the message says which and why.
pub fn serve(database: &Database, options: ServeOptions) -> Result<Server> {
    Server::start(database, options)
}

impl Server {
    /// Starts a listener on an open database.
    ///
    /// # Errors
    /// The address or socket cannot be had; the message says which and why.
    pub fn start(database: &Database, options: ServeOptions) -> Result<Server> {
        let mut listeners = Vec::new();
        let mut address = None;
        if let Some(port) = options.port {
            let listener = Listener::tcp(&options.bind, port)?;
            if let Listener::Tcp(_, bound) = &listener {
                address = Some(*bound);
            }
            listeners.push(listener);
        }
        if let Some(path) = &options.socket {
            listeners.push(Listener::unix(path)?);
        }
        if listeners.is_empty() {
            return Err(Error::bad_value("nothing to listen on: give a port, a socket path, or both"));
        }
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::SocketException, format!("cannot start the listener: {error}"))
        };
        let (wake, woken) = UnixStream::pair().map_err(failed)?;
        let replica_set = announce(database, &options, address);
        let shared = Arc::new(Shared::new(database, replica_set, &options, wake));
        let for_thread = Arc::clone(&shared);
        let accepting = thread::Builder::new()
            .name(String::from("mf-accept"))
            .spawn(move || listener::accept_all(&for_thread, &listeners, woken))
            .map_err(failed)?;
        Ok(Server { shared, accepting: Mutex::new(Some(accepting)), address, socket: options.socket })
    }

    /// The TCP address it listens on.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The Unix socket it listens on.
    pub fn socket_path(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Connections that are open.
    pub fn connection_count(&self) -> usize {
        self.shared.connection_count()
    }

    /// Stops accepting, interrupts what its connections run, closes them and waits for them. Stopping twice is fine.
    pub fn stop(&self) {
        self.shared.begin_stop();
        let accepting = self.accepting.lock().take();
        if let Some(thread) = accepting {
            // A panic there was reported by the standard library; the listeners are closed either way.
            let _ = thread.join();
        }
        // A connection may have been accepted between the two.
        self.shared.begin_stop();
        self.shared.wait_for_peers();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What hello announces: the set's name, and the one member's address.
fn announce(database: &Database, options: &ServeOptions, address: Option<SocketAddr>) -> Option<ReplicaSet> {
    let name = options.replica_set.clone().or_else(|| database.options().replica_set.clone())?;
    let host = options.advertise.clone().or_else(|| address.map(reachable)).unwrap_or_else(|| {
        options.socket.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    });
    Some(ReplicaSet { name, host })
}

/// An address that a client on this machine can connect to.
fn reachable(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("localhost:{}", address.port()),
        false => address.to_string(),
    }
}
