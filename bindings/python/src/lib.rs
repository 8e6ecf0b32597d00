//! The native part of the Python door: a command as bytes in, its reply as bytes out, with the
//! interpreter lock released in between. Everything PyMongo-shaped is Python code above it.
//!
//! A panic of the engine never reaches Python: `Connection::command` turns it into an error reply,
//! and `guarded` does so for the other calls.

use multiforadb::{
    Connection, ConnectionInfo, CopyProgress, Database, Durability, Error, ErrorCode, OpenOptions,
    ServeOptions, Server,
};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

pyo3::create_exception!(_native, EngineError, PyException, "args: (code, code name, message).");

fn engine_error(error: Error) -> PyErr {
    EngineError::new_err((error.code().code(), error.code().name(), error.message().to_owned()))
}

/// Runs engine code without the interpreter lock; an error or a panic becomes a Python exception.
fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(engine_error),
        Err(_) => Err(PyRuntimeError::new_err("the engine failed inside; close the file and open it again")),
    }
}

/// An open file.
#[pyclass(frozen)]
struct Engine {
    database: Database,
    connection: Connection,
}

#[pymethods]
impl Engine {
    /// Opens a file, or ":memory:".
    #[staticmethod]
    #[pyo3(signature = (path, cache_bytes=None, relaxed_ms=None, read_only=false, create=true, compress=true, ttl_sweep_secs=None))]
    #[allow(clippy::too_many_arguments, reason = "the keyword arguments of multiforadb.open")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        cache_bytes: Option<usize>,
        relaxed_ms: Option<u64>,
        read_only: bool,
        create: bool,
        compress: bool,
        ttl_sweep_secs: Option<u64>,
    ) -> PyResult<Self> {
        let mut options = OpenOptions { read_only, create, compress, ..OpenOptions::default() };
        if let Some(bytes) = cache_bytes {
            options.cache_bytes = bytes;
        }
        if let Some(every_ms) = relaxed_ms {
            options.durability = Durability::Relaxed { sync_every_ms: every_ms };
        }
        if let Some(secs) = ttl_sweep_secs {
            options.ttl_sweep_secs = secs;
        }
        let database = guarded(py, || Database::open(&path, &options))?;
        let connection = database.connect(ConnectionInfo::in_process("python"));
        Ok(Engine { database, connection })
    }

    /// Runs a command; `sequences` are documents that belong to one of its arguments.
    #[pyo3(signature = (db, body, sequences=None))]
    fn command<'py>(
        &self,
        py: Python<'py>,
        db: &str,
        body: &[u8],
        sequences: Option<Vec<(String, Vec<Bound<'py, PyBytes>>)>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        // `bytes` objects never change, so their memory may be read without the lock while they are held.
        let held = sequences.unwrap_or_default();
        let parts: Vec<(&str, Vec<&[u8]>)> = held
            .iter()
            .map(|(name, docs)| (name.as_str(), docs.iter().map(|doc| doc.as_bytes()).collect()))
            .collect();
        let connection = &self.connection;
        let reply = py.detach(|| connection.command_with_sequences(db, body, &parts));
        Ok(PyBytes::new(py, &reply))
    }

    /// Starts a listener.
    #[pyo3(signature = (bind="127.0.0.1", port=Some(0), socket=None, replica_set=None, advertise=None))]
    fn serve(
        &self,
        py: Python<'_>,
        bind: &str,
        port: Option<u16>,
        socket: Option<PathBuf>,
        replica_set: Option<String>,
        advertise: Option<String>,
    ) -> PyResult<Listener> {
        let options = ServeOptions {
            bind: bind.to_owned(),
            port,
            socket,
            replica_set,
            advertise,
            ..ServeOptions::default()
        };
        let server = guarded(py, || multiforadb::serve(&self.database, options))?;
        let address = server.local_addr().map(|a| (a.port(), a.to_string()));
        Ok(Listener { server: Mutex::new(Some(server)), address })
    }

    /// Stops the commands that are running.
    fn interrupt(&self) {
        self.connection.interrupt();
    }

    /// Writes the database as it is now into a new file. What `progress` raises stops it and is raised here, and so
    /// does Ctrl-C.
    #[pyo3(signature = (path, progress=None))]
    fn backup(&self, py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let mut raised = None;
        let mut tell = |copied: CopyProgress| {
            Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    Some(progress) => progress.call1(py, (copied.done, copied.total)).map(drop),
                    None => Ok(()),
                }
            })
            .map_err(|error| {
                raised = Some(error);
                Error::new(ErrorCode::Interrupted, "the backup was stopped by its progress callback")
            })
        };
        let copied = guarded(py, || self.connection.backup_to(&path, &mut tell));
        match raised {
            Some(error) => Err(error),
            None => copied,
        }
    }

    /// Writes a checkpoint and releases the file.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || self.database.close())
    }
}

/// A running listener.
#[pyclass(frozen)]
struct Listener {
    server: Mutex<Option<Server>>,
    address: Option<(u16, String)>,
}

#[pymethods]
impl Listener {
    #[getter]
    fn port(&self) -> Option<u16> {
        self.address.as_ref().map(|a| a.0)
    }

    #[getter]
    fn address(&self) -> Option<String> {
        self.address.as_ref().map(|a| a.1.clone())
    }

    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.server.lock().ok().and_then(|mut slot| slot.take());
        guarded(py, || {
            if let Some(server) = server {
                server.stop();
            }
            Ok(())
        })
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add_class::<Engine>()?;
    module.add_class::<Listener>()
}
