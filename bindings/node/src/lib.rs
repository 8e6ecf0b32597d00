//! The native part of the Node door: a command as bytes in, its reply as bytes out, off the main
//! thread. Everything driver-shaped is TypeScript above it.
//!
//! Errors cross as text `code codeName message`; the TypeScript side makes them MongoServerErrors.
//! A panic in a plain method or in a task would abort the process, so every body is guarded.

use multiforadb::{
    Connection, ConnectionInfo, CopyProgress, Database, Durability, Error, ErrorCode, OpenOptions,
    ServeOptions, Server,
};
use napi::bindgen_prelude::{AsyncTask, Buffer, FnArgs};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Task};
use napi_derive::napi;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn js_error(error: &Error) -> napi::Error {
    napi::Error::from_reason(format!("{} {} {}", error.code().code(), error.code().name(), error.message()))
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> napi::Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| js_error(&error)),
        Err(_) => {
            Err(js_error(&Error::internal("the engine failed inside; close the file and open it again")))
        }
    }
}

/// Options of `open`; names as in TypeScript.
#[napi(object)]
pub struct NativeOpenOptions {
    /// Bytes of memory for data.
    pub cache: Option<i64>,
    /// Sync every so many milliseconds instead of at each write.
    pub relaxed_ms: Option<u32>,
    /// Refuse writes.
    pub read_only: Option<bool>,
    /// Make the file when it is not there (default).
    pub create: Option<bool>,
    /// Compress (default).
    pub compress: Option<bool>,
    /// Seconds between sweeps for expired documents.
    pub ttl_sweep_secs: Option<u32>,
}

/// Options of `serve`.
#[napi(object)]
pub struct NativeServeOptions {
    /// Address to bind.
    pub bind: Option<String>,
    /// TCP port; none for no TCP.
    pub port: Option<u16>,
    /// Unix socket path.
    pub socket: Option<String>,
    /// Name of the one-member replica set to announce.
    pub replica_set: Option<String>,
    /// `host:port` to announce.
    pub advertise: Option<String>,
}

/// An open file.
#[napi]
pub struct Engine {
    database: Database,
    connection: Arc<Connection>,
}

fn open_engine(path: &str, options: &NativeOpenOptions) -> Result<Engine, Error> {
    let mut open = OpenOptions {
        read_only: options.read_only.unwrap_or(false),
        create: options.create.unwrap_or(true),
        compress: options.compress.unwrap_or(true),
        ..OpenOptions::default()
    };
    if let Some(bytes) = options.cache {
        open.cache_bytes =
            usize::try_from(bytes).map_err(|_| Error::bad_value("cache must be at least 0"))?;
    }
    if let Some(every_ms) = options.relaxed_ms {
        open.durability = Durability::Relaxed { sync_every_ms: u64::from(every_ms) };
    }
    if let Some(secs) = options.ttl_sweep_secs {
        open.ttl_sweep_secs = u64::from(secs);
    }
    let database = Database::open(path, &open)?;
    let connection = Arc::new(database.connect(ConnectionInfo::in_process("node")));
    Ok(Engine { database, connection })
}

/// Opening a file on a worker thread.
pub struct OpenTask {
    path: String,
    options: NativeOpenOptions,
}

impl Task for OpenTask {
    type Output = Engine;
    type JsValue = Engine;

    fn compute(&mut self) -> napi::Result<Engine> {
        guarded(|| open_engine(&self.path, &self.options))
    }

    fn resolve(&mut self, _env: Env, engine: Engine) -> napi::Result<Engine> {
        Ok(engine)
    }
}

/// A command on a worker thread.
pub struct CommandTask {
    connection: Arc<Connection>,
    db: String,
    body: Vec<u8>,
    sequence: Option<(String, Vec<u8>)>,
}

impl Task for CommandTask {
    type Output = Vec<u8>;
    type JsValue = Buffer;

    fn compute(&mut self) -> napi::Result<Vec<u8>> {
        run(
            &self.connection,
            &self.db,
            &self.body,
            self.sequence.as_ref().map(|(n, d)| (n.as_str(), d.as_slice())),
        )
    }

    fn resolve(&mut self, _env: Env, reply: Vec<u8>) -> napi::Result<Buffer> {
        Ok(reply.into())
    }
}

fn run(
    connection: &Connection,
    db: &str,
    body: &[u8],
    sequence: Option<(&str, &[u8])>,
) -> napi::Result<Vec<u8>> {
    guarded(|| match sequence {
        None => Ok(connection.command_bytes(db, body)),
        Some((name, documents)) => {
            Ok(connection.command_with_sequences(db, body, &[(name, split_documents(documents)?)]))
        }
    })
}

/// Cuts BSON documents that stand one after the other.
fn split_documents(mut bytes: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut documents = Vec::new();
    while let Some(prefix) = bytes.first_chunk::<4>() {
        let len = usize::try_from(i32::from_le_bytes(*prefix)).unwrap_or(0);
        let Some((document, rest)) = bytes.split_at_checked(len).filter(|_| len >= 5) else { break };
        documents.push(document);
        bytes = rest;
    }
    if bytes.is_empty() { Ok(documents) } else { Err(Error::bad_value("a document sequence is cut short")) }
}

/// Closing a file on a worker thread.
pub struct CloseTask(Database);

impl Task for CloseTask {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        guarded(|| self.0.close())
    }

    fn resolve(&mut self, _env: Env, _: ()) -> napi::Result<()> {
        Ok(())
    }
}

/// Called with the number of records that are copied, and of all.
type OnProgress = ThreadsafeFunction<FnArgs<(f64, f64)>, (), FnArgs<(f64, f64)>, napi::Status, false, true>;

/// A backup, to be run once and stopped from outside.
#[napi]
pub struct NativeBackup {
    connection: Arc<Connection>,
    path: String,
    on_progress: Option<Arc<OnProgress>>,
    is_stopped: Arc<AtomicBool>,
}

/// A backup on a worker thread.
pub struct BackupTask {
    connection: Arc<Connection>,
    path: String,
    on_progress: Option<Arc<OnProgress>>,
    is_stopped: Arc<AtomicBool>,
}

impl Task for BackupTask {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        let mut tell = |copied: CopyProgress| {
            if self.is_stopped.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorCode::Interrupted, "the backup was stopped"));
            }
            if let Some(on_progress) = &self.on_progress {
                // What the main thread has no time for is not shown; a later call says more.
                let figures = (copied.done as f64, copied.total as f64).into();
                on_progress.call(figures, ThreadsafeFunctionCallMode::NonBlocking);
            }
            Ok(())
        };
        guarded(|| self.connection.backup_to(&self.path, &mut tell))
    }

    fn resolve(&mut self, _env: Env, _: ()) -> napi::Result<()> {
        Ok(())
    }
}

#[napi]
impl NativeBackup {
    /// Copies.
    #[napi]
    pub fn run(&self) -> AsyncTask<BackupTask> {
        AsyncTask::new(BackupTask {
            connection: Arc::clone(&self.connection),
            path: self.path.clone(),
            on_progress: self.on_progress.clone(),
            is_stopped: Arc::clone(&self.is_stopped),
        })
    }

    /// Ends it at its next step; no file is left.
    #[napi]
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

#[napi]
impl Engine {
    /// A backup into a new file.
    #[napi]
    pub fn backup(&self, path: String, on_progress: Option<OnProgress>) -> NativeBackup {
        NativeBackup {
            connection: Arc::clone(&self.connection),
            path,
            on_progress: on_progress.map(Arc::new),
            is_stopped: Arc::default(),
        }
    }

    /// Opens a file, or ":memory:".
    #[napi]
    pub fn open(path: String, options: NativeOpenOptions) -> AsyncTask<OpenTask> {
        AsyncTask::new(OpenTask { path, options })
    }

    /// Opens a file and blocks meanwhile.
    #[napi]
    pub fn open_sync(path: String, options: NativeOpenOptions) -> napi::Result<Engine> {
        guarded(|| open_engine(&path, &options))
    }

    /// Runs a command; `documents` are concatenated BSON for the argument `sequence`.
    #[napi]
    pub fn command(
        &self,
        db: String,
        body: Buffer,
        sequence: Option<String>,
        documents: Option<Buffer>,
    ) -> AsyncTask<CommandTask> {
        AsyncTask::new(CommandTask {
            connection: Arc::clone(&self.connection),
            db,
            body: body.to_vec(),
            sequence: sequence.zip(documents).map(|(name, docs)| (name, docs.to_vec())),
        })
    }

    /// Runs a command and blocks meanwhile.
    #[napi]
    pub fn command_sync(
        &self,
        db: String,
        body: Buffer,
        sequence: Option<String>,
        documents: Option<Buffer>,
    ) -> napi::Result<Buffer> {
        let sequence = sequence.as_deref().zip(documents.as_deref());
        run(&self.connection, &db, &body, sequence).map(Buffer::from)
    }

    /// Starts a listener.
    #[napi]
    pub fn serve(&self, options: NativeServeOptions) -> napi::Result<NativeListener> {
        guarded(|| {
            let mut serve = ServeOptions {
                port: options.port,
                socket: options.socket.map(Into::into),
                replica_set: options.replica_set,
                advertise: options.advertise,
                ..ServeOptions::default()
            };
            if let Some(bind) = options.bind {
                serve.bind = bind;
            }
            let server = multiforadb::serve(&self.database, serve)?;
            let address = server.local_addr();
            Ok(NativeListener {
                port: address.map(|a| a.port()),
                address: address.map(|a| a.to_string()),
                server: Arc::new(Mutex::new(Some(server))),
            })
        })
    }

    /// Stops the commands that are running.
    #[napi]
    pub fn interrupt(&self) {
        self.connection.interrupt();
    }

    /// Writes a checkpoint and releases the file.
    #[napi]
    pub fn close(&self) -> AsyncTask<CloseTask> {
        AsyncTask::new(CloseTask(self.database.clone()))
    }

    /// Closes and blocks meanwhile.
    #[napi]
    pub fn close_sync(&self) -> napi::Result<()> {
        guarded(|| self.database.close())
    }
}

/// A running listener.
#[napi]
pub struct NativeListener {
    port: Option<u16>,
    address: Option<String>,
    server: Arc<Mutex<Option<Server>>>,
}

/// Stopping a listener on a worker thread.
pub struct StopTask(Arc<Mutex<Option<Server>>>);

impl Task for StopTask {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        guarded(|| {
            let server = self.0.lock().ok().and_then(|mut slot| slot.take());
            if let Some(server) = server {
                server.stop();
            }
            Ok(())
        })
    }

    fn resolve(&mut self, _env: Env, _: ()) -> napi::Result<()> {
        Ok(())
    }
}

#[napi]
impl NativeListener {
    /// The TCP port.
    #[napi(getter)]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// `address:port`.
    #[napi(getter)]
    pub fn address(&self) -> Option<String> {
        self.address.clone()
    }

    /// Stops listening and closes its connections.
    #[napi]
    pub fn stop(&self) -> AsyncTask<StopTask> {
        AsyncTask::new(StopTask(Arc::clone(&self.server)))
    }
}

/// The engine's version.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
