//! What query code needs from outside, given by the engine: interruption, time, randomness.

use crate::interrupt::Interrupt;
use multifora_model::Result;
use multifora_query::Resources;

/// The outside world of one running command.
#[derive(Clone, Copy, Debug)]
pub struct CommandResources<'i> {
    interrupt: &'i Interrupt,
}

impl<'i> CommandResources<'i> {
    /// The outside world of the command that this token stops.
    pub fn new(interrupt: &'i Interrupt) -> Self {
        CommandResources { interrupt }
    }
}

impl Resources for CommandResources<'_> {
    fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }

    fn now_ms(&self) -> i64 {
        // `$$NOW` is a constant that was bound when the query was compiled; this is for what has no such.
        crate::database::now_ms()
    }

    fn random_f64(&self) -> f64 {
        // 53 random bits: every double in [0, 1) that is a multiple of 2^-53.
        (crate::random::u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
