//! Accepting connections, one thread each, and stopping them all.

use crate::exchange;
use crate::limits::{MAX_CONNECTIONS, STOP_GRACE};
use crate::socket::{Listener, Socket};
use crate::{Log, ServeOptions};
use multifora_engine::{Connection, ConnectionInfo, Database, ReplicaSet};
use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long the accepting thread rests when the system refuses more connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the accepting thread, the connections and the handle share.
pub(crate) struct Shared {
    database: Database,
    replica_set: Option<ReplicaSet>,
    log: Log,
    stopping: AtomicBool,
    /// Written to, this ends the accepting thread's wait.
    wake: UnixStream,
    peers: Mutex<HashMap<u64, Peer>>,
    peer_left: Condvar,
}

/// One connection, as the handle that stops it sees it.
struct Peer {
    socket: Socket,
    connection: Arc<Connection>,
}

impl Shared {
    pub(crate) fn new(
        database: &Database,
        replica_set: Option<ReplicaSet>,
        options: &ServeOptions,
        wake: UnixStream,
    ) -> Self {
        Shared {
            database: database.clone(),
            replica_set,
            log: options.log.clone(),
            stopping: AtomicBool::new(false),
            wake,
            peers: Mutex::default(),
            peer_left: Condvar::new(),
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) || self.database.is_closed()
    }

    /// Open connections.
    pub(crate) fn connection_count(&self) -> usize {
        self.peers.lock().len()
    }

    /// Tells everybody to stop: no new connections, no new messages, running commands interrupted.
    pub(crate) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
        // Fails only when the accepting thread is gone already.
        let _ = (&self.wake).write_all(&[1]);
        for peer in self.peers.lock().values() {
            // A socket that the peer closed meanwhile has nothing to shut down.
            let _ = peer.socket.shutdown(Shutdown::Read);
            peer.connection.shut_down();
        }
    }

    /// Waits until every connection has ended; cuts off those that do not read their replies.
    pub(crate) fn wait_for_peers(&self) {
        let mut peers = self.peers.lock();
        let patience = Instant::now() + STOP_GRACE;
        while !peers.is_empty() {
            if !self.peer_left.wait_until(&mut peers, patience).timed_out() {
                continue;
            }
            for peer in peers.values() {
                peer.connection.shut_down();
                let _ = peer.socket.shutdown(Shutdown::Both);
            }
            self.peer_left.wait_for(&mut peers, ACCEPT_PAUSE);
        }
    }
}

/// The accepting thread: waits on all listeners at once, and on the wake-up end.
pub(crate) fn accept_all(shared: &Arc<Shared>, listeners: &[Listener], mut woken: UnixStream) {
    while !shared.is_stopping() {
        let mut ready: Vec<PollFd<'_>> = listeners.iter().map(|l| PollFd::new(l, PollFlags::IN)).collect();
        ready.push(PollFd::new(&woken, PollFlags::IN));
        // An interrupted wait is as good as a finished one: everything is looked at again.
        let _ = poll(&mut ready, None);
        let wake_up = ready.pop().is_some_and(|fd| !fd.revents().is_empty());
        drop(ready);
        if wake_up {
            let _ = woken.read(&mut [0; 16]);
            continue;
        }
        for listener in listeners {
            accept_ready(shared, listener);
        }
    }
}

fn accept_ready(shared: &Arc<Shared>, listener: &Listener) {
    loop {
        match listener.accept() {
            Ok(Some((socket, peer))) => start(shared, socket, peer),
            Ok(None) => return,
            Err(error) => {
                shared.log.line(&format!("cannot accept a connection: {error}"));
                thread::sleep(ACCEPT_PAUSE);
                return;
            }
        }
    }
}

fn start(shared: &Arc<Shared>, socket: Socket, peer: String) {
    if shared.connection_count() >= MAX_CONNECTIONS {
        shared.log.line(&format!("{peer}: refused, {MAX_CONNECTIONS} connections are open already"));
        return;
    }
    let info =
        ConnectionInfo { door: socket.door(), peer: peer.clone(), replica_set: shared.replica_set.clone() };
    let connection = Arc::new(shared.database.connect(info));
    let handle = match socket.try_clone() {
        Ok(handle) => handle,
        Err(error) => return shared.log.line(&format!("{peer}: refused: {error}")),
    };
    let id = connection.id();
    shared.peers.lock().insert(id, Peer { socket: handle, connection: Arc::clone(&connection) });
    let (shared_there, peer_there) = (Arc::clone(shared), peer.clone());
    let spawned = thread::Builder::new()
        .name(format!("mf-conn-{id}"))
        .spawn(move || converse(&shared_there, socket, &connection, &peer_there));
    if let Err(error) = spawned {
        shared.log.line(&format!("{peer}: refused, no thread for it: {error}"));
        leave(shared, id);
    }
}

fn converse(shared: &Shared, mut socket: Socket, connection: &Connection, peer: &str) {
    /// Leaves the list also when the thread unwinds.
    struct Leave<'a>(&'a Shared, u64);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            leave(self.0, self.1);
        }
    }
    let _leave = Leave(shared, connection.id());
    if let Some(reason) = exchange::serve(&mut socket, connection, &|| shared.is_stopping()) {
        shared.log.line(&format!("{peer}: connection closed: {reason}"));
    }
    let _ = socket.shutdown(Shutdown::Both);
}

fn leave(shared: &Shared, id: u64) {
    let left = shared.peers.lock().remove(&id);
    drop(left);
    shared.peer_left.notify_all();
}
