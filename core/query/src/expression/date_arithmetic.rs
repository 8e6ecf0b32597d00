//! Reckoning with dates: `$dateAdd $dateSubtract $dateDiff $dateTrunc $dateFromParts $dateFromString`.

use super::calendar::{self, Civil, DAY_MS};
use super::date_part::moment;
use super::registry::{Args, NamedCodes, Operator, named};
use super::time_zone::{Zone, zone};
use super::value::{give, null, present, type_name};
use super::{EvalContext, Evaluated};
use multifora_model::{ElementType as T, Error, ErrorCode, Number, OwnedValue, Result, Val};

const ADD: &[(&str, bool)] = &[("startDate", true), ("unit", true), ("amount", true), ("timezone", false)];
const ADD_CODES: NamedCodes =
    NamedCodes { not_a_document: 5_166_400, unknown: 5_166_401, missing: 5_166_402 };

pub(super) const ROWS: &[Operator] = &[
    named("$dateAdd", ADD, ADD_CODES, |a, cx| add(a, cx, 1), "a date some units later"),
    named("$dateSubtract", ADD, ADD_CODES, |a, cx| add(a, cx, -1), "a date some units earlier"),
    named(
        "$dateDiff",
        &[
            ("startDate", true),
            ("endDate", true),
            ("unit", true),
            ("timezone", false),
            ("startOfWeek", false),
        ],
        NamedCodes { not_a_document: 5_166_301, unknown: 5_166_302, missing: 5_166_303 },
        difference,
        "how many boundaries of a unit lie between two dates",
    ),
    named(
        "$dateTrunc",
        &[("date", true), ("unit", true), ("binSize", false), ("timezone", false), ("startOfWeek", false)],
        NamedCodes { not_a_document: 5_439_007, unknown: 5_439_008, missing: 5_439_009 },
        truncate,
        "the beginning of a date's unit",
    ),
    named(
        "$dateFromParts",
        &[
            ("year", false),
            ("month", false),
            ("day", false),
            ("hour", false),
            ("minute", false),
            ("second", false),
            ("millisecond", false),
            ("isoWeekYear", false),
            ("isoWeek", false),
            ("isoDayOfWeek", false),
            ("timezone", false),
        ],
        NamedCodes { not_a_document: 40519, unknown: 40518, missing: 40516 },
        from_parts,
        "a date from its parts",
    ),
    named(
        "$dateFromString",
        &[
            ("dateString", true),
            ("format", false),
            ("timezone", false),
            ("onError", false),
            ("onNull", false),
        ],
        NamedCodes { not_a_document: 40540, unknown: 40541, missing: 40542 },
        from_text,
        "a date from text",
    ),
];

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// So many months.
    Months(i64),
    /// Seven days, with a first day.
    Week,
    /// So many milliseconds.
    Fixed(i64),
}

fn unit(value: &Val<'_>, operator: &str) -> Result<Unit> {
    let Some(name) = value.as_ref().as_str().filter(|_| value.as_ref().ty == T::String) else {
        let found = type_name(Some(value));
        let message = format!("{operator} requires 'unit' to be a string, but got {found}");
        return Err(Error::location(5_439_013, message));
    };
    Ok(match name {
        "year" => Unit::Months(12),
        "quarter" => Unit::Months(3),
        "month" => Unit::Months(1),
        "week" => Unit::Week,
        "day" => Unit::Fixed(DAY_MS),
        "hour" => Unit::Fixed(3_600_000),
        "minute" => Unit::Fixed(60_000),
        "second" => Unit::Fixed(1000),
        "millisecond" => Unit::Fixed(1),
        _ => return Err(Error::failed_to_parse(format!("unknown time unit value: {name}"))),
    })
}

fn overflow(operator: &str) -> Error {
    Error::new(ErrorCode::Overflow, format!("{operator} overflowed"))
}

fn add<'e>(args: Args<'e>, cx: &EvalContext<'e>, sign: i64) -> Evaluated<'e> {
    let (start, by, amount) = (args.eval(0, cx)?, args.eval(1, cx)?, args.eval(2, cx)?);
    let (Some(start), Some(by), Some(amount)) = (present(start), present(by), present(amount)) else {
        return null();
    };
    let Some(zone) = zone(args, 3, cx)? else { return null() };
    let start = moment(&start)?;
    let amount = Number::from_value(amount.as_ref()).and_then(Number::as_i64_exact).ok_or_else(|| {
        let message = format!("{} expects integer amount of time units", args.name());
        Error::location(5_166_405, message)
    })?;
    let amount = amount.checked_mul(sign).ok_or_else(|| overflow(args.name()))?;
    // Days and longer units are counted by the zone's calendar, shorter ones by the clock.
    let local = zone.to_local(start);
    let days = |n: i64| amount.checked_mul(n)?.checked_mul(DAY_MS).and_then(|by| local.checked_add(by));
    let moved = match unit(&by, args.name())? {
        Unit::Fixed(DAY_MS) => days(1).map(|local| zone.to_utc(local)),
        Unit::Fixed(ms) => amount.checked_mul(ms).and_then(|by| start.checked_add(by)),
        Unit::Week => days(7).map(|local| zone.to_utc(local)),
        Unit::Months(n) => {
            let months = amount.checked_mul(n);
            months.and_then(|months| add_months(local, months)).map(|local| zone.to_utc(local))
        }
    };
    give(OwnedValue::date_ms(moved.ok_or_else(|| overflow(args.name()))?))
}

/// Moves by months; a day that the month does not have becomes its last one.
fn add_months(ms: i64, months: i64) -> Option<i64> {
    let civil = Civil::from_ms(ms);
    let first = Civil { month: civil.month.checked_add(months)?, day: 1, ..civil };
    let next = Civil { month: first.month.checked_add(1)?, ..first };
    let days = (next.to_ms()? - first.to_ms()?) / DAY_MS;
    Civil { day: civil.day.min(days), ..first }.to_ms()
}

/// The first day of the week, 0 for Monday.
fn start_of_week<'e>(args: Args<'e>, at: usize, cx: &EvalContext<'e>) -> Result<Option<i64>> {
    if !args.has(at) {
        return Ok(Some(6));
    }
    let Some(value) = present(args.eval(at, cx)?) else { return Ok(None) };
    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let full = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let text = value.as_ref().as_str().unwrap_or_default().to_ascii_lowercase();
    let day = names.iter().zip(&full).position(|(short, long)| text == *short || text == *long);
    day.and_then(|day| i64::try_from(day).ok()).map(Some).ok_or_else(|| {
        Error::location(5_439_016, format!("{} 'startOfWeek' is not a day of the week", args.name()))
    })
}

/// Which unit, counted from some beginning, a local moment lies in.
fn ordinal(ms: i64, unit: Unit, first_day: i64) -> i64 {
    match unit {
        Unit::Fixed(length) => ms.div_euclid(length),
        // 1970-01-01 was a Thursday, day 3 of a week that begins on Monday.
        Unit::Week => (ms.div_euclid(DAY_MS) + 3 - first_day).div_euclid(7),
        Unit::Months(n) => {
            let civil = Civil::from_ms(ms);
            (civil.year * 12 + civil.month - 1).div_euclid(n)
        }
    }
}

fn difference<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (start, end, by) = (args.eval(0, cx)?, args.eval(1, cx)?, args.eval(2, cx)?);
    let (Some(start), Some(end), Some(by)) = (present(start), present(end), present(by)) else {
        return null();
    };
    let Some(zone) = zone(args, 3, cx)? else { return null() };
    let Some(first_day) = start_of_week(args, 4, cx)? else { return null() };
    let unit = unit(&by, args.name())?;
    let local = |value: &Val<'_>| Ok::<_, Error>(zone.to_local(moment(value)?));
    let (start, end) = (ordinal(local(&start)?, unit, first_day), ordinal(local(&end)?, unit, first_day));
    give(end.checked_sub(start).ok_or_else(|| overflow(args.name()))?)
}

fn truncate<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let (date, by) = (args.eval(0, cx)?, args.eval(1, cx)?);
    let (Some(date), Some(by)) = (present(date), present(by)) else { return null() };
    let mut size = 1;
    if args.has(2) {
        let Some(given) = present(args.eval(2, cx)?) else { return null() };
        size = Number::from_value(given.as_ref())
            .and_then(Number::as_i64_exact)
            .filter(|n| *n > 0)
            .ok_or_else(|| {
                Error::location(
                    5_439_018,
                    "$dateTrunc requires 'binSize' to be greater than 0 and a whole number",
                )
            })?;
    }
    let Some(zone) = zone(args, 3, cx)? else { return null() };
    let Some(first_day) = start_of_week(args, 4, cx)? else { return null() };
    let begun = begin(moment(&date)?, &zone, unit(&by, args.name())?, size, first_day);
    give(OwnedValue::date_ms(begun.ok_or_else(|| overflow(args.name()))?))
}

/// The beginning of the bin of `size` units that a moment lies in; bins are counted from the first of
/// January 2000 (weeks: from the first day of a week on or after it), by the zone's calendar.
fn begin(ms: i64, zone: &Zone, unit: Unit, size: i64, first_day: i64) -> Option<i64> {
    let origin = calendar::days_from_civil(2000, 1, 1);
    let day = zone.to_local(ms).div_euclid(DAY_MS);
    let by_days = |origin: i64, bin: i64| {
        let days = (day - origin).div_euclid(bin).checked_mul(bin)?.checked_add(origin)?;
        Some(zone.to_utc(days.checked_mul(DAY_MS)?))
    };
    match unit {
        Unit::Fixed(DAY_MS) => by_days(origin, size),
        Unit::Fixed(length) => {
            let bin = length.checked_mul(size)?;
            let origin = zone.to_utc(origin * DAY_MS);
            ms.checked_sub(origin)?.div_euclid(bin).checked_mul(bin)?.checked_add(origin)
        }
        Unit::Week => {
            // The day of the week of the origin, 0 for Monday.
            let weekday = (origin + 3).rem_euclid(7);
            by_days(origin + (first_day - weekday).rem_euclid(7), size.checked_mul(7)?)
        }
        Unit::Months(n) => {
            let bin = n.checked_mul(size)?;
            let civil = Civil::from_ms(day * DAY_MS);
            let months = ((civil.year - 2000) * 12 + civil.month - 1).div_euclid(bin).checked_mul(bin)?;
            let start = Civil { year: 2000, month: months.checked_add(1)?, day: 1, ..civil };
            start.to_ms().map(|local| zone.to_utc(local))
        }
    }
}

/// A whole number part; `None` when it is null, `default` when it was left out.
fn part<'e>(args: Args<'e>, at: usize, default: i64, cx: &EvalContext<'e>) -> Result<Option<i64>> {
    if !args.has(at) {
        return Ok(Some(default));
    }
    let Some(value) = present(args.eval(at, cx)?) else { return Ok(None) };
    let n = Number::from_value(value.as_ref()).and_then(Number::as_i64_exact).ok_or_else(|| {
        let found = type_name(Some(&value));
        Error::location(
            40515,
            format!("$dateFromParts: every part must evaluate to an integer, found {found}"),
        )
    })?;
    if !(-32_768..=32_767).contains(&n) && at < 6 {
        let message = "$dateFromParts: parts must be in the range [-32768, 32767]";
        return Err(Error::location(31034, message));
    }
    Ok(Some(n))
}

fn from_parts<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let iso = args.has(7);
    if !iso && !args.has(0) {
        let message = "$dateFromParts requires either 'year' or 'isoWeekYear' to be present";
        return Err(Error::location(40516, message));
    }
    if iso && (args.has(0) || args.has(1) || args.has(2)) {
        let message = "$dateFromParts does not allow mixing natural dates with ISO dates";
        return Err(Error::location(40489, message));
    }
    let mut parts = [0i64; 10];
    for (slot, (at, default)) in
        parts.iter_mut().zip([0, 1, 1, 0, 0, 0, 0, 1970, 1, 1].into_iter().enumerate())
    {
        let Some(n) = part(args, at, default, cx)? else { return null() };
        *slot = n;
    }
    let Some(zone) = zone(args, 10, cx)? else { return null() };
    let [year, month, day, hour, minute, second, millisecond, iso_year, iso_week, iso_day] = parts;
    let year_now = if iso { iso_year } else { year };
    if !(1..=9999).contains(&year_now) {
        let name = if iso { "isoWeekYear" } else { "year" };
        let message =
            format!("'{name}' must evaluate to an integer in the range 1 to 9999, found {year_now}");
        return Err(Error::location(if iso { 31095 } else { 40523 }, message));
    }
    let civil = if iso {
        // The week with the fourth of January is the first.
        let fourth = Civil { year: iso_year, month: 1, day: 4, hour, minute, second, millisecond };
        let day = 4 - (fourth.iso_day_of_week() - 1) + (iso_week - 1) * 7 + (iso_day - 1);
        Civil { day, ..fourth }
    } else {
        Civil { year, month, day, hour, minute, second, millisecond }
    };
    let local = civil.to_ms().ok_or_else(|| overflow(args.name()))?;
    give(OwnedValue::date_ms(zone.to_utc(local)))
}

fn from_text<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else {
        return if args.has(4) { args.eval(4, cx) } else { null() };
    };
    let format = if args.has(1) {
        let Some(format) = present(args.eval(1, cx)?) else { return null() };
        let text = format.as_ref().as_str().filter(|_| format.as_ref().ty == T::String).map(str::to_owned);
        Some(text.ok_or_else(|| {
            let found = type_name(Some(&format));
            Error::location(
                40684,
                format!("$dateFromString requires that 'format' be a string, found: {found}"),
            )
        })?)
    } else {
        None
    };
    let Some(zone) = zone(args, 2, cx)? else { return null() };
    match read_text(&value, format.as_deref(), &zone, args.has(2)) {
        Ok(ms) => give(OwnedValue::date_ms(ms)),
        Err(_) if args.has(3) => args.eval(3, cx),
        Err(error) => Err(error),
    }
}

fn read_text(value: &Val<'_>, format: Option<&str>, zone: &Zone, zone_given: bool) -> Result<i64> {
    let failure = |message: String| Error::new(ErrorCode::ConversionFailure, message);
    let Some(text) = value.as_ref().as_str().filter(|_| value.as_ref().ty == T::String) else {
        let found = type_name(Some(value));
        return Err(failure(format!(
            "$dateFromString requires that 'dateString' be a string, found: {found}"
        )));
    };
    let (local, offset) = match format {
        None => calendar::read(text.trim()),
        Some(format) => calendar::read_by_format(text, format)?,
    }
    .ok_or_else(|| failure(format!("Error parsing date string '{text}'")))?;
    match offset {
        Some(_) if zone_given => Err(failure(format!(
            "you cannot pass in a date/time string with time zone information ('{text}') together with a timezone argument"
        ))),
        Some(offset) => Ok(local.saturating_sub(offset)),
        None => Ok(zone.to_utc(local)),
    }
}
