//! Sorted runs in one temporary file, and their merge.
//!
//! A run is a sequence of entries, each written as what it adds to the one before: the number of bytes that they
//! share, the number of bytes that follow, these bytes; both numbers as LEB128.

use crate::storage_error::from_storage;
use multifora_model::{Error, Result};
use multifora_storage::Error as StorageError;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// Runs that one merge reads. When there are more, they are merged into one first.
const MAX_RUNS: usize = 512;
/// Bytes read at a time from each run, and written at a time.
const BUFFER_BYTES: usize = 64 * 1024;
/// Most bytes of a number.
const MAX_NUMBER_BYTES: usize = 5;

/// The file, and where the runs lie in it.
pub struct RunFile {
    file: File,
    len_bytes: u64,
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
}

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        let place = format!("a temporary file in {}", std::env::temp_dir().display());
        from_storage(StorageError::io(action, place, &error))
    }
}

impl RunFile {
    /// An empty file without a name.
    pub fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(failed("create"))?;
        Ok(RunFile { file, len_bytes: 0, runs: Vec::new() })
    }

    /// Appends a run of ascending entries.
    pub fn add<'e>(&mut self, entries: impl Iterator<Item = &'e [u8]>) -> Result<()> {
        if self.runs.len() >= MAX_RUNS {
            self.merge_into_one()?;
        }
        let mut writer = self.writer();
        for entry in entries {
            writer.write(entry).map_err(failed("write"))?;
        }
        let end = writer.finish().map_err(failed("write"))?;
        self.note_run(end);
        Ok(())
    }

    /// Reads all runs as one.
    pub fn merge(self) -> Result<Merge> {
        Merge::new(self)
    }

    fn merge_into_one(&mut self) -> Result<()> {
        let mut merged = RunFile::new()?;
        let mut writer = merged.writer();
        let mut merge = Merge::new(std::mem::replace(self, RunFile::new()?))?;
        while let Some(entry) = merge.next()? {
            writer.write(entry).map_err(failed("write"))?;
        }
        let end = writer.finish().map_err(failed("write"))?;
        merged.note_run(end);
        *self = merged;
        Ok(())
    }

    fn writer(&self) -> RunWriter<'_> {
        RunWriter {
            out: BufWriter::with_capacity(BUFFER_BYTES, &self.file),
            end: self.len_bytes,
            before: Vec::new(),
        }
    }

    fn note_run(&mut self, end: u64) {
        self.runs.push(Run { start: self.len_bytes, end });
        self.len_bytes = end;
    }
}

/// Writes one run at the end of the file.
struct RunWriter<'f> {
    out: BufWriter<&'f File>,
    end: u64,
    before: Vec<u8>,
}

impl RunWriter<'_> {
    fn write(&mut self, entry: &[u8]) -> io::Result<()> {
        let shared = self.before.iter().zip(entry).take_while(|(a, b)| a == b).count();
        let rest = entry.get(shared..).unwrap_or_default();
        self.number(shared)?;
        self.number(rest.len())?;
        self.out.write_all(rest)?;
        self.end += rest.len() as u64;
        self.before.truncate(shared);
        self.before.extend_from_slice(rest);
        Ok(())
    }

    fn number(&mut self, mut n: usize) -> io::Result<()> {
        loop {
            let low = (n & 0x7f) as u8;
            n >>= 7;
            self.end += 1;
            match n {
                0 => return self.out.write_all(&[low]),
                _ => self.out.write_all(&[low | 0x80])?,
            }
        }
    }

    fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.end)
    }
}

/// All runs as one ascending sequence.
pub struct Merge {
    file: File,
    /// The run with the smallest entry on top.
    readers: BinaryHeap<RunReader>,
    /// The top's entry has been given.
    given: bool,
}

impl Merge {
    fn new(runs: RunFile) -> Result<Self> {
        let RunFile { mut file, runs, .. } = runs;
        let mut readers = BinaryHeap::with_capacity(runs.len());
        for run in runs {
            let mut reader = RunReader { next: run.start, end: run.end, ..RunReader::default() };
            if reader.advance(&mut file)? {
                readers.push(reader);
            }
        }
        Ok(Merge { file, readers, given: false })
    }

    /// The next entry; `None` at the end.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.given
            && let Some(mut top) = self.readers.peek_mut()
            && !top.advance(&mut self.file)?
        {
            PeekMut::pop(top);
        }
        self.given = true;
        Ok(self.readers.peek().map(|reader| reader.current.as_slice()))
    }
}

/// Reads one run. Ordered by the entry at hand, smallest last, as a heap of maxima wants it.
#[derive(Default)]
struct RunReader {
    /// Where the file is read on, and where the run ends.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    /// How much of the buffer is used up.
    used: usize,
    current: Vec<u8>,
}

impl RunReader {
    /// Goes to the next entry; false at the end.
    fn advance(&mut self, file: &mut File) -> Result<bool> {
        self.fill(file, 2 * MAX_NUMBER_BYTES)?;
        if self.used >= self.buffer.len() {
            return Ok(false);
        }
        let (shared, len) = (self.number(), self.number());
        self.fill(file, len)?;
        let rest = self.buffer.get(self.used..self.used + len).ok_or_else(changed)?;
        if shared > self.current.len() {
            return Err(changed());
        }
        self.current.truncate(shared);
        self.current.extend_from_slice(rest);
        self.used += len;
        Ok(true)
    }

    /// Makes sure that `wanted` bytes are at hand, or all that are left of the run.
    fn fill(&mut self, file: &mut File, wanted: usize) -> Result<()> {
        let at_hand = self.buffer.len() - self.used;
        if at_hand >= wanted || self.next >= self.end {
            return Ok(());
        }
        self.buffer.drain(..self.used);
        self.used = 0;
        let more = (self.end - self.next).min(wanted.max(BUFFER_BYTES) as u64 - at_hand as u64);
        self.buffer.resize(at_hand + more as usize, 0);
        file.seek(SeekFrom::Start(self.next)).map_err(failed("read"))?;
        file.read_exact(self.buffer.get_mut(at_hand..).unwrap_or_default()).map_err(failed("read"))?;
        self.next += more;
        Ok(())
    }

    fn number(&mut self) -> usize {
        let (mut n, mut shift) = (0, 0);
        while let Some(byte) = self.buffer.get(self.used).copied() {
            self.used += 1;
            n |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 || shift >= 7 * MAX_NUMBER_BYTES {
                break;
            }
        }
        n
    }
}

/// Nobody else has the file; its bytes can only be others when memory or disk failed.
fn changed() -> Error {
    Error::internal("a temporary file of a sort does not hold what was written to it")
}

impl Ord for RunReader {
    fn cmp(&self, other: &Self) -> Ordering {
        other.current.cmp(&self.current)
    }
}

impl PartialOrd for RunReader {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunReader {
    fn eq(&self, other: &Self) -> bool {
        self.current == other.current
    }
}

impl Eq for RunReader {}
