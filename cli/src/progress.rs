//! How far long work is: a bar on standard error when that is a terminal, nothing otherwise. Ctrl-C and SIGTERM stop the
//! work, which then takes away what it had begun.

use crate::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use multiforadb::{CopyProgress, Interrupt};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::time::Duration;

/// A bar's look: what is done, how much of it, how long it will take.
const BAR: &str = "{msg} {bar:30} {percent:>3}%  {human_pos} of {human_len} records, {eta} left";
const TICK: Duration = Duration::from_millis(120);

/// A bar for work whose extent is known.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// `doing` says what is going on: "copying".
    pub(crate) fn begin(doing: &'static str) -> Bar {
        // Of a target that is no terminal nothing is drawn.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        bar.set_message(doing);
        Bar(bar)
    }

    /// Shows how far it is.
    pub(crate) fn show(&self, progress: CopyProgress) {
        self.0.set_length(progress.total);
        self.0.set_position(progress.done);
    }

    /// Takes the bar away.
    pub(crate) fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Shows that something is going on whose extent is not known.
pub(crate) struct Waiting(ProgressBar);

impl Waiting {
    pub(crate) fn begin(doing: &'static str) -> Waiting {
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        spinner.set_message(doing);
        spinner.enable_steady_tick(TICK);
        Waiting(spinner)
    }

    pub(crate) fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Lets Ctrl-C and SIGTERM stop work that looks at the token. A second one ends the process.
pub(crate) fn interrupt_by_signal(interrupt: &Interrupt) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("cannot wait for signals: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let interrupt = interrupt.clone();
    let wait = move || {
        let mut received = signals.forever();
        received.next();
        interrupt.interrupt();
        if let Some(signal) = received.next() {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    std::thread::Builder::new().spawn(wait).map(drop).map_err(failed)
}
