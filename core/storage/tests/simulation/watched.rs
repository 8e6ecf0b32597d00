//! A disk that tells somebody of every call before and after it: the way into the middle of another's work.

use multifora_storage::sim::SimDisk;
use multifora_storage::*;
use std::io;
use std::sync::Arc;

/// Calls that take time on a real disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Resize,
    Read,
    Write,
    WriteDurable,
    Sync,
}

/// When somebody is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Before(Kind),
    After(Kind),
}

type Watch = Box<dyn Fn(Moment) + Send + Sync>;

pub struct WatchedDisk {
    pub disk: Arc<SimDisk>,
    watch: Watch,
}

impl WatchedDisk {
    pub fn new(disk: Arc<SimDisk>, watch: impl Fn(Moment) + Send + Sync + 'static) -> Arc<WatchedDisk> {
        Arc::new(WatchedDisk { disk, watch: Box::new(watch) })
    }

    fn told<R>(&self, kind: Kind, call: impl FnOnce(&SimDisk) -> R) -> R {
        (self.watch)(Moment::Before(kind));
        let result = call(&self.disk);
        (self.watch)(Moment::After(kind));
        result
    }
}

impl Disk for WatchedDisk {
    fn place(&self) -> &str {
        self.disk.place()
    }
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }
    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.told(Kind::Resize, |disk| disk.set_len(len_bytes))
    }
    fn reserve(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.told(Kind::Resize, |disk| disk.reserve(offset, len_bytes))
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.told(Kind::Read, |disk| disk.read_at(offset, buffer))
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.told(Kind::Write, |disk| disk.write_at(offset, bytes))
    }
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.told(Kind::WriteDurable, |disk| disk.write_durable_at(offset, bytes))
    }
    fn sync(&self) -> io::Result<()> {
        self.told(Kind::Sync, |disk| disk.sync())
    }
    fn sync_parent(&self) -> io::Result<()> {
        self.disk.sync_parent()
    }
    fn lock(&self, mode: LockMode) -> io::Result<bool> {
        self.disk.lock(mode)
    }
    fn unlock(&self) -> io::Result<()> {
        self.disk.unlock()
    }
    fn pin(&self, checkpoint: u64) -> io::Result<bool> {
        self.disk.pin(checkpoint)
    }
    fn unpin(&self, checkpoint: u64) -> io::Result<()> {
        self.disk.unpin(checkpoint)
    }
    fn is_pinned_before(&self, checkpoint: u64) -> io::Result<bool> {
        self.disk.is_pinned_before(checkpoint)
    }
    fn entropy(&self) -> io::Result<u64> {
        self.disk.entropy()
    }
}
