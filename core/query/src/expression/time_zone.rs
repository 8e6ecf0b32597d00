//! Time zones: fixed offsets, and the zones of the Olson database (bundled, so that every machine
//! gives the same answers).

use super::EvalContext;
use super::calendar;
use super::registry::Args;
use super::value::{present, type_name};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use multifora_model::{ElementType as T, Error, Result};

/// A time zone.
#[derive(Clone, Debug)]
pub(super) enum Zone {
    /// Always this many milliseconds ahead of UTC.
    Fixed(i64),
    /// By the rules of a place.
    Named(TimeZone),
}

impl Zone {
    pub(super) const UTC: Zone = Zone::Fixed(0);

    /// The zone with this name: `Europe/Berlin`, `UTC`, `+02:00`.
    pub(super) fn find(name: &str) -> Option<Self> {
        if matches!(name, "UTC" | "GMT" | "Z") {
            return Some(Zone::UTC);
        }
        if let Some(offset) = calendar::offset(name) {
            return Some(Zone::Fixed(offset));
        }
        TimeZone::get(name).ok().map(Zone::Named)
    }

    /// How many milliseconds the zone's clocks are ahead of UTC at a moment.
    pub(super) fn offset_at(&self, utc_ms: i64) -> i64 {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => {
                let (first, last) = (Timestamp::MIN.as_millisecond(), Timestamp::MAX.as_millisecond());
                let moment =
                    Timestamp::from_millisecond(utc_ms.clamp(first, last)).unwrap_or(Timestamp::UNIX_EPOCH);
                i64::from(zone.to_offset(moment).seconds()) * 1000
            }
        }
    }

    /// What the zone's clocks show at a moment, as if it were UTC.
    pub(super) fn to_local(&self, utc_ms: i64) -> i64 {
        utc_ms.saturating_add(self.offset_at(utc_ms))
    }

    /// The moment at which the zone's clocks show a time: the first of two; where the clocks leap
    /// over it, as long after the leap as it says.
    pub(super) fn to_utc(&self, local_ms: i64) -> i64 {
        let Zone::Named(_) = self else { return local_ms.saturating_sub(self.offset_at(local_ms)) };
        // The offset in force is that of a day earlier or of a day later.
        let before = self.offset_at(local_ms.saturating_sub(calendar::DAY_MS));
        let candidate = local_ms.saturating_sub(before);
        if self.to_local(candidate) == local_ms {
            return candidate;
        }
        let after = self.offset_at(local_ms.saturating_add(calendar::DAY_MS));
        let later = local_ms.saturating_sub(after);
        if self.to_local(later) == local_ms { later } else { candidate }
    }
}

/// The zone in an argument, UTC when it was left out, `None` when it is null.
pub(super) fn zone<'e>(args: Args<'e>, at: usize, cx: &EvalContext<'e>) -> Result<Option<Zone>> {
    if !args.has(at) {
        return Ok(Some(Zone::UTC));
    }
    let Some(value) = present(args.eval(at, cx)?) else { return Ok(None) };
    let Some(text) = value.as_ref().as_str().filter(|_| value.as_ref().ty == T::String) else {
        let found = type_name(Some(&value));
        let message = format!("timezone must evaluate to a string, found {found}");
        return Err(Error::location(40533, message));
    };
    Zone::find(text)
        .map(Some)
        .ok_or_else(|| Error::location(40485, format!("unrecognized time zone identifier: \"{text}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let at = |text: &str| calendar::parse(text).unwrap();
        let berlin = Zone::find("Europe/Berlin").unwrap();
        assert_eq!(berlin.offset_at(at("2020-01-01T00:00:00Z")), 3_600_000);
        assert_eq!(berlin.offset_at(at("2020-07-01T00:00:00Z")), 7_200_000);
        for moment in
            ["2020-03-29T00:59:59Z", "2020-03-29T01:00:00Z", "2020-10-24T23:30:00Z", "2020-10-25T05:00:00Z"]
        {
            assert_eq!(berlin.to_utc(berlin.to_local(at(moment))), at(moment), "{moment}");
        }
        // 02:30 does not exist on the day the clocks go forward.
        assert_eq!(berlin.to_utc(at("2020-03-29T02:30:00Z")), at("2020-03-29T01:30:00Z"));
        // 02:30 exists twice on the day they go back: the first one.
        assert_eq!(berlin.to_utc(at("2020-10-25T02:30:00Z")), at("2020-10-25T00:30:00Z"));
        assert!(Zone::find("Nowhere/City").is_none());
        assert_eq!(berlin.offset_at(i64::MAX).abs() % 60_000, 0);
    }
}
