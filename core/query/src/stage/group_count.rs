//! `$group`s that only count: what becomes of them follows from the number of documents alone.

use super::group::{FieldSource, Group, GroupKey};
use multifora_model::{DocBuilder, Number, RawValue};

/// A `$group` by a constant whose fields count documents or add up constants (what drivers send for `countDocuments`).
pub struct CountingGroup<'g> {
    id: RawValue<'g>,
    /// Each field's name, and what a document adds to it.
    fields: Vec<(&'g str, Number)>,
}

impl Group {
    /// The group, when no document has to be looked at for it.
    pub fn as_counting(&self) -> Option<CountingGroup<'_>> {
        let GroupKey::Expr(key) = &self.key else { return None };
        let fields = self.fields.iter().map(|field| Some((field.name.as_str(), each(&field.source)?)));
        Some(CountingGroup { id: key.as_const()?, fields: fields.collect::<Option<_>>()? })
    }
}

/// What every document adds, when that is always the same.
fn each(source: &FieldSource) -> Option<Number> {
    let FieldSource::Values { operator, value, .. } = source else { return None };
    match *operator {
        "$count" => Some(Number::Int32(1)),
        "$sum" => match Number::from_value(value.as_const()?) {
            // A sum of decimals is rounded with every step.
            Some(Number::Decimal(_)) => None,
            Some(number) => Some(number),
            // What is no number adds nothing.
            None => Some(Number::Int32(0)),
        },
        _ => None,
    }
}

impl CountingGroup<'_> {
    /// The group's document for `n` documents; nothing gives nothing.
    pub fn document(&self, n: u64) -> Option<Vec<u8>> {
        if n == 0 {
            return None;
        }
        let mut doc = DocBuilder::new();
        doc.append("_id", self.id);
        for (name, each) in &self.fields {
            doc.append(name, times(*each, n).to_owned_value().as_ref());
        }
        Some(doc.finish())
    }
}

/// The sum of `n` times the same number, of the type that `$sum` gives it.
fn times(each: Number, n: u64) -> Number {
    let whole = |k: i64| i64::try_from(i128::from(k) * i128::from(n));
    match each {
        Number::Int32(k) => {
            whole(k.into()).map_or(Number::Double(f64::from(k) * n as f64), Number::int_or_long)
        }
        Number::Int64(k) => whole(k).map_or(Number::Double(k as f64 * n as f64), Number::Int64),
        Number::Double(d) => Number::Double(d * n as f64),
        Number::Decimal(_) => each,
    }
}
