//! Reading blocks: through one cache of bounded size, on behalf of states of one epoch.
//!
//! An *epoch* begins with every checkpoint's cut and ends, and another begins, when it is published. Every state of an
//! epoch holds its [`Pages`]; when the last of them is gone, nobody needs what later checkpoints dropped. A reader who stays so long that the file would grow
//! without bound is told [`Error::SnapshotTooOld`]: its epoch is revoked, and what it reads from then on may have been
//! written over, which the hash in the pointer tells.

use crate::block::{self, BlockKind, BlockPointer};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::fault::{Fault, planted};
use crate::node_block::{decode_branch, decode_leaf};
use crate::pin::Pin;
use crate::tree::{Branch, Packed};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that an entry of the cache costs beside its content.
const ENTRY_BYTES: usize = 128;
/// What an average entry weighs: only sizes the cache's own tables.
const USUAL_BYTES: usize = 24 << 10;

/// Something that was read from the file.
#[derive(Clone)]
enum Cached {
    Leaf(Arc<Packed>),
    Branch(Arc<Branch>),
    Value(Arc<Vec<u8>>),
}

#[derive(Clone)]
struct Weigh;

impl Weighter<(u64, u64), Cached> for Weigh {
    fn weight(&self, _: &(u64, u64), cached: &Cached) -> u64 {
        let bytes = match cached {
            Cached::Leaf(leaf) => leaf.weight_bytes(),
            Cached::Branch(branch) => branch.weight_bytes(),
            Cached::Value(value) => value.len(),
        };
        (bytes + ENTRY_BYTES) as u64
    }
}

/// By position and hash, so that a block that was written over is never taken for the new one.
fn cache_key(pointer: &BlockPointer) -> (u64, u64) {
    (pointer.offset, if planted(Fault::CacheByPlaceOnly) { 0 } else { pointer.hash })
}

/// The file as blocks, with what was read of it lately.
pub(crate) struct Pager {
    disk: Arc<dyn Disk>,
    cache: Cache<(u64, u64), Cached, Weigh>,
    /// The length of the file when it was last asked for; pointers behind it make it ask again.
    file_len: AtomicU64,
    blocks_read: AtomicU64,
}

impl Pager {
    pub(crate) fn new(disk: Arc<dyn Disk>, cache_bytes: usize) -> Arc<Pager> {
        let cache = Cache::with_weighter(cache_bytes / USUAL_BYTES + 16, cache_bytes as u64, Weigh);
        Arc::new(Pager { disk, cache, file_len: AtomicU64::new(0), blocks_read: AtomicU64::new(0) })
    }

    /// Bytes of what is cached.
    pub(crate) fn cached_bytes(&self) -> u64 {
        self.cache.weight()
    }

    /// Blocks read from the file since it was opened.
    pub(crate) fn blocks_read(&self) -> u64 {
        self.blocks_read.load(Ordering::Relaxed)
    }

    /// Reads a block and checks it, past the cache.
    pub(crate) fn read(&self, pointer: &BlockPointer, table: u64) -> Result<(BlockKind, Vec<u8>)> {
        let end = pointer.offset.saturating_add(pointer.extent_bytes());
        if end > self.file_len.load(Ordering::Relaxed) {
            let len = self
                .disk
                .len()
                .map_err(|error| Error::io("read the length of", self.disk.place(), &error))?;
            self.file_len.store(len, Ordering::Relaxed);
        }
        self.blocks_read.fetch_add(1, Ordering::Relaxed);
        block::read(&*self.disk, self.file_len.load(Ordering::Relaxed), pointer, table)
    }

    pub(crate) fn damaged(&self, pointer: &BlockPointer, table: u64, what: &str) -> Error {
        block::damaged(&*self.disk, pointer.offset, table, what)
    }

    /// What is wrong with one copy of a block that is written twice and can be read.
    pub(crate) fn bad_copy(&self, pointer: &BlockPointer, table: u64) -> Option<Error> {
        let file_len = self.file_len.load(Ordering::Relaxed);
        block::bad_copy(&*self.disk, file_len, pointer, table).map(|(_, error)| error)
    }

    /// Writes a bad copy of a block again from the good one; says whether it did.
    pub(crate) fn mend(&self, pointer: &BlockPointer, table: u64) -> Result<bool> {
        block::mend(&*self.disk, self.file_len.load(Ordering::Relaxed), pointer, table)
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Reads a leaf, past the cache.
    pub(crate) fn read_leaf(&self, pointer: &BlockPointer, table: u64) -> Result<Packed> {
        match self.read(pointer, table)? {
            (BlockKind::Leaf, raw) => {
                decode_leaf(&raw).ok_or_else(|| self.damaged(pointer, table, "its entries cannot be read"))
            }
            _ => Err(self.damaged(pointer, table, "it is not the leaf that belongs there")),
        }
    }

    /// Reads a branch, past the cache.
    pub(crate) fn read_branch(&self, pointer: &BlockPointer, table: u64) -> Result<Branch> {
        match self.read(pointer, table)? {
            (BlockKind::Branch, raw) => {
                decode_branch(&raw).ok_or_else(|| self.damaged(pointer, table, "its children cannot be read"))
            }
            _ => Err(self.damaged(pointer, table, "it is not the branch that belongs there")),
        }
    }

    /// Reads a value, past the cache.
    pub(crate) fn read_value(&self, pointer: &BlockPointer, table: u64) -> Result<Vec<u8>> {
        match self.read(pointer, table)? {
            (BlockKind::Value, raw) => Ok(raw),
            _ => Err(self.damaged(pointer, table, "it is not the value that belongs there")),
        }
    }

    /// What a checkpoint has just written and readers are likely to want.
    pub(crate) fn keep_leaf(&self, pointer: &BlockPointer, leaf: Arc<Packed>) {
        self.cache.insert(cache_key(pointer), Cached::Leaf(leaf));
    }

    /// As [`keep_leaf`](Pager::keep_leaf).
    pub(crate) fn keep_branch(&self, pointer: &BlockPointer, branch: Arc<Branch>) {
        self.cache.insert(cache_key(pointer), Cached::Branch(branch));
    }
}

/// The file as the states of one epoch see it.
pub(crate) struct Pages {
    pub(crate) epoch: u64,
    /// The epoch at whose end the last checkpoint was cut: what its nodes replace goes as soon as they are written.
    pub(crate) cut_epoch: u64,
    /// None in memory: nothing is ever stored there.
    pager: Option<Arc<Pager>>,
    /// Of a file that another process may write: keeps the writer from using again what is read.
    pin: Option<Arc<Pin>>,
    is_revoked: AtomicBool,
}

impl Pages {
    pub(crate) fn new(epoch: u64, pager: Option<Arc<Pager>>) -> Arc<Pages> {
        Arc::new(Pages { epoch, cut_epoch: 0, pager, pin: None, is_revoked: AtomicBool::new(false) })
    }

    /// The pages of a file that another process may write.
    pub(crate) fn pinned(pager: Arc<Pager>, pin: Option<Arc<Pin>>) -> Arc<Pages> {
        let is_revoked = AtomicBool::new(false);
        Arc::new(Pages { epoch: 1, cut_epoch: 0, pager: Some(pager), pin, is_revoked })
    }

    /// The pages of the next epoch, after a cut at the end of `cut_epoch`.
    pub(crate) fn next(&self, cut_epoch: u64) -> Arc<Pages> {
        let (epoch, pager) = (self.epoch + 1, self.pager.clone());
        Arc::new(Pages { epoch, cut_epoch, pager, pin: None, is_revoked: AtomicBool::new(false) })
    }

    /// Takes the right to read from states of this epoch, and of those before it when they are told as well.
    pub(crate) fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Release);
    }

    pub(crate) fn pager(&self) -> Result<&Arc<Pager>> {
        self.pager.as_ref().ok_or(Error::Misuse { what: "a store in memory has no file to read" })
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Acquire)
    }

    fn check(&self) -> Result<()> {
        if self.is_revoked() { Err(Error::SnapshotTooOld) } else { Ok(()) }
    }

    /// Whether another process has published a newer checkpoint than the one that is read.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.pin.as_ref().is_some_and(|pin| pin.is_overtaken())
    }

    /// What reading something failed with, unless it may have been written over by now.
    fn error_of(&self, error: Error) -> Error {
        if self.is_overtaken() {
            self.revoke();
        }
        self.check().err().unwrap_or(error)
    }

    /// Reads through the cache.
    fn load<T>(
        &self,
        pointer: &BlockPointer,
        of: impl Fn(Cached) -> Option<T>,
        read: impl FnOnce(&Pager) -> Result<Cached>,
    ) -> Result<T> {
        self.check()?;
        let pager = self.pager()?;
        let key = cache_key(pointer);
        if let Some(found) = pager.cache.get(&key).and_then(&of) {
            return Ok(found);
        }
        let read = read(pager).map_err(|error| self.error_of(error))?;
        pager.cache.insert(key, read.clone());
        of(read).ok_or(Error::Misuse { what: "a block of another kind was read" })
    }

    pub(crate) fn leaf(&self, pointer: &BlockPointer, table: u64) -> Result<Arc<Packed>> {
        let of = |cached| if let Cached::Leaf(leaf) = cached { Some(leaf) } else { None };
        self.load(pointer, of, |pager| Ok(Cached::Leaf(Arc::new(pager.read_leaf(pointer, table)?))))
    }

    pub(crate) fn branch(&self, pointer: &BlockPointer, table: u64) -> Result<Arc<Branch>> {
        let of = |cached| if let Cached::Branch(branch) = cached { Some(branch) } else { None };
        self.load(pointer, of, |pager| Ok(Cached::Branch(Arc::new(pager.read_branch(pointer, table)?))))
    }

    pub(crate) fn value(&self, pointer: &BlockPointer, table: u64) -> Result<Arc<Vec<u8>>> {
        let of = |cached| if let Cached::Value(value) = cached { Some(value) } else { None };
        self.load(pointer, of, |pager| Ok(Cached::Value(Arc::new(pager.read_value(pointer, table)?))))
    }
}
