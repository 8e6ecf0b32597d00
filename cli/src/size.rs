//! Sizes as people write them: `256MiB`, `1G`, `65536`.

use crate::Failure;
use std::path::Path;

/// Units by their first letter, each 1,024 times the one before.
const UNITS: &[char] = &['k', 'm', 'g', 't'];

/// Bytes in a size such as `64MiB`, `64M`, `64mb` or `67108864`.
pub(crate) fn parse(text: &str) -> Result<usize, String> {
    let wrong = || format!("'{text}' is not a size; write for example 256MiB, 1G or 65536");
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at_checked(digits).ok_or_else(wrong)?;
    let number: usize = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim();
    let power = match unit.chars().next() {
        None | Some('b') if unit.len() <= 1 => 0,
        Some(first) if matches!(unit.get(1..), Some("" | "b" | "ib")) => {
            UNITS.iter().position(|u| *u == first).ok_or_else(wrong)? + 1
        }
        _ => return Err(wrong()),
    };
    (0..power).try_fold(number, |n, _| n.checked_mul(1024)).ok_or_else(wrong)
}

/// A number of bytes for people.
pub(crate) fn show(bytes: u64) -> String {
    let mut unit = "bytes";
    let mut scaled = bytes as f64;
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1024.0 {
            break;
        }
        (scaled, unit) = (scaled / 1024.0, next);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{scaled:.1} {unit}") }
}

/// The length of a file.
pub(crate) fn of_file(path: &Path) -> Result<u64, Failure> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) => Err(Failure::new(format!("cannot look at {}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("65536", 65536),
            ("10b", 10),
            ("64k", 65536),
            ("64 KiB", 65536),
            ("3MB", 3 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "x", "-1", "1.5G", "1Q", "64MiBs", "99999999999T", "é"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            (show(12), show(1536), show(3 << 30)),
            ("12 bytes".into(), "1.5 KiB".into(), "3.0 GiB".into())
        );
    }
}
