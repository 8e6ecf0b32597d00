//! Sets of byte ranges over one encoded key component.
//!
//! A component of an index key is self-delimiting (no encoding is a prefix of another), so every
//! bound, inclusive or exclusive, is a position in byte order: "at or after `value`" begins with the
//! encoding itself, "after `value`" with the first byte string that no longer starts with it. All
//! sets are therefore unions of half-open ranges, and intersection, union and complement are the
//! same three lines for every type and both directions.

use multifora_model::key::prefix_successor as successor;

/// A half-open range of bytes: `lo <= key < hi`; `hi` of `None` has no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte string inside.
    pub lo: Vec<u8>,
    /// First byte string after the range.
    pub hi: Option<Vec<u8>>,
    /// The range of one encoded value: everything that begins with it and nothing else. (The bounds
    /// do not tell: all strings that begin with "a" are a prefix as well.)
    is_point: bool,
}

impl ByteRange {
    /// Everything.
    pub fn full() -> Self {
        ByteRange::new(Vec::new(), None)
    }

    /// From `lo` to `hi`, which is outside.
    pub fn new(lo: Vec<u8>, hi: Option<Vec<u8>>) -> Self {
        ByteRange { lo, hi, is_point: false }
    }

    /// All byte strings that begin with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> Self {
        let hi = successor(&prefix);
        ByteRange::new(prefix, hi)
    }

    /// The one value whose whole encoding this is.
    pub fn point(value: Vec<u8>) -> Self {
        ByteRange { is_point: true, ..ByteRange::prefix(value) }
    }

    /// Holds nothing.
    pub fn is_empty(&self) -> bool {
        self.hi.as_ref().is_some_and(|hi| *hi <= self.lo)
    }

    /// `lo <= bytes < hi`.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.lo.as_slice() <= bytes && self.ends_after(bytes)
    }

    /// `bytes < hi`.
    pub fn ends_after(&self, bytes: &[u8]) -> bool {
        self.hi.as_ref().is_none_or(|hi| bytes < hi.as_slice())
    }

    /// The range of one encoded value.
    pub fn is_point(&self) -> bool {
        self.is_point
    }
}

/// A sorted list of disjoint ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervals {
    ranges: Vec<ByteRange>,
}

impl Intervals {
    /// Everything.
    pub fn full() -> Self {
        Intervals { ranges: vec![ByteRange::full()] }
    }

    /// Nothing.
    pub fn none() -> Self {
        Intervals { ranges: Vec::new() }
    }

    /// The union of any ranges.
    pub fn new(mut ranges: Vec<ByteRange>) -> Self {
        ranges.retain(|r| !r.is_empty());
        ranges.sort_by(|a, b| a.lo.cmp(&b.lo));
        let mut merged: Vec<ByteRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if last.hi.as_ref().is_none_or(|hi| range.lo < *hi) => {
                    if last.lo != range.lo || last.hi != range.hi {
                        last.is_point = false;
                    }
                    last.hi = max_end(last.hi.take(), range.hi);
                }
                _ => merged.push(range),
            }
        }
        Intervals { ranges: merged }
    }

    /// The ranges in byte order.
    pub fn ranges(&self) -> &[ByteRange] {
        &self.ranges
    }

    /// Nothing at all.
    pub fn is_none(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Everything.
    pub fn is_full(&self) -> bool {
        matches!(self.ranges.as_slice(), [only] if only.lo.is_empty() && only.hi.is_none())
    }

    /// One value only.
    pub fn is_point(&self) -> bool {
        matches!(self.ranges.as_slice(), [only] if only.is_point())
    }

    /// Values only, no ranges.
    pub fn are_points(&self) -> bool {
        self.ranges.iter().all(ByteRange::is_point)
    }

    /// What is in both.
    #[must_use]
    pub fn intersect(&self, other: &Intervals) -> Intervals {
        let (mut i, mut j) = (0, 0);
        let mut both = Vec::new();
        while let (Some(a), Some(b)) = (self.ranges.get(i), other.ranges.get(j)) {
            let mut range = ByteRange::new(a.lo.clone().max(b.lo.clone()), min_end(&a.hi, &b.hi));
            let is_all_of = |whole: &ByteRange| whole.lo == range.lo && whole.hi == range.hi;
            range.is_point = (a.is_point && is_all_of(a)) || (b.is_point && is_all_of(b));
            if !range.is_empty() {
                both.push(range);
            }
            if ends_before(&a.hi, &b.hi) {
                i += 1;
            } else {
                j += 1;
            }
        }
        Intervals { ranges: both }
    }

    /// What is in either.
    #[must_use]
    pub fn union(&self, other: &Intervals) -> Intervals {
        Intervals::new(self.ranges.iter().chain(&other.ranges).cloned().collect())
    }

    /// What is in neither.
    #[must_use]
    pub fn complement(&self) -> Intervals {
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut lo = Some(Vec::new());
        for range in &self.ranges {
            if let Some(lo) = lo.take() {
                gaps.push(ByteRange::new(lo, Some(range.lo.clone())));
            }
            lo = range.hi.clone();
        }
        if let Some(lo) = lo {
            gaps.push(ByteRange::new(lo, None));
        }
        gaps.retain(|r| !r.is_empty());
        Intervals { ranges: gaps }
    }

    /// The first range that ends after `bytes`: the one that holds it, or the next one.
    pub fn at_or_after(&self, bytes: &[u8]) -> Option<&ByteRange> {
        let at = self.ranges.partition_point(|r| !r.ends_after(bytes));
        self.ranges.get(at)
    }

    /// The last range that begins at or before `bytes`: the one that holds it, or the one before.
    pub fn at_or_before(&self, bytes: &[u8]) -> Option<&ByteRange> {
        let at = self.ranges.partition_point(|r| r.lo.as_slice() <= bytes);
        self.ranges.get(at.checked_sub(1)?)
    }
}

fn ends_before(a: &Option<Vec<u8>>, b: &Option<Vec<u8>>) -> bool {
    match (a, b) {
        (None, _) => false,
        (_, None) => true,
        (Some(a), Some(b)) => a < b,
    }
}

fn min_end(a: &Option<Vec<u8>>, b: &Option<Vec<u8>>) -> Option<Vec<u8>> {
    if ends_before(a, b) { a.clone() } else { b.clone() }
}

fn max_end(a: Option<Vec<u8>>, b: Option<Vec<u8>>) -> Option<Vec<u8>> {
    if ends_before(&a, &b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(lo: &[u8], hi: Option<&[u8]>) -> ByteRange {
        ByteRange::new(lo.to_vec(), hi.map(<[u8]>::to_vec))
    }

    #[test]
    fn successors() {
        assert_eq!(successor(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(successor(&[1, 0xFF]), Some(vec![2]));
        assert_eq!(successor(&[0xFF, 0xFF]), None);
        assert!(ByteRange::point(vec![7]).is_point() && !ByteRange::prefix(vec![7]).is_point());
        assert!(!ByteRange::full().is_point());
    }

    #[test]
    fn touching_points_stay_points() {
        let two = Intervals::new(vec![ByteRange::point(vec![1]), ByteRange::point(vec![2])]);
        assert!(two.are_points());
        assert_eq!(two.ranges().len(), 2);
    }

    fn some_set() -> impl Strategy<Value = Intervals> {
        let end = prop::option::of(prop::collection::vec(0u8..4, 0..3));
        let one = (prop::collection::vec(0u8..4, 0..3), end).prop_map(|(lo, hi)| ByteRange::new(lo, hi));
        prop::collection::vec(one, 0..4).prop_map(Intervals::new)
    }

    fn holds(set: &Intervals, key: &[u8]) -> bool {
        set.ranges().iter().any(|r| r.contains(key))
    }

    proptest! {
        #[test]
        fn sets_behave_like_sets(a in some_set(), b in some_set(), key in prop::collection::vec(0u8..4, 0..4)) {
            prop_assert_eq!(holds(&a.intersect(&b), &key), holds(&a, &key) && holds(&b, &key));
            prop_assert_eq!(holds(&a.union(&b), &key), holds(&a, &key) || holds(&b, &key));
            prop_assert_eq!(holds(&a.complement(), &key), !holds(&a, &key));
            prop_assert_eq!(a.at_or_after(&key).is_some_and(|r| r.contains(&key)), holds(&a, &key));
            prop_assert_eq!(a.at_or_before(&key).is_some_and(|r| r.contains(&key)), holds(&a, &key));
        }
    }

    #[test]
    fn full_and_none() {
        assert!(Intervals::full().is_full() && Intervals::full().complement().is_none());
        assert!(Intervals::none().complement().is_full());
        assert_eq!(Intervals::new(vec![range(b"b", Some(b"a"))]), Intervals::none());
    }
}
