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
    let (local, offset) = read(text.trim()).ok_or_else(|| {
        Error::new(ErrorCode::ConversionFailure, format!("Error parsing date string '{text}'"))
    })?;
    Ok(local.saturating_sub(offset.unwrap_or(0)))
}

/// The first digits of a text as a number, and the rest.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let len = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(len)?;
    (len >= least).then(|| number.parse().ok()).flatten().map(|n| (n, rest))
}

/// The local time that a text says, and the offset when it says one.
pub(super) fn read(text: &str) -> Option<(i64, Option<i64>)> {
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let mut parts = date.splitn(3, '-');
    let number =
        |text: &str, len: usize| digits(text, len, len).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n);
    let mut civil = Civil { year: number(parts.next()?, 4)?, ..MIDNIGHT };
    civil.month = parts.next().map_or(Some(1), |t| number(t, 2))?;
    civil.day = parts.next().map_or(Some(1), |t| number(t, 2))?;
    let (time, offset) = split_offset(rest)?;
    if !time.is_empty() {
        let mut parts = time.splitn(3, ':');
        civil.hour = number(parts.next()?, 2)?;
        civil.minute = number(parts.next()?, 2)?;
        if let Some(seconds) = parts.next() {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
            civil.second = number(whole, 2)?;
            let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
            civil.millisecond = number(&millis, 3)?;
        }
    }
    Some((civil.checked()?, offset))
}

/// The beginning of a year nobody asks for.
const MIDNIGHT: Civil = Civil { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, millisecond: 0 };

impl Civil {
    /// The moment, when all parts are in their ranges.
    fn checked(self) -> Option<i64> {
        let in_range = (1..=12).contains(&self.month)
            && (1..=31).contains(&self.day)
            && (0..=24).contains(&self.hour)
            && (0..=59).contains(&self.minute)
            && (0..=60).contains(&self.second);
        in_range.then(|| self.to_ms()).flatten()
    }
}

/// Reads a text by a format with `%` sequences; `None` when it does not fit.
///
/// # Errors
/// A sequence that does not exist.
pub(super) fn read_by_format(text: &str, format: &str) -> Result<Option<(i64, Option<i64>)>> {
    let mut civil = MIDNIGHT;
    let mut offset = None;
    let mut day_of_year = None;
    let mut rest = text;
    let mut format = format.chars();
    while let Some(char) = format.next() {
        let sequence = if char == '%' { format.next() } else { None };
        let read = match (char, sequence) {
            ('%', Some('%')) => rest.strip_prefix('%').map(|rest| (0, rest)),
            ('%', Some('Y' | 'G')) => digits(rest, 4, 4),
            ('%', Some('L' | 'j')) => digits(rest, 1, 3),
            ('%', Some('m' | 'd' | 'H' | 'M' | 'S')) => digits(rest, 1, 2),
            ('%', Some('b' | 'B')) => month_name(rest),
            ('%', Some('z')) => offset_prefix(rest),
            ('%', Some('Z')) => offset_prefix(rest).or_else(|| rest.strip_prefix('Z').map(|rest| (0, rest))),
            ('%', None) => return Err(Error::location(18535, "Unmatched '%' at end of format string")),
            ('%', Some(other)) => {
                let message = format!("Invalid format character '%{other}' in format string");
                return Err(Error::location(18536, message));
            }
            (literal, _) => rest.strip_prefix(literal).map(|rest| (0, rest)),
        };
        let Some((n, after)) = read else { return Ok(None) };
        rest = after;
        match sequence {
            Some('Y') => civil.year = n,
            Some('m' | 'b' | 'B') => civil.month = n,
            Some('d') => civil.day = n,
            Some('H') => civil.hour = n,
            Some('M') => civil.minute = n,
            Some('S') => civil.second = n,
            Some('L') => civil.millisecond = n,
            Some('j') => day_of_year = Some(n),
            Some('z' | 'Z') => offset = Some(n),
            _ => {}
        }
    }
    if !rest.is_empty() {
        return Ok(None);
    }
    let ms = match day_of_year {
        None => civil.checked(),
        Some(day) => Civil { month: 1, day, ..civil }.to_ms(),
    };
    Ok(ms.map(|ms| (ms, offset)))
}

/// The names of the months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn month_name(text: &str) -> Option<(i64, &str)> {
    let begins =
        |name: &str| text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(str::len);
    MONTHS.iter().zip(1..).find_map(|(name, n)| {
        let len = begins(name).or_else(|| begins(name.get(..3)?))?;
        Some((n, text.get(len..)?))
    })
}

/// An offset at the beginning of a text.
fn offset_prefix(text: &str) -> Option<(i64, &str)> {
    let len = text.bytes().take_while(|b| matches!(b, b'+' | b'-' | b':') || b.is_ascii_digit()).count();
    let (prefix, rest) = text.split_at_checked(len)?;
    Some((offset(prefix)?, rest))
}

/// Cuts `Z` or `+hh:mm` off a time.
fn split_offset(text: &str) -> Option<(&str, Option<i64>)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, Some(0)));
    }
    match text.rfind(['+', '-']) {
        Some(at) => Some((text.get(..at)?.trim_end(), Some(offset(text.get(at..)?)?))),
        None => Some((text, None)),
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
