//! The two kinds of sockets behind one type, and where they listen.

use multifora_model::{Error, ErrorCode, Result};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(crate) fn try_clone(&self) -> io::Result<Socket> {
        Ok(match self {
            Socket::Tcp(s) => Socket::Tcp(s.try_clone()?),
            Socket::Unix(s) => Socket::Unix(s.try_clone()?),
        })
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Socket::Tcp(s) => s.shutdown(how),
            Socket::Unix(s) => s.shutdown(how),
        }
    }

    /// The door's name, as connection lists show it.
    pub(crate) fn door(&self) -> &'static str {
        match self {
            Socket::Tcp(_) => "tcp",
            Socket::Unix(_) => "unix",
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.read(buf),
            Socket::Unix(s) => s.read(buf),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => s.write(buf),
            Socket::Unix(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A listening socket.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens on TCP; port 0 takes any that is free.
    pub(crate) fn tcp(bind: &str, port: u16) -> Result<Listener> {
        let failed = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => "another process listens there; choose another port",
                io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose another port",
                _ => "check the address to bind to",
            };
            Error::new(ErrorCode::SocketException, format!("cannot listen on {bind}:{port}: {error}; {hint}"))
        };
        let host = bind.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
        let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Listener::Tcp(listener, address))
    }

    /// Listens on a Unix socket that only this user may use; a socket that nobody listens on any more is replaced.
    pub(crate) fn unix(path: &Path) -> Result<Listener> {
        let failed = |error: io::Error| {
            let text = format!("cannot listen on the socket '{}': {error}", path.display());
            Error::new(ErrorCode::SocketException, text)
        };
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Listener::Unix(listener, path.to_owned()))
    }

    /// The next waiting connection; `None` when there is none.
    pub(crate) fn accept(&self) -> io::Result<Option<(Socket, String)>> {
        let accepted = match self {
            Listener::Tcp(listener, _) => listener.accept().and_then(|(stream, peer)| {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok((Socket::Tcp(stream), peer.to_string()))
            }),
            Listener::Unix(listener, path) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                Ok((Socket::Unix(stream), path.display().to_string()))
            }),
        };
        match accepted {
            Ok(connection) => Ok(Some(connection)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener, _) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Somebody may have removed it already; then there is nothing left to do.
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes a socket file that nobody answers on. Anything else there is left alone, and an error.
fn remove_stale(path: &Path) -> Result<()> {
    let refused = |what: String| Err(Error::new(ErrorCode::SocketException, what));
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return refused(format!(
            "cannot listen on '{}': a file that is no socket is there already",
            path.display()
        ));
    }
    match UnixStream::connect(path) {
        Ok(_) => refused(format!("cannot listen on '{}': another process listens there", path.display())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => match fs::remove_file(path) {
            Ok(()) => Ok(()),
            Err(error) => refused(format!("cannot remove the stale socket '{}': {error}", path.display())),
        },
        Err(error) => refused(format!("cannot listen on '{}': {error}", path.display())),
    }
}
