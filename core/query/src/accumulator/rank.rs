//! `$top $bottom $topN $bottomN`: outputs ranked by the sort keys of their documents.

use multifora_model::{DocBuilder, ElementType as T, OwnedValue, RawValue};

/// Which end of the ranking is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranking {
    /// The first in the order.
    Top,
    /// The last in the order.
    Bottom,
}

/// The first or last so many outputs by key.
#[derive(Debug)]
pub struct Rank {
    ranking: Ranking,
    n: usize,
    /// In order; equal keys in the order they came.
    kept: Vec<(Box<[u8]>, OwnedValue)>,
    held_bytes: usize,
}

impl Rank {
    /// A ranking that keeps `n` outputs.
    pub fn new(ranking: Ranking, n: usize) -> Self {
        Rank { ranking, n, kept: Vec::new(), held_bytes: 0 }
    }

    /// Takes in an output with its key (ordered bytes); a missing output counts as null.
    pub fn add(&mut self, key: &[u8], output: Option<RawValue<'_>>) {
        let at = self.kept.partition_point(|(known, _)| **known <= *key);
        let full = self.kept.len() >= self.n;
        if full && self.ranking == Ranking::Top && at >= self.n
            || full && self.ranking == Ranking::Bottom && at == 0
        {
            return;
        }
        let entry = (key.into(), OwnedValue::from(output.unwrap_or(RawValue::NULL)));
        self.held_bytes += len_bytes(&entry);
        self.kept.insert(at, entry);
        if full {
            let out = if self.ranking == Ranking::Top { self.kept.len() - 1 } else { 0 };
            self.held_bytes -= len_bytes(&self.kept.remove(out));
        }
    }

    /// The outputs in order, as an array.
    pub fn array(&self) -> OwnedValue {
        let mut out = DocBuilder::new_array();
        for (_, value) in &self.kept {
            out.push(value.as_ref());
        }
        OwnedValue::from_vec(T::Array, out.finish())
    }

    /// The one output of `$top` and `$bottom`.
    pub fn single(&self) -> Option<OwnedValue> {
        self.kept.first().map(|(_, value)| value.clone())
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

fn len_bytes((key, value): &(Box<[u8]>, OwnedValue)) -> usize {
    key.len() + value.as_ref().bytes.len() + size_of::<OwnedValue>()
}
