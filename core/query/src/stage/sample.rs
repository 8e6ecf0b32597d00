//! `$sample`: so many documents by chance, every set of them as likely as any other.

use super::run::StageRun;
use super::source::{Chain, DocSource, view_of};
use super::{MAX_BLOCKING_STAGE_BYTES, parse};
use crate::Resources;
use multifora_model::{DocumentView, Error, Number, RawValue, Result};

/// How many documents.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The number.
    pub size: u64,
}

impl Sample {
    /// `{size: n}`.
    pub(super) fn parse(spec: RawValue<'_>) -> Result<Self> {
        let doc = spec
            .as_doc()
            .ok_or_else(|| Error::location(28745, "the $sample stage specification must be an object"))?;
        let mut size = None;
        for field in doc {
            if field.name() != "size" {
                let message = format!("unrecognized option to $sample: {}", field.name());
                return Err(Error::location(28748, message));
            }
            let number = Number::from_value(field.value)
                .ok_or_else(|| Error::location(28746, "size argument to $sample must be a number"))?;
            size = u64::try_from(number.truncate_to_i64()).ok().filter(|n| *n > 0);
            if size.is_none() {
                let message = "size argument to $sample must be a positive integer";
                return Err(Error::location(28747, message));
            }
        }
        let size = size.ok_or_else(|| Error::location(28749, "$sample stage must specify a size"))?;
        Ok(Sample { size })
    }
}

/// `$sample` at work: a reservoir.
pub(super) struct SampleRun {
    size: usize,
    kept: Option<Vec<Vec<u8>>>,
    current: Vec<u8>,
}

impl SampleRun {
    pub(super) fn new(spec: Sample) -> Self {
        let size = usize::try_from(spec.size).unwrap_or(usize::MAX);
        SampleRun { size, kept: None, current: Vec::new() }
    }

    fn fill(&self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<Vec<Vec<u8>>> {
        let mut kept: Vec<Vec<u8>> = Vec::new();
        let mut held_bytes = 0;
        let mut seen = 0u64;
        while upstream.advance(res)? {
            seen += 1;
            // Where the document goes, if anywhere.
            let at = if kept.len() < self.size { kept.len() } else { below(seen, res) };
            if at >= self.size {
                continue;
            }
            let doc = upstream.current().to_vec()?;
            held_bytes += doc.len();
            match kept.get_mut(at) {
                Some(slot) => {
                    held_bytes -= slot.len();
                    *slot = doc;
                }
                None => kept.push(doc),
            }
            if held_bytes > MAX_BLOCKING_STAGE_BYTES {
                return Err(parse::too_much_memory("$sample"));
            }
        }
        // In an order that says nothing of where they came from.
        for at in (1..kept.len()).rev() {
            kept.swap(at, below(at as u64 + 1, res));
        }
        Ok(kept)
    }
}

/// A random number below `n`.
fn below(n: u64, res: &dyn Resources) -> usize {
    usize::try_from((res.random_f64() * n as f64) as u64).unwrap_or_default()
}

impl StageRun for SampleRun {
    fn advance(&mut self, upstream: &mut dyn DocSource, res: &dyn Resources) -> Result<bool> {
        if self.kept.is_none() {
            self.kept = Some(self.fill(upstream, res)?);
        }
        let next = self.kept.as_mut().and_then(Vec::pop);
        let is_there = next.is_some();
        self.current = next.unwrap_or_default();
        Ok(is_there)
    }

    fn current<'s>(&'s self, _: Chain<'s>) -> DocumentView<'s> {
        view_of(&self.current)
    }
}
