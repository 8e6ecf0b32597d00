//! Parts of a date: `$year`, `$isoWeek` and the like, `$dateToParts`, `$dateToString`.
//!
//! A date may come as a date, timestamp or ObjectId.

use super::calendar::{Civil, MONTHS};
use super::parse::ExprParser;
use super::registry::{Args, NamedCodes, Operator, named, own};
use super::time_zone::{Zone, zone};
use super::value::{document, give, null, present, string, type_name};
use super::{EvalContext, Evaluated, Expr};
use multifora_model::{DocBuilder, ElementType as T, Error, Number, RawValue, Result, Val, object_id};

pub(super) const ROWS: &[Operator] = &[
    own("$year", read_part, part, "the year"),
    own("$month", read_part, part, "the month, 1 to 12"),
    own("$week", read_part, part, "the week, 0 to 53, beginning on Sunday"),
    own("$dayOfMonth", read_part, part, "the day, 1 to 31"),
    own("$dayOfWeek", read_part, part, "the day, 1 (Sunday) to 7"),
    own("$dayOfYear", read_part, part, "the day, 1 to 366"),
    own("$hour", read_part, part, "the hour, 0 to 23"),
    own("$minute", read_part, part, "the minute"),
    own("$second", read_part, part, "the second"),
    own("$millisecond", read_part, part, "the millisecond"),
    own("$isoWeek", read_part, part, "the week by ISO 8601"),
    own("$isoWeekYear", read_part, part, "the year of the week by ISO 8601"),
    own("$isoDayOfWeek", read_part, part, "the day, 1 (Monday) to 7"),
    named(
        "$dateToParts",
        &[("date", true), ("timezone", false), ("iso8601", false)],
        NamedCodes { not_a_document: 40524, unknown: 40520, missing: 40522 },
        to_parts,
        "a document with the parts",
    ),
    named(
        "$dateToString",
        &[("date", true), ("format", false), ("timezone", false), ("onNull", false)],
        NamedCodes { not_a_document: 18629, unknown: 18534, missing: 18628 },
        to_text,
        "the date as text",
    ),
];

/// `{date, timezone}`, or the date alone.
fn read_part(parser: &mut ExprParser<'_>, operator: &'static Operator, value: RawValue<'_>) -> Result<Expr> {
    let named = value
        .as_doc()
        .filter(|doc| doc.iter().next().is_none_or(|first| !first.name_bytes().starts_with(b"$")));
    let Some(doc) = named else {
        let mut args = parser.list(value)?;
        if args.len() != 1 {
            let message = format!(
                "{} accepts exactly one argument if given an array, but was given {}",
                operator.name,
                args.len()
            );
            return Err(Error::location(40536, message));
        }
        args.push(Expr::Missing);
        return Ok(Expr::Call(operator, args));
    };
    let mut args = vec![Expr::Missing; 2];
    for field in doc {
        let at = match field.name() {
            "date" => 0,
            "timezone" => 1,
            unknown => {
                let message = format!("unrecognized option to {}: \"{unknown}\"", operator.name);
                return Err(Error::location(40535, message));
            }
        };
        if let Some(slot) = args.get_mut(at) {
            *slot = parser.operand(field.value)?;
        }
    }
    if doc.get("date").is_none() {
        let message = format!(
            "missing 'date' argument to {}, provided: {}",
            operator.name,
            multifora_model::text::document(doc)
        );
        return Err(Error::location(40539, message));
    }
    Ok(Expr::Call(operator, args))
}

/// The moment that a value stands for.
pub(super) fn moment(value: &Val<'_>) -> Result<i64> {
    let raw = value.as_ref();
    let ms = match raw.ty {
        T::Date => raw.as_date_ms(),
        T::Timestamp => raw.as_timestamp().and_then(|t| i64::try_from(t >> 32).ok()).map(|secs| secs * 1000),
        T::ObjectId => raw.as_object_id().map(|id| i64::from(object_id::unix_secs(id)) * 1000),
        _ => None,
    };
    ms.ok_or_else(|| {
        Error::location(16006, format!("can't convert from BSON type {} to Date", raw.ty.name()))
    })
}

fn part<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let Some(zone) = zone(args, 1, cx)? else { return null() };
    let civil = Civil::from_ms(zone.to_local(moment(&value)?));
    let n = match args.name() {
        "$year" => civil.year,
        "$month" => civil.month,
        "$week" => civil.week(),
        "$dayOfMonth" => civil.day,
        "$dayOfWeek" => civil.day_of_week(),
        "$dayOfYear" => civil.day_of_year(),
        "$hour" => civil.hour,
        "$minute" => civil.minute,
        "$second" => civil.second,
        "$millisecond" => civil.millisecond,
        "$isoWeek" => civil.iso_week().1,
        "$isoWeekYear" => return give(civil.iso_week().0),
        _ => civil.iso_day_of_week(),
    };
    give(Number::int_or_long(n).to_owned_value())
}

fn to_parts<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let Some(zone) = zone(args, 1, cx)? else { return null() };
    let iso = match present(args.eval(2, cx)?) {
        None if args.has(2) => return null(),
        None => false,
        Some(flag) => flag.as_ref().as_bool().ok_or_else(|| {
            let found = type_name(Some(&flag));
            Error::location(40521, format!("iso8601 must evaluate to a bool, found {found}"))
        })?,
    };
    let civil = Civil::from_ms(zone.to_local(moment(&value)?));
    let mut out = DocBuilder::new();
    let mut field = |name: &str, n: i64| {
        out.append(name, Number::int_or_long(n).to_owned_value().as_ref());
    };
    if iso {
        let (year, week) = civil.iso_week();
        field("isoWeekYear", year);
        field("isoWeek", week);
        field("isoDayOfWeek", civil.iso_day_of_week());
    } else {
        field("year", civil.year);
        field("month", civil.month);
        field("day", civil.day);
    }
    field("hour", civil.hour);
    field("minute", civil.minute);
    field("second", civil.second);
    field("millisecond", civil.millisecond);
    document(out)
}

fn to_text<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let format = if args.has(1) {
        let Some(format) = present(args.eval(1, cx)?) else { return null() };
        let text = format.as_ref().as_str().filter(|_| format.as_ref().ty == T::String);
        Some(text.map(str::to_owned).ok_or_else(|| {
            let found = type_name(Some(&format));
            Error::location(
                18533,
                format!("$dateToString requires that 'format' be a string, found: {found} with value"),
            )
        })?)
    } else {
        None
    };
    let Some(zone) = zone(args, 2, cx)? else { return null() };
    let Some(value) = present(args.eval(0, cx)?) else {
        return if args.has(3) { args.eval(3, cx) } else { null() };
    };
    let moment = moment(&value)?;
    let offset = zone.offset_at(moment);
    let civil = Civil::from_ms(moment.saturating_add(offset));
    let default = if offset == 0 && matches!(zone, Zone::Fixed(_)) {
        "%Y-%m-%dT%H:%M:%S.%LZ"
    } else {
        "%Y-%m-%dT%H:%M:%S.%L"
    };
    string(&formatted(civil, offset, format.as_deref().unwrap_or(default))?)
}

/// Writes a date by a format with `%` sequences.
fn formatted(c: Civil, offset_ms: i64, format: &str) -> Result<String> {
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            out.push(char);
            continue;
        }
        let month = usize::try_from(c.month - 1).ok().and_then(|at| MONTHS.get(at)).unwrap_or(&"");
        let piece = match chars.next() {
            Some('Y') => year(c.year)?,
            Some('G') => year(c.iso_week().0)?,
            Some('m') => format!("{:02}", c.month),
            Some('d') => format!("{:02}", c.day),
            Some('H') => format!("{:02}", c.hour),
            Some('M') => format!("{:02}", c.minute),
            Some('S') => format!("{:02}", c.second),
            Some('L') => format!("{:03}", c.millisecond),
            Some('j') => format!("{:03}", c.day_of_year()),
            Some('w') => c.day_of_week().to_string(),
            Some('u') => c.iso_day_of_week().to_string(),
            Some('U') => format!("{:02}", c.week()),
            Some('V') => format!("{:02}", c.iso_week().1),
            Some('b') => month.get(..3).unwrap_or_default().to_owned(),
            Some('B') => (*month).to_owned(),
            Some('z') => {
                let minutes = offset_ms / 60_000;
                let sign = if minutes < 0 { '-' } else { '+' };
                format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }
            Some('Z') => (offset_ms / 60_000).to_string(),
            Some('%') => "%".to_owned(),
            None => return Err(Error::location(18535, "Unmatched '%' at end of format string")),
            Some(other) => {
                let message = format!("Invalid format character '%{other}' in format string");
                return Err(Error::location(18536, message));
            }
        };
        out.push_str(&piece);
    }
    Ok(out)
}

fn year(year: i64) -> Result<String> {
    if (0..=9999).contains(&year) {
        return Ok(format!("{year:04}"));
    }
    let message = format!(
        "Could not convert date to string: date component was outside the supported range of 0-9999: {year}"
    );
    Err(Error::location(18537, message))
}
