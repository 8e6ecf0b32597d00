//! Leaves as a state holds them: a packed base and a few changes to it.
//!
//! A commit adds to the changes and shares the base, which may stay in the file: to note that a key was written one
//! has to know whether the base holds it, and the log says that, so replay reads no leaves. When the changes become
//! many they are merged with the base into one or several new ones.

use super::key_prefix;
use super::node::{BRANCH_FILL, Context};
use super::packed::{EntryRef, Packed, PackedBuilder, compare_keys};
use crate::block::BlockPointer;
use crate::error::Result;
use crate::record::{Cell, Record, ValueRef, Values};
use std::sync::Arc;

/// Bytes of a leaf's block before compression, beyond which it is divided. Reading one record costs reading and
/// unpacking a leaf, and changing one costs writing it at the next checkpoint: docs/decisions/030.
pub(crate) const LEAF_TARGET_BYTES: usize = 8 << 10;
/// Changes beyond which they are merged into the base. Copying them is the price of a commit in one key.
const DELTA_MAX_ITEMS: usize = 48;
const DELTA_MAX_BYTES: usize = 8 << 10;
/// A leaf below this looks for a neighbour to join.
const LEAF_SMALL_BYTES: usize = LEAF_TARGET_BYTES / 4;
/// How full leaves are when one is divided that is not filled in order.
const DIVIDED_BYTES: usize = LEAF_TARGET_BYTES * 3 / 4;

/// What the changes of a leaf apply to.
#[derive(Clone)]
pub(crate) enum Base {
    /// Nothing.
    Empty,
    /// A leaf in the file, of so many entries.
    Stored(BlockPointer, u64),
    /// A leaf that was merged in memory.
    Held(Arc<Packed>),
}

/// A key that was written since the base was made.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    prefix: u64,
    /// Of a deleted key there is no head.
    pub(crate) cell: Cell,
    pub(crate) version: u64,
    /// Whether the base holds the key.
    in_base: bool,
    /// None: the key was deleted.
    pub(crate) put: Option<Values>,
}

impl Change {
    pub(crate) fn put(cell: Cell, values: Values, version: u64) -> Change {
        Change { prefix: key_prefix(cell.key()), cell, version, in_base: false, put: Some(values) }
    }

    pub(crate) fn delete(cell: Cell, version: u64) -> Change {
        Change { prefix: key_prefix(cell.key()), cell, version, in_base: false, put: None }
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.cell.key()
    }

    pub(crate) fn prefix(&self) -> u64 {
        self.prefix
    }

    pub(crate) fn is_put(&self) -> bool {
        self.put.is_some()
    }

    pub(crate) fn has_values(&self) -> bool {
        matches!(self.put, Some(Some(_)))
    }

    pub(crate) fn entry(&self) -> EntryRef<'_> {
        let values = self.put.as_ref().and_then(|values| values.as_deref()).unwrap_or_default();
        EntryRef { key: self.cell.key(), head: self.cell.head(), version: self.version, values }
    }

    /// By how many entries it makes its leaf longer than the base.
    pub(crate) fn adds(&self) -> i64 {
        i64::from(self.is_put()) - i64::from(self.in_base)
    }

    fn weight_bytes(&self) -> usize {
        self.entry().weight_bytes()
    }
}

/// An entry, kept alive by what it stands in.
#[derive(Clone)]
pub(crate) enum Found {
    Packed(Arc<Packed>, usize),
    Changed(Change),
}

impl Found {
    pub(crate) fn entry(&self) -> EntryRef<'_> {
        match self {
            Found::Packed(leaf, at) => {
                leaf.get(*at).unwrap_or(EntryRef { key: &[], head: &[], version: 0, values: &[] })
            }
            Found::Changed(change) => change.entry(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.entry().version
    }

    pub(crate) fn record(self, context: &Context) -> Record {
        Record::new(Arc::clone(context.pages), context.table, self)
    }
}

/// What stood under a key before it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Old {
    /// 0 when nothing stood there.
    pub(crate) version: u64,
    pub(crate) existed: bool,
}

impl Old {
    pub(crate) const NONE: Old = Old { version: 0, existed: false };
}

#[derive(Clone)]
pub(crate) struct Leaf {
    pub(crate) base: Base,
    /// By key.
    pub(crate) delta: Vec<Change>,
    delta_bytes: usize,
    count: u64,
}

impl Leaf {
    pub(crate) fn empty() -> Leaf {
        Leaf { base: Base::Empty, delta: Vec::new(), delta_bytes: 0, count: 0 }
    }

    pub(crate) fn over(pointer: BlockPointer, count: u64) -> Leaf {
        Leaf { base: Base::Stored(pointer, count), delta: Vec::new(), delta_bytes: 0, count }
    }

    pub(crate) fn held(packed: Arc<Packed>) -> Leaf {
        let count = packed.len() as u64;
        Leaf { base: Base::Held(packed), delta: Vec::new(), delta_bytes: 0, count }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The base, read if it has to be.
    pub(crate) fn packed(&self, context: &Context) -> Result<Option<Arc<Packed>>> {
        match &self.base {
            Base::Empty => Ok(None),
            Base::Stored(pointer, _) => context.pages.leaf(pointer, context.table).map(Some),
            Base::Held(packed) => Ok(Some(Arc::clone(packed))),
        }
    }

    /// Keeps the base in memory.
    pub(crate) fn hold(&mut self, context: &Context<'_>) -> Result<()> {
        if let (Base::Stored(..), Some(packed)) = (&self.base, self.packed(context)?) {
            self.base = Base::Held(packed);
        }
        Ok(())
    }

    /// Where the key's change is, or where it belongs.
    pub(crate) fn find_change(&self, prefix: u64, key: &[u8]) -> std::result::Result<usize, usize> {
        find_change(&self.delta, prefix, key)
    }

    /// Notes a change and says what stood there. `existed` spares reading the base when the caller knows.
    pub(crate) fn apply(
        &mut self,
        mut change: Change,
        existed: Option<bool>,
        context: &Context,
    ) -> Result<Old> {
        let at = match self.find_change(change.prefix, change.key()) {
            Ok(at) => {
                let Some(there) = self.delta.get_mut(at) else { return Ok(Old::NONE) };
                let old =
                    Old { version: if there.is_put() { there.version } else { 0 }, existed: there.is_put() };
                change.in_base = there.in_base;
                self.count = (self.count + u64::from(change.is_put())).saturating_sub(u64::from(old.existed));
                self.delta_bytes = self.delta_bytes + change.weight_bytes() - there.weight_bytes();
                if change.is_put() || change.in_base {
                    *there = change;
                } else {
                    self.delta_bytes -= change.weight_bytes();
                    self.delta.remove(at);
                }
                return Ok(old);
            }
            Err(at) => at,
        };
        let old = match existed {
            Some(existed) => Old { version: 0, existed },
            None => match self.packed(context)? {
                Some(packed) => match packed.find(change.key()).ok().and_then(|at| packed.get(at)) {
                    Some(entry) => Old { version: entry.version, existed: true },
                    None => Old::NONE,
                },
                None => Old::NONE,
            },
        };
        if !change.is_put() && !old.existed {
            return Ok(old);
        }
        change.in_base = old.existed;
        self.count = (self.count + u64::from(change.is_put())).saturating_sub(u64::from(old.existed));
        self.delta_bytes += change.weight_bytes();
        self.delta.insert(at, change);
        Ok(old)
    }

    pub(crate) fn is_to_be_merged(&self) -> bool {
        self.delta.len() > DELTA_MAX_ITEMS
            || (self.delta_bytes > DELTA_MAX_BYTES && self.delta.len() > 1)
            || self.delta_bytes > DELTA_MAX_BYTES * 4
    }

    /// What its block is going to take, roughly.
    pub(crate) fn raw_bytes(&self) -> usize {
        let (bytes, count) = match &self.base {
            Base::Empty => (0, 0),
            Base::Stored(pointer, count) => (pointer.raw_len_bytes as usize, *count),
            Base::Held(packed) => (packed.raw_bytes(), packed.len() as u64),
        };
        let put = self.delta.iter().filter(|change| change.is_put()).map(Change::weight_bytes).sum::<usize>();
        let gone = self.delta.iter().filter(|change| change.in_base).count() as u64;
        let left = count.saturating_sub(gone);
        let kept = (bytes as u64).saturating_mul(left).checked_div(count).unwrap_or(0);
        kept as usize + put
    }

    pub(crate) fn is_small(&self) -> bool {
        self.raw_bytes() < LEAF_SMALL_BYTES
    }

    /// Merges base and changes into packed leaves; none when nothing is left. `in_order`: filled from left to right, so
    /// that what is left behind stays full.
    pub(crate) fn merge(&self, context: &Context, in_order: bool) -> Result<Vec<Arc<Packed>>> {
        let base = self.packed(context)?;
        let weight = base.as_ref().map_or(0, |base| base.raw_bytes()) + self.delta_bytes;
        let appended = self.delta.len() > 1
            && in_order
            && self.delta.first().is_some_and(|first| {
                base.as_ref().is_none_or(|base| base.key(base.len().saturating_sub(1)) < first.key())
            });
        let target = match weight {
            weight if weight <= LEAF_TARGET_BYTES || appended => LEAF_TARGET_BYTES,
            weight => weight.div_ceil(weight.div_ceil(DIVIDED_BYTES)),
        };
        let mut pieces = Pieces { target, done: Vec::new(), builder: PackedBuilder::default() };
        merge_entries(base.as_deref(), &self.delta, &mut |entry| pieces.push(entry));
        Ok(pieces.finish())
    }

    /// Base and changes as one packed leaf, however large.
    pub(crate) fn merge_whole(&self, context: &Context) -> Result<Arc<Packed>> {
        let base = self.packed(context)?;
        if let (true, Some(base)) = (self.delta.is_empty(), &base) {
            return Ok(Arc::clone(base));
        }
        let bytes = base.as_ref().map_or(0, |base| base.raw_bytes()) + self.delta_bytes;
        // Not by the count that was noted for it, which a damaged branch may have wrong.
        let entries = base.as_ref().map_or(0, |base| base.len()) + self.delta.len();
        let mut builder = PackedBuilder::with_capacity(entries, bytes);
        merge_entries(base.as_deref(), &self.delta, &mut |entry| builder.push(entry));
        Ok(Arc::new(builder.finish()))
    }
}

pub(crate) fn find_change(delta: &[Change], prefix: u64, key: &[u8]) -> std::result::Result<usize, usize> {
    delta.binary_search_by(|change| compare_keys(change.prefix, change.key(), prefix, key))
}

/// Gives the entries of a base with changes, in order.
fn merge_entries<'l>(base: Option<&'l Packed>, delta: &'l [Change], give: &mut dyn FnMut(EntryRef<'l>)) {
    let mut from = 0;
    let give_base = |from: usize, to: usize, give: &mut dyn FnMut(EntryRef<'l>)| {
        if let Some(base) = base {
            (from..to).filter_map(|at| base.get(at)).for_each(give);
        }
    };
    for change in delta {
        let (to, next) = match base.map_or(Err(0), |base| base.find(change.key())) {
            Ok(at) => (at, at + 1),
            Err(at) => (at, at),
        };
        give_base(from, to, give);
        from = next;
        if change.is_put() {
            give(change.entry());
        }
    }
    give_base(from, base.map_or(0, Packed::len), give);
}

struct Pieces {
    target: usize,
    done: Vec<Arc<Packed>>,
    builder: PackedBuilder,
}

impl Pieces {
    fn push(&mut self, entry: EntryRef<'_>) {
        if !self.builder.is_empty() && self.builder.raw_bytes() + entry.weight_bytes() > self.target {
            self.cut();
        }
        self.builder.push(entry);
    }

    fn cut(&mut self) {
        let builder = std::mem::take(&mut self.builder);
        self.done.push(Arc::new(builder.finish()));
    }

    fn finish(mut self) -> Vec<Arc<Packed>> {
        if !self.builder.is_empty() {
            self.cut();
        }
        self.done
    }
}

/// Whether two neighbours fit into one leaf that has room to grow.
pub(crate) fn fit_together(a: &Leaf, b: &Leaf) -> bool {
    a.raw_bytes() + b.raw_bytes() <= LEAF_TARGET_BYTES * BRANCH_FILL.0 / BRANCH_FILL.1
}

/// All values of a leaf that are in the file.
pub(crate) fn stored_values(values: &[ValueRef]) -> impl Iterator<Item = BlockPointer> {
    values.iter().filter_map(ValueRef::pointer)
}
