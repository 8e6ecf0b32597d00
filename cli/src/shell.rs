//! `multifora shell`: commands given as Extended JSON, or mongosh on the file.

use crate::opening::OpenArgs;
use crate::{Failure, opening};
use multiforadb::{ConnectionInfo, Database, RawDoc, ServeOptions, extjson};
use signal_hook::consts::SIGINT;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Arguments of `shell`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database file, or :memory:
    file: PathBuf,
    /// A command as Extended JSON, for example '{"find": "c", "filter": {}}'; may be given several times
    #[arg(long, value_name = "JSON")]
    eval: Vec<String>,
    /// The database that the commands are for
    #[arg(long, value_name = "NAME", default_value = "test")]
    db: String,
    /// Print replies as canonical Extended JSON, which keeps every type
    #[arg(long)]
    canonical: bool,
    #[command(flatten)]
    open: OpenArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.eval.is_empty() && !is_installed("mongosh") {
        let hint = "install it, or pass commands: multifora shell FILE --eval '{\"listCollections\": 1}'";
        return Err(Failure::new(format!("mongosh is not installed: {hint}")));
    }
    let commands = parse_all(&args.eval)?;
    let database = opening::open(&args.file, &args.open.options())?;
    let status = match args.eval.is_empty() {
        true => run_mongosh(&database, args),
        false => evaluate(&database, args, &commands),
    };
    database.close()?;
    status
}

/// All commands are parsed before the first runs: a slip in the last one should not leave half of the work done.
fn parse_all(texts: &[String]) -> Result<Vec<Vec<u8>>, Failure> {
    let parse = |text: &String| {
        extjson::parse_document(text).map_err(|error| {
            Failure::new(format!(
                "--eval {text}: {}; write strict Extended JSON, names in double quotes",
                error.message()
            ))
            .status(2)
        })
    };
    texts.iter().map(parse).collect()
}

fn evaluate(database: &Database, args: &Args, commands: &[Vec<u8>]) -> Result<ExitCode, Failure> {
    let connection = database.connect(ConnectionInfo::in_process("cli"));
    let mode = if args.canonical { extjson::Mode::Canonical } else { extjson::Mode::Relaxed };
    for command in commands {
        let reply = connection.command_bytes(&args.db, command);
        let reply = RawDoc::framed(&reply).unwrap_or(RawDoc::EMPTY);
        println!("{}", extjson::to_text(reply, mode));
        if reply.get("ok").and_then(|ok| ok.as_f64()) != Some(1.0) {
            // The reply says what went wrong.
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A folder of our own, removed with what is in it.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn new() -> std::io::Result<Self> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let path =
            std::env::temp_dir().join(format!("multifora-{}-{}", std::process::id(), since.as_nanos()));
        // Fails when something is there already, and nobody else may look in.
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(PrivateFolder(path))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Nothing depends on it any more; the system clears its folder for temporary files by itself.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run_mongosh(database: &Database, args: &Args) -> Result<ExitCode, Failure> {
    let folder =
        PrivateFolder::new().map_err(|e| Failure::new(format!("no folder for a private socket: {e}")))?;
    let socket = folder.0.join("shell.sock");
    let options = ServeOptions { port: None, socket: Some(socket.clone()), ..ServeOptions::default() };
    let server = multiforadb::serve(database, options)?;
    // Ctrl-C is mongosh's to handle; this process only waits for it.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let uri = format!("mongodb://{}/{}", percent_encode(&socket), args.db);
    let ended = Command::new("mongosh").arg(uri).status();
    server.stop();
    match ended {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) => Err(Failure::new(format!("cannot start mongosh: {error}"))),
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// A path as the host part of a connection string.
fn percent_encode(path: &Path) -> String {
    let mut encoded = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => encoded.push(char::from(*byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}
