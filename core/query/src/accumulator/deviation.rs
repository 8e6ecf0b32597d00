//! `$stdDevPop` and `$stdDevSamp` (Welford's method: one pass, no cancellation).

use super::Accumulate;
use multifora_model::{Number, OwnedValue, RawValue, Result};

/// A standard deviation under way.
pub(super) struct Deviation {
    /// Of a sample (divided by one less) rather than of a population.
    sample: bool,
    count: u64,
    mean: f64,
    squares: f64,
}

impl Deviation {
    pub(super) fn population() -> Self {
        Deviation { sample: false, count: 0, mean: 0.0, squares: 0.0 }
    }

    pub(super) fn sample() -> Self {
        Deviation { sample: true, ..Self::population() }
    }
}

impl Accumulate for Deviation {
    fn add(&mut self, value: Option<RawValue<'_>>) -> Result<()> {
        let Some(number) = value.and_then(Number::from_value) else { return Ok(()) };
        let d = number.as_f64();
        self.count += 1;
        let delta = d - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (d - self.mean);
        Ok(())
    }

    fn result(&self) -> Option<OwnedValue> {
        let divisor = if self.sample { self.count.saturating_sub(1) } else { self.count };
        if divisor == 0 {
            return Some(OwnedValue::null());
        }
        Some((self.squares / divisor as f64).sqrt().into())
    }
}
