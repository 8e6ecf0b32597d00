//! `multifora serve`: a listener on a file until SIGTERM or SIGINT.

use crate::opening::OpenArgs;
use crate::{Failure, opening};
use multiforadb::{Log, ServeOptions, Server};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The port that MongoDB's drivers and tools use when none is named.
const DEFAULT_PORT: u16 = 27017;

/// Arguments of `serve`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The database file, or :memory:
    file: PathBuf,
    /// TCP port; 0 takes any that is free [default: 27017, or no TCP with --socket alone]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// TCP address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    bind: String,
    /// Unix socket to listen on
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Announce a one-member replica set of this name (drivers then retry writes)
    #[arg(long, value_name = "NAME")]
    replica_set: Option<String>,
    /// The address that clients reach this server at, as the replica set tells them
    #[arg(long, value_name = "HOST:PORT", requires = "replica_set")]
    advertise: Option<String>,
    #[command(flatten)]
    open: OpenArgs,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    // Signals first: one that comes while the file is being opened waits until it is.
    let mut signals = Signals::new([SIGTERM, SIGINT])
        .map_err(|error| Failure::new(format!("cannot wait for signals: {error}")))?;
    let database = opening::open(&args.file, &args.open.options())?;
    let port = args.port.or_else(|| args.socket.is_none().then_some(DEFAULT_PORT));
    let listen = ServeOptions {
        bind: args.bind.clone(),
        port,
        socket: args.socket.clone(),
        replica_set: args.replica_set.clone(),
        advertise: args.advertise.clone(),
        log: Log::stderr(),
    };
    let server = multiforadb::serve(&database, listen)?;
    announce(args, &server);
    signals.forever().next();
    server.stop();
    database.close().map_err(|error| {
        Failure::new(format!(
            "{}: the last checkpoint failed: {}; the file is whole and recovers when it is opened",
            args.file.display(),
            error.message()
        ))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// One line, once clients can connect.
fn announce(args: &Args, server: &Server) {
    let mut places: Vec<String> = server.local_addr().map(|a| a.to_string()).into_iter().collect();
    places.extend(server.socket_path().map(|path| path.display().to_string()));
    let line = format!(
        "multifora {} serves {} on {}",
        multiforadb::version(),
        args.file.display(),
        places.join(" and ")
    );
    // Whoever started this may not read it; serving goes on all the same.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
