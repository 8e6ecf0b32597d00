//! Where one part of a compound key ends: walking a key without decoding it.
//!
//! An index scan compares the parts of a key with the bounds of their fields; it needs the
//! boundaries, not the values. Malformed bytes give `None`, never more than there are.

use super::KeyDirection;
use crate::compare::MAX_COMPARE_DEPTH;

/// Length in bytes of the part at the start of `key`; `None` when it is cut off or no part at all.
#[inline]
pub fn part_len(key: &[u8], direction: KeyDirection) -> Option<usize> {
    let mask = if direction == KeyDirection::Descending { 0xFF } else { 0 };
    let mut walk = PartWalk { key, pos: 0, mask };
    walk.part(0)?;
    (walk.pos <= key.len()).then_some(walk.pos)
}

struct PartWalk<'k> {
    key: &'k [u8],
    pos: usize,
    mask: u8,
}

impl PartWalk<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = self.key.get(self.pos)? ^ self.mask;
        self.pos += 1;
        Some(byte)
    }

    fn skip(&mut self, len: usize) -> Option<()> {
        self.pos = self.pos.checked_add(len)?;
        (self.pos <= self.key.len()).then_some(())
    }

    fn part(&mut self, depth: u32) -> Option<()> {
        let class = self.byte()?;
        self.body(class, depth)
    }

    /// The classes are those of `compare::canonical_class`.
    fn body(&mut self, class: u8, depth: u32) -> Option<()> {
        match class {
            10 | 20 | 30 | 240 => Some(()),
            40 => {
                self.skip(8)?;
                if self.byte()? == 0 { Some(()) } else { self.skip(17) }
            }
            50 | 150 => self.escaped(),
            60 => self.fields(depth),
            70 => self.elements(depth),
            80 | 140 => {
                let len = u32::from_be_bytes([self.byte()?, self.byte()?, self.byte()?, self.byte()?]);
                self.skip(usize::try_from(len).ok()?.saturating_sub(4))
            }
            90 => self.skip(12),
            100 => self.skip(1),
            110 | 120 => self.skip(8),
            130 => {
                self.terminated()?;
                self.terminated()
            }
            160 => {
                self.escaped()?;
                self.fields(depth)
            }
            _ => None,
        }
    }

    fn terminated(&mut self) -> Option<()> {
        while self.byte()? != 0 {}
        Some(())
    }

    fn escaped(&mut self) -> Option<()> {
        loop {
            self.terminated()?;
            if self.byte()? != 0xFF {
                return Some(());
            }
        }
    }

    fn fields(&mut self, depth: u32) -> Option<()> {
        if depth >= MAX_COMPARE_DEPTH {
            return self.escaped();
        }
        loop {
            let class = self.byte()?;
            if class == 0 {
                return Some(());
            }
            self.terminated()?;
            self.body(class, depth + 1)?;
        }
    }

    fn elements(&mut self, depth: u32) -> Option<()> {
        if depth >= MAX_COMPARE_DEPTH {
            return self.escaped();
        }
        loop {
            let class = self.byte()?;
            if class == 0 {
                return Some(());
            }
            self.body(class, depth + 1)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::DocBuilder;
    use crate::key::encode;
    use crate::raw::{RawDoc, RawValue};
    use crate::types::ElementType as T;

    fn sample() -> Vec<u8> {
        let mut doc = DocBuilder::new();
        doc.i32("a", 1)
            .f64("b", 0.1)
            .i64("c", i64::MAX)
            .str("d", "x\0y")
            .str("e", "")
            .bool("f", true)
            .null("g");
        doc.date_ms("h", -5)
            .timestamp("i", 7)
            .object_id("j", &[3; 12])
            .binary("k", 0, b"abc")
            .binary("l", 5, b"");
        doc.start_doc("m")
            .i32("x", 1)
            .start_array("y")
            .push(RawValue::NULL)
            .push_start_doc()
            .end()
            .end()
            .end();
        doc.start_array("n").end().start_doc("o").end();
        doc.append("p", RawValue { ty: T::Regex, bytes: b"^a\0i\0" });
        doc.append("q", RawValue { ty: T::MinKey, bytes: &[] })
            .append("r", RawValue { ty: T::MaxKey, bytes: &[] });
        doc.append(
            "s",
            RawValue { ty: T::Decimal128, bytes: &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3E, 0x30] },
        );
        doc.append("t", RawValue { ty: T::Undefined, bytes: &[] });
        doc.finish()
    }

    #[test]
    fn every_part_is_found_again() {
        let bytes = sample();
        let doc = RawDoc::framed(&bytes).expect("framed");
        for direction in [KeyDirection::Ascending, KeyDirection::Descending] {
            let mut key = Vec::new();
            let mut ends = Vec::new();
            for field in doc {
                encode(field.value, direction, &mut key);
                ends.push(key.len());
            }
            let mut at = 0;
            for end in ends {
                at += part_len(&key[at..], direction).expect("a part");
                assert_eq!(at, end);
                for cut in 0..at {
                    let _ = part_len(&key[cut..at], direction);
                }
            }
        }
    }
}
