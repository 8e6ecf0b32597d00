//! Regular expressions: PCRE2 with MongoDB's options.
//!
//! Patterns work on characters (UTF mode). Compiled patterns are kept in a small process-wide cache,
//! since the same filter arrives again and again. Anchored literals (`^abc`) are matched without PCRE
//! and give index bounds.

use crate::error::{Error, Result};
use pcre2::bytes::{Regex as Pcre, RegexBuilder};
use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Longest pattern MongoDB takes, in bytes.
pub const MAX_PATTERN_BYTES: usize = 32_764;
/// How many compiled patterns the cache holds.
const CACHE_ENTRIES: usize = 256;
/// Patterns longer than this are not kept.
const CACHED_PATTERN_BYTES: usize = 1024;
/// Upper limit of PCRE2's stack for compiled matching.
const JIT_STACK_BYTES: usize = 1 << 20;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Regex {
    pcre: Pcre,
    pattern: String,
    options: String,
    prefix: Option<LiteralPrefix>,
}

/// Byte ranges of a match and of its groups; `None` where a group took no part.
pub type Captures = Vec<Option<(usize, usize)>>;

/// What every match of an anchored pattern begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralPrefix {
    /// The text.
    pub text: String,
    /// The pattern says no more than this: a string matches exactly if it begins with `text`.
    pub is_whole_pattern: bool,
}

impl Regex {
    /// Compiles a pattern with options out of `i m s x u`.
    ///
    /// Errors: `Location51108` (option), `Location51091` (pattern), `BadValue` (NUL bytes).
    pub fn compile(pattern: &str, options: &str) -> Result<Self> {
        Self::compile_for("", pattern, options)
    }

    /// [`compile`](Self::compile) for an operator that names itself in the message (`$regexMatch`).
    pub fn compile_for(operator: &str, pattern: &str, options: &str) -> Result<Self> {
        check_options(operator, options)?;
        if pattern.contains('\0') {
            return Err(Error::bad_value("Regular expression cannot contain an embedded null byte"));
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(Error::location(51091, "Regular expression is too long"));
        }
        Ok(Regex {
            pcre: cached(pattern, options)?,
            pattern: pattern.to_owned(),
            options: options.to_owned(),
            prefix: literal_prefix(pattern, options),
        })
    }

    /// The pattern as given.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The options as given.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// Does the pattern match somewhere in `text`? Fails when matching takes too many steps.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        self.is_match_bytes(text.as_bytes())
    }

    /// [`is_match`](Self::is_match) for the bytes of a string.
    pub fn is_match_bytes(&self, text: &[u8]) -> Result<bool> {
        match &self.prefix {
            Some(prefix) if prefix.is_whole_pattern => Ok(text.starts_with(prefix.text.as_bytes())),
            _ => self.pcre.is_match(text).map_err(|e| match_error(&e)),
        }
    }

    /// The first match at or after byte `start` (which must be a character boundary): the whole match, then the
    /// groups.
    pub fn captures_at(&self, text: &str, start: usize) -> Result<Option<Captures>> {
        if start > text.len() {
            return Ok(None);
        }
        let mut locations = self.pcre.capture_locations();
        let found = self.pcre.captures_read_at(&mut locations, text.as_bytes(), start);
        let matched = found.map_err(|e| match_error(&e))?.is_some();
        Ok(matched.then(|| (0..locations.len()).map(|group| locations.get(group)).collect()))
    }

    /// The literal that every matching string begins with, when the pattern has one.
    pub fn literal_prefix(&self) -> Option<&LiteralPrefix> {
        self.prefix.as_ref()
    }
}

fn check_options(operator: &str, options: &str) -> Result<()> {
    if options.contains('\0') {
        let text = "Regular expression options string cannot contain an embedded null byte";
        return Err(Error::bad_value(text));
    }
    match options.chars().find(|c| !matches!(c, 'i' | 'm' | 's' | 'x' | 'u')) {
        Some(option) => {
            Err(Error::location(51108, format!("{operator} invalid flag in regex options: {option}")))
        }
        None => Ok(()),
    }
}

fn build(pattern: &str, options: &str) -> Result<Pcre> {
    let has = |option| options.contains(option);
    RegexBuilder::new()
        .utf(true)
        .caseless(has('i'))
        .multi_line(has('m'))
        .dotall(has('s'))
        .extended(has('x'))
        .jit_if_available(true)
        .max_jit_stack_size(Some(JIT_STACK_BYTES))
        .build(pattern)
        .map_err(|e| Error::location(51091, format!("Regular expression is invalid: {}", reason(&e))))
}

/// PCRE2's own words, without the crate's.
fn reason(error: &pcre2::Error) -> String {
    let text = error.to_string();
    let words = text.strip_prefix("PCRE2: ").unwrap_or(&text);
    match error.offset() {
        Some(offset) => {
            let place = format!("error compiling pattern at offset {offset}: ");
            words.strip_prefix(&place).unwrap_or(words).to_owned()
        }
        None => words.to_owned(),
    }
}

fn match_error(error: &pcre2::Error) -> Error {
    let text = format!("Error occurred while executing the regular expression: {}", reason(error));
    Error::location(51156, text)
}

/// Compiled patterns by pattern and options, the oldest leaving first.
#[derive(Default)]
struct Cache {
    compiled: HashMap<(String, String), Pcre>,
    order: VecDeque<(String, String)>,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

fn cached(pattern: &str, options: &str) -> Result<Pcre> {
    if pattern.len() > CACHED_PATTERN_BYTES {
        return build(pattern, options);
    }
    let key = (pattern.to_owned(), options.to_owned());
    let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pcre) = lock().compiled.get(&key) {
        // A clone shares the compiled code and has its own scratch memory.
        return Ok(pcre.clone());
    }
    let pcre = build(pattern, options)?;
    let mut cache = lock();
    if cache.order.len() >= CACHE_ENTRIES
        && let Some(oldest) = cache.order.pop_front()
    {
        cache.compiled.remove(&oldest);
    }
    if cache.compiled.insert(key.clone(), pcre.clone()).is_none() {
        cache.order.push_back(key);
    }
    Ok(pcre)
}

/// Reads the literal behind `^` or `\A`. Gives up (a shorter prefix or none) rather than guess.
fn literal_prefix(pattern: &str, options: &str) -> Option<LiteralPrefix> {
    if options.contains(['i', 'x']) || pattern.contains('|') {
        return None;
    }
    // With `m`, `^` also matches behind every newline.
    let caret = if options.contains('m') { None } else { pattern.strip_prefix('^') };
    let mut rest = caret.or_else(|| pattern.strip_prefix("\\A"))?;
    let mut text = String::new();
    let is_whole_pattern = loop {
        let mut chars = rest.chars();
        let literal = match chars.next() {
            None => break true,
            Some('.') => break chars.as_str() == "*",
            Some('*' | '?' | '{') => {
                // The character before may be absent.
                text.pop();
                break false;
            }
            Some('\\') => match chars.next() {
                Some(escaped) if !escaped.is_ascii_alphanumeric() => escaped,
                _ => break false,
            },
            Some('^' | '$' | '[' | '(' | ')' | '+') => break false,
            Some(literal) => literal,
        };
        text.push(literal);
        rest = chars.as_str();
    };
    (is_whole_pattern || !text.is_empty()).then_some(LiteralPrefix { text, is_whole_pattern })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn matches(pattern: &str, options: &str, text: &str) -> bool {
        Regex::compile(pattern, options).unwrap().is_match(text).unwrap()
    }

    fn code(pattern: &str, options: &str) -> ErrorCode {
        Regex::compile(pattern, options).unwrap_err().code()
    }

    #[test]
    fn options_mean_what_the_manual_says() {
        assert!(matches("ABC", "i", "xabcx") && !matches("ABC", "", "xabcx"));
        assert!(matches("^b$", "m", "a\nb\nc") && !matches("^b$", "", "a\nb\nc"));
        assert!(matches("a.b", "s", "a\nb") && !matches("a.b", "", "a\nb"));
        assert!(matches("a b # comment", "x", "ab") && matches("ab", "u", "ab"));
        assert!(matches("é", "i", "É") && matches("^.$", "", "é"));
        assert!(matches("(\\w)(\\w)\\2\\1", "", "abba") && matches("a(?=r)", "", "cart"));
        assert!(matches("a$", "", "a\n"));
    }

    #[test]
    fn errors_have_mongodbs_codes() {
        assert_eq!(code("a", "q"), ErrorCode::Location(51108));
        assert_eq!(code("(", ""), ErrorCode::Location(51091));
        assert_eq!(code("\\u002d", ""), ErrorCode::Location(51091));
        assert_eq!(code("a\0", ""), ErrorCode::BadValue);
        assert_eq!(code(&"a".repeat(MAX_PATTERN_BYTES + 1), ""), ErrorCode::Location(51091));
        let error = Regex::compile("*", "").unwrap_err();
        assert_eq!(
            error.message(),
            "Regular expression is invalid: quantifier does not follow a repeatable item"
        );
        let error = Regex::compile("a", "1").unwrap_err();
        assert_eq!(error.message(), " invalid flag in regex options: 1");
    }

    #[test]
    fn endless_matching_is_an_error() {
        let regex = Regex::compile("(a+)+$", "").unwrap();
        assert!(regex.is_match(&format!("{}b", "a".repeat(60))).is_err());
    }

    #[test]
    fn prefixes() {
        let prefix = |pattern, options| {
            Regex::compile(pattern, options)
                .unwrap()
                .literal_prefix()
                .map(|p| (p.text.clone(), p.is_whole_pattern))
        };
        let some = |text: &str, whole| Some((text.to_owned(), whole));
        assert_eq!(prefix("^abc", ""), some("abc", true));
        assert_eq!(prefix("\\Aabc", "m"), some("abc", true));
        assert_eq!(prefix("^abc", "m"), None);
        assert_eq!(prefix("^abc.*", ""), some("abc", true));
        assert_eq!(prefix("^abc.*d", ""), some("abc", false));
        assert_eq!(prefix("^abc*", ""), some("ab", false));
        assert_eq!(prefix("^abc+", ""), some("abc", false));
        assert_eq!(prefix("^a\\.b\\d", ""), some("a.b", false));
        assert_eq!(prefix("^abc$", ""), some("abc", false));
        assert_eq!(prefix("^ab|cd", ""), None);
        assert_eq!(prefix("^ab", "i"), None);
        assert_eq!(prefix("(?i)^ab", ""), None);
        assert_eq!(prefix("^a?b", ""), None);
        assert_eq!(prefix("^é{2}", ""), None);
        assert_eq!(prefix("^", ""), some("", true));
    }

    #[test]
    fn captures_give_byte_ranges() {
        let regex = Regex::compile("(é)(x)?", "").unwrap();
        assert_eq!(regex.captures_at("aéb", 0).unwrap(), Some(vec![Some((1, 3)), Some((1, 3)), None]));
        assert_eq!(regex.captures_at("aéb", 3).unwrap(), None);
        assert_eq!(regex.captures_at("aéb", 9).unwrap(), None);
    }

    #[test]
    fn the_cache_stays_small() {
        for n in 0..2 * CACHE_ENTRIES {
            Regex::compile(&format!("x{n}"), "").unwrap();
        }
        let cache = CACHE.lock().unwrap();
        assert!(cache.compiled.len() <= CACHE_ENTRIES && cache.order.len() == cache.compiled.len());
    }
}
