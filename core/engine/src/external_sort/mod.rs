//! Sorting more bytes than memory should hold: sorted runs in an unlinked temporary file, then one merge.
//!
//! Entries are byte strings; they come out in the order of their bytes. Up to the budget they are sorted where they
//! are and nothing is written. Beyond, each filled budget becomes a run in a file that has no name, so that a crash
//! leaves nothing behind. The file lies where the system wants temporary files (`TMPDIR`).
//!
//! Most comparisons end at the eight bytes kept beside an entry's place: what follows the beginning that all entries
//! of a run share.

mod runs;

use multifora_model::Result;
use runs::{Merge, RunFile};

/// What an entry costs besides its bytes.
const SPAN_BYTES: usize = size_of::<Span>();

/// Takes entries in any order.
pub struct ExternalSorter {
    budget_bytes: usize,
    held: Held,
    runs: Option<RunFile>,
    count: u64,
}

/// Entries in memory.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

#[derive(Clone, Copy)]
struct Span {
    /// The bytes behind the common beginning, as a number that sorts like them.
    prefix: u64,
    start: u32,
    len: u32,
}

impl ExternalSorter {
    /// A sorter that holds about `budget_bytes` (at most 4 GiB) in memory; a single entry always fits.
    pub fn new(budget_bytes: usize) -> Self {
        let budget_bytes = budget_bytes.min(u32::MAX as usize / 2);
        ExternalSorter { budget_bytes, held: Held::default(), runs: None, count: 0 }
    }

    /// Takes the entry that the parts make one after the other.
    ///
    /// # Errors
    /// The temporary file cannot be made or written (`OutOfDiskSpace`, `FileStreamFailed`).
    pub fn push(&mut self, parts: [&[u8]; 2]) -> Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if self.held.len_bytes() + len + SPAN_BYTES > self.budget_bytes && !self.held.spans.is_empty() {
            self.spill()?;
        }
        let start = self.held.bytes.len() as u32;
        parts.iter().for_each(|part| self.held.bytes.extend_from_slice(part));
        self.held.spans.push(Span { prefix: 0, start, len: len as u32 });
        self.count += 1;
        Ok(())
    }

    /// How many entries came.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sorts what is left in memory.
    ///
    /// # Errors
    /// As [`push`](Self::push); the file cannot be read.
    pub fn finish(mut self) -> Result<SortedEntries> {
        if self.runs.is_some() {
            self.spill()?;
        }
        self.held.sort();
        match self.runs {
            Some(runs) => Ok(SortedEntries(Source::Runs(runs.merge()?))),
            None => Ok(SortedEntries(Source::Held { held: self.held, next: 0 })),
        }
    }

    fn spill(&mut self) -> Result<()> {
        self.held.sort();
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(RunFile::new()?),
        };
        runs.add(self.held.iter())?;
        self.held.bytes.clear();
        self.held.spans.clear();
        Ok(())
    }
}

impl Held {
    fn len_bytes(&self) -> usize {
        self.bytes.len() + self.spans.len() * SPAN_BYTES
    }

    fn sort(&mut self) {
        let Held { bytes, spans } = self;
        let entry = |span: &Span| slice(bytes, span);
        let Some(first) = spans.first().copied() else { return };
        let shared = |span: &Span| entry(&first).iter().zip(entry(span)).take_while(|(a, b)| a == b).count();
        let mut common = first.len as usize;
        for span in spans.iter() {
            // Only the part that is still thought to be common is looked at.
            if entry(span).get(..common) != entry(&first).get(..common) {
                common = common.min(shared(span));
            }
        }
        for span in spans.iter_mut() {
            span.prefix = prefix(entry(span).get(common..).unwrap_or_default());
        }
        spans.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| entry(a).cmp(entry(b))));
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans.iter().map(|span| slice(&self.bytes, span))
    }
}

fn slice<'b>(bytes: &'b [u8], span: &Span) -> &'b [u8] {
    bytes.get(span.start as usize..span.start as usize + span.len as usize).unwrap_or_default()
}

/// The first eight bytes as a number; what is shorter is filled up with zeros.
fn prefix(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let mut chunk = [0; 8];
            chunk.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(chunk)
        }
    }
}

/// The entries in order.
pub struct SortedEntries(Source);

enum Source {
    Held { held: Held, next: usize },
    Runs(Merge),
}

impl SortedEntries {
    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        match &mut self.0 {
            Source::Runs(merge) => merge.next(),
            Source::Held { held, next } => {
                let span = held.spans.get(*next);
                *next += 1;
                Ok(span.map(|span| slice(&held.bytes, span)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(budget_bytes: usize, entries: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut sorter = ExternalSorter::new(budget_bytes);
        for entry in entries {
            let (a, b) = entry.split_at(entry.len() / 2);
            sorter.push([a, b]).unwrap();
        }
        assert_eq!(sorter.count(), entries.len() as u64);
        let mut sorted = sorter.finish().unwrap();
        let mut found = Vec::new();
        while let Some(entry) = sorted.next().unwrap() {
            found.push(entry.to_vec());
        }
        assert!(sorted.next().unwrap().is_none());
        found
    }

    proptest! {
        #[test]
        fn every_budget_gives_the_same_order(
            entries in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![0u8, 1, 7, 255]), 0..20), 0..300),
            common in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            let entries: Vec<Vec<u8>> = entries.into_iter().map(|e| [common.clone(), e].concat()).collect();
            let mut wanted = entries.clone();
            wanted.sort();
            for budget in [0, 100, 1_000, usize::MAX] {
                prop_assert_eq!(&sorted(budget, &entries), &wanted, "budget {}", budget);
            }
        }
    }

    #[test]
    fn entries_larger_than_the_budget_and_the_buffers() {
        let entries: Vec<Vec<u8>> = (0..20u8).map(|n| [vec![5; 300_000], vec![19 - n; 9]].concat()).collect();
        let mut wanted = entries.clone();
        wanted.sort();
        assert!(sorted(400_000, &entries) == wanted && sorted(0, &entries) == wanted);
    }

    #[test]
    fn more_runs_than_one_merge_takes() {
        let entries: Vec<Vec<u8>> =
            (0..3_000u32).map(|n| (n.wrapping_mul(2_654_435_761) % 3_001).to_be_bytes().to_vec()).collect();
        let mut wanted = entries.clone();
        wanted.sort();
        assert_eq!(sorted(0, &entries), wanted);
    }
}
