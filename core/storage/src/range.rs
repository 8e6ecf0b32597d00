//! Ranges of keys and the direction in which they are read.

use std::ops::Bound;

/// The order in which a scan gives its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// The keys between two bounds, in byte order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<Vec<u8>>,
    /// Where it ends.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(prefix.to_vec()), upper: KeyRange::after_prefix(prefix) }
    }

    /// The key alone.
    pub fn exactly(key: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(key.to_vec()), upper: Bound::Included(key.to_vec()) }
    }

    /// From `key` on, itself included.
    pub fn from(key: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(key.to_vec()), upper: Bound::Unbounded }
    }

    /// From `lower` (included) to `upper` (excluded).
    pub fn between(lower: &[u8], upper: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(lower.to_vec()), upper: Bound::Excluded(upper.to_vec()) }
    }

    /// The upper bound that ends a range just behind every key that begins with `prefix`.
    pub fn after_prefix(prefix: &[u8]) -> Bound<Vec<u8>> {
        match prefix.iter().rposition(|&byte| byte != 0xff) {
            None => Bound::Unbounded,
            Some(last) => {
                let mut end = prefix.get(..=last).unwrap_or_default().to_vec();
                if let Some(byte) = end.last_mut() {
                    *byte += 1;
                }
                Bound::Excluded(end)
            }
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        let above = match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
        };
        above
            && match &self.upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => key <= upper.as_slice(),
                Bound::Excluded(upper) => key < upper.as_slice(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_behind_their_last_key() {
        assert_eq!(KeyRange::after_prefix(b"ab"), Bound::Excluded(b"ac".to_vec()));
        assert_eq!(KeyRange::after_prefix(b"a\xff\xff"), Bound::Excluded(b"b".to_vec()));
        assert_eq!(KeyRange::after_prefix(b"\xff"), Bound::Unbounded);
        assert_eq!(KeyRange::after_prefix(b""), Bound::Unbounded);
        assert!(KeyRange::prefix(b"a\xff").contains(b"a\xff\xff\xff"));
        assert!(!KeyRange::prefix(b"a\xff").contains(b"b"));
        assert!(KeyRange::exactly(b"x").contains(b"x") && !KeyRange::exactly(b"x").contains(b"x\0"));
    }
}
