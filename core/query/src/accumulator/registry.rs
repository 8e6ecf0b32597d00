//! One row per accumulator.

use super::collect::{AddToSet, ExtremeN, FirstN, LastN, MergeObjects, Push};
use super::deviation::Deviation;
use super::extreme::{Extreme, First, Last};
use super::sum::{Avg, Count, Sum};
use super::{Accumulate, Ranking};

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
    Plain(fn() -> Box<dyn Accumulate>),
    /// An empty document (`$count`).
    NoOperand(fn() -> Box<dyn Accumulate>),
    /// `{input, n}`.
    Several(fn(usize) -> Box<dyn Accumulate>),
    /// `{sortBy, output}`, one result.
    Ranked(Ranking),
    /// `{sortBy, output, n}`, an array.
    RankedSeveral(Ranking),
}

const fn row(name: &'static str, kind: Kind, about: &'static str) -> Accumulator {
    Accumulator { name, kind, about }
}

const ROWS: &[Accumulator] = &[
    row("$sum", Kind::Plain(|| Box::new(Sum::default())), "the sum of the numbers"),
    row("$avg", Kind::Plain(|| Box::new(Avg::default())), "the mean of the numbers"),
    row("$min", Kind::Plain(|| Box::new(Extreme::smallest())), "the smallest value"),
    row("$max", Kind::Plain(|| Box::new(Extreme::greatest())), "the greatest value"),
    row("$first", Kind::Plain(|| Box::new(First::default())), "the value of the first document"),
    row("$last", Kind::Plain(|| Box::new(Last::default())), "the value of the last document"),
    row("$push", Kind::Plain(|| Box::new(Push::default())), "all values"),
    row("$addToSet", Kind::Plain(|| Box::new(AddToSet::default())), "all values, each once"),
    row("$mergeObjects", Kind::Plain(|| Box::new(MergeObjects::default())), "the documents, merged"),
    row(
        "$stdDevPop",
        Kind::Plain(|| Box::new(Deviation::population())),
        "standard deviation of a population",
    ),
    row("$stdDevSamp", Kind::Plain(|| Box::new(Deviation::sample())), "standard deviation of a sample"),
    row("$count", Kind::NoOperand(|| Box::new(Count::default())), "how many documents there are"),
    row("$firstN", Kind::Several(|n| Box::new(FirstN::new(n))), "the first values"),
    row("$lastN", Kind::Several(|n| Box::new(LastN::new(n))), "the last values"),
    row("$minN", Kind::Several(|n| Box::new(ExtremeN::new(n, false))), "the smallest values"),
    row("$maxN", Kind::Several(|n| Box::new(ExtremeN::new(n, true))), "the greatest values"),
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
