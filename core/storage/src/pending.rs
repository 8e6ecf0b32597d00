//! What commits did to the file since the last checkpoint's cut, beside what the trees say.

use crate::space::Extent;
use crate::tree::Tree;

/// Collected under the lock of the commit section, so that a cut takes just what its state holds.
#[derive(Default)]
pub(crate) struct Pending {
    /// Parts of the file that commits brought with them.
    pub(crate) provisional: Vec<Extent>,
    /// Of these, the values: what no leaf holds at the cut is free.
    pub(crate) values: Vec<Extent>,
    /// Changes outside the log, which nobody needs once a checkpoint holds their commits.
    pub(crate) outside: Vec<Extent>,
    /// Tables that were dropped, as they were last.
    pub(crate) dropped: Vec<(u64, Tree)>,
}

impl Pending {
    /// Adds what came later.
    pub(crate) fn append(&mut self, mut later: Pending) {
        self.provisional.append(&mut later.provisional);
        self.values.append(&mut later.values);
        self.outside.append(&mut later.outside);
        self.dropped.append(&mut later.dropped);
    }

    /// Bytes of changes outside the log.
    pub(crate) fn outside_bytes(&self) -> u64 {
        self.outside.iter().map(|extent| extent.len_bytes).sum()
    }
}
