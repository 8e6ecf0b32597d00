//! Collations: comparing strings by the rules of a language (manual: Collation).
//!
//! A [`Collation`] is a complete specification and ICU's comparison for it, in the shape of a [`Collator`], which
//! is all that comparison, keys and query code know of. The simple collation, which compares bytes, is no collation:
//! everywhere it is `None`, so that nothing is spent on it.
//!
//! The library normalizes what it compares, so `normalization` changes nothing; MongoDB without it differs only for
//! text whose combining marks are out of canonical order.

mod backwards;
mod locales;
mod spec;

pub use locales::locale_variants;
pub use spec::{COLLATION_VERSION, CaseFirst, CollationOption, CollationSpec, Strength, collation_options};

use crate::compare::Collator;
use crate::error::{Error, Result};
use crate::raw::RawDoc;
use icu_collator::options as icu;
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use spec::Requested;
use std::cmp::Ordering;
use std::sync::Arc;

/// Names the rules and the data that sort keys are made by. Keys of different versions must not meet in one index:
/// this changes with the library.
pub const SORT_KEY_VERSION: &str = "icu4x-2.4";

/// A collation, ready to compare.
pub struct Collation {
    spec: CollationSpec,
    document: Vec<u8>,
    rules: Rules,
}

enum Rules {
    /// Compiled data as it is.
    Compiled(CollatorBorrowed<'static>),
    /// With accents compared from the end where the locale's own data does not say so.
    Changed(Box<icu_collator::Collator>),
}

impl Collation {
    /// Reads a collation document; `None` for the simple collation.
    ///
    /// # Errors
    /// `TypeMismatch`, codes 40413 to 40415 and 51024 for its shape, `BadValue` and `FailedToParse` for what it asks for,
    /// `IncompatibleCollationVersion` for another version than [`COLLATION_VERSION`].
    pub fn parse(doc: RawDoc<'_>) -> Result<Option<Arc<Self>>> {
        let Some(wanted) = Requested::parse(doc)? else { return Ok(None) };
        let tag = wanted.tag(doc)?;
        let failed =
            |what: &str| Error::internal(format!("no collator for locale '{}': {what}", wanted.locale));
        let locale: Locale = tag.parse().map_err(|_| failed("bad tag"))?;
        let (preferences, options) = library_options(&wanted, &locale);
        let backwards = wanted.backwards.unwrap_or(wanted.locale == "fr_CA");
        let rules = match backwards == (wanted.locale == "fr_CA") {
            true => CollatorBorrowed::try_new(preferences, options).map(Rules::Compiled),
            false => {
                backwards::collator(backwards, preferences, options).map(|c| Rules::Changed(Box::new(c)))
            }
        };
        let rules = rules.map_err(|error| failed(&error.to_string()))?;
        let spec = complete(&wanted, backwards, &rules);
        spec.check()?;
        Ok(Some(Arc::new(Collation { document: spec.document(), spec, rules })))
    }

    /// What compares strings under a collation; nothing under none.
    pub fn collator(collation: Option<&Arc<Self>>) -> Option<&dyn Collator> {
        collation.map(|collation| &**collation as &dyn Collator)
    }

    /// All options.
    pub fn spec(&self) -> &CollationSpec {
        &self.spec
    }

    /// All options as a document.
    pub fn document(&self) -> RawDoc<'_> {
        RawDoc::framed(&self.document).unwrap_or(RawDoc::EMPTY)
    }
}

/// The options as the library takes them; what was not asked for is left to the locale.
fn library_options(wanted: &Requested<'_>, locale: &Locale) -> (CollatorPreferences, icu::CollatorOptions) {
    let mut preferences = CollatorPreferences::from(locale);
    preferences.case_first = wanted.case_first.map(|first| match first {
        CaseFirst::Upper => CollationCaseFirst::Upper,
        CaseFirst::Lower => CollationCaseFirst::Lower,
        CaseFirst::Off => CollationCaseFirst::False,
    });
    preferences.numeric_ordering = wanted.numeric_ordering.map(|on| match on {
        true => CollationNumericOrdering::True,
        false => CollationNumericOrdering::False,
    });
    let mut options = icu::CollatorOptions::default();
    options.strength = Some(match wanted.strength.unwrap_or(Strength::Tertiary) {
        Strength::Primary => icu::Strength::Primary,
        Strength::Secondary => icu::Strength::Secondary,
        Strength::Tertiary => icu::Strength::Tertiary,
        Strength::Quaternary => icu::Strength::Quaternary,
        Strength::Identical => icu::Strength::Identical,
    });
    options.case_level =
        wanted.case_level.map(|on| if on { icu::CaseLevel::On } else { icu::CaseLevel::Off });
    options.alternate_handling = wanted.shifted.map(|shifted| match shifted {
        true => icu::AlternateHandling::Shifted,
        false => icu::AlternateHandling::NonIgnorable,
    });
    options.max_variable = wanted.space_only.map(|only| match only {
        true => icu::MaxVariable::Space,
        false => icu::MaxVariable::Punctuation,
    });
    (preferences, options)
}

/// What was asked for, and the locale's own choice elsewhere.
fn complete(wanted: &Requested<'_>, backwards: bool, rules: &Rules) -> CollationSpec {
    let own = rules.resolved_options();
    CollationSpec {
        locale: wanted.locale.to_owned(),
        case_level: own.case_level == icu::CaseLevel::On,
        case_first: match own.case_first {
            CollationCaseFirst::Upper => CaseFirst::Upper,
            CollationCaseFirst::Lower => CaseFirst::Lower,
            _ => CaseFirst::Off,
        },
        strength: wanted.strength.unwrap_or(Strength::Tertiary),
        numeric_ordering: own.numeric == CollationNumericOrdering::True,
        shifted: own.alternate_handling == icu::AlternateHandling::Shifted,
        space_only: own.max_variable == icu::MaxVariable::Space,
        normalization: wanted.normalization.unwrap_or(false),
        backwards,
    }
}

impl Rules {
    fn resolved_options(&self) -> icu::ResolvedCollatorOptions {
        match self {
            Rules::Compiled(collator) => collator.resolved_options(),
            Rules::Changed(collator) => collator.as_borrowed().resolved_options(),
        }
    }
}

impl Collator for Collation {
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match &self.rules {
            Rules::Compiled(collator) => collator.compare_utf8(a, b),
            Rules::Changed(collator) => collator.as_borrowed().compare_utf8(a, b),
        }
    }

    fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        let Ok(()) = match &self.rules {
            Rules::Compiled(collator) => collator.write_sort_key_utf8_to(text, out),
            Rules::Changed(collator) => collator.as_borrowed().write_sort_key_utf8_to(text, out),
        };
    }
}

impl PartialEq for Collation {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl Eq for Collation {}

impl std::fmt::Debug for Collation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.spec.fmt(f)
    }
}

#[cfg(test)]
mod tests;
