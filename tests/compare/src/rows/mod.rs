//! The rows, in the order in which a run takes them.
//!
//! Steps of one kind of documents stand together: their databases are loaded once and removed before the next kind,
//! so that a run at 20 GiB needs the disk for one kind only. Steps that change a loaded database come last.

mod checkpoint;
mod churn;
mod commits;
mod empty;
mod load;
mod machine;
pub mod memory;
mod reads;
pub mod recovery;
mod scans;
mod size;
mod updates;

use crate::bench::Bench;
use crate::documents::Kind;
use anyhow::Result;

/// One step of a run.
pub struct Step {
    /// The name by which it is selected; steps of several kinds share it.
    pub name: &'static str,
    /// Whose loaded databases it uses.
    pub kind: Option<Kind>,
    /// What it does.
    pub run: fn(&mut Bench, Kind) -> Result<()>,
}

const fn step(name: &'static str, kind: Option<Kind>, run: fn(&mut Bench, Kind) -> Result<()>) -> Step {
    Step { name, kind, run }
}

const SMALL: Option<Kind> = Some(Kind::Small);
const LARGE: Option<Kind> = Some(Kind::Large);

/// Every step.
pub const STEPS: [Step; 18] = [
    step("machine", None, machine::run),
    step("empty", None, empty::run),
    step("commits", None, commits::run),
    step("load", SMALL, load::run),
    step("size", SMALL, size::run),
    step("reads", SMALL, reads::run),
    step("scans", SMALL, scans::run),
    step("updates", SMALL, updates::run),
    step("checkpoint", SMALL, checkpoint::run),
    step("open", SMALL, recovery::run),
    step("memory", SMALL, memory::run),
    step("load", LARGE, load::run),
    step("size", LARGE, size::run),
    step("reads", LARGE, reads::run),
    step("scans", LARGE, scans::run),
    step("open", LARGE, recovery::run),
    step("memory", LARGE, memory::run),
    step("churn", None, churn::run),
];

/// The names by which steps are selected.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
