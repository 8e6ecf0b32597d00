//! One row per accumulator.

use super::collect::{AddToSet, ExtremeN, FirstN, LastN, MergeObjects, Push};
use super::deviation::Deviation;
use super::extreme::{Extreme, First, Last};
use super::sum::{Avg, Count, Sum};
use super::{Accumulate, Ranking};
use multifora_model::Collation;
use std::sync::Arc;

/// Makes an accumulator; some compare strings, by the collation.
pub type New = fn(Option<&Arc<Collation>>) -> Box<dyn Accumulate>;
/// The same for one that keeps so many values.
pub type NewOfSize = fn(usize, Option<&Arc<Collation>>) -> Box<dyn Accumulate>;

/// An accumulator.
#[derive(Debug)]
pub struct Accumulator {
    /// The name, with `$`.
    pub name: &'static str,
    /// How its operand is written, and what runs.
    pub kind: Kind,
    /// What it does, in a line.
    pub about: &'static str,
}

/// How an accumulator's operand is written.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An expression.
    Plain(New),
    /// An empty document (`$count`).
    NoOperand(New),
    /// `{input, n}`.
    Several(NewOfSize),
    /// `{sortBy, output}`, one result.
    Ranked(Ranking),
    /// `{sortBy, output, n}`, an array.
    RankedSeveral(Ranking),
}

const fn row(name: &'static str, kind: Kind, about: &'static str) -> Accumulator {
    Accumulator { name, kind, about }
}

const ROWS: &[Accumulator] = &[
    row("$sum", Kind::Plain(|_| Box::new(Sum::default())), "the sum of the numbers"),
    row("$avg", Kind::Plain(|_| Box::new(Avg::default())), "the mean of the numbers"),
    row("$min", Kind::Plain(|c| Box::new(Extreme::smallest(c))), "the smallest value"),
    row("$max", Kind::Plain(|c| Box::new(Extreme::greatest(c))), "the greatest value"),
    row("$first", Kind::Plain(|_| Box::new(First::default())), "the value of the first document"),
    row("$last", Kind::Plain(|_| Box::new(Last::default())), "the value of the last document"),
    row("$push", Kind::Plain(|_| Box::new(Push::default())), "all values"),
    row("$addToSet", Kind::Plain(|c| Box::new(AddToSet::new(c))), "all values, each once"),
    row("$mergeObjects", Kind::Plain(|_| Box::new(MergeObjects::default())), "the documents, merged"),
    row(
        "$stdDevPop",
        Kind::Plain(|_| Box::new(Deviation::population())),
        "standard deviation of a population",
    ),
    row("$stdDevSamp", Kind::Plain(|_| Box::new(Deviation::sample())), "standard deviation of a sample"),
    row("$count", Kind::NoOperand(|_| Box::new(Count::default())), "how many documents there are"),
    row("$firstN", Kind::Several(|n, _| Box::new(FirstN::new(n))), "the first values"),
    row("$lastN", Kind::Several(|n, _| Box::new(LastN::new(n))), "the last values"),
    row("$minN", Kind::Several(|n, c| Box::new(ExtremeN::new(n, false, c))), "the smallest values"),
    row("$maxN", Kind::Several(|n, c| Box::new(ExtremeN::new(n, true, c))), "the greatest values"),
    row("$top", Kind::Ranked(Ranking::Top), "the output of the first document by an order"),
    row("$bottom", Kind::Ranked(Ranking::Bottom), "the output of the last document by an order"),
    row("$topN", Kind::RankedSeveral(Ranking::Top), "the outputs of the first documents by an order"),
    row("$bottomN", Kind::RankedSeveral(Ranking::Bottom), "the outputs of the last documents by an order"),
];

/// All accumulators.
pub fn accumulators() -> &'static [Accumulator] {
    ROWS
}

/// The accumulator with this name.
pub fn accumulator(name: &str) -> Option<&'static Accumulator> {
    ROWS.iter().find(|row| row.name == name)
}
