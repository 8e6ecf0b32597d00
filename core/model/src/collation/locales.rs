//! The locales that a collation may name (manual: Collation Locales and Default Parameters).
//!
//! MongoDB takes the names that its version of ICU has collation data for, letter by letter; a name that ICU would have
//! to correct first is refused. The list is therefore written out here and does not follow the data of the library.

/// A locale and the variants that it has besides its own order.
struct Row(&'static str, &'static [&'static str]);

const fn plain(name: &'static str) -> Row {
    Row(name, &[])
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    plain("af"), plain("am"), Row("ar", &["compat"]), plain("as"), Row("az", &["search"]), plain("be"), plain("bg"),
    Row("bn", &["traditional"]), plain("bo"), Row("bs", &["search"]), plain("bs_Cyrl"), Row("ca", &["search"]),
    plain("chr"), Row("cs", &["search"]), plain("cy"), Row("da", &["search"]),
    Row("de", &["search", "eor", "phonebook"]), Row("de_AT", &["phonebook"]), plain("dsb"), plain("dz"), plain("ee"),
    Row("el", &["search"]), plain("en"), plain("en_US"), plain("en_US_POSIX"), plain("eo"),
    Row("es", &["search", "traditional"]), plain("et"), plain("fa"), plain("fa_AF"),
    Row("fi", &["search", "traditional"]), plain("fil"), Row("fo", &["search"]), plain("fr"), plain("fr_CA"), plain("ga"),
    Row("gl", &["search"]), plain("gu"), plain("ha"), plain("haw"), Row("he", &["search"]), plain("hi"),
    Row("hr", &["search"]), plain("hsb"), plain("hu"), plain("hy"), plain("id"), plain("ig"),
    Row("is", &["search"]), plain("it"), Row("ja", &["unihan"]), plain("ka"), plain("kk"), Row("kl", &["search"]),
    plain("km"), Row("kn", &["traditional"]), Row("ko", &["search", "searchjl", "unihan"]), plain("kok"), plain("ky"),
    plain("lb"), plain("lkt"), Row("ln", &["phonetic"]), plain("lo"), plain("lt"), plain("lv"), plain("mk"), plain("ml"),
    plain("mn"), plain("mr"), plain("ms"), plain("mt"), plain("my"), Row("nb", &["search"]), plain("ne"), plain("nl"),
    Row("nn", &["search"]), plain("om"), plain("or"), plain("pa"), plain("pl"), plain("ps"), plain("pt"), plain("ro"),
    plain("ru"), Row("se", &["search"]), Row("si", &["dictionary"]), Row("sk", &["search"]), plain("sl"),
    Row("smn", &["search"]), plain("sq"), plain("sr"), Row("sr_Latn", &["search"]), Row("sv", &["search"]),
    plain("sw"), plain("ta"), plain("te"), plain("th"), plain("to"), Row("tr", &["search"]), plain("ug"), plain("uk"),
    plain("ur"), Row("vi", &["traditional"]), plain("wae"), Row("yi", &["search"]), plain("yo"),
    Row("zh", &["big5han", "gb2312han", "unihan", "zhuyin", "pinyin", "stroke"]),
    Row("zh_Hant", &["big5han", "gb2312han", "unihan", "zhuyin", "pinyin", "stroke"]), plain("zu"),
];

/// What MongoDB calls a variant, what the library calls it, where it has it.
const VARIANTS: &[(&str, &str)] = &[
    ("compat", "compat"),
    ("dictionary", "dict"),
    ("eor", "eor"),
    ("phonebook", "phonebk"),
    ("pinyin", "pinyin"),
    ("stroke", "stroke"),
    ("traditional", "trad"),
    ("unihan", "unihan"),
    ("zhuyin", "zhuyin"),
];

/// What a name of a locale leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The library's name for it (a BCP 47 tag).
    Tag(String),
    /// MongoDB has it, the library has no data for it.
    Missing,
    /// There is none of this name; perhaps this one was meant.
    Unknown(Option<&'static str>),
}

/// Looks up a locale by MongoDB's name, `de` or `de@collation=phonebook`.
pub(super) fn find(name: &str) -> Found {
    let (locale, variant) = match name.split_once("@collation=") {
        Some((locale, variant)) => (locale, Some(variant)),
        None => (name, None),
    };
    let Some(row) = ROWS.iter().find(|row| row.0 == locale) else { return Found::Unknown(nearest(locale)) };
    let mut tag = row.0.replace('_', "-");
    if let Some(variant) = variant {
        if !row.1.contains(&variant) {
            return Found::Unknown(Some(row.0));
        }
        let Some((_, library)) = VARIANTS.iter().find(|known| known.0 == variant) else {
            return Found::Missing;
        };
        tag.push_str("-u-co-");
        tag.push_str(library);
    }
    Found::Tag(tag)
}

/// The longest beginning of the name, cut at its separators, that is a locale.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.split('@').next().unwrap_or_default().replace('-', "_");
    let mut parts: Vec<&str> = name.split('_').collect();
    while !parts.is_empty() {
        let shorter = parts.join("_");
        if let Some(row) = ROWS.iter().find(|row| row.0.eq_ignore_ascii_case(&shorter)) {
            return Some(row.0);
        }
        parts.pop();
    }
    None
}

/// The variants of locales that MongoDB has (`de@collation=phonebook`), and whether the library has them.
pub fn locale_variants() -> impl Iterator<Item = (String, bool)> {
    let known = |variant: &str| VARIANTS.iter().any(|row| row.0 == variant);
    let of = move |row: &'static Row| {
        row.1.iter().map(move |variant| (format!("{}@collation={variant}", row.0), known(variant)))
    };
    ROWS.iter().flat_map(of)
}

/// Every name, with and without variants.
#[cfg(test)]
pub(super) fn names() -> Vec<String> {
    let variants =
        |row: &Row| -> Vec<String> { row.1.iter().map(|v| format!("{}@collation={v}", row.0)).collect() };
    ROWS.iter().flat_map(|row| [vec![row.0.to_owned()], variants(row)].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_letter_by_letter() {
        assert_eq!(find("en_US"), Found::Tag(String::from("en-US")));
        assert_eq!(find("de@collation=phonebook"), Found::Tag(String::from("de-u-co-phonebk")));
        assert_eq!(find("de@collation=search"), Found::Missing);
        assert_eq!(find("en-US"), Found::Unknown(Some("en_US")));
        assert_eq!(find("EN"), Found::Unknown(Some("en")));
        assert_eq!(find("en_GB"), Found::Unknown(Some("en")));
        assert_eq!(find("en@collation=phonebook"), Found::Unknown(Some("en")));
        for name in ["x_invalid", "tlh", "root", "@collation=search", "e"] {
            assert_eq!(find(name), Found::Unknown(None), "{name}");
        }
    }
}
