//! The calendar: milliseconds since 1970 to year, month, day and back, in UTC and fixed offsets.
//!
//! The proleptic Gregorian calendar over the whole range of dates, by counting days in
//! four-hundred-year cycles; no table, no range check needed.

use multifora_model::{Error, ErrorCode, Result};

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// A moment taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub millisecond: i64,
}

impl Civil {
    /// The parts of a moment in UTC.
    pub(super) fn from_ms(ms: i64) -> Self {
        let (year, month, day) = civil_from_days(ms.div_euclid(DAY_MS));
        let rest = ms.rem_euclid(DAY_MS);
        Civil {
            year,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            millisecond: rest % 1000,
        }
    }

    /// The moment; parts beyond their ranges carry over. `None` when it is out of the range of dates.
    pub(super) fn to_ms(self) -> Option<i64> {
        let months = self.year.checked_mul(12)?.checked_add(self.month.checked_sub(1)?)?;
        if months.abs() > 12 * 400_000_000 {
            return None;
        }
        let days = days_from_civil(months.div_euclid(12), months.rem_euclid(12) + 1, 1);
        let days = days.checked_add(self.day.checked_sub(1)?)?;
        let of_hours = self.hour.checked_mul(3_600_000)?;
        let of_minutes = self.minute.checked_mul(60_000)?;
        let of_seconds = self.second.checked_mul(1000)?;
        let of_day =
            of_hours.checked_add(of_minutes)?.checked_add(of_seconds)?.checked_add(self.millisecond)?;
        days.checked_mul(DAY_MS)?.checked_add(of_day)
    }

    /// Days since 1970.
    pub(super) fn days(self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }

    /// 1 for the first of January.
    pub(super) fn day_of_year(self) -> i64 {
        self.days() - days_from_civil(self.year, 1, 1) + 1
    }

    /// 1 for Sunday to 7 for Saturday.
    pub(super) fn day_of_week(self) -> i64 {
        (self.days() + 4).rem_euclid(7) + 1
    }

    /// 1 for Monday to 7 for Sunday.
    pub(super) fn iso_day_of_week(self) -> i64 {
        (self.days() + 3).rem_euclid(7) + 1
    }

    /// Year and week by ISO 8601: the week belongs to the year that has its Thursday.
    pub(super) fn iso_week(self) -> (i64, i64) {
        let thursday = self.days() + 4 - self.iso_day_of_week();
        let (year, ..) = civil_from_days(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }

    /// Weeks begin on Sunday; days before the first Sunday are week 0.
    pub(super) fn week(self) -> i64 {
        (self.day_of_year() + 7 - self.day_of_week()) / 7
    }
}

/// Days since 1970-01-01 (Hinnant's algorithm).
pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month, day of a day since 1970-01-01.
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// `2020-01-31T12:00:00.000Z`.
pub(super) fn iso(ms: i64) -> String {
    let c = Civil::from_ms(ms);
    let year = if (0..=9999).contains(&c.year) { format!("{:04}", c.year) } else { c.year.to_string() };
    format!(
        "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        c.month, c.day, c.hour, c.minute, c.second, c.millisecond
    )
}

/// Reads a date as ISO 8601 writes it; what is left out is the beginning, and UTC.
pub(super) fn parse(text: &str) -> Result<i64> {
    read(text.trim()).ok_or_else(|| {
        Error::new(
            ErrorCode::ConversionFailure,
            format!(
                "Error parsing date string '{text}'; 0: Unexpected character '{}'",
                text.chars().next().unwrap_or(' ')
            ),
        )
    })
}

fn read(text: &str) -> Option<i64> {
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let mut parts = date.splitn(3, '-');
    let number = |text: &str, len: usize| -> Option<i64> {
        let plain = text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    let year = number(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |t| number(t, 2))?;
    let day = parts.next().map_or(Some(1), |t| number(t, 2))?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (time, offset_ms) = split_offset(rest)?;
    let mut civil = Civil { year, month, day, hour: 0, minute: 0, second: 0, millisecond: 0 };
    if !time.is_empty() {
        let mut parts = time.splitn(3, ':');
        civil.hour = number(parts.next()?, 2)?;
        civil.minute = number(parts.next()?, 2)?;
        if let Some(seconds) = parts.next() {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
            civil.second = number(whole, 2)?;
            let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
            civil.millisecond = number(&digits, 3)?;
        }
        if civil.hour > 24 || civil.minute > 59 || civil.second > 60 {
            return None;
        }
    }
    civil.to_ms()?.checked_sub(offset_ms)
}

/// Cuts `Z` or `+hh:mm` off a time.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    match text.rfind(['+', '-']) {
        Some(at) => Some((text.get(..at)?.trim_end(), offset(text.get(at..)?)?)),
        None => Some((text, 0)),
    }
}

/// `+hh`, `+hhmm` or `+hh:mm` in milliseconds.
pub(super) fn offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = text.get(1..)?.chars().filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..).filter(|m| !m.is_empty()).map_or(Some(0), |m| m.parse().ok())?;
    Some(sign * (hours * 60 + minutes) * 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_there_and_back() {
        for days in (-1_000_000..1_000_000).step_by(997) {
            let (y, m, d) = civil_from_days(days);
            assert_eq!(days_from_civil(y, m, d), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(-1), (1969, 12, 31));
        assert_eq!(days_from_civil(2000, 2, 29), 11_016);
    }

    #[test]
    fn weeks() {
        let at = |text: &str| Civil::from_ms(parse(text).unwrap());
        assert_eq!(at("2016-01-01").iso_week(), (2015, 53));
        assert_eq!(at("2016-01-04").iso_week(), (2016, 1));
        assert_eq!(at("2016-01-01").day_of_week(), 6);
        assert_eq!(at("2016-01-03").week(), 1);
        assert_eq!(at("2016-01-02").week(), 0);
    }

    #[test]
    fn text_there_and_back() {
        assert_eq!(iso(parse("2020-05-05T10:20:30.123Z").unwrap()), "2020-05-05T10:20:30.123Z");
        assert_eq!(iso(parse("2020-05-05T10:20:30+02:00").unwrap()), "2020-05-05T08:20:30.000Z");
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999Z");
        assert!(parse("yesterday").is_err());
        assert!(parse("2020-13-01").is_err());
    }
}
