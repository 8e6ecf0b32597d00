//! Operators on strings with named arguments: trimming, replacing, regular expressions.

use super::registry::{Args, NamedCodes, Operator, named};
use super::string::text_of;
use super::value::{array, check_size, document, give, null, present, string, type_name};
use super::{EvalContext, Evaluated};
use multifora_model::{DocBuilder, ElementType as T, Error, OwnedValue, RawValue, Regex, Result, Val};

const TRIM: &[(&str, bool)] = &[("input", true), ("chars", false)];
const TRIM_CODES: NamedCodes = NamedCodes { not_a_document: 50696, unknown: 50694, missing: 50695 };
const REPLACE: &[(&str, bool)] = &[("input", true), ("find", true), ("replacement", true)];
const REPLACE_CODES: NamedCodes = NamedCodes { not_a_document: 51751, unknown: 51750, missing: 51749 };
const REGEX: &[(&str, bool)] = &[("input", true), ("regex", true), ("options", false)];
const REGEX_CODES: NamedCodes = NamedCodes { not_a_document: 51103, unknown: 31024, missing: 31022 };

pub(super) const ROWS: &[Operator] = &[
    named("$trim", TRIM, TRIM_CODES, |a, cx| trim(a, cx, true, true), "without white space at both ends"),
    named(
        "$ltrim",
        TRIM,
        TRIM_CODES,
        |a, cx| trim(a, cx, true, false),
        "without white space at the beginning",
    ),
    named("$rtrim", TRIM, TRIM_CODES, |a, cx| trim(a, cx, false, true), "without white space at the end"),
    named("$replaceOne", REPLACE, REPLACE_CODES, |a, cx| replace(a, cx, 1), "the first occurrence replaced"),
    named(
        "$replaceAll",
        REPLACE,
        REPLACE_CODES,
        |a, cx| replace(a, cx, usize::MAX),
        "all occurrences replaced",
    ),
    named("$regexMatch", REGEX, REGEX_CODES, regex_match, "does the pattern match?"),
    named("$regexFind", REGEX, REGEX_CODES, regex_find, "the first match of a pattern"),
    named("$regexFindAll", REGEX, REGEX_CODES, regex_find_all, "all matches of a pattern"),
];

/// What `$trim` takes off when it is not told.
fn is_white(c: char) -> bool {
    matches!(c, '\0' | ' ' | '\t'..='\r' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}')
}

fn trim<'e>(args: Args<'e>, cx: &EvalContext<'e>, left: bool, right: bool) -> Evaluated<'e> {
    let Some(value) = present(args.eval(0, cx)?) else { return null() };
    let message = format!("{} requires its input to be a string", args.name());
    let mut text = text_of(Some(&value), 50699, &message)?;
    let chars = if args.has(1) {
        let Some(chars) = present(args.eval(1, cx)?) else { return null() };
        let message = format!("{} requires 'chars' to be a string", args.name());
        Some(text_of(Some(&chars), 50700, &message)?.to_owned())
    } else {
        None
    };
    let trimmed = |c: char| chars.as_ref().map_or_else(|| is_white(c), |chars| chars.contains(c));
    if left {
        text = text.trim_start_matches(trimmed);
    }
    if right {
        text = text.trim_end_matches(trimmed);
    }
    string(text)
}

fn replace<'e>(args: Args<'e>, cx: &EvalContext<'e>, times: usize) -> Evaluated<'e> {
    let parts = [args.eval(0, cx)?, args.eval(1, cx)?, args.eval(2, cx)?];
    let mut texts = Vec::new();
    let mut nothing = false;
    for (part, (what, code)) in parts.iter().zip([("input", 51746), ("find", 51745), ("replacement", 51744)])
    {
        match part.as_ref().filter(|v| !v.as_ref().is_nullish()) {
            None => nothing = true,
            Some(value) => {
                let message = format!("{} requires that '{what}' be a string", args.name());
                texts.push(text_of(Some(value), code, &message)?);
            }
        }
    }
    let [input, find, replacement] = texts.as_slice() else { return null() };
    if nothing {
        return null();
    }
    let occurrences = input.matches(find).take(times).count();
    check_size(input.len().saturating_add(occurrences.saturating_mul(replacement.len())))?;
    string(&input.replacen(find, replacement, times))
}

/// The input text and the compiled pattern; `None` when one of them is null or missing.
fn subject<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Result<Option<(String, Regex)>> {
    let name = args.name();
    let (input, regex, options) = (args.eval(0, cx)?, args.eval(1, cx)?, args.eval(2, cx)?);
    let options = present(options);
    let options_text = match &options {
        None => None,
        Some(value) => {
            Some(text_of(Some(value), 51106, &format!("{name} needs 'options' to be of type string"))?)
        }
    };
    let pattern = match &present(regex) {
        None => None,
        Some(value) => Some(pattern_of(name, value, options_text)?),
    };
    let text = match &present(input) {
        None => None,
        Some(value) => Some(
            text_of(Some(value), 51104, &format!("{name} needs 'input' to be of type string"))?.to_owned(),
        ),
    };
    Ok(text.zip(pattern))
}

fn pattern_of(name: &str, value: &Val<'_>, options: Option<&str>) -> Result<Regex> {
    let raw = value.as_ref();
    if let Some((pattern, own)) = raw.as_regex() {
        if options.is_some() && !own.is_empty() {
            let message =
                format!("{name}: found regex option(s) specified in both 'regex' and 'option' fields");
            return Err(Error::location(51107, message));
        }
        return Regex::compile_for(name, pattern, options.unwrap_or(own));
    }
    if raw.ty != T::String {
        let message =
            format!("{name} needs 'regex' to be of type string or regex, found: {}", type_name(Some(value)));
        return Err(Error::location(51105, message));
    }
    Regex::compile_for(name, raw.as_str().unwrap_or_default(), options.unwrap_or_default())
}

fn regex_match<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    match subject(args, cx)? {
        None => give(false),
        Some((text, regex)) => give(regex.is_match(&text)?),
    }
}

fn regex_find<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let Some((text, regex)) = subject(args, cx)? else { return null() };
    match regex.captures_at(&text, 0)? {
        None => null(),
        Some(groups) => {
            let mut out = DocBuilder::new();
            write_match(&mut out, &text, &groups);
            document(out)
        }
    }
}

fn regex_find_all<'e>(args: Args<'e>, cx: &EvalContext<'e>) -> Evaluated<'e> {
    let mut out = DocBuilder::new_array();
    let Some((text, regex)) = subject(args, cx)? else { return array(out) };
    let mut at = 0;
    while at <= text.len() {
        let Some(groups) = regex.captures_at(&text, at)? else { break };
        let Some(Some((start, end))) = groups.first().copied() else { break };
        out.push_start_doc();
        write_match(&mut out, &text, &groups);
        out.end();
        check_size(out.len_bytes())?;
        // An empty match moves on by one character.
        let step = text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        at = if end == start { end + step } else { end };
        cx.resources().check_interrupt()?;
    }
    array(out)
}

/// `{match, idx, captures}`, the position in characters.
fn write_match(out: &mut DocBuilder, text: &str, groups: &[Option<(usize, usize)>]) {
    let part = |range: Option<(usize, usize)>| range.and_then(|(start, end)| text.get(start..end));
    let whole = groups.first().copied().flatten();
    let before = whole.and_then(|(start, _)| text.get(..start)).unwrap_or_default();
    out.str("match", part(whole).unwrap_or_default());
    out.count("idx", before.chars().count() as u64);
    out.start_array("captures");
    for group in groups.iter().skip(1) {
        match part(*group) {
            Some(text) => out.push(OwnedValue::string(text).as_ref()),
            None => out.push(RawValue::NULL),
        };
    }
    out.end();
}
