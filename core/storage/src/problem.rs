//! What is wrong with a file: in which table, where, and what is lost by it.

use crate::block::TABLES_TREE;
use crate::error::Error;
use crate::ids::TableId;
use crate::inspect::Lost;
use std::fmt;

/// Most bytes of a key that a text shows.
const SHOWN_KEY_BYTES: usize = 24;

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The table that it is in; none for what belongs to no table.
    pub table: Option<TableId>,
    /// What it is, and where in the file.
    pub error: Error,
    /// What cannot be read because of it.
    pub lost: LostKeys,
}

/// What cannot be read because of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostKeys {
    /// Nothing.
    Nothing,
    /// The entry of this key.
    Entry(Vec<u8>),
    /// Entries with keys from `from` up to, and without, `to`.
    Range {
        /// The first key that may be lost.
        from: Vec<u8>,
        /// The first that is not; none at the end of the table.
        to: Option<Vec<u8>>,
        /// How many entries are lost, where that is noted somewhere.
        entries: Option<u64>,
    },
}

impl Problem {
    pub(crate) fn new(table: u64, error: Error, lost: Lost<'_>) -> Problem {
        let table = (table != TABLES_TREE).then(|| TableId::from_u64(table));
        let lost = match lost {
            Lost::Nothing => LostKeys::Nothing,
            Lost::Entry(key) => LostKeys::Entry(key.to_vec()),
            Lost::Range { lower, upper, entries, .. } => {
                LostKeys::Range { from: lower.to_vec(), to: upper.map(<[u8]>::to_vec), entries }
            }
        };
        Problem { table, error, lost }
    }

    /// A problem that hides nothing and belongs to no table.
    pub(crate) fn of_file(error: Error) -> Problem {
        Problem { table: None, error, lost: LostKeys::Nothing }
    }

    /// Where it is and what, without advice.
    pub fn what(&self) -> String {
        match &self.error {
            Error::Corrupt { place, what } => format!("{place}: {what}"),
            error => error.to_string(),
        }
    }
}

/// Shows the beginning of a key.
struct Key<'k>(&'k [u8]);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(SHOWN_KEY_BYTES).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        if self.0.len() > SHOWN_KEY_BYTES { write!(f, "… ({} bytes)", self.0.len()) } else { Ok(()) }
    }
}

impl fmt::Display for LostKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LostKeys::Nothing => write!(f, "nothing is lost"),
            LostKeys::Entry(key) => write!(f, "the entry of key {} is lost", Key(key)),
            LostKeys::Range { from, to, entries } => {
                match entries {
                    Some(1) => write!(f, "1 entry is lost")?,
                    Some(entries) => write!(f, "{entries} entries are lost")?,
                    None => write!(f, "entries are lost, nobody knows how many")?,
                }
                match (from.as_slice(), to) {
                    ([], None) => write!(f, ": the whole table"),
                    ([], Some(to)) => write!(f, ", with keys before {}", Key(to)),
                    (from, None) => write!(f, ", with keys from {} on", Key(from)),
                    (from, Some(to)) => write!(f, ", with keys from {} to before {}", Key(from), Key(to)),
                }
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what())?;
        if self.lost == LostKeys::Nothing { Ok(()) } else { write!(f, "; {}", self.lost) }
    }
}
