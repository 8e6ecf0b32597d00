//! Order-preserving keys: bytes that compare with `memcmp` as the values compare with
//! [`crate::compare::compare`], equal bytes exactly for equal values.
//!
//! Every encoding is self-delimiting (no encoding is a prefix of another one), so a compound key is
//! the concatenation of its parts, each in its own direction. A part begins with the value's class:
//!
//! | class | body |
//! |---|---|
//! | numbers | the largest double not above the number (8 bytes, order-preserving), then 0 if that is exact, else 1, place of the leading digit (2 bytes) and the coefficient brought to 34 digits (15 bytes), both inverted below zero |
//! | strings, code | bytes (of a string under a collation: of its sort key), zero as `00 FF`, then `00 00` |
//! | documents | per field: class, name, `00`, body of the value; then `00` |
//! | arrays | the elements as parts; then `00` |
//! | binary, dbPointer | length (4 bytes, big-endian), then the bytes |
//! | the rest | fixed length, or zero-terminated |
//!
//! Descending parts are the same bytes inverted. Classes and bodies are file format.

use crate::compare::{Collator, MAX_COMPARE_DEPTH, canonical_class, code_and_scope};
use crate::decimal::{Decimal128, DecimalParts};
use crate::number::Number;
use crate::raw::{RawDoc, RawValue};
use crate::types::ElementType as T;
use smallvec::SmallVec;

mod part;

pub use part::part_len;

/// Direction of one part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyDirection {
    /// Small values first.
    Ascending,
    /// Large values first.
    Descending,
}

/// Appends the key of `value`.
pub fn encode(value: RawValue<'_>, direction: KeyDirection, out: &mut Vec<u8>) {
    encode_with(value, direction, None, out);
}

/// Appends the key of `value`, strings by the sort keys of `collator` when there is one.
pub fn encode_with(
    value: RawValue<'_>,
    direction: KeyDirection,
    collator: Option<&dyn Collator>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    Encoder { out, collator }.part(value, 0);
    if direction == KeyDirection::Descending {
        invert(out.get_mut(start..).unwrap_or_default());
    }
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

/// Where keys are written: a vector, or a small buffer on the stack.
trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<const N: usize> Sink for SmallVec<[u8; N]>
where
    [u8; N]: smallvec::Array<Item = u8>,
{
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

struct Encoder<'o, S> {
    out: &'o mut S,
    collator: Option<&'o dyn Collator>,
}

const END: &[u8] = &[0];

impl<S: Sink> Encoder<'_, S> {
    fn part(&mut self, value: RawValue<'_>, depth: u32) {
        self.out.put(&[canonical_class(value.ty)]);
        self.body(value, depth);
    }

    fn body(&mut self, value: RawValue<'_>, depth: u32) {
        match value.ty {
            T::Int32 | T::Int64 | T::Double | T::Decimal128 => {
                self.number(Number::from_value(value).unwrap_or(Number::Double(f64::NAN)));
            }
            T::String | T::Symbol => self.string(value),
            T::JavaScript => self.escaped(value.as_str_bytes().unwrap_or_default()),
            T::Document => self.fields(RawDoc::framed(value.bytes).unwrap_or(RawDoc::EMPTY), depth),
            T::Array => self.elements(RawDoc::framed(value.bytes).unwrap_or(RawDoc::EMPTY), depth),
            T::Binary | T::DbPointer => {
                self.out.put(&u32::try_from(value.bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
                // The value's own length says the same again; what follows it decides.
                self.out.put(value.bytes.get(4..).unwrap_or_default());
            }
            T::ObjectId | T::Bool | T::Regex => self.out.put(value.bytes),
            T::Date => {
                let ms = value.as_date_ms().unwrap_or_default();
                self.out.put(&(ms as u64 ^ 1 << 63).to_be_bytes());
            }
            T::Timestamp => self.out.put(&value.as_timestamp().unwrap_or_default().to_be_bytes()),
            T::JavaScriptWithScope => match code_and_scope(value) {
                Some((code, scope)) => {
                    self.escaped(code);
                    let collator = self.collator.take();
                    self.fields(scope, depth);
                    self.collator = collator;
                }
                None => self.escaped(value.bytes),
            },
            T::MinKey | T::MaxKey | T::Null | T::Undefined => {}
        }
    }

    fn number(&mut self, number: Number) {
        let (floor, rest) = match number {
            Number::Int32(n) => (f64::from(n), None),
            Number::Double(d) => (d, None),
            Number::Int64(n) if n.unsigned_abs() <= 1 << 53 => (n as f64, None),
            Number::Int64(_) | Number::Decimal(_) => {
                let decimal = number.as_decimal();
                let (floor, exact) = decimal.floor_f64();
                (floor, (!exact).then_some(decimal))
            }
        };
        self.out.put(&ordered_double(floor));
        match rest {
            None => self.out.put(&[0]),
            Some(decimal) => {
                self.out.put(&[1]);
                self.decimal(decimal);
            }
        }
    }

    /// Orders the numbers between two neighbouring doubles.
    fn decimal(&mut self, decimal: Decimal128) {
        let DecimalParts::Finite { negative, coefficient, exponent } = decimal.parts() else { return };
        let (place, digits) = Decimal128::normalized(coefficient, exponent);
        let mut bytes = [0; 17];
        let (head, tail) = bytes.split_at_mut(2);
        head.copy_from_slice(&((place + 0x4000) as u16).to_be_bytes());
        tail.copy_from_slice(&digits.to_be_bytes()[1..]);
        if negative {
            invert(&mut bytes);
        }
        self.out.put(&bytes);
    }

    fn string(&mut self, value: RawValue<'_>) {
        let text = value.as_str_bytes().unwrap_or_default();
        match self.collator {
            None => self.escaped(text),
            Some(collator) => {
                let mut sort_key = Vec::with_capacity(2 * text.len() + 8);
                collator.sort_key(text, &mut sort_key);
                self.escaped(&sort_key);
            }
        }
    }

    fn escaped(&mut self, text: &[u8]) {
        self.escaped_open(text);
        self.out.put(&[0, 0]);
    }

    fn escaped_open(&mut self, text: &[u8]) {
        let mut pieces = text.split(|b| *b == 0);
        self.out.put(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.out.put(&[0, 0xFF]);
            self.out.put(piece);
        }
    }

    fn fields(&mut self, doc: RawDoc<'_>, depth: u32) {
        if depth >= MAX_COMPARE_DEPTH {
            return self.escaped(doc.as_bytes());
        }
        for element in doc.iter() {
            self.out.put(&[canonical_class(element.value.ty)]);
            self.out.put(element.name_bytes());
            self.out.put(END);
            self.body(element.value, depth + 1);
        }
        self.out.put(END);
    }

    fn elements(&mut self, array: RawDoc<'_>, depth: u32) {
        if depth >= MAX_COMPARE_DEPTH {
            return self.escaped(array.as_bytes());
        }
        for element in array.iter() {
            self.part(element.value, depth + 1);
        }
        self.out.put(END);
    }
}

/// Eight bytes that order as the doubles do: NaN first, -0 as 0.
fn ordered_double(d: f64) -> [u8; 8] {
    if d.is_nan() {
        return [0; 8];
    }
    let bits = if d == 0.0 { 0 } else { d.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    ordered.to_be_bytes()
}

/// The key before every other ascending part: MinKey.
pub fn min_key() -> Vec<u8> {
    vec![canonical_class(T::MinKey)]
}

/// The key after every other ascending part: MaxKey.
pub fn max_key() -> Vec<u8> {
    vec![canonical_class(T::MaxKey)]
}

/// Ascending bounds of all values of the class of `ty` (all numbers, all strings, …): lower inclusive,
/// upper exclusive. For a descending part use [`descending_bounds`].
pub fn type_bracket_bounds(ty: T) -> (Vec<u8>, Vec<u8>) {
    let class = canonical_class(ty);
    (vec![class], vec![class + 1])
}

/// Ascending bounds of all strings that begin with `prefix`: lower inclusive, upper exclusive.
pub fn string_prefix_bounds(prefix: &str) -> (Vec<u8>, Vec<u8>) {
    let mut lower = vec![canonical_class(T::String)];
    Encoder { out: &mut lower, collator: None }.escaped_open(prefix.as_bytes());
    let upper = prefix_successor(&lower).unwrap_or_default();
    (lower, upper)
}

/// Turns ascending bounds (lower inclusive, upper exclusive) into those of the same values in a descending
/// part, again lower inclusive, upper exclusive.
///
/// Bounds are prefixes: what begins with `lower` is inside, what begins with `upper` is not. Inverted, the
/// two change places and each becomes the end of its prefix. `None` as the upper bound means no end.
pub fn descending_bounds(lower: &[u8], upper: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
    let end_of_inverted = |bytes: &[u8]| {
        let inverted: Vec<u8> = bytes.iter().map(|b| !b).collect();
        prefix_successor(&inverted)
    };
    (end_of_inverted(upper).unwrap_or_default(), end_of_inverted(lower))
}

/// The smallest bytes that are greater than everything that begins with `prefix`; `None` when there is
/// no such (the prefix is empty or all `FF`).
pub fn prefix_successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xFF)?;
    let mut successor = prefix.get(..=last)?.to_vec();
    if let Some(byte) = successor.last_mut() {
        *byte += 1;
    }
    Some(successor)
}

/// A value as a hash or tree key: equal exactly where [`crate::compare::compare`] says so (1 and 1.0 are
/// one key), ordered as values are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueKey(SmallVec<[u8; 24]>);

impl ValueKey {
    /// The key of a value.
    pub fn new(value: RawValue<'_>) -> Self {
        Self::with_collator(value, None)
    }

    /// The key of a value under a collation.
    pub fn with_collator(value: RawValue<'_>, collator: Option<&dyn Collator>) -> Self {
        let mut bytes = SmallVec::new();
        Encoder { out: &mut bytes, collator }.part(value, 0);
        ValueKey(bytes)
    }

    /// The encoded bytes (those of an ascending index part).
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::borrow::Borrow<[u8]> for ValueKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for ValueKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ValueKey({:02x?})", self.0.as_slice())
    }
}

/// A hash that is equal for values that compare equal.
pub fn canonical_hash(value: RawValue<'_>) -> u64 {
    canonical_hash_with(value, None)
}

/// [`canonical_hash`] under a collation.
pub fn canonical_hash_with(value: RawValue<'_>, collator: Option<&dyn Collator>) -> u64 {
    let mut bytes: SmallVec<[u8; 128]> = SmallVec::new();
    Encoder { out: &mut bytes, collator }.part(value, 0);
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

#[cfg(test)]
mod tests;
