//! BSON type tags, their names and aliases (manual: `$type`).

/// The type byte of a BSON element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are BSON's own")]
pub enum ElementType {
    Double = 0x01,
    String = 0x02,
    Document = 0x03,
    Array = 0x04,
    Binary = 0x05,
    Undefined = 0x06,
    ObjectId = 0x07,
    Bool = 0x08,
    Date = 0x09,
    Null = 0x0A,
    Regex = 0x0B,
    DbPointer = 0x0C,
    JavaScript = 0x0D,
    Symbol = 0x0E,
    JavaScriptWithScope = 0x0F,
    Int32 = 0x10,
    Timestamp = 0x11,
    Int64 = 0x12,
    Decimal128 = 0x13,
    MaxKey = 0x7F,
    MinKey = 0xFF,
}

use ElementType as T;

/// One row per type: tag, type alias as `$type` names it.
const TABLE: [(T, &str); 21] = [
    (T::Double, "double"),
    (T::String, "string"),
    (T::Document, "object"),
    (T::Array, "array"),
    (T::Binary, "binData"),
    (T::Undefined, "undefined"),
    (T::ObjectId, "objectId"),
    (T::Bool, "bool"),
    (T::Date, "date"),
    (T::Null, "null"),
    (T::Regex, "regex"),
    (T::DbPointer, "dbPointer"),
    (T::JavaScript, "javascript"),
    (T::Symbol, "symbol"),
    (T::JavaScriptWithScope, "javascriptWithScope"),
    (T::Int32, "int"),
    (T::Timestamp, "timestamp"),
    (T::Int64, "long"),
    (T::Decimal128, "decimal"),
    (T::MaxKey, "maxKey"),
    (T::MinKey, "minKey"),
];

/// The same types by tag: decoding one is a single load on the hottest path there is.
static BY_TAG: [Option<T>; 256] = {
    let mut by_tag = [None; 256];
    let mut row = 0;
    while row < TABLE.len() {
        by_tag[TABLE[row].0 as usize] = Some(TABLE[row].0);
        row += 1;
    }
    by_tag
};

impl ElementType {
    /// The type with this tag byte.
    #[inline]
    pub fn from_byte(tag: u8) -> Option<Self> {
        BY_TAG[tag as usize]
    }

    /// The alias that `$type` uses (`"int"`, `"object"`, …).
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.0 == self).map_or("missing", |row| row.1)
    }

    /// The type with this alias (`"number"` is no type: callers handle it).
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// int, long, double or decimal.
    pub fn is_number(self) -> bool {
        matches!(self, T::Int32 | T::Int64 | T::Double | T::Decimal128)
    }
}
