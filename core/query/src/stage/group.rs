//! `$group` (and `$bucket`): documents gathered by a key, accumulators per group.
//!
//! Equal numbers of different types are one key, NaN too; missing and null are one key. Groups come
//! out in the order their first documents came in.

use super::key_hash::KeyHash;
use super::run::StageRun;
use super::source::{Chain, DocSource, view_of};
use super::{MAX_BLOCKING_STAGE_BYTES, parse};
use crate::Resources;
use crate::accumulator::{Accumulate, New, NewOfSize, Rank, Ranking};
use crate::expression::{EvalContext, Expr};
use crate::sort::SortSpec;
use multifora_model::compare::{Collator, compare_with};
use multifora_model::{
    Collation, DocBuilder, DocumentView, Error, Number, OwnedValue, RawDoc, RawValue, Result, Val, ValueKey,
    text,
};
use std::collections::HashMap;
use std::sync::Arc;

/// A compiled `$group`.
#[derive(Debug)]
pub struct Group {
    /// What documents are gathered by.
    pub key: GroupKey,
    /// The fields of a group's document, besides `_id`.
    pub fields: Vec<GroupField>,
    /// How strings compare: keys that are equal under it are one.
    pub collation: Option<Arc<Collation>>,
}

/// What documents are gathered by.
#[derive(Debug)]
pub enum GroupKey {
    /// The value of an expression.
    Expr(Expr),
    /// The range that the value of an expression lies in (`$bucket`).
    Buckets {
        /// The expression.
        by: Expr,
        /// The lower ends, ascending; the last one is the end of the last range.
        boundaries: Vec<OwnedValue>,
        /// The key of what lies in no range.
        default: Option<OwnedValue>,
    },
}

/// A field of a group's document.
#[derive(Debug)]
pub struct GroupField {
    /// The name.
    pub name: String,
    /// Where its value comes from.
    pub source: FieldSource,
}

/// Where the value of a field comes from.
#[derive(Debug)]
pub enum FieldSource {
    /// An accumulator that takes the values of an expression.
    Values {
        /// The accumulator's name.
        operator: &'static str,
        /// Makes the accumulator.
        new: New,
        /// What it is fed with.
        value: Expr,
    },
    /// The same, for an accumulator that keeps `n` values.
    Several {
        /// The accumulator's name.
        operator: &'static str,
        /// Makes the accumulator.
        new: NewOfSize,
        /// What it is fed with.
        value: Expr,
        /// How many; it sees the group's key.
        n: Expr,
    },
    /// Outputs by rank.
    Ranked {
        /// The accumulator's name.
        operator: &'static str,
        /// Which end.
        ranking: Ranking,
        /// The order.
        sort: SortSpec,
        /// What comes out.
        output: Expr,
        /// How many; a single one when there is no number.
        n: Option<Expr>,
    },
}

impl GroupKey {
    /// The key of a document.
    fn of<'e>(&'e self, cx: &EvalContext<'e>, collator: Option<&dyn Collator>) -> Result<Val<'e>> {
        match self {
            GroupKey::Expr(expr) => Ok(expr.eval(cx)?.unwrap_or(Val::Borrowed(RawValue::NULL))),
            GroupKey::Buckets { by, boundaries, default } => {
                let value = by.eval(cx)?.unwrap_or(Val::Borrowed(RawValue::NULL));
                let value = value.as_ref();
                let above = boundaries.partition_point(|b| compare_with(b.as_ref(), value, collator).is_le());
                let bucket =
                    (above > 0 && above < boundaries.len()).then(|| boundaries.get(above - 1)).flatten();
                bucket.or(default.as_ref()).map(|key| Val::Borrowed(key.as_ref())).ok_or_else(|| {
                    Error::location(
                        40066,
                        "$switch could not find a matching branch for an input, and no default was specified.",
                    )
                })
            }
        }
    }
}

/// The state of one field of one group.
enum FieldState {
    Running(Box<dyn Accumulate>),
    Ranked(Rank),
}

impl FieldState {
    fn new(
        source: &FieldSource,
        id: RawValue<'_>,
        collation: Option<&Arc<Collation>>,
        res: &dyn Resources,
    ) -> Result<Self> {
        let count = |n: &Expr, operator: &str| count_for(n, operator, id, res);
        Ok(match source {
            FieldSource::Values { new, .. } => FieldState::Running(new(collation)),
            FieldSource::Several { operator, new, n, .. } => {
                FieldState::Running(new(count(n, operator)?, collation))
            }
            FieldSource::Ranked { operator, ranking, n, .. } => {
                let n = n.as_ref().map_or(Ok(1), |n| count(n, operator))?;
                FieldState::Ranked(Rank::new(*ranking, n))
            }
        })
    }

    fn held_bytes(&self) -> usize {
        match self {
            FieldState::Running(running) => running.held_bytes(),
            FieldState::Ranked(rank) => rank.held_bytes(),
        }
    }

    fn add(
        &mut self,
        source: &FieldSource,
        view: &DocumentView<'_>,
        res: &dyn Resources,
        key: &mut Vec<u8>,
    ) -> Result<()> {
        let cx = EvalContext::new(*view, res);
        match (self, source) {
            (
                FieldState::Running(running),
                FieldSource::Values { value, .. } | FieldSource::Several { value, .. },
            ) => running.add(value.eval(&cx)?.as_ref().map(Val::as_ref)),
            (FieldState::Ranked(rank), FieldSource::Ranked { sort, output, .. }) => {
                sort.key(view, key)?;
                rank.add(key, output.eval(&cx)?.as_ref().map(Val::as_ref));
                Ok(())
            }
            _ => Err(Error::internal("a group's state does not fit its field")),
        }
    }

    fn result(&self, source: &FieldSource) -> OwnedValue {
        let result = match (self, source) {
            (FieldState::Running(running), _) => running.result(),
            (FieldState::Ranked(rank), FieldSource::Ranked { n: Some(_), .. }) => Some(rank.array()),
            (FieldState::Ranked(rank), _) => rank.single(),
        };
        result.unwrap_or_else(OwnedValue::null)
    }
}

/// The `n` of an accumulator: a positive whole number that may depend on the group's key.
fn count_for(n: &Expr, operator: &str, id: RawValue<'_>, res: &dyn Resources) -> Result<usize> {
    let root = DocumentView::whole(id.as_doc().unwrap_or(RawDoc::EMPTY));
    let value = n.eval(&EvalContext::new(root, res))?;
    let value = value.as_ref().map_or(RawValue::NULL, Val::as_ref);
    let number = Number::from_value(value).ok_or_else(|| {
        Error::location(
            5_787_902,
            format!("Value for 'n' must be of integral type, but found {}", text::value(value)),
        )
    })?;
    let whole = number.as_i64_exact().ok_or_else(|| {
        Error::location(
            5_787_903,
            format!("Value for 'n' must be of integral type, but found {}", text::value(value)),
        )
    })?;
    usize::try_from(whole).ok().filter(|n| *n > 0).ok_or_else(|| {
        Error::location(5_787_908, format!("'n' must be greater than 0, found {whole} ({operator})"))
    })
}

struct GroupState {
    id: OwnedValue,
    fields: Vec<FieldState>,
}

/// `$group` at work.
pub(super) struct GroupRun {
    spec: Arc<Group>,
    groups: Option<std::vec::IntoIter<GroupState>>,
    out: Vec<u8>,
}

impl GroupRun {
    pub(super) fn new(spec: Arc<Group>) -> Self {
        GroupRun { spec, groups: None, out: Vec::new() }
    }

    fn gather(&self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<Vec<GroupState>> {
        let collator = Collation::collator(self.spec.collation.as_ref());
        let mut places: HashMap<ValueKey, usize, KeyHash> = HashMap::default();
        let mut groups: Vec<GroupState> = Vec::new();
        let mut held_bytes = 0usize;
        let mut sort_key = Vec::new();
        let one_group = matches!(&self.spec.key, GroupKey::Expr(key) if key.as_const().is_some());
        while upstream.advance(res)? {
            let view = upstream.current();
            let known = if one_group && !groups.is_empty() {
                Some(0)
            } else {
                let id = self.spec.key.of(&EvalContext::new(view, res), collator)?;
                let key = ValueKey::with_collator(id.as_ref(), collator);
                let place = places.get(&key).copied();
                if place.is_none() {
                    held_bytes += key.as_bytes().len() + id.as_ref().bytes.len() + size_of::<GroupState>();
                    places.insert(key, groups.len());
                    groups.push(self.new_group(id.into_owned(), res)?);
                }
                place
            };
            let at = known.unwrap_or_else(|| groups.len() - 1);
            let Some(group) = groups.get_mut(at) else { continue };
            for (state, field) in group.fields.iter_mut().zip(&self.spec.fields) {
                let before = state.held_bytes();
                state.add(&field.source, &view, res, &mut sort_key)?;
                held_bytes = (held_bytes + state.held_bytes()).saturating_sub(before);
            }
            if held_bytes > MAX_BLOCKING_STAGE_BYTES {
                return Err(parse::too_much_memory("$group"));
            }
        }
        Ok(groups)
    }

    fn new_group(&self, id: OwnedValue, res: &dyn Resources) -> Result<GroupState> {
        let collation = self.spec.collation.as_ref();
        let state = |field: &GroupField| FieldState::new(&field.source, id.as_ref(), collation, res);
        let fields = self.spec.fields.iter().map(state);
        Ok(GroupState { fields: fields.collect::<Result<_>>()?, id })
    }
}

impl StageRun for GroupRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        if self.groups.is_none() {
            self.groups = Some(self.gather(upstream, res)?.into_iter());
        }
        self.out.clear();
        let Some(group) = self.groups.as_mut().and_then(Iterator::next) else { return Ok(false) };
        let mut out = DocBuilder::with_buffer(std::mem::take(&mut self.out));
        out.append("_id", group.id.as_ref());
        for (state, field) in group.fields.iter().zip(&self.spec.fields) {
            out.append(&field.name, state.result(&field.source).as_ref());
        }
        self.out = out.finish();
        Ok(true)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.out)
    }
}
