//! What is printed: for each row its figures, and for each bar the figure, the bar and the verdict.

use crate::engine::{ALL, JUDGED};
use std::fmt::Write;

/// Which side of a bar is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The figure may be the bar or less.
    AtMost,
    /// The figure may be the bar or more.
    AtLeast,
}

/// What one figure is held to.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it says: "1.5 times the best of the others".
    pub text: String,
    /// The good side.
    pub limit: Limit,
    /// The bar in the row's unit.
    pub value: f64,
    /// What was measured, in the row's unit.
    pub figure: f64,
}

impl Bar {
    fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtMost => self.figure <= self.value,
            Limit::AtLeast => self.figure >= self.value,
        }
    }

    fn verdict(&self) -> &'static str {
        if self.is_met() { "meets" } else { "falls short" }
    }
}

/// One measurement, with the bars that it is held to. Without bars it is there to be read.
#[derive(Debug, Clone)]
pub struct Row {
    name: String,
    what: String,
    unit: &'static str,
    figures: Vec<(&'static str, f64)>,
    bars: Vec<Bar>,
    notes: Vec<String>,
}

impl Row {
    /// A row of that name; `what` says in words what was measured.
    pub fn new(name: impl Into<String>, what: impl Into<String>, unit: &'static str) -> Row {
        Row {
            name: name.into(),
            what: what.into(),
            unit,
            figures: Vec::new(),
            bars: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The figures of the engines, by name.
    pub fn figures(mut self, figures: impl IntoIterator<Item = (&'static str, f64)>) -> Row {
        self.figures.extend(figures);
        self
    }

    /// A bar for a figure.
    pub fn bar(mut self, text: impl Into<String>, limit: Limit, value: f64, figure: f64) -> Row {
        self.bars.push(Bar { text: text.into(), limit, value, figure });
        self
    }

    /// A bar for the judged engine's figure; nothing when that did not run.
    pub fn own_bar(self, text: impl Into<String>, limit: Limit, value: f64) -> Row {
        match self.figure_of(JUDGED) {
            Some(figure) => self.bar(text, limit, value, figure),
            None => self,
        }
    }

    /// Holds the judged engine to `factor` times the best of the others.
    pub fn bar_by_best(self, limit: Limit, factor: f64) -> Row {
        let others = self.figures.iter().filter(|(name, _)| *name != JUDGED).map(|(_, figure)| *figure);
        let best = match limit {
            Limit::AtMost => others.reduce(f64::min),
            Limit::AtLeast => others.reduce(f64::max),
        };
        let text = if factor == 1.0 {
            "the best of the others".to_owned()
        } else {
            format!("{factor} times the best of the others")
        };
        match best {
            Some(best) => self.own_bar(text, limit, factor * best),
            None => self.note("no other engine took part: no bar"),
        }
    }

    /// Holds the judged engine to another one's figure.
    pub fn bar_by(self, engine: &str, limit: Limit) -> Row {
        match self.figure_of(engine) {
            Some(value) => self.own_bar(format!("{engine}'s"), limit, value),
            None => self.note(format!("{engine} took no part: no bar")),
        }
    }

    /// Something a reader has to know.
    pub fn note(mut self, note: impl Into<String>) -> Row {
        self.notes.push(note.into());
        self
    }

    /// An engine's figure.
    pub fn figure_of(&self, engine: &str) -> Option<f64> {
        self.figures.iter().find(|(name, _)| *name == engine).map(|(_, figure)| *figure)
    }
}

/// Prints rows as they come, and counts verdicts.
pub struct Report {
    is_tsv: bool,
    met: u32,
    short: Vec<String>,
}

impl Report {
    /// A report for people, or as tab-separated values.
    pub fn new(is_tsv: bool) -> Report {
        if is_tsv {
            let engines = ALL.map(|engine| engine.name()).join("\t");
            println!("row\twhat\tunit\tbar\tlimit\tbar_value\tfigure\tverdict\t{engines}\tnotes");
        }
        Report { is_tsv, met: 0, short: Vec::new() }
    }

    /// A line that belongs to no row; not in TSV.
    pub fn say(&self, text: &str) {
        if !self.is_tsv {
            println!("{text}");
        }
    }

    /// Prints a row.
    pub fn add(&mut self, row: &Row) {
        for bar in &row.bars {
            if bar.is_met() {
                self.met += 1;
            } else {
                self.short.push(row.name.clone());
            }
        }
        if self.is_tsv { print_tsv(row) } else { print_text(row) }
    }

    /// Says that a row could not be measured, which is falling short of it.
    pub fn add_failure(&mut self, name: &str, error: &anyhow::Error) {
        self.short.push(name.to_owned());
        let text = format!("{error:#}").replace(['\t', '\n'], " ");
        if self.is_tsv {
            let blanks = "\t".repeat(ALL.len());
            println!("{name}\tdid not finish\t\t\t\t\t\tfalls short{blanks}\t{text}");
        } else {
            println!("{name:<22}did not finish: {text}: falls short\n");
        }
    }

    /// The last line.
    pub fn finish(self) {
        let short =
            if self.short.is_empty() { String::new() } else { format!(": {}", self.short.join(", ")) };
        self.say(&format!("{} bars met, {} fallen short of{short}", self.met, self.short.len()));
    }
}

fn print_text(row: &Row) {
    let mut out = format!("{:<22}{}\n", row.name, row.what);
    if !row.figures.is_empty() {
        let figures: Vec<String> =
            row.figures.iter().map(|(name, figure)| format!("{name} {}", number(*figure))).collect();
        let _ = writeln!(out, "{:<22}{}   {}", "", figures.join("   "), row.unit);
    }
    for bar in &row.bars {
        let limit = if bar.limit == Limit::AtMost { "at most" } else { "at least" };
        let _ = writeln!(
            out,
            "{:<22}bar {limit} {} ({}), figure {}: {}",
            "",
            number(bar.value),
            bar.text,
            number(bar.figure),
            bar.verdict()
        );
    }
    for note in &row.notes {
        let _ = writeln!(out, "{:<22}{note}", "");
    }
    println!("{out}");
}

fn print_tsv(row: &Row) {
    let engines: Vec<String> = ALL
        .iter()
        .map(|engine| row.figure_of(engine.name()).map_or(String::new(), |figure| format!("{figure:.6}")))
        .collect();
    let (engines, notes) = (engines.join("\t"), row.notes.join("; "));
    if row.bars.is_empty() {
        println!("{}\t{}\t{}\t\t\t\t\t-\t{engines}\t{notes}", row.name, row.what, row.unit);
    }
    for bar in &row.bars {
        let limit = if bar.limit == Limit::AtMost { "at most" } else { "at least" };
        println!(
            "{}\t{}\t{}\t{}\t{limit}\t{:.6}\t{:.6}\t{}\t{engines}\t{notes}",
            row.name,
            row.what,
            row.unit,
            bar.text,
            bar.value,
            bar.figure,
            bar.verdict()
        );
    }
}

/// Three digits that matter, thousands separated.
pub fn number(figure: f64) -> String {
    let size = figure.abs();
    if size >= 100.0 {
        let digits = format!("{figure:.0}");
        let mut out = String::new();
        for (at, digit) in digits.chars().enumerate() {
            let left = digits.len() - at;
            if at > 0 && left.is_multiple_of(3) && !out.ends_with('-') {
                out.push(',');
            }
            out.push(digit);
        }
        out
    } else if size >= 10.0 {
        format!("{figure:.1}")
    } else if size >= 0.1 {
        format!("{figure:.2}")
    } else {
        format!("{figure:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(12.345), "12.3");
        assert_eq!(number(0.5), "0.50");
        assert_eq!(number(-1234.0), "-1,234");
    }

    #[test]
    fn a_bar_is_met_on_its_good_side_only() {
        let row = Row::new("r", "", "").figures([(JUDGED, 10.0), ("sqlite", 8.0), ("redb", 4.0)]);
        let bars = row.clone().bar_by_best(Limit::AtLeast, 1.5).bars;
        assert!(bars.iter().all(|bar| bar.value == 12.0 && !bar.is_met()) && bars.len() == 1);
        let bars = row.bar_by_best(Limit::AtMost, 2.0).bars;
        assert!(bars.iter().all(|bar| bar.value == 8.0 && !bar.is_met()) && bars.len() == 1);
    }
}
